"""Serve requests of the REST catalog, or of pages (`server/ui`), in another thread until the caller stops it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from paimon_core.errors import StorageError
from paimon_sql.server.rest.connections import timely
from paimon_sql.server.waiting import Waiting

_WAIT = 20  # seconds for requests in progress at the end
_BACKLOG = 128


@contextmanager
def serving(
    app: ASGIApp,
    host: str,
    port: int,
    certificate: Path | None = None,
    key: Path | None = None,
    name: str = "The REST server",
) -> Iterator[int]:
    """Serve an application during the block; yields the port. If `port` is 0, the system chooses one. `name` is the
    name of the server in errors.

    Raises `StorageError` if it cannot listen.
    """
    try:
        config = uvicorn.Config(
            app,
            http=timely(Waiting()),
            log_config=None,
            access_log=False,
            server_header=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=_WAIT,
            ssl_certfile=certificate,
            ssl_keyfile=key,
        )
        config.load()
        listening = _listen(host, port)
    except (OSError, ValueError) as error:
        raise StorageError(f"{name} cannot listen on {host}:{port}: {error}. Choose another port.") from error
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],), name="rest", daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(_WAIT + 5)
        listening.close()


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket with the protocol TCP set explicitly. Only for such sockets asyncio turns off Nagle's algorithm,
    which costs 40 ms per answer.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(_BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening
