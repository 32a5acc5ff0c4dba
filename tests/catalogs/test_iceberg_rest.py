"""Tables that a server of Iceberg's REST API has for readers of Iceberg, of which pyiceberg is one."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.rest import RestCatalog as IcebergRestCatalog

from paimon_core.errors import InvalidNameError, InvalidOptionError, NotAllowedError, UnsupportedFeatureError
from paimon_core.maintenance.rollback import roll_back
from paimon_core.maintenance.snapshot_expiry import Retention, expire_snapshots
from paimon_core.maintenance.tags import create_tag, delete_tags, taggable_snapshot
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import BIGINT, INT, STRING
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import AddColumn, RenameColumn, SetOption, UpdateColumnType
from paimon_sql.catalog.load import load_catalog
from tests.support.iceberg_server import JARS, IcebergServer, apaches_server, small_server
from tests.support.sql_servers import free_port
from tests.support.stored import compact, insert, read
from tests.support.tables import fields, info

pytest.importorskip("urllib3", reason='needs pip install "paimon-sql[rest]"')

T, U = Identifier("db", "t"), Identifier("db", "u")
STORAGE = {"metadata.iceberg.storage": "rest-catalog"}
URI = "metadata.iceberg.rest.uri"


@pytest.fixture(params=["small", "apaches"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[IcebergServer]:
    if request.param == "small":
        with small_server() as made:
            yield made
    elif JARS is None:
        pytest.skip("PAIMON_SQL_ICEBERG_JARS names no jars: make campaign NAME=iceberg-server")
    else:
        (folder := tmp_path / "server").mkdir()
        with apaches_server(folder) as made:
            yield made


@pytest.fixture
def small() -> Iterator[IcebergServer]:
    with small_server() as made:
        yield made


def catalog_of(tmp_path: Path, server: IcebergServer | None, **more: str) -> Any:
    given = {"warehouse": str(tmp_path / "wh")} | ({} if server is None else {URI: server.uri})
    catalog: Any = load_catalog({**given, **{k.replace("__", "."): v for k, v in more.items()}})
    catalog.create_database("db", ignore_if_exists=True)
    return catalog


def schema(**options: str) -> Any:
    spelled = {name.replace("__", ".").replace("_", "-"): value for name, value in options.items()}
    return new_table_schema(fields(k=INT, v=STRING), options=STORAGE | spelled)


def at(server: IcebergServer, table: str = "db.t") -> Any:
    token = {} if server.token is None else {"token": server.token}
    return IcebergRestCatalog("lake", uri=server.uri, **token).load_table(table)


def seen(server: IcebergServer, table: str = "db.t", **scan: Any) -> list[Any]:
    """The rows that a reader of Iceberg finds by a table's name."""
    found = at(server, table).scan(**scan).to_arrow()
    return sorted(tuple(row.values()) for row in found.select(["k", "v"]).to_pylist())


def test_rows_are_found_by_name(tmp_path: Path, server: IcebergServer) -> None:
    catalog = catalog_of(tmp_path, server)
    catalog.create_table(T, schema())
    for n in range(4):
        insert(catalog.load_table(T), [(n, f"v{n}")])
        assert seen(server) == read(catalog.load_table(T))
    assert seen(server, snapshot_id=2) == [(0, "v0"), (1, "v1")]
    of_the_server = list((tmp_path / "wh" / "db.db" / "t").glob("metadata/*.metadata.json"))
    assert len(of_the_server) <= 2, "it keeps no more of its metadata than is asked for"
    identity = at(server).metadata.table_uuid
    catalog.load_table(T).truncate(info())
    assert seen(server) == []
    assert at(server).metadata.table_uuid == identity
    roll_back(catalog.load_table(T).store, snapshot_id=2)
    assert seen(server) == [(0, "v0"), (1, "v1")]
    insert(catalog.load_table(T), [(9, "again")])
    assert seen(server) == read(catalog.load_table(T)) == [(0, "v0"), (1, "v1"), (9, "again")]
    assert [s.snapshot_id for s in at(server).metadata.snapshots] == [2, 3]


