"""Secrets in options and in parts of a location: recognise them, and show options and locations without them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from paimon_core.lazy import regex

SECRET_NAMES = (
    r"secret|passw|passphrase|privileged_user|file_based_privilege|token|credential|signature|authorization|cookie|connection[._-]?string|"
    r"jaas|bearer|passcode|pass[._-](?:phrase|code)|user[._-]?info|basic[._-]?auth|service[._-]account[._-]json|"
    r"(?:access|account|api|private|shared|encryption)[._-]?key|(?<=fsspec\.)(?:key|auth)\b|pwd(?![\w.-])|"
    r"(?:client|master|storage|subscription|signing|hmac)[._-]?key(?![a-zA-Z])|"
    r"(?:^|(?<=[._-]))(?:sas(?![a-zA-Z0-9])|(?:pass|jwt|creds?|session(?:[._-]?(?:id|key))?)(?![\w.-]))"
)
REDACTED = "*********(redacted)"  # the spelling of Spark
_NAME = regex(SECRET_NAMES, re.IGNORECASE)
# The part of an option's name that names columns: `fields.COLUMN.…`, `file-index.TYPE.COLUMN.…`, `parquet.…#COLUMN`.
_COLUMNS = regex(r"\A(?:table-default\.)?(?:(?:fields|file-index)\..*\.|(?P<before>parquet\.[^#]*)#.*)", re.DOTALL)
# These settings describe how to get a token, but do not contain one.
_HARMLESS = frozenset(
    (
        "data-token.enabled",
        "dlf.token-ecs-metadata-url",
        "dlf.token-ecs-role-name",
        "dlf.token-loader",
        "token.provider",
    )
)
_USER = regex(r"(?<=://)(?=[^/?#@\s]*+@)[^/?#@:\s]*+:[^/?#@\s]*+")
_PARAMETER = regex(r"([?&;])([^=&;?#\s]+)=([^&;#\s]*)")
# what Spark's lexer reads as one token: a name in backquotes, a comment or its beginning, a string, a number; a token
# that is not closed ends with the text
_TOKEN = regex(
    r"""(?P<name>`[^`]*+(?:`|\Z))|(?P<line>--(?>(?:\\\n|[^\r\n])*))|(?P<comment>/\*(?!\+))"""
    r"""|(?<![\w$])(?P<tag>\$[A-Za-z]*\$).*?(?:(?P=tag)|\Z)|\b[rR](?:'[^']*+(?:'|\Z)|"[^"]*+(?:"|\Z))"""
    r"""|'(?>(?:[^'\\]++|\\.)*)(?:'|\\?\Z)|"(?>(?:[^"\\]++|\\.)*)(?:"|\\?\Z)|(?<![\w.])\.?\d[\w.]*+""",
    re.DOTALL,
)
_ENDS_OF_COMMENTS = regex(r"/\*(?!\+)|\*/")  # comments are nested
_SET = regex(r"(?i)\A(\s*SET\s+[^=]*=).*", re.DOTALL)
_SHORT_NAMES = frozenset(("sig", "key", "sas", "auth", "code"))  # names of URL parameters


def is_secret(name: str) -> bool:
    """Return whether an option with this name contains a secret.

    A column in the name, such as `token_count`, does not matter.
    """
    return name not in _HARMLESS and _NAME.search(_COLUMNS.sub(r"\g<before>", name)) is not None


def may_hold_secret(text: str) -> bool:
    """Return whether a statement may contain a secret."""
    return _NAME.search(text) is not None or without_secrets(text) != text


def redacted(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options in a form that may be shown."""
    return {k: REDACTED if is_secret(k) else without_secrets(v) for k, v in options.items()}


def without_secrets(text: str) -> str:
    """Remove passwords, and secrets in query parts, from the locations in a text."""
    if "://" not in text:
        return text
    return _PARAMETER.sub(_shown, _USER.sub("***", text))


def statement_without_secrets(text: str) -> str:
    """Return a statement in a form that may be shown.

    If it may contain a secret, its literals and comments are removed: secrets have many spellings.
    """
    if not may_hold_secret(text):
        return text
    return _SET.sub(r"\1 ***", without_secrets("".join(_without_literals(text))))


def _without_literals(text: str) -> Iterator[str]:
    """Yield the parts of a statement that may be shown."""
    at = 0
    while (found := _TOKEN.search(text, at)) is not None:
        yield text[at : found.start()]
        is_comment = found["comment"] is not None
        if found["name"]:
            yield found[0]
        else:
            yield " " if is_comment or found["line"] else "'***'"
        at = _behind_comment(text, found.start()) if is_comment else found.end()
    yield text[at:]


def _behind_comment(text: str, start: int) -> int:
    opened = 0
    for mark in _ENDS_OF_COMMENTS.finditer(text, start):
        opened += 1 if mark[0] == "/*" else -1
        if not opened:
            return mark.end()
    return len(text)


def _shown(match: re.Match[str]) -> str:
    mark, name, value = match.groups()
    return f"{mark}{name}={'***' if is_secret(name) or name.lower() in _SHORT_NAMES else value}"
