"""The user of HDFS: delegation tokens and proxy users, which the environment names.

The library hdfs-native reads the same variables. It ignores a damaged or missing token file, a token for another form
of the name node's address, and a proxy user without Kerberos. Then it would read and write files as another user, or
report another cause. So this module checks them first.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.io.hdfs_settings import KEYTAB, PRINCIPAL

TOKEN_FILE, PROXY_USER, USER_NAME = "HADOOP_TOKEN_FILE_LOCATION", "HADOOP_PROXY_USER", "HADOOP_USER_NAME"
_MAGIC, _WRITABLE, _PROTOBUF = b"HDTS", 0, 1
_KIND = "HDFS_DELEGATION_TOKEN"
_MARGIN = 60_000  # the library uses no token that expires in so many milliseconds
_VARINT, _BYTES = 0, 2  # wire types
_MOST = 2**24  # bytes of a token file


@dataclass(frozen=True, slots=True)
class DelegationToken:
    """A token of HDFS, without its secret part.

    `service` is the address of the name node, or `ha-hdfs:NAMESERVICE`. `expires` is in milliseconds.
    """

    service: str
    owner: str
    expires: int

    def is_valid(self, now: int) -> bool:
        return self.expires > now + _MARGIN


def authority_for(root: str, options: Mapping[str, str], environment: Mapping[str, str]) -> str:
    """Return the location of the cluster for the library: `root`, with another address of its name node if the token is
    for that address.

    Raises `InvalidOptionError`, `UnsupportedFeatureError` if the environment's tokens or proxy user cannot be used.
    """
    proxy = environment.get(PROXY_USER, "")
    if not _is_secure(options):
        if proxy and environment.get(USER_NAME) != proxy:
            raise UnsupportedFeatureError(
                f"HADOOP_PROXY_USER = {proxy} cannot be used for {root}: the cluster does not require Kerberos, so a "
                f"program cannot act for another user there. Set HADOOP_USER_NAME = {proxy}, or unset it."
            )
        return root
    if options.get(PRINCIPAL) or options.get(KEYTAB) or not environment.get(TOKEN_FILE):
        return root  # with a keytab, the library uses no tokens
    tokens = [t for t in read_tokens(environment[TOKEN_FILE]) if t.is_valid(_now())]
    authority, found = _matched(root, options, tokens)
    if proxy and found is not None and _short(found.owner) != proxy:
        raise UnsupportedFeatureError(
            f"HADOOP_PROXY_USER = {proxy} cannot be used for {root}: the delegation token of "
            f"{environment[TOKEN_FILE]} is of {_short(found.owner)}. Unset one of HADOOP_PROXY_USER and {TOKEN_FILE}."
        )
    return authority


def token_advice(options: Mapping[str, str], environment: Mapping[str, str]) -> str:
    """Return why no token of the environment was used, for an error of a cluster that requires Kerberos; "" without a
    token file.
    """
    path = environment.get(TOKEN_FILE)
    if not path or options.get(PRINCIPAL) or options.get(KEYTAB):
        return ""
    with suppress(InvalidOptionError):
        found = [t.service + ("" if t.is_valid(_now()) else " (expired)") for t in read_tokens(path)]
        return f"; the tokens of {TOKEN_FILE} are for {', '.join(found) or 'no HDFS'}"
    return ""


def proxy_advice(options: Mapping[str, str], environment: Mapping[str, str]) -> str:
    """Return another reason why a name node that requires Kerberos may end a connection; "" without a proxy user."""
    proxy = environment.get(PROXY_USER, "")
    if not proxy or not _is_secure(options):
        return ""
    return f"; or the cluster does not let this user act for {proxy}: see hadoop.proxyuser.USER.hosts and .groups there"


def _is_secure(options: Mapping[str, str]) -> bool:
    return options.get("hadoop.security.authentication", "").lower() == "kerberos"


def read_tokens(path: str) -> list[DelegationToken]:
    """Return the tokens of HDFS in a file of YARN or of `hdfs fetchdt`. Raises `InvalidOptionError`."""
    try:
        with Path(path).open("rb") as file:
            return decode_tokens(file.read(_MOST))
    except (OSError, ValueError, IndexError) as error:
        cause = error.strerror if isinstance(error, OSError) else "it is not a file of Hadoop's tokens"
        raise InvalidOptionError(
            f"{TOKEN_FILE} = {path} cannot be used: {cause}. Set it to a file of delegation tokens, or unset it."
        ) from None


def decode_tokens(data: bytes) -> list[DelegationToken]:
    """Return the tokens of HDFS in the bytes of a file. Raises `ValueError`, `IndexError` for other bytes."""
    if data[:4] != _MAGIC or data[4] not in (_WRITABLE, _PROTOBUF):
        raise ValueError("no tokens")
    body = _Bytes(data, 5)
    tokens = _of_writable(body) if data[4] == _WRITABLE else _of_protobuf(body)
    return [_decoded(identifier, service) for kind, service, identifier in tokens if kind == _KIND]


Parts = tuple[str, str, bytes]  # kind, service, identifier


def _of_writable(body: _Bytes) -> list[Parts]:
    found = list[Parts]()
    count = body.number()
    if count < 0:
        raise ValueError("a negative count")
    for _ in range(count):
        body.part()  # the alias
        identifier, _ = body.part(), body.part()
        kind, service = body.part().decode(), body.part().decode()
        found.append((kind, service, identifier))
    return found


def _of_protobuf(body: _Bytes) -> list[Parts]:
    found = list[Parts]()
    for named in _fields(body.take(body.varint())).get(1, ()):
        for token in _fields(named).get(2, ()):
            parts = {number: values[-1] for number, values in _fields(token).items()}
            found.append((parts.get(3, b"").decode(), parts.get(4, b"").decode(), parts.get(1, b"")))
    return found


def _fields(message: bytes) -> dict[int, list[bytes]]:
    """Return the fields of a message that are bytes, by their numbers."""
    found, body = dict[int, list[bytes]](), _Bytes(message)
    while body.at < len(message):
        number, wire = divmod(body.varint(), 8)
        if wire == _BYTES:
            found.setdefault(number, []).append(body.take(body.varint()))
        elif wire == _VARINT:
            body.varint()
        else:
            raise ValueError("an unknown field")
    return found


def _decoded(identifier: bytes, service: str) -> DelegationToken:
    body = _Bytes(identifier)
    if body.take(1) != b"\0":
        raise ValueError("an unknown version")
    owner, _, _ = body.part().decode(), body.part(), body.part()
    _, expires = body.number(), body.number()
    return DelegationToken(service, owner, expires)


@dataclass(slots=True)
class _Bytes:
    """A position in bytes, and the forms of numbers in Hadoop's files."""

    data: bytes
    at: int = 0

    def take(self, size: int) -> bytes:
        if not 0 <= size <= len(self.data) - self.at:
            raise ValueError("a part is missing")
        self.at += size
        return self.data[self.at - size : self.at]

    def part(self) -> bytes:
        return self.take(self.number())

    def number(self) -> int:
        """Return a number as `WritableUtils.writeVLong` of Hadoop writes it."""
        first = int.from_bytes(self.take(1), signed=True)
        if first >= -112:
            return first
        is_negative = first < -120
        value = int.from_bytes(self.take(-120 - first if is_negative else -112 - first))
        return ~value if is_negative else value

    def varint(self) -> int:
        """Return a number as protocol buffers write it."""
        value = 0
        for place in range(10):
            byte = self.take(1)[0]
            value |= (byte & 127) << (7 * place)
            if byte < 128:
                return value
        raise ValueError("a number is too long")


def _matched(
    root: str, options: Mapping[str, str], tokens: list[DelegationToken]
) -> tuple[str, DelegationToken | None]:
    """Return the location with which the library finds a token, and the token; `root` and None if there is none."""
    scheme, _, authority = (root if root.partition("://")[2] else options.get("fs.defaultFS", root)).partition("://")
    authority = authority.partition("/")[0]
    host, _, port = authority.rpartition(":")
    wanted = authority if port.isdigit() else f"ha-hdfs:{authority}"
    for token in tokens:
        if token.service == wanted:
            return root, token
    if tokens and host and port.isdigit():
        with suppress(OSError):  # Hadoop's clients write the number of the address by default
            for *_, address in socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM):
                for token in tokens:
                    if token.service == f"{address[0]}:{port}":
                        return f"{scheme}://{token.service}", token
    return root, None


def _short(name: str) -> str:
    return name.partition("@")[0].partition("/")[0]


def _now() -> int:
    return int(time.time() * 1000)
