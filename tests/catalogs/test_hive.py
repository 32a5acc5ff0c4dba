"""What only a Hive metastore has: tables of others, places, servers that fail, locks that Java's writers take, too."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.arrow.types import arrow_schema
from paimon_core.errors import (
    CommitConflictError,
    DatabaseExistsError,
    DatabaseNotEmptyError,
    InvalidOptionError,
    NotFoundError,
    StorageError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedFeatureError,
    ViewExistsError,
)
from paimon_core.expressions.predicate import Compare
from paimon_core.format_table.table import FormatTable
from paimon_core.format_table.write import FormatTableWriter
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import INT, STRING
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import AddColumn, RemoveOption, SetOption
from tests.catalogs.kinds import OTHER_SCHEMA, SCHEMA, VIEW, Place
from tests.support.hive_server import HAS_LOCKS, HiveServer, start_hive
from tests.support.lossy_proxy import LossyProxy
from tests.support.stored import insert, read
from tests.support.tables import fields
from tests.support.waiting import PATIENCE

pytest.importorskip("pymetastore", reason='needs pip install "paimon-sql[hive]"')

from pymetastore.hive_metastore import ttypes

from paimon_sql.catalog.hive.failures import Answer, MetastoreError

_ROOT = Path(__file__).parents[2]
T, U, V = (Identifier("db", name) for name in "tuv")
ROWS = [(1, "a"), (2, "b")]


needs_locks = pytest.mark.skipif(not HAS_LOCKS, reason="this metastore's database has no tables for locks")


@pytest.fixture
def place(make_place: Callable[[str], Place]) -> Place:
    return make_place("hive")


@pytest.fixture
def catalog(place: Place) -> Any:
    made = place.catalog()
    made.create_database("db")
    return made


@pytest.fixture
def own_server() -> Iterator[HiveServer]:
    """A metastore that a test may stop and start."""
    server = start_hive()
    if isinstance(server, str):
        pytest.skip(server)
    yield server
    server.remove()


def hive_table(name: str, **more: Any) -> Any:
    """A table of Hive's own, in a format that no format table has."""
    sd = ttypes.StorageDescriptor(
        cols=[ttypes.FieldSchema("k", "int", None)],
        inputFormat="org.apache.hadoop.mapred.SequenceFileInputFormat",
        outputFormat="org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat",
        serdeInfo=ttypes.SerDeInfo(serializationLib="org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"),
    )
    return ttypes.Table(**{"tableName": name, "dbName": "db", "sd": sd, "partitionKeys": [], "parameters": {}, **more})


# -- tables of others -------------------------------------------------------------------------------------------------
def test_tables_of_others_are_named_and_left_alone(catalog: Any, place: Place) -> None:
    client = place.server.client()
    client.create_table(hive_table("other"))
    client.create_table(hive_table("iceberg", parameters={"table_type": "ICEBERG"}))
    catalog.create_table(T, SCHEMA)
    assert catalog.list_tables("db") == ["t"] and not catalog.table_exists(Identifier("db", "other"))
    other = Identifier("db", "other")
    for call in (catalog.load_table, catalog.drop_table, lambda name: catalog.rename_table(name, U)):
        with pytest.raises(TableNotFoundError, match=r"no Paimon table db\.other in .*SequenceFileInputFormat"):
            call(other)
    with pytest.raises(TableNotFoundError, match="table of ICEBERG"):
        catalog.load_table(Identifier("db", "iceberg"))
    for create in (catalog.create_table, catalog.stage_create):
        with pytest.raises(TableExistsError, match=r"db\.other already exists in the metastore: it is a table of"):
            create(other, SCHEMA)
    with pytest.raises(TableExistsError):
        catalog.create_table(other, SCHEMA, ignore_if_exists=True)
    with pytest.raises(TableExistsError):
        catalog.rename_table(T, other)
    with pytest.raises(DatabaseNotEmptyError, match="still has 2 tables that are not Paimon's, iceberg among them"):
        catalog.drop_database("db", cascade=True)
    assert sorted(client.get_all_tables("db")) == ["iceberg", "other"] and "db/t" not in place.folders()


