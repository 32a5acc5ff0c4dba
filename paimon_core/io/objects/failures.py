"""Errors of object stores: their cause and the remedy. The client's error texts contain whole answers of servers, and
these may repeat a key or a signature. So our errors show only the code and the message of an answer.
"""

from __future__ import annotations

import errno
import html
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from paimon_core.dataclass import dataclass
from paimon_core.errors import PaimonError, StorageError, StorageRefusedError
from paimon_core.secrets import is_secret, without_secrets

# If a storage refuses one of many deletes, the client writes the code, or Azure's status, at the end of its own text.
_STATUS = re.compile(r"\bstatus: (\d{3})|status code: (\d{3})|\(code: (\d{3})\)")
_CODE = re.compile(r"<Code>([\w.]{1,80})</Code>|\(code: ([A-Za-z][\w.]{0,80})\)")
_MESSAGE = re.compile(r"<Message>([^<]{1,300})")
_REGION = re.compile(r"<Region>([\w-]{1,40})</Region>|expecting &#(?:34|39);([\w-]{1,40})")
_HOST = re.compile(r"\bperforming [A-Z]+ (https?://[^/\s?]+)")
_UNREACHABLE = re.compile(r"kind: (?:Connect|Timeout)\b")
_METADATA_SERVICES = ("169.254.169.254", "169.254.170.2", "metadata.google.internal")
_SHORTEST = 4  # characters of a secret: shorter texts are parts of many words
AGAIN = "This request was sent before."  # a note on an error
_TRANSIENT = frozenset((408, 429, 500, 502, 503, 504))


@dataclass(frozen=True, slots=True)
class _Cause:
    """The cause of a failure, and the advice.

    `refused`: the storage did nothing, and an immediate retry does not help.
    """

    text: str
    advice: str
    refused: bool = True


_GRANT = "grant this user access to it, or use other keys"
_KEYS = "set the catalog option s3.access-key to a key of this storage"
_BUCKET = _Cause("the storage has no bucket with this name", "correct the location, or create the bucket")
_REGION_ADVICE = "set the catalog option s3.endpoint.region to the region of the bucket"
_EXPIRED = _Cause("the credentials have expired", "get new ones, and set them as options of the catalog")
_SECRET = _Cause(
    "the signature is wrong, so the secret key does not belong to the access key",
    "set the catalog option s3.secret-key to the right secret",
)
_BY_CODE: dict[str, _Cause] = {
    **dict.fromkeys(("NoSuchBucket", "ContainerNotFound", "FilesystemNotFound", "InvalidBucketName"), _BUCKET),
    "InvalidAccessKeyId": _Cause("the storage does not have this access key", _KEYS),
    "SignatureDoesNotMatch": _SECRET,
    "AuthenticationFailed": _Cause(
        "the storage did not accept the account's key or token", "set fs.azure.account.key.ACCOUNT to the right key"
    ),
    "RequestTimeTooSkewed": _Cause(
        "the clock of this machine differs from the clock of the storage", "set the clock of this machine, as by NTP"
    ),
    **dict.fromkeys(("ExpiredToken", "TokenRefreshRequired", "SecurityTokenExpired"), _EXPIRED),
    "InvalidToken": _Cause("the session token is not valid", "set the catalog option s3.session.token to a new token"),
    "AuthorizationHeaderMalformed": _Cause("the bucket is in another region", _REGION_ADVICE),
    "PermanentRedirect": _Cause("the bucket is in another region, or needs another endpoint", _REGION_ADVICE),
    **dict.fromkeys(
        ("AccessDenied", "AllAccessDisabled", "AuthorizationPermissionMismatch", "AuthorizationFailure"),
        _Cause("permission is denied", _GRANT),
    ),
    **dict.fromkeys(
        ("SlowDown", "ServiceUnavailable", "ServerBusy"),
        _Cause("the storage is busy and accepts no more requests", "run the statement again later", refused=False),
    ),
}
_HTTP_ADVICE = "write http:// before the endpoint, or set the catalog option s3.connection.ssl.enabled to false"
_BY_WORDS: tuple[tuple[tuple[str, ...], _Cause], ...] = (
    (("dns error", "failed to lookup address"), _Cause("there is no host with this name", "correct the endpoint")),
    (("ConnectionRefused",), _Cause("no server listens there", "correct the endpoint, or start the server")),
    (("InvalidContentType",), _Cause("the server does not speak TLS", _HTTP_ADVICE)),
    (
        ("HTTP request to an HTTPS server", "HTTP request was sent to HTTPS port", "Parse(Version)"),
        _Cause("the server requires TLS", "write https:// before the endpoint"),
    ),
    (
        ("UnknownIssuer", "CaUsedAsEndEntity", "InvalidCertificate", "NotValidForName", "invalid peer certificate"),
        _Cause(
            "the certificate of the server is not trusted", "add its authority to this machine's trusted authorities"
        ),
    ),
    (
        ("kind: Timeout", "operation timed out", "deadline has elapsed"),
        _Cause("the server does not answer", "check the endpoint and the network between", refused=False),
    ),
)
_NO_KEYS = _Cause(
    "there are no credentials",
    "set the keys of this storage as catalog options (docs/storages.md), or sign in as your storage needs it",
)