def test_properties_of_the_table(tmp_path: Path, server: IcebergServer) -> None:
    catalog, key = catalog_of(tmp_path, server), "metadata.iceberg.table-properties."
    catalog.create_table(T, schema(**{f"{key}owner": "ops", f"{key}write.parquet.compression-codec": "zstd"}))
    insert(catalog.load_table(T), [(1, "a")])
    wanted = {"owner": "ops", "write.parquet.compression-codec": "zstd", "write.metadata.previous-versions-max": "0"}
    assert at(server).metadata.properties.items() >= wanted.items()
    catalog.alter_table(T, [SetOption(f"{key}owner", "web"), SetOption(f"{key}team", "b")])
    insert(catalog.load_table(T), [(2, "b")])
    assert at(server).metadata.properties.items() >= {**wanted, "owner": "web", "team": "b"}.items()
    for name, said in (("format-version", "Iceberg sets this property itself"), ("", "names no property")):
        with pytest.raises(InvalidOptionError, match=said):
            schema(**{f"{key}{name}": "2"})


def test_keyed_partitioned_tables_through_changes_of_columns(tmp_path: Path, server: IcebergServer) -> None:
    catalog = catalog_of(tmp_path, server)
    keys = {"partition_keys": ("v",), "primary_keys": ("k", "v")}
    catalog.create_table(T, new_table_schema(fields(k=INT, v=STRING), options=STORAGE | {"bucket": "1"}, **keys))
    insert(catalog.load_table(T), [(1, "a"), (2, "a"), (1, "b")])
    compact(catalog.load_table(T))
    insert(catalog.load_table(T), [(2, "a"), (3, "b")])
    assert seen(server) == [(1, "a"), (1, "b"), (2, "a")], "what is compacted"
    compact(catalog.load_table(T))
    assert seen(server) == read(catalog.load_table(T)) == [(1, "a"), (1, "b"), (2, "a"), (3, "b")]
    catalog.alter_table(T, [SetOption("write-only", "false")])  # a version with the same columns
    insert(catalog.load_table(T), [(4, "a")])
    compact(catalog.load_table(T))
    assert seen(server) == read(catalog.load_table(T))
    catalog.alter_table(T, [AddColumn(("m",), INT)])
    catalog.alter_table(T, [RenameColumn(("m",), "o")])
    catalog.alter_table(T, [UpdateColumnType(("o",), BIGINT)])
    catalog.load_table(T).truncate(info())
    assert seen(server) == []
    assert [f"{f.name} {f.field_type}" for f in at(server).schema().fields] == ["k int", "v string", "o long"]
    assert seen(server, snapshot_id=2) == [(1, "a"), (1, "b"), (2, "a")]


def test_tags_and_expiry_are_followed(tmp_path: Path, server: IcebergServer) -> None:
    catalog = catalog_of(tmp_path, server)
    catalog.create_table(T, schema())
    insert(catalog.load_table(T), [(1, "a")])
    store = catalog.load_table(T).store
    create_tag(store, "first", taggable_snapshot(store, None))
    for n in (2, 3, 4):
        insert(catalog.load_table(T), [(n, "a")])
    assert at(server).snapshot_by_name("first").snapshot_id == 1
    expire_snapshots(store, Retention(least=1, most=1, older_than=0, limit=100), 0)
    assert sorted(s.snapshot_id for s in at(server).metadata.snapshots) == [1, 4]
    delete_tags(store, ["first"])
    insert(catalog.load_table(T), [(5, "a")])
    assert set(at(server).refs()) == {"main"}
    assert seen(server) == read(catalog.load_table(T))


def test_a_table_made_again_is_another(tmp_path: Path, server: IcebergServer) -> None:
    catalog = catalog_of(tmp_path, server)
    found = []
    for value in (1, 2):
        catalog.create_table(T, schema())
        insert(catalog.load_table(T), [(value, "a")])
        assert seen(server) == [(value, "a")]
        found.append(at(server).metadata.table_uuid)
        catalog.drop_table(T)
    assert found[0] != found[1]