def test_partitions_of_format_tables(catalog: Any, place: Place) -> None:
    """The metastore gets those that are written, and says where others lie."""
    client = place.server.client()
    schema = new_table_schema(fields(v=INT, p=STRING), ["p"], {"type": "format-table", "file.format": "parquet"})
    catalog.create_table(T, schema)
    files = FormatTable.of(catalog.load_table(T).store)

    def add(*rows: tuple[int, str | None]) -> None:
        writer = FormatTableWriter(files.store)
        named = [dict(zip(("v", "p"), row, strict=True)) for row in rows]
        writer.write(pa.RecordBatch.from_pylist(named, arrow_schema(files.schema.fields)))
        files.commit(writer.finish())

    add((1, "a"), (2, "b/c"))
    add((3, "a"), (4, None))
    assert sorted(client.get_partition_names("db", "t", -1)) == ["p=__DEFAULT_PARTITION__", "p=a", "p=b%2Fc"]
    part = client.get_partition("db", "t", ["b/c"])
    assert part.sd.location.removeprefix("file:") == f"{files.store.root}/p=b%2Fc"
    part.sd.location = f"{files.store.root}/elsewhere"
    client.alter_partitions("db", "t", [part])
    Path(files.store.root, "p=b%2Fc").rename(f"{files.store.root}/elsewhere")
    (split,) = files.plan(Compare("p", "=", "b/c")).splits
    assert all(path.startswith(f"{files.store.root}/elsewhere/") for path in split.paths)
    with pytest.raises(UnsupportedFeatureError, match=r"\(p = 'b/c'\) of table db\.t cannot be written"):
        add((5, "b/c"))
    assert len(files.plan().splits) == 3
    client.drop_partition("db", "t", ["b/c"], False)  # what is not under a key's name is no partition then
    assert len(files.plan().splits) == 2


def test_listing_without_filters_in_the_metastore(catalog: Any, place: Place) -> None:
    place.server.client().create_table(hive_table("other"))
    for name in ("a", "b", "c"):
        catalog.create_table(Identifier("db", name), SCHEMA)
    plain: Any = place.catalog(**{"hive.metastore.batch.retrieve.max": "2"})
    plain._metastore._unknown.add("get_table_names_by_filter")
    assert plain.list_tables("db") == catalog.list_tables("db") == ["a", "b", "c"]
    with pytest.raises(NotFoundError, match="no database nope"):
        plain.list_tables("nope")


# -- names ------------------------------------------------------------------------------------------------------------
_NAMING = ("create_database", "create_table", "alter_table_with_environment_context")
TAKING: dict[str, tuple[Callable[[Any, Identifier], object], type[Exception]]] = {
    "database": (lambda c, n: c.create_database(n.table), DatabaseExistsError),
    "table": (lambda c, n: c.create_table(n, SCHEMA), TableExistsError),
    "renamed table": (lambda c, n: c.rename_table(T, n), TableExistsError),
    "view": (lambda c, n: c.create_view(n, VIEW), ViewExistsError),
    "renamed view": (lambda c, n: c.rename_view(V, n), ViewExistsError),
}


@pytest.mark.parametrize("what", TAKING)
def test_a_metastore_that_fails_as_another_takes_the_name(catalog: Any, place: Place, what: str) -> None:
    """Hive 4 answers with a failure inside, by words of its database, not that the name is taken."""
    act, kind = TAKING[what]
    catalog.create_table(T, SCHEMA)
    catalog.create_view(V, VIEW)
    failing, other, taken = place.catalog(), place.catalog(), Identifier("db", "new")
    take = TAKING[what.removeprefix("renamed ")][0]

    def fails(call: str, *arguments: Any, others: bool) -> None:
        if others and call in _NAMING:  # without locks, whose calls fail, too
            take(other, taken)
        raise MetastoreError("JDODataStoreException: 23505", Answer.FAILED)

    metastore: Any = failing._metastore  # type: ignore[attr-defined]
    read = metastore.read
    metastore.read = lambda call, *a: fails(call, others=False) if call == "show_locks" else read(call, *a)
    metastore.change = partial(fails, others=False)
    with pytest.raises(MetastoreError, match="JDODataStoreException"):
        act(failing, taken)
    metastore.change = partial(fails, others=True)
    with pytest.raises(kind):
        act(failing, taken)
    assert other.list_tables("db") == (["new", "t"] if "table" in what else ["t"])
    assert other.list_views("db") == (["new", "v"] if "view" in what else ["v"])


