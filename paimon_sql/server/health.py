"""`GET /health`, for load balancers and probes: 200 while the server accepts clients, else 503. `GET /metrics` is the
text for Prometheus.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from paimon_core.metrics import PROCESS, Metrics
from paimon_sql.server.waiting import SECONDS, Waiting

_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
Answer = Callable[[], Mapping[str, Any]]


def start_health(host: str, port: int, answer: Answer, metrics: Metrics = PROCESS) -> ThreadingHTTPServer:
    """Start a server of health checks; `shutdown()` on it ends it. Each check calls `answer` and returns its mapping;
    `status` in it is `serving`, or another word if the check fails. Raises `OSError` if the server cannot listen.
    """
    server = _Server((host, port), _handler(answer, metrics))
    threading.Thread(target=server.serve_forever, name="health", daemon=True).start()
    return server


class InTime:
    """Calls `answer` in another thread, one call at a time. If the call takes more than `seconds`, the status is
    `failed`.
    """

    def __init__(self, answer: Answer, seconds: float = 5.0) -> None:
        self._answer, self._seconds = answer, seconds
        self._pool, self._lock = ThreadPoolExecutor(1, thread_name_prefix="health"), threading.Lock()
        self._asked: Future[Mapping[str, Any]] | None = None

    def __call__(self) -> Mapping[str, Any]:
        with self._lock:
            if self._asked is None or self._asked.done():
                self._asked = self._pool.submit(self._answer)
            asked = self._asked
        try:
            return asked.result(self._seconds)
        except TimeoutError:
            return {"status": "failed", "reason": f"the driver did not answer in {self._seconds:g} seconds"}
        except Exception as error:
            return {"status": "failed", "reason": type(error).__name__}

    def close(self) -> None:
        """Stop calling `answer`."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def listens(host: str, port: int) -> bool:
    """Return whether a server listens on a port of this machine."""
    here = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    try:
        with socket.create_connection((here, port), timeout=2):
            return True
    except OSError:
        return False


class _Server(ThreadingHTTPServer):
    request_queue_size = (
        128  # the most connections that wait to be accepted; probes beyond these retry only after seconds
    )

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._waiting = Waiting()
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._waiting.add(str(client_address[0]), request, partial(_end, request))
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """Close late connections; called twice a second. The handler's own timeout restarts with each byte, so it is
        not enough.
        """
        self._waiting.end_late(2 * SECONDS)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._waiting.discard(str(client_address[0]), request)


def _end(request: socket.socket) -> None:
    with suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)


def _handler(answer: Answer, metrics: Metrics) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = SECONDS  # a silent client must not block a thread

        def do_GET(self) -> None:
            if self.path == "/metrics":
                self._send(HTTPStatus.OK, _PROMETHEUS, metrics.prometheus_text())
            elif self.path == "/health":
                said = answer()
                serving = said["status"] == "serving"
                status = HTTPStatus.OK if serving else HTTPStatus.SERVICE_UNAVAILABLE
                self._send(status, "application/json", json.dumps(said))
            else:
                self.send_error(HTTPStatus.NOT_FOUND)

        def _send(self, status: HTTPStatus, kind: str, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing: probes come every few seconds."""

    return Handler
