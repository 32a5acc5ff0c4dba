"""SQL databases that fail: quick errors that say what is wrong, nothing half made, and a second try that works."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import StorageError, StorageRefusedError
from paimon_core.spec.identifier import Identifier
from paimon_core.store.ddl.schema_changes import SetOption
from paimon_sql.catalog.load import load_catalog
from tests.catalogs.kinds import OTHER_VIEW, SCHEMA, VIEW
from tests.support.lossy_proxy import LossyProxy
from tests.support.sql_servers import PASSWORD, SqlServer
from tests.support.stored import insert, read

pytest.importorskip("sqlalchemy", reason='needs pip install "paimon-sql[jdbc]"')

from paimon_sql.catalog.jdbc.locks import JdbcLock

T, U, V, W = (Identifier("db", name) for name in "tuvw")
ROWS = [(1, "a"), (2, "b")]


@pytest.fixture(params=["postgresql", "mariadb"])
def server(request: pytest.FixtureRequest, servers: Callable[[str], SqlServer]) -> SqlServer:
    found = servers(request.param)
    if found.process is None:
        found.start()
    return found


@pytest.fixture
def database(server: SqlServer) -> str:
    """A database that nobody else uses."""
    return server.new_database()


@pytest.fixture
def opened(server: SqlServer, database: str, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Opens a catalog in the database, as the given user, or through another port."""
    made: list[Any] = []

    def open_catalog(port: int | None = None, user: str | None = None, password: str = PASSWORD) -> Any:
        options = {**server.options_of(database), "warehouse": str(tmp_path / "wh"), "jdbc.password": password}
        options["uri"] = options["uri"].replace(f":{server.port}/", f":{port or server.port}/")
        made.append(load_catalog(options | ({} if user is None else {"jdbc.user": user})))
        return made[-1]

    yield open_catalog
    for each in made:
        each.close()


@pytest.fixture
def catalog(opened: Callable[..., Any]) -> Any:
    """A catalog with the table `db.t`, which has rows."""
    made = opened()
    made.create_database("db")
    made.create_table(T, SCHEMA)
    insert(made.load_table(T), ROWS)
    return made


def folders(tmp_path: Path) -> set[str]:
    return {p.name for p in (tmp_path / "wh" / "db.db").iterdir()}


def test_a_server_that_is_stopped_and_started(server: SqlServer, catalog: Any, tmp_path: Path) -> None:
    if server.kind == "mariadb":
        server.query("SET GLOBAL innodb_flush_log_at_trx_commit = 1")
        catalog.alter_database("db", {"a": "b"})  # so that what was written before is on the disk
    table = catalog.load_table(T)
    server.stop()
    try:
        for call in (catalog.list_databases, lambda: catalog.load_table(T), lambda: catalog.create_table(U, SCHEMA)):
            with pytest.raises(StorageError, match=r"catalog's database .*(cannot be reached|failed)") as caught:
                call()
            assert PASSWORD not in str(caught.value)
        insert(table, [(3, "c")])  # commits to local disks need no database
        assert folders(tmp_path) == {"t"}
    finally:
        server.start()
    assert sorted(read(catalog.load_table(T))) == [*ROWS, (3, "c")]
    catalog.create_table(U, SCHEMA)
    assert catalog.list_tables("db") == ["t", "u"]


