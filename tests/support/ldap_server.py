"""An LDAP server that supports only simple binds: enough for a server that checks passwords (RFC 4511)."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_SUCCESS, _INVALID_CREDENTIALS = 0, 49
_BIND, _UNBIND = 0x60, 0x42


@contextmanager
def ldap_server(passwords: Mapping[str, str]) -> Iterator[str]:
    """Yield the URL of a server with these distinguished names and passwords."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while message := _element(self.rfile):
                _, number, operation, body = message
                if operation == _UNBIND:
                    return
                assert operation == _BIND, hex(operation)
                _, rest = _value(body)  # the version
                name, rest = _value(rest)
                password, _ = _value(rest)
                right = bool(password) and passwords.get(name.decode()) == password.decode()
                code = _SUCCESS if right else _INVALID_CREDENTIALS
                answer = b"\x61\x07\x0a\x01" + bytes([code]) + b"\x04\x00\x04\x00"
                self.wfile.write(b"\x30" + bytes([len(number) + len(answer)]) + number + answer)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"ldap://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def _element(stream: object) -> tuple[int, bytes, int, bytes] | None:
    """Return a message: its tag, its number as written, the tag of its operation and the operation's body."""
    head = stream.read(2)  # type: ignore[attr-defined]
    if len(head) < 2:
        return None
    length = head[1]
    if length & 0x80:
        length = int.from_bytes(stream.read(length & 0x7F), "big")  # type: ignore[attr-defined]
    body = stream.read(length)  # type: ignore[attr-defined]
    number, rest = body[: 2 + body[1]], body[2 + body[1] :]
    return head[0], number, rest[0], _value(rest)[0]


def _value(data: bytes) -> tuple[bytes, bytes]:
    """Return the content of the first element, and the bytes after it."""
    length, start = data[1], 2
    if length & 0x80:
        start += length & 0x7F
        length = int.from_bytes(data[2:start], "big")
    return data[start : start + length], data[start + length :]
