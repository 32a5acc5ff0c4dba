"""`GET /health`: 200 while the server takes clients, 503 while it stops; for load balancers and probes."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from paimon_sql.server.waiting import SECONDS, Waiting

Answer = Callable[[], Mapping[str, Any]]


def start_health(host: str, port: int, answer: Answer) -> ThreadingHTTPServer:
    """Answers with what `answer` says, whose `status` is `serving` or another word. `shutdown()` ends it. Raises
    `OSError` where it cannot listen."""
    server = _Server((host, port), _handler(answer))
    threading.Thread(target=server.serve_forever, name="health", daemon=True).start()
    return server


class _Server(ThreadingHTTPServer):
    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._waiting = Waiting()
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._waiting.add(str(client_address[0]), request, partial(_end, request))
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._waiting.discard(str(client_address[0]), request)


def _end(request: socket.socket) -> None:
    with suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)


def _handler(answer: Answer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = SECONDS  # a client that says nothing keeps no thread

        def do_GET(self) -> None:
            if self.path != "/health":
                self.send_error(HTTPStatus.NOT_FOUND)
                return
            said = answer()
            serving = said["status"] == "serving"
            body = json.dumps(said).encode()
            self.send_response(HTTPStatus.OK if serving else HTTPStatus.SERVICE_UNAVAILABLE)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Probes come every few seconds: they are not logged."""

    return Handler