def test_connections_that_are_cut(server: SqlServer, database: str, catalog: Any) -> None:
    """By an administrator, or by a firewall that drops what is idle: the next statement does not notice."""

    def cut() -> None:
        if server.kind == "postgresql":
            server.query(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'")
            return
        for (number,) in server.query(f"SELECT id FROM information_schema.processlist WHERE db = '{database}'"):
            server.query(f"KILL {number}")

    for call in (
        lambda: catalog.load_table(T),
        lambda: catalog.create_table(U, SCHEMA),
        lambda: catalog.create_view(V, VIEW),
        lambda: catalog.rename_table(U, W),
        lambda: catalog.drop_table(W),
    ):
        cut()
        call()
    assert (catalog.list_tables("db"), catalog.list_views("db")) == (["t"], ["v"])


def test_an_answer_that_is_lost_after_its_effect(
    server: SqlServer, opened: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the COMMIT of each change: it is looked up whether it was made, or it is made again."""
    proxy = LossyProxy(server.port, b"COMMIT", lose=0)
    catalog = opened(port=proxy.port)
    catalog.list_databases()
    for change in (
        lambda: catalog.create_database("db"),
        lambda: catalog.alter_database("db", {"a": "b"}),
        lambda: catalog.create_table(T, SCHEMA),
        lambda: catalog.alter_table(T, [SetOption("snapshot.num-retained.min", "3")]),
        lambda: catalog.rename_table(T, U),
        lambda: catalog.create_view(V, VIEW),
        lambda: catalog.replace_view(V, OTHER_VIEW),
        lambda: catalog.rename_view(V, W),
    ):
        proxy.lose = 1
        change()
        assert proxy.lose == 0
    assert catalog.database_properties("db")["a"] == "b" and catalog.load_view(W) == OTHER_VIEW
    assert (catalog.list_tables("db"), catalog.list_views("db"), folders(tmp_path)) == (["u"], ["w"], {"u"})
    proxy.lose = 1
    catalog.drop_view(W)
    assert proxy.lose == 0
    monkeypatch.setattr(JdbcLock, "renew", lambda lock, token: token)  # else the answer to that were lost
    proxy.lose = 1
    catalog.drop_table(U)
    assert proxy.lose == 0
    proxy.lose = 1
    catalog.drop_database("db")
    assert proxy.lose == 0 and catalog.list_databases() == ["default"]
    proxy.close()


def test_a_wrong_password(opened: Callable[..., Any], tmp_path: Path) -> None:
    wrong = opened(password="not-the-word")
    for call in (wrong.list_databases, lambda: wrong.create_database("db")):
        with pytest.raises(StorageError, match="'jdbc.password'") as caught:
            call()
        assert "not-the-word" not in str(caught.value)
    assert not (tmp_path / "wh" / "db.db").exists()


def test_a_database_that_cannot_be_written(
    server: SqlServer, database: str, catalog: Any, opened: Callable[..., Any], tmp_path: Path
) -> None:
    """A replica, or a user who may only read."""
    catalog.create_view(V, VIEW)
    if server.kind == "postgresql":
        server.query(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
        reader = opened()
    else:
        server.query(f"CREATE USER IF NOT EXISTS 'reader'@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'")
        server.query(f"GRANT SELECT ON {database}.* TO 'reader'@'127.0.0.1'")
        reader = opened(user="reader")
    assert sorted(read(reader.load_table(T))) == ROWS and reader.load_view(V) == VIEW
    for call in (
        lambda: reader.create_database("other"),
        lambda: reader.create_table(U, SCHEMA),
        lambda: reader.drop_table(T),
        lambda: reader.rename_table(T, U),
        lambda: reader.alter_table(T, [SetOption("snapshot.num-retained.min", "3")]),
        lambda: reader.create_view(W, VIEW),
        lambda: reader.drop_view(V),
    ):
        with pytest.raises(StorageRefusedError, match="check .* what this user may do there"):
            call()
    assert folders(tmp_path) == {"t"} and sorted(read(reader.load_table(T))) == ROWS
    assert (catalog.list_tables("db"), catalog.list_views("db")) == (["t"], ["v"])


NO_ROOM = {
    "postgresql": (
        "CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$",
        "CREATE TRIGGER no_room_{0} BEFORE INSERT OR UPDATE ON {0} FOR EACH ROW EXECUTE FUNCTION no_room()",
    ),
    "mariadb": (
        "CREATE TRIGGER no_room_{0} BEFORE INSERT ON {0} FOR EACH ROW "
        "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1114, MESSAGE_TEXT = 'No space left on device'",
        "CREATE TRIGGER no_room_of_{0} BEFORE UPDATE ON {0} FOR EACH ROW "
        "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1114, MESSAGE_TEXT = 'No space left on device'",
    ),
}


def test_a_server_without_room(server: SqlServer, database: str, catalog: Any, tmp_path: Path) -> None:
    """As a server whose disk is full refuses: what it has is read, nothing is half made, with room it goes on."""
    catalog.create_view(V, VIEW)
    tables = ("paimon_tables", "paimon_table_properties", "paimon_database_properties", "paimon_views")
    for statement in NO_ROOM[server.kind]:
        for table in tables if "{0}" in statement else ("",):
            server.query(statement.format(table), database)
    changes: tuple[Callable[[], Any], ...] = (
        lambda: catalog.create_database("other"),
        lambda: catalog.alter_database("db", {"a": "b"}),
        lambda: catalog.create_table(U, SCHEMA),
        lambda: catalog.rename_table(T, U),
        lambda: catalog.create_view(W, VIEW),
        lambda: catalog.replace_view(V, replace(VIEW, comment="other")),
    )
    for change in changes:
        with pytest.raises(StorageRefusedError, match="No space left on device"):
            change()
    assert folders(tmp_path) == {"t"} and sorted(read(catalog.load_table(T))) == ROWS
    assert (catalog.list_databases(), catalog.list_tables("db")) == (["db", "default"], ["t"])
    assert (catalog.list_views("db"), catalog.load_view(V)) == (["v"], VIEW)
    for table in tables:
        for name in (f"no_room_{table}", f"no_room_of_{table}"):
            on = f" ON {table}" if server.kind == "postgresql" else ""
            server.query(f"DROP TRIGGER IF EXISTS {name}{on}", database)
    for change in changes[:3]:
        change()
    catalog.rename_table(T, Identifier("other", "t"))
    for change in changes[4:]:
        change()
    assert (catalog.list_tables("db"), catalog.list_views("db")) == (["u"], ["v", "w"])


def test_a_database_without_room(tmp_path: Path) -> None:
    """SQLite's file may have no more pages: what it has is read, nothing half made is seen, with room it goes on."""
    from sqlalchemy import event  # noqa: PLC0415  an extra

    catalog: Any = load_catalog({"metastore": "jdbc", "warehouse": str(tmp_path / "wh")})
    catalog.create_database("db")
    catalog.create_table(T, SCHEMA)
    insert(catalog.load_table(T), ROWS)
    catalog.close()

    def fill(connection: Any, record: Any) -> None:
        connection.execute("PRAGMA max_page_count = 1")  # SQLite takes as many as there are

    event.listen(catalog._database._engine, "connect", fill)
    with pytest.raises(StorageRefusedError, match="is full"):
        for n in range(200):
            catalog.alter_database("db", {f"{n}": "x" * 900})
    with pytest.raises(StorageRefusedError, match="is full"):
        for n in range(200):
            catalog.create_table(Identifier("db", f"t{n}"), SCHEMA)
    assert sorted(read(catalog.load_table(T))) == ROWS
    listed = catalog.list_tables("db")
    event.remove(catalog._database._engine, "connect", fill)
    catalog.close()
    again = Identifier("db", f"t{len(listed) - 1}")
    assert again.table not in listed
    catalog.create_table(again, SCHEMA)
    assert catalog.load_table(again).schema.fields == SCHEMA.fields
    catalog.close()
