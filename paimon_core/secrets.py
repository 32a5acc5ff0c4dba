"""Secrets in options and in parts of a location, and how to show both without them."""

from __future__ import annotations

import re
from collections.abc import Mapping

SECRET_NAMES = (
    r"secret|passw|passphrase|privileged_user|file_based_privilege|token|credential|signature|authorization|cookie|connection[._-]?string|"
    r"jaas|bearer|passcode|pass[._-](?:phrase|code)|user[._-]?info|basic[._-]?auth|service[._-]account[._-]json|"
    r"(?:access|account|api|private|shared|encryption)[._-]?key|(?<=fsspec\.)(?:key|auth)\b|pwd(?![\w.-])|"
    r"(?:client|master|storage|subscription|signing|hmac)[._-]?key(?![a-zA-Z])|"
    r"(?:^|(?<=[._-]))(?:sas(?![a-zA-Z0-9])|(?:pass|jwt|creds?|session(?:[._-]?(?:id|key))?)(?![\w.-]))"
)
REDACTED = "*********(redacted)"  # the spelling of Spark
_NAME = re.compile(SECRET_NAMES, re.IGNORECASE)
# the part of an option's name that names columns: `fields.COLUMN.…`, `file-index.TYPE.COLUMN.…`, `parquet.…#COLUMN`
_COLUMNS = re.compile(r"\A(?:table-default\.)?(?:(?:fields|file-index)\..*\.|(?P<before>parquet\.[^#]*)#.*)", re.DOTALL)
# these settings say how to get a token, but contain none
_HARMLESS = frozenset(
    (
        "data-token.enabled",
        "dlf.token-ecs-metadata-url",
        "dlf.token-ecs-role-name",
        "dlf.token-loader",
        "token.provider",
    )
)
_USER = re.compile(r"(?<=://)[^/?#@\s]*:[^/?#@\s]*(?=@)")
_PARAMETER = re.compile(r"([?&;])([^=&;?#\s]+)=([^&;#\s]*)")
_LITERAL = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
_SET = re.compile(r"(?i)\A(\s*SET\s+[^=]*=).*", re.DOTALL)
_SHORT_NAMES = frozenset(("sig", "key", "sas", "auth", "code"))  # names of URL parameters


def is_secret(name: str) -> bool:
    """Return whether an option of this name contains a secret. A column in the name may be called `token_count`."""
    return name not in _HARMLESS and _NAME.search(_COLUMNS.sub(r"\g<before>", name)) is not None


def may_hold_secret(text: str) -> bool:
    """Return whether a statement may contain a secret."""
    return _NAME.search(text) is not None or without_secrets(text) != text


def redacted(options: Mapping[str, str]) -> dict[str, str]:
    """Options that may be shown."""
    return {k: REDACTED if is_secret(k) else without_secrets(v) for k, v in options.items()}


def without_secrets(text: str) -> str:
    """Remove passwords, and secrets in query parts, from the locations in a text."""
    if "://" not in text:
        return text
    return _PARAMETER.sub(_shown, _USER.sub("***", text))


def statement_without_secrets(text: str) -> str:
    """A statement that may be shown. If it may contain a secret, all its literals are removed: secrets have many
    spellings."""
    if not may_hold_secret(text):
        return text
    return _LITERAL.sub("'***'", _SET.sub(r"\1 ***", without_secrets(text)))


def _shown(match: re.Match[str]) -> str:
    mark, name, value = match.groups()
    return f"{mark}{name}={'***' if is_secret(name) or name.lower() in _SHORT_NAMES else value}"
