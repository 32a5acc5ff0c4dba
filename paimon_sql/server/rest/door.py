"""The REST server as a part of `paimon-sql serve`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from paimon_core.errors import InvalidOptionError, StorageError
from paimon_core.optional_packages import import_optional
from paimon_sql.catalog.load import load_catalog
from paimon_sql.server.health import start_health
from paimon_sql.server.rest.users import Users
from paimon_sql.server.settings import ServerSettings

Say = Callable[[str], None]


@contextmanager
def open_door(options: Mapping[str, str], settings: ServerSettings, say: Say) -> Iterator[None]:
    """Serve the catalog with these options during the block. Raises `InvalidOptionError` for a catalog that is itself
    on a REST server, `UnsupportedFeatureError` if a package is missing, `StorageError` if it cannot listen.
    """
    for package in ("starlette", "uvicorn"):
        import_optional(package, "paimon-sql serve --rest", "rest-server")
    if options.get("metastore", "").strip().lower() == "rest":
        raise InvalidOptionError("--rest cannot serve a catalog with metastore=rest: it has a server already.")
    assert settings.rest is not None
    users = Users(settings.rest_tokens) if settings.rest_tokens else None
    from paimon_sql.server.rest.app import RestApp  # noqa: PLC0415  an extra
    from paimon_sql.server.rest.run import serving  # noqa: PLC0415  an extra

    app = RestApp(load_catalog(options), users, say, read_only=settings.read_only)
    with serving(app, settings.host, settings.rest, settings.tls_certificate, settings.tls_key) as port:
        say(f"REST: {'https' if settings.tls_certificate else 'http'}://{settings.host}:{port}")
        yield


def wait(settings: ServerSettings, stop: threading.Event, say: Say) -> None:
    """Wait until `stop` is set. If no other part of the server answers health checks, answer them meanwhile. Raises
    `StorageError`.
    """
    if settings.health is None:
        stop.wait()
        return
    try:
        health = start_health(settings.host, settings.health, lambda: {"status": "serving"})
    except OSError as error:
        raise StorageError(f"Health cannot listen on {settings.host}:{settings.health}: {error.strerror}.") from error
    say(f"Health: http://{settings.host}:{settings.health}/health")
    try:
        stop.wait()
    finally:
        health.shutdown()
        health.server_close()