def test_a_table_is_there_by_its_new_name(
    tmp_path: Path, server: IcebergServer, caplog: pytest.LogCaptureFixture
) -> None:
    catalog = catalog_of(tmp_path, server)
    catalog.create_table(T, schema())
    insert(catalog.load_table(T), [(1, "a")])
    catalog.rename_table(T, U)
    assert seen(server, "db.u") == read(catalog.load_table(U)) == [(1, "a")]
    insert(catalog.load_table(U), [(2, "b")])
    assert seen(server, "db.u") == read(catalog.load_table(U))
    assert caplog.messages == []


def test_the_last_of_many_writers_is_named(tmp_path: Path, server: IcebergServer) -> None:
    catalog = catalog_of(tmp_path, server)
    catalog.create_table(T, schema())
    with ThreadPoolExecutor(3) as threads:
        writers = [
            threads.submit(lambda n: insert(catalog_of(tmp_path, server).load_table(T), [(n, "x")]), n)
            for n in range(9)
        ]
        assert None not in [w.result() for w in writers]
    assert at(server).current_snapshot().snapshot_id == 9
    assert seen(server) == read(catalog.load_table(T))


def test_a_commit_stands_where_the_server_does_not_answer(
    tmp_path: Path, small: IcebergServer, caplog: pytest.LogCaptureFixture
) -> None:
    catalog = catalog_of(tmp_path, small)
    catalog.create_table(T, schema())
    insert(catalog.load_table(T), [(1, "a")])
    nowhere = catalog_of(tmp_path, None, **{URI: f"http://127.0.0.1:{free_port()}"})
    assert insert(nowhere.load_table(T), [(2, "b")]) is not None
    assert "The Iceberg table db.t at http://127.0.0.1:" in caplog.text and "cannot be reached" in caplog.text
    assert "The next commit to db.t brings it in line" in caplog.text
    assert seen(small) == [(1, "a")]
    insert(catalog.load_table(T), [(3, "c")])
    assert seen(small) == read(catalog.load_table(T))


@pytest.mark.parametrize(("status", "is_again"), [(500, False), (409, False), (400, True), (503, False)])
def test_what_a_server_says_of_a_commit(tmp_path: Path, small: IcebergServer, status: int, is_again: bool) -> None:
    """A lost answer, another's commit and a busy server: once more; refused for what it holds: registered anew."""
    catalog = catalog_of(tmp_path, small)
    catalog.create_table(T, schema())
    insert(catalog.load_table(T), [(1, "a")])
    left = [status]

    def refuse(method: str, path: str) -> Any:
        if method == "POST" and path.endswith("/tables/t") and left:
            return left.pop(), {"error": {"message": "no", "type": "x", "code": status}}
        return None

    small.refuse = refuse
    small.requests.clear()
    insert(catalog.load_table(T), [(2, "b")])
    assert left == [] and seen(small) == read(catalog.load_table(T))
    assert (("DELETE", "/v1/lake/namespaces/db/tables/t") in small.requests) == is_again


def test_a_server_that_registers_no_tables(
    tmp_path: Path, small: IcebergServer, caplog: pytest.LogCaptureFixture
) -> None:
    small.refuse = lambda method, path: (501, {}) if path.endswith("/register") else None
    catalog = catalog_of(tmp_path, small)
    catalog.create_table(T, schema())
    assert insert(catalog.load_table(T), [(1, "a")]) is not None
    assert "only servers that can register tables are supported" in caplog.text
    assert list(tmp_path.rglob("rest-register-*")) == []
    small.refuse = lambda method, path: None
    insert(catalog.load_table(T), [(2, "b")])
    small.refuse = lambda method, path: (404, {}) if path.endswith("/register") else None
    roll_back(catalog.load_table(T).store, snapshot_id=1)
    assert seen(small) == [(1, "a"), (2, "b")], "it is not dropped where it could not be made again"


def test_what_is_another_tables_is_not_touched(
    tmp_path: Path, small: IcebergServer, caplog: pytest.LogCaptureFixture
) -> None:
    catalog, other = catalog_of(tmp_path, small), catalog_of(tmp_path / "other", small)
    for each in (catalog, other):
        each.create_table(T, schema())
        insert(each.load_table(T), [(1, str(each is catalog))])
    assert "is another table, in file:///" in caplog.text and "'metadata.iceberg.table'" in caplog.text
    assert seen(small) == [(1, "True")]
    other.alter_table(T, [SetOption("metadata.iceberg.table", "mine"), SetOption("metadata.iceberg.database", "else")])
    insert(other.load_table(T), [(2, "x")])
    assert seen(small, "else.mine") == [(1, "False"), (2, "x")]


