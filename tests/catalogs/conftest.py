"""One server of each kind for all tests of a process, and a catalog of its own for each test."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from paimon_sql.catalog.base import SupportsDatabases
from paimon_sql.catalog.load import load_catalog
from tests.catalogs.kinds import JDBC, KINDS, Place
from tests.support.hive_server import HiveServer
from tests.support.rest_server import RestServer
from tests.support.sql_servers import SqlServer, start_mariadb, start_postgres


@pytest.fixture(scope="session")
def servers() -> Iterator[Callable[[str], SqlServer]]:
    """Gives the server of a kind, which is started when it is first asked for; skips where there is none."""
    made: dict[str, SqlServer | str] = {}

    def server(kind: str) -> SqlServer:
        if kind not in made:
            pytest.importorskip("sqlalchemy", reason='needs pip install "paimon-sql[jdbc]"')
            pytest.importorskip(
                "psycopg" if kind == "postgresql" else "pymysql", reason='needs pip install "paimon-sql[all]"'
            )
            made[kind] = start_postgres() if kind == "postgresql" else start_mariadb()
        found = made[kind]
        if isinstance(found, str):
            pytest.skip(found)
        return found

    yield server
    for found in made.values():
        if isinstance(found, SqlServer):
            found.remove()


@pytest.fixture
def make_place(
    servers: Callable[[str], SqlServer], hive_server: Callable[[], HiveServer], tmp_path: Path
) -> Iterator[Callable[[str], Place]]:
    opened: list[SupportsDatabases] = []
    running = ExitStack()

    def open_catalog(options: object) -> SupportsDatabases:
        opened.append(load_catalog(options))  # type: ignore[arg-type]
        return opened[-1]

    def make(kind: str) -> Place:
        warehouse = tmp_path / "wh"
        if kind == "filesystem":
            return Place(kind, warehouse, {"warehouse": str(warehouse)}, open_catalog)
        if kind == "hive":
            server = hive_server()
            server.clear()
            given = {**server.options, "warehouse": str(warehouse)}
            return Place(kind, warehouse, given, open_catalog, default=server.warehouse, server=server)
        if kind == "rest":
            pytest.importorskip("uvicorn", reason='needs pip install "paimon-sql[rest-server]"')
            given = {"metastore": "jdbc", "warehouse": str(warehouse), "sync-all-properties": "false"}
            behind = open_catalog(given)
            server = running.enter_context(RestServer.over(behind))
            return Place(kind, warehouse, server.options(), open_catalog, server=server)
        if kind == "sqlite":
            pytest.importorskip("sqlalchemy", reason='needs pip install "paimon-sql[jdbc]"')
            given = {"metastore": "jdbc", "warehouse": str(warehouse)}
        else:
            given = {**servers(kind).options, "warehouse": str(warehouse), "catalog-key": uuid.uuid4().hex}
        return Place(kind, warehouse, given, open_catalog)

    yield make
    running.close()
    for catalog in opened:
        close = getattr(catalog, "close", None)
        if close is not None:
            close()


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, make_place: Callable[[str], Place]) -> Place:
    """A catalog of each kind."""
    return make_place(request.param)


@pytest.fixture(params=JDBC)
def jdbc_place(request: pytest.FixtureRequest, make_place: Callable[[str], Place]) -> Place:
    """A catalog in each kind of database."""
    return make_place(request.param)


# -- a REST server over a catalog -------------------------------------------------------------------------------------
@pytest.fixture
def behind(tmp_path: Path) -> Iterator[Any]:
    """The catalog behind a REST server, with a database `db`."""
    catalog: Any = load_catalog({"metastore": "jdbc", "warehouse": str(tmp_path / "wh")})
    catalog.create_database("db")
    yield catalog
    catalog.close()


@pytest.fixture
def server(behind: Any) -> Iterator[RestServer]:
    """The server."""
    with RestServer.over(behind) as running:
        yield running


@pytest.fixture
def catalog(server: RestServer) -> Any:
    """The catalog that its clients have."""
    return load_catalog(server.options())