def status_of(error: Exception) -> int | None:
    """Return the HTTP status in a client's error, or None if there was no answer."""
    found = _STATUS.search(str(error))
    return int(found[1] or found[2] or found[3]) if found else None


def code_of(error: Exception) -> str:
    """Return the code in the answer that a client's error contains, such as `NoSuchKey`, or ""."""
    found = _CODE.search(str(error))
    return (found[1] or found[2]) if found else ""


def is_missing_bucket(error: Exception) -> bool:
    """Return whether a storage answered that the bucket does not exist."""
    return _BY_CODE.get(code_of(error)) is _BUCKET


def is_unreachable(error: Exception) -> bool:
    """Return whether no server was reached, or no server answered."""
    return status_of(error) is None and _UNREACHABLE.search(str(error)) is not None


def is_transient(error: Exception) -> bool:
    """Return whether a later try may succeed."""
    status = status_of(error)
    return status in _TRANSIENT or (status is None and "kind: Decode" not in str(error) and "HttpError" in str(error))


def is_first_try(error: Exception) -> bool:
    """Return whether a request was sent only once. If not, an earlier try may have taken effect."""
    return "retries: 0," in str(error) and AGAIN not in getattr(error, "__notes__", ())


@contextmanager
def object_errors(
    action: str, path: str, options: Mapping[str, str], ask: Callable[[], object] | None = None
) -> Iterator[None]:
    """Raise errors of the client as `StorageError`, and the error of a missing object as `FileNotFoundError`.

    The answer to a HEAD request has no error code. So `ask` repeats the look-up as a GET request, because its error has
    a code.
    """
    try:
        yield
    except PaimonError:
        raise
    except Exception as error:  # the client raises its own classes, OSError and ValueError
        found = error
        if ask is not None and status_of(error) not in (None, 404) and not code_of(error):
            found = _asked(ask, error)
        if isinstance(found, FileNotFoundError) and not is_missing_bucket(found):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from None
        raise failure_of(action, path, found, options) from None


def _asked(ask: Callable[[], object], error: Exception) -> Exception:
    try:
        ask()
    except Exception as clearer:  # only its text is used
        return clearer if code_of(clearer) else error
    return error


def failure_of(action: str, path: str, error: Exception, options: Mapping[str, str]) -> StorageError:
    """Return the error of a call: the action, the path, the cause and the remedy, without secrets."""
    text, status, code = str(error), status_of(error), code_of(error)
    cause = _cause(text, status, code)
    said = _MESSAGE.search(text)
    detail = f"{code}: {html.unescape(said[1]).strip()}" if code and said else code
    shown = f"{cause.text} ({detail})" if detail else cause.text
    host = _HOST.search(text)
    if status is None and host and "://" in host[1] and not any(m in text for m in _METADATA_SERVICES):
        shown = f"{shown}: {host[1]}"
    advice = cause.advice
    region = _REGION.search(text)
    if region and advice == _REGION_ADVICE:
        advice = f"set the catalog option s3.endpoint.region to {region[1] or region[2]}"
    kind = StorageRefusedError if cause.refused and is_first_try(error) else StorageError
    return kind(_hidden(without_secrets(f"Cannot {action} {path}: {shown}; {advice}."), options))


def _cause(text: str, status: int | None, code: str) -> _Cause:
    if any(service in text for service in _METADATA_SERVICES) and code not in _BY_CODE:
        return _NO_KEYS
    if code in _BY_CODE:
        return _BY_CODE[code]
    for words, cause in _BY_WORDS:
        if any(word in text for word in words):
            return cause
    if status == 401:
        return _Cause("the storage did not accept the credentials", "set the keys of this storage as catalog options")
    if status == 403:
        return _Cause("permission is denied", _GRANT)
    if status == 301:
        return _BY_CODE["PermanentRedirect"]
    advice = "check that the storage is up and reachable, then run the statement again"
    if status is not None:
        return _Cause(f"the storage answered with status {status}", advice, refused=False)
    return _Cause(text.partition("\n")[0][:300] or "it failed for an unknown reason", advice, refused=False)


def _hidden(text: str, options: Mapping[str, str]) -> str:
    for key, value in options.items():
        if len(value) >= _SHORTEST and is_secret(key):
            text = text.replace(value, "***")
    return text