def test_who_asks(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with small_server(token="secret-token") as server:
        catalog = catalog_of(tmp_path, server, metadata__iceberg__rest__credential="me:let me in")
        catalog.create_table(T, schema())
        insert(catalog.load_table(T), [(1, "a")])
        given = catalog_of(tmp_path, server, metadata__iceberg__rest__token="secret-token")
        insert(given.load_table(T), [(2, "b")])
        assert seen(server) == [(1, "a"), (2, "b")]
        wrong = catalog_of(tmp_path, server, metadata__iceberg__rest__credential="me:let them in")
        assert insert(wrong.load_table(T), [(3, "c")]) is not None
        assert "401" in caplog.text and "let them in" not in caplog.text
        with pytest.raises(InvalidOptionError, match="metadata.iceberg.rest.credential.*Set it on the catalog"):
            catalog.create_table(U, schema(metadata__iceberg__rest__credential="me:let me in"))


def test_whose_server_it_is(tmp_path: Path, small: IcebergServer) -> None:
    """A table names one itself where its catalog allows that; what is secret of the catalog's stays with its server."""
    plain = catalog_of(tmp_path, None)
    with pytest.raises(InvalidOptionError, match="and no server: set 'metadata.iceberg.rest.uri'"):
        plain.create_table(T, schema())
    named = schema(metadata__iceberg__rest__uri=small.uri)
    with pytest.raises(NotAllowedError, match="'allowed-iceberg-catalogs' must list that address"):
        plain.create_table(T, named)
    allowing = catalog_of(tmp_path, None, **{"allowed-iceberg-catalogs": small.uri})
    allowing.create_table(T, named)
    with pytest.raises(NotAllowedError):
        insert(plain.load_table(T), [(1, "a")])
    insert(allowing.load_table(T), [(1, "a")])
    told = {URI: small.uri + "/"}
    table = plain.load_table(T)
    insert(replace(table, store=table.store.with_options(told)), [(2, "b")])
    assert seen(small) == [(1, "a"), (2, "b")]
    asks = {"metadata__iceberg__rest__oauth2_server_uri": "http://elsewhere/token"}
    with pytest.raises(NotAllowedError, match="oauth2-server-uri"):
        allowing.create_table(U, schema(metadata__iceberg__rest__uri=small.uri, **asks))


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"metadata__iceberg__rest__rest__sigv4_enabled": "true"}, UnsupportedFeatureError, "rest.auth.type"),
        ({"metadata__iceberg__database": "a;b"}, InvalidNameError, "only one name at an Iceberg server"),
    ],
)
def test_definitions_that_cannot_be_named(
    tmp_path: Path, small: IcebergServer, options: dict[str, str], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        catalog_of(tmp_path, small).create_table(T, schema(**options))


def test_addresses_are_checked(tmp_path: Path) -> None:
    catalog = catalog_of(tmp_path, None, **{URI: "ftp://host"})
    with pytest.raises(InvalidOptionError, match="server of its Iceberg metadata: Option 'uri' cannot be 'ftp://host'"):
        catalog.create_table(T, schema())


def test_a_table_that_is_replaced_is_followed_at_once(tmp_path: Path, server: IcebergServer) -> None:
    """One that is partitioned otherwise is written beside the old one first, under a name that nobody is to see."""
    catalog = catalog_of(tmp_path, server)
    catalog.create_table(T, schema())
    insert(catalog.load_table(T), [(1, "old")])
    parted = new_table_schema(fields(k=INT, v=STRING), partition_keys=("v",), options=STORAGE)
    staged = catalog.stage_replace(T, parted)
    staged.publish()
    insert(staged.table, [(2, "new")])
    assert seen(server) == [(1, "old")], "nobody sees it before it is there"
    staged.finish()
    assert seen(server) == read(catalog.load_table(T)) == [(2, "new")]
    assert IcebergRestCatalog("lake", uri=server.uri).table_exists("db.t")
    assert [p.name for p in (tmp_path / "wh" / "iceberg" / "db").iterdir()] == ["t"]