# -- places -----------------------------------------------------------------------------------------------------------
def test_external_tables(catalog: Any, place: Place, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "t"
    external = new_table_schema(fields(k=INT, v=STRING), options={"path": str(elsewhere)})
    catalog.create_table(T, external)
    insert(catalog.load_table(T), ROWS)
    assert (elsewhere / "schema" / "schema-0").exists() and place.folders() == set()
    assert place.server.client().get_table("db", "t").tableType == "EXTERNAL_TABLE"
    catalog.rename_table(T, U)
    catalog.alter_table(U, [AddColumn(("w",), INT)])
    assert sorted(read(place.catalog().load_table(U))) == ROWS
    catalog.drop_table(U)
    assert (elsewhere / "schema" / "schema-1").exists() and catalog.list_tables("db") == []
    with pytest.raises(InvalidOptionError, match="the folder has a table with other columns"):
        catalog.create_table(T, external)
    there = new_table_schema(fields(k=INT, v=STRING, w=INT), options={"path": str(elsewhere)})
    catalog.create_table(T, there)
    assert sorted(read(catalog.load_table(T))) == ROWS
    all_external = place.catalog(table__type="external")
    all_external.create_table(U, SCHEMA)
    all_external.drop_table(U)
    assert place.folders() == {"db/u"}


def test_databases_elsewhere(catalog: Any, place: Place, tmp_path: Path) -> None:
    catalog.create_database("far", {"location": f"file:{tmp_path}/far", "owner": "somebody"})
    catalog.create_table(Identifier("far", "t"), SCHEMA)
    assert (tmp_path / "far" / "t" / "schema").exists()
    found = place.catalog().database_properties("far")
    assert found == {"location": str(tmp_path / "far"), "owner": "somebody"}
    catalog.rename_table(Identifier("far", "t"), T)
    assert place.folders() == {"db/t"}
    catalog.drop_database("far")
    assert not (tmp_path / "far").exists()


def test_places_in_properties(place: Place) -> None:
    given = {"location_in_properties": "true"}
    catalog = place.catalog(**given)
    catalog.create_database("db", {"a": "b"})
    assert place.server.client().get_database("db").parameters["paimon_location"] == f"{place.warehouse}/db.db"
    assert catalog.database_properties("db").items() >= {"a": "b", "location": f"{place.warehouse}/db.db"}.items()
    catalog.create_table(T, SCHEMA)
    insert(catalog.load_table(T), ROWS)
    catalog.rename_table(T, U)
    entry = place.server.client().get_table("db", "u")
    assert entry.parameters["paimon_location"] == f"{place.warehouse}/db.db/u"
    assert sorted(read(place.catalog().load_table(U))) == ROWS
    catalog.drop_table(U)
    assert {name for name in place.folders() if name.startswith("db/")} == set()
    assert not list(place.server.warehouse.glob("db.db/*"))


def test_a_place_that_holds_others_is_not_deleted(catalog: Any, place: Place) -> None:
    catalog.create_table(T, SCHEMA)
    catalog.create_table(U, SCHEMA)
    client = place.server.client()
    for location in (place.warehouse, place.warehouse / "db.db", Path("/")):
        entry = client.get_table("db", "u")
        entry.sd.location = str(location)
        without_statistics = ttypes.EnvironmentContext({"DO_NOT_UPDATE_STATS": "true"})
        client.alter_table_with_environment_context("db", "u", entry, without_statistics)
        with pytest.raises(StorageError, match="this folder contains other folders"):
            catalog.drop_table(U)
    assert catalog.table_exists(T) and (place.warehouse / "db.db" / "t" / "schema" / "schema-0").exists()


# -- definitions ------------------------------------------------------------------------------------------------------
def test_the_entry_follows_the_schema(catalog: Any, place: Place) -> None:
    catalog.create_table(T, SCHEMA)
    catalog.alter_table(T, [AddColumn(("w",), INT), SetOption("snapshot.num-retained.min", "3")])
    client = place.server.client()
    entry = client.get_table("db", "t")
    assert [c.name for c in entry.sd.cols] == ["k", "v", "w"]
    assert entry.parameters["snapshot.num-retained.min"] == "3"
    entry.parameters["of.others"] = "stays"
    client.alter_table("db", "t", entry)
    catalog.alter_table(T, [RemoveOption("snapshot.num-retained.min")])
    assert "snapshot.num-retained.min" not in client.get_table("db", "t").parameters
    assert client.get_table("db", "t").parameters["of.others"] == "stays"
    staged = catalog.stage_replace(T, OTHER_SCHEMA)
    staged.publish()
    assert [c.name for c in client.get_table("db", "t").sd.cols] == ["k", "v", "w"]


def test_columns_that_the_metastore_does_not_accept(
    catalog: Any, place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    """It compares columns by position. The schema counts: Paimon's engines do not read columns there."""
    catalog.create_table(T, new_table_schema(fields(k=INT, v=STRING)))
    staged = catalog.stage_replace(T, new_table_schema(fields(v=STRING, k=INT)))
    staged.publish()
    assert [f.name for f in place.catalog().load_table(T).schema.fields] == ["v", "k"]
    assert "incompatible" in caplog.text and "CALL sys.repair('db.t')" in caplog.text


def test_folders_that_lost_their_entries(catalog: Any, place: Place) -> None:
    catalog.create_table(T, SCHEMA)
    insert(catalog.load_table(T), ROWS)
    place.server.client().drop_table("db", "t", False)
    with pytest.raises(TableExistsError, match=r"CALL sys\.repair\('db\.t'\)"):
        catalog.create_table(T, SCHEMA)
    assert (catalog.list_tables("db"), catalog.unregistered_tables("db")) == ([], ["t"])
    catalog.register_table(T)
    catalog.register_table(T)
    assert sorted(read(catalog.load_table(T))) == ROWS and catalog.unregistered_tables("db") == []
    with pytest.raises(NotFoundError, match="no schema file"):
        catalog.register_table(U)
    client = place.server.client()
    entry = client.get_table("db", "t")
    entry.sd.cols, entry.parameters["snapshot.num-retained.min"] = [], "7"
    client.alter_table("db", "t", entry)
    catalog.register_table(T)
    assert [c.name for c in client.get_table("db", "t").sd.cols] == ["k", "v"]


@pytest.mark.skipif(not HAS_LOCKS, reason="Hive 4 moves the folder in the same call")
def test_a_folder_that_is_being_moved_is_no_other_tables(catalog: Any, place: Place) -> None:
    """A process died in the middle of RENAME: the metastore has the new name, the files are where they were."""
    catalog.create_table(T, SCHEMA)
    catalog.create_database("other")
    moved = Identifier("other", "u")
    tables = catalog._registry
    tables._rename_entry(tables._entry(T), moved, f"{place.warehouse}/other.db/u")
    assert place.folders() == {"db/t"}
    with pytest.raises(TableExistsError, match=r"the folder of table other\.u: its rename"):
        catalog.create_table(T, SCHEMA)
    assert place.folders() == {"other/u"}
    tables._rename_entry(tables._entry(moved), T, f"{place.warehouse}/db.db/t")
    with pytest.raises(TableExistsError, match="has now been completed"):
        catalog.register_table(moved)
    catalog.create_table(moved, SCHEMA)
    assert place.folders() == {"other/u", "db/t"} and catalog.load_table(T).schema.fields == SCHEMA.fields


# -- servers that fail ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "call",
    ["create_database", "create_table", "alter_table_with", "drop_table", "drop_database", "lock", "unlock"][
        : None if HAS_LOCKS else -2
    ],
)
def test_an_answer_that_is_lost_after_its_effect(place: Place, call: str) -> None:
    marker = len(call.encode()).to_bytes(4, "big") + call.encode() if call in ("lock", "unlock") else call.encode()
    proxy = LossyProxy(place.server.port, marker)
    catalog = replace(place, options={**place.options, "uri": f"thrift://127.0.0.1:{proxy.port}"}).catalog()
    catalog.create_database("db")
    catalog.create_table(T, SCHEMA)
    insert(catalog.load_table(T), ROWS)
    catalog.rename_table(T, U)
    catalog.alter_table(U, [SetOption("snapshot.num-retained.min", "3")])
    assert sorted(read(catalog.load_table(U))) == ROWS
    catalog.drop_table(U)
    catalog.drop_database("db")
    assert proxy.lose == 0 and place.folders() == set()
    proxy.close()


def test_a_server_that_is_stopped_and_started(own_server: HiveServer, tmp_path: Path) -> None:
    here = Place("hive", tmp_path / "wh", {**own_server.options, "warehouse": str(tmp_path / "wh")})
    catalog = here.catalog()
    catalog.create_database("db")
    catalog.create_table(T, SCHEMA)
    table = catalog.load_table(T)
    own_server.stop()
    started = time.monotonic()
    calls = (catalog.list_databases, lambda: catalog.load_table(T), lambda: catalog.create_table(U, SCHEMA))
    for call in calls:
        with pytest.raises(StorageError, match=r"metastore .*(cannot be reached|did not answer)"):
            call()
    assert time.monotonic() - started < PATIENCE / 5
    insert(table, ROWS)  # commits to local disks need no metastore
    assert here.folders() == {"db/t"}
    own_server.start()
    assert sorted(read(catalog.load_table(T))) == ROWS
    catalog.create_table(U, SCHEMA)
    assert catalog.list_tables("db") == ["t", "u"]
    own_server.freeze()
    late = here.catalog(**{"hive.metastore.client.connection.timeout": "1s", "uri": own_server.uri})
    with pytest.raises(StorageError, match="no answer in time"):
        late.list_databases()
    own_server.thaw()
    assert late.list_databases() == ["db", "default"]
    for each in (catalog, late):
        each.close()  # type: ignore[attr-defined]


def test_a_metastore_without_locks(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    """Databases of old installations have no tables for them: Java's DDL works there, and so does ours."""
    catalog: Any = place.catalog()
    catalog.create_database("db")
    client = place.server.client()
    hidden = catalog._metastore.change, catalog._metastore.read

    def refuse(inner: Callable[..., Any]) -> Callable[..., Any]:
        def call(name: str, *arguments: object) -> Any:
            if name in ("lock", "show_locks"):
                raise MetastoreError("Table 'HIVE_LOCKS' doesn't exist.", Answer.FAILED)
            return inner(name, *arguments)

        return call

    catalog._metastore.change, catalog._metastore.read = map(refuse, hidden)
    catalog.create_table(T, SCHEMA)
    catalog.rename_table(T, U)
    assert "The metastore does not support locks" in caplog.text and client.get_all_tables("db") == ["u"]
    locked: Any = place.catalog(lock__enabled="true")
    locked._metastore.change, locked._metastore.read = map(refuse, (locked._metastore.change, locked._metastore.read))
    with pytest.raises(StorageError):
        locked.drop_table(U)
    assert client.get_all_tables("db") == ["u"]


# -- locks ------------------------------------------------------------------------------------------------------------
@needs_locks
def test_javas_lock_is_waited_for(place: Place) -> None:
    catalog: Any = place.catalog(lock__acquire__timeout="1 s")
    catalog.create_database("db")
    part = ttypes.LockComponent(
        type=ttypes.LockType.EXCLUSIVE, level=ttypes.LockLevel.TABLE, dbname="db", tablename="t", operationType=None
    )
    client = place.server.client()
    held = client.lock(ttypes.LockRequest(component=[part], user="java", hostname="elsewhere"))
    waits: Any = replace(place, options={**place.options, "lock-acquire-timeout": "1 s"}).catalog()
    with pytest.raises(CommitConflictError, match=r"lock db\.t within 1 s"):
        waits.create_table(T, SCHEMA)
    assert [lock.lockid for lock in client.show_locks(ttypes.ShowLocksRequest()).locks] == [held.lockid]
    assert place.folders() == set()
    client.unlock(ttypes.UnlockRequest(lockid=held.lockid))
    waits.create_table(T, SCHEMA)
