"""An HTTP server with the answers of a test, for clients that must handle any answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Asked:
    """A request."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Script:
    """`answer` makes status, headers and body for each request; `asked` are the received requests."""

    answer: Callable[[Asked], tuple[int, Mapping[str, str], bytes]]
    asked: list[Asked] = field(default_factory=list)
    uri: str = ""


@contextmanager
def scripted(answer: Callable[[Asked], tuple[int, Mapping[str, str], bytes]]) -> Iterator[Script]:
    """Yield the server."""
    script = Script(answer)

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            asked = Asked(self.command, self.path, dict(self.headers), body)
            script.asked.append(asked)
            status, headers, data = script.answer(asked)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_DELETE = _answer

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    script.uri = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
