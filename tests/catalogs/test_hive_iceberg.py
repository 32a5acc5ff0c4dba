"""Tables that a Hive metastore names for readers of Iceberg, of which pyiceberg is one."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import (
    InvalidNameError,
    InvalidOptionError,
    NotAllowedError,
    UnsupportedFeatureError,
)
from paimon_core.maintenance.rollback import roll_back
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import INT, STRING
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import AddColumn, RemoveOption, SetOption
from paimon_core.table import Table
from paimon_sql.catalog.load import load_catalog
from tests.catalogs.kinds import Place
from tests.support.hive_server import HAS_LOCKS, MOVES_FOLDERS
from tests.support.sql_servers import free_port
from tests.support.stored import compact, insert, read
from tests.support.tables import fields, info

pytest.importorskip("pymetastore", reason='needs pip install "paimon-sql[hive]"')

from pyiceberg.catalog.hive import HiveCatalog as IcebergHiveCatalog
from pyiceberg.table import StaticTable
from pymetastore.hive_metastore import ttypes

from paimon_sql.catalog.hive.locks import HiveLocks

T, U = Identifier("db", "t"), Identifier("db", "u")
STORAGE = {"metadata.iceberg.storage": "hive-catalog"}


def schema(**options: str) -> Any:
    spelled = {name.replace("__", ".").replace("_", "-"): value for name, value in options.items()}
    return new_table_schema(fields(k=INT, v=STRING), options=STORAGE | spelled)


@pytest.fixture
def place(make_place: Callable[[str], Place]) -> Place:
    return make_place("hive")


def files(place: Place, **more: str) -> Any:
    """A filesystem catalog whose tables are named in the metastore."""
    spelled = {name.replace("__", ".").replace("_", "-"): value for name, value in more.items()}
    catalog: Any = load_catalog({"warehouse": str(place.warehouse), "metadata.iceberg.uri": place.server.uri} | spelled)
    catalog.create_database("db", ignore_if_exists=True)
    return catalog


def hive(place: Place) -> Any:
    catalog: Any = place.catalog()
    catalog.create_database("db")
    return catalog


def at(place: Place, table: str = "db.t") -> Any:
    """The table as a reader of Iceberg finds it by its name: Hive 4 has another call for that than pyiceberg knows."""
    if MOVES_FOLDERS:
        return StaticTable.from_metadata(parameters(place, Identifier(*table.split(".")))["metadata_location"])
    return IcebergHiveCatalog("office", uri=place.server.uri).load_table(table)


def seen(place: Place, table: str = "db.t", **scan: Any) -> list[Any]:
    """The rows that a reader of Iceberg finds by a table's name."""
    found = at(place, table).scan(**scan).to_arrow()
    return sorted(tuple(row.values()) for row in found.select(["k", "v"]).to_pylist())


def parameters(place: Place, table: Identifier = T) -> dict[str, str]:
    return dict(place.server.client().get_table(table.database, table.table).parameters)


@pytest.mark.parametrize("make", [hive, files])
def test_rows_are_found_by_name(place: Place, make: Callable[[Place], Any]) -> None:
    catalog = make(place)
    catalog.create_table(T, schema())
    for n in range(3):
        insert(catalog.load_table(T), [(n, f"v{n}")])
        assert seen(place) == read(catalog.load_table(T))
    assert seen(place, snapshot_id=2) == [(0, "v0"), (1, "v1")]
    found = parameters(place)
    folder = f"file://{place.warehouse}/iceberg/db/t/metadata"
    assert found["table_type"] == "ICEBERG"
    assert found["metadata_location"] == f"{folder}/v3.metadata.json"
    assert found["previous_metadata_location"] == f"{folder}/v2.metadata.json"
    assert Path(place.warehouse, "iceberg/db/t/metadata/v2.metadata.json").exists(), "a reader may have just asked"
    assert not Path(place.warehouse, "iceberg/db/t/metadata/v1.metadata.json").exists()
    roll_back(catalog.load_table(T).store, snapshot_id=1)
    assert seen(place) == [(0, "v0")]
    catalog.load_table(T).truncate(info())
    assert seen(place) == []


@pytest.mark.parametrize("make", [hive, files])
def test_keyed_partitioned_tables_through_a_change_of_columns(place: Place, make: Callable[[Place], Any]) -> None:
    catalog = make(place)
    keys = {"partition_keys": ("v",), "primary_keys": ("k", "v")}
    catalog.create_table(T, new_table_schema(fields(k=INT, v=STRING), options=STORAGE | {"bucket": "1"}, **keys))
    insert(catalog.load_table(T), [(1, "a"), (2, "a"), (1, "b")])
    compact(catalog.load_table(T))
    insert(catalog.load_table(T), [(2, "a"), (3, "b")])
    assert seen(place) == [(1, "a"), (1, "b"), (2, "a")], "what is compacted"
    compact(catalog.load_table(T))
    assert seen(place) == read(catalog.load_table(T)) == [(1, "a"), (1, "b"), (2, "a"), (3, "b")]
    before = parameters(place)["metadata_location"]
    catalog.alter_table(T, [AddColumn(("n",), INT)])
    assert parameters(place)["metadata_location"] == before, "who alters the table leaves it there"
    catalog.load_table(T).truncate(info(), None)
    columns = [c.name for c in place.server.client().get_table("db", "t").sd.cols]
    assert columns == ["k", "v", "n"]
    assert [f.name for f in at(place).schema().fields] == columns


def test_one_entry_is_both_paimons_and_icebergs(place: Place) -> None:
    catalog = hive(place)
    catalog.create_table(T, schema())
    before = place.server.client().get_table("db", "t")
    insert(catalog.load_table(T), [(1, "a")])
    after = place.server.client().get_table("db", "t")
    assert (after.sd, after.tableType) == (before.sd, before.tableType)
    assert {k: v for k, v in after.parameters.items() if before.parameters.get(k) != v}.keys() <= {
        *("table_type", "metadata_location", "transient_lastDdlTime", "numFiles", "totalSize"),
        *("last_modified_by", "last_modified_time", "numRows", "rawDataSize", "COLUMN_STATS_ACCURATE"),
    }
    assert catalog.list_tables("db") == ["t"]
    assert place.catalog(**{"format-table.enabled": "false"}).list_tables("db") == ["t"]
    catalog.rename_table(T, U)
    assert seen(place, "db.u") == [(1, "a")], "at once"
    insert(catalog.load_table(U), [(2, "b")])
    assert seen(place, "db.u") == read(catalog.load_table(U)) == [(1, "a"), (2, "b")]
    catalog.drop_table(U)
    assert place.server.client().get_all_tables("db") == []


def test_a_table_that_is_replaced_is_followed_at_once(place: Place) -> None:
    """One that is partitioned otherwise is written beside the old one first, under a name that nobody is to see."""
    catalog = hive(place)
    catalog.create_table(T, schema())
    for n in (0, 1):
        insert(catalog.load_table(T), [(n, "old")])
    staged = catalog.stage_replace(T, new_table_schema(fields(k=INT, v=STRING), partition_keys=("v",), options=STORAGE))
    staged.publish()
    insert(staged.table, [(2, "new")])
    assert seen(place) == [(0, "old"), (1, "old")]
    staged.finish()
    assert seen(place) == read(catalog.load_table(T)) == [(2, "new")]
    assert place.server.client().get_all_tables("db") == ["t"]


def test_the_entry_of_a_table_elsewhere_stays_behind_drop(place: Place) -> None:
    catalog = files(place)
    catalog.create_table(T, schema())
    insert(catalog.load_table(T), [(1, "a")])
    made = place.server.client().get_table("db", "t")
    assert made.tableType == "EXTERNAL_TABLE" and [(c.name, c.type) for c in made.sd.cols] == [
        ("k", "int"),
        ("v", "string"),
    ]
    catalog.drop_table(T)
    assert place.server.client().get_all_tables("db") == ["t"]
    catalog.create_table(T, schema())
    insert(catalog.load_table(T), [(2, "new")])
    assert seen(place) == [(2, "new")]


def test_names_that_the_options_give(place: Place) -> None:
    catalog = files(place)
    named = {"metadata__iceberg__database": "here; There", "metadata__iceberg__table": "Orders"}
    catalog.create_table(T, schema(**named))
    insert(catalog.load_table(T), [(1, "a")])
    for database in ("here", "there"):
        assert seen(place, f"{database}.orders") == [(1, "a")]
    assert place.server.client().get_database("there").locationUri.endswith("/wh/iceberg/db")


def test_the_metadata_may_be_in_the_tables_folder(place: Place) -> None:
    catalog = files(place)
    catalog.create_table(T, schema(metadata__iceberg__storage_location="table-location"))
    insert(catalog.load_table(T), [(1, "a")])
    root = f"{place.warehouse}/db.db/t"
    assert parameters(place)["metadata_location"] == f"file://{root}/metadata/v1.metadata.json"
    assert place.server.client().get_table("db", "t").sd.location.removeprefix("file:").replace("//", "/") == root
    catalog.alter_table(T, [RemoveOption("metadata.iceberg.storage-location")])
    insert(catalog.load_table(T), [(2, "b")])
    assert seen(place) == [(1, "a"), (2, "b")], "the entry moves with the metadata"


def test_a_commit_stands_where_the_metastore_does_not_answer(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    catalog = files(place)
    catalog.create_table(T, schema())
    insert(catalog.load_table(T), [(1, "a")])
    free = free_port()
    away = load_catalog({"warehouse": str(place.warehouse), "metadata.iceberg.uri": f"thrift://127.0.0.1:{free}"})
    for n in (2, 3, 4):
        assert insert(away.load_table(T), [(n, "b")]) is not None
    assert f"The Iceberg table db.t in the metastore thrift://127.0.0.1:{free} is not updated" in caplog.text
    assert "it cannot be reached (Connection refused). The next commit to db.t brings it in line." in caplog.text
    assert seen(place) == [(1, "a")], "what the entry names is still there"
    insert(catalog.load_table(T), [(5, "c")])
    assert seen(place) == read(catalog.load_table(T))


@pytest.mark.parametrize("locks", [True, False])
def test_the_entry_names_the_last_of_many_writers(
    place: Place, locks: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    if not locks:  # which the database of a metastore may lack
        monkeypatch.setattr(HiveLocks, "_hold", lambda self, stack, table, *, quiet: not quiet)
    catalog = files(place)
    catalog.create_table(T, schema())
    with ThreadPoolExecutor(3) as threads:
        for made in [threads.submit(lambda n: insert(files(place).load_table(T), [(n, "x")]), n) for n in range(9)]:
            assert made.result() is not None
    assert parameters(place)["metadata_location"].endswith("/v9.metadata.json")
    assert seen(place) == read(catalog.load_table(T))


def test_an_entry_never_goes_back(place: Place) -> None:
    """Who is slow finds that it is not the latest any more, before and while it changes the entry."""
    catalog = files(place)
    catalog.create_table(T, schema())
    for n in (1, 2):
        insert(catalog.load_table(T), [(n, "a")])
    store, asked = catalog.load_table(T).store, list[bool]()
    first = f"{place.warehouse}/iceberg/db/t/metadata/v1.metadata.json"

    def overtaken() -> bool:
        asked.append(True)
        if len(asked) == 1:  # behind this look another commit is named
            place.server.free_locks()
            insert(catalog.load_table(T), [(3, "a")])
        return len(asked) == 1

    store.iceberg_catalogs.publish(store, first, lambda: False)
    assert parameters(place)["metadata_location"].endswith("/v2.metadata.json")
    if HAS_LOCKS or MOVES_FOLDERS:  # 2.3.10 and 4.0 compare what they find
        store.iceberg_catalogs.publish(store, first, overtaken)
        assert len(asked) == 2
    assert seen(place) == read(catalog.load_table(T))


@pytest.mark.parametrize("kind", ["hive", "iceberg", "paimon"])
def test_what_is_another_tables_is_not_touched(place: Place, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    client = place.server.client()
    if kind == "paimon":
        hive(place).create_table(T, new_table_schema(fields(k=INT)))
    else:
        client.create_database(ttypes.Database(name="db", locationUri=f"{place.warehouse}/x", parameters={}))
        parameters_ = {"table_type": "ICEBERG", "metadata_location": "file:///x/metadata/v1.metadata.json"}
        client.create_table(
            ttypes.Table(
                dbName="db",
                tableName="t",
                partitionKeys=[],
                tableType="EXTERNAL_TABLE",
                parameters={"EXTERNAL": "TRUE", **(parameters_ if kind == "iceberg" else {})},
                sd=ttypes.StorageDescriptor(
                    cols=[ttypes.FieldSchema("k", "int")],
                    location=f"{place.warehouse}/x/t",
                    serdeInfo=ttypes.SerDeInfo(),
                ),
            )
        )
    before = client.get_table("db", "t")
    other = files(place, warehouse=f"{place.warehouse}-2")
    other.create_database("db", ignore_if_exists=True)
    other.create_table(T, schema())
    insert(other.load_table(T), [(1, "a")])
    assert "The entry with that name" in caplog.text and "'metadata.iceberg.table'" in caplog.text
    assert client.get_table("db", "t") == before


def test_whose_metastore_it_is(place: Place) -> None:
    """A table names one itself where its catalog allows that, the catalog does for all, a session for itself."""
    named = schema(metadata__iceberg__uri=place.server.uri)
    plain: Any = load_catalog({"warehouse": str(place.warehouse)})
    plain.create_database("db")
    with pytest.raises(InvalidOptionError, match="and no metastore: set 'metadata.iceberg.uri'"):
        plain.create_table(T, schema())
    with pytest.raises(NotAllowedError, match="'allowed-iceberg-catalogs' must list that address"):
        plain.create_table(T, named)
    plain.create_table(T, new_table_schema(fields(k=INT, v=STRING)))
    with pytest.raises(NotAllowedError, match="which its 'metadata.iceberg.uri' says"):
        plain.alter_table(T, [SetOption(k, v) for k, v in named.options.items()])
    allowing = files(place, metadata__iceberg__uri="", allowed_iceberg_catalogs=place.server.uri)
    allowing.alter_table(T, [SetOption(k, v) for k, v in named.options.items()])
    with pytest.raises(NotAllowedError):
        insert(plain.load_table(T), [(1, "a")])
    insert(allowing.load_table(T), [(1, "a")])
    assert seen(place) == [(1, "a")]
    table = plain.load_table(T)
    told = {"metadata.iceberg.uri": place.server.uri.replace("127.0.0.1", "localhost")}
    insert(replace(table, store=table.store.with_options(told)), [(2, "b")])
    assert seen(place) == [(1, "a"), (2, "b")]


def test_a_metastore_of_a_hive_site(place: Place, tmp_path: Path) -> None:
    (folder := tmp_path / "conf").mkdir()
    said = f"<property><name>hive.metastore.uris</name><value>{place.server.uri}</value></property>"
    (folder / "hive-site.xml").write_text(f"<configuration>{said}</configuration>")
    catalog = files(place, metadata__iceberg__uri="", metadata__iceberg__hive_conf_dir=str(folder))
    catalog.create_table(T, schema())
    insert(catalog.load_table(T), [(1, "a")])
    assert seen(place) == [(1, "a")]
    with pytest.raises(NotAllowedError, match="which its 'metadata.iceberg.hive-conf-dir' says"):
        load_catalog({"warehouse": str(place.warehouse)}).create_table(
            U, schema(metadata__iceberg__hive_conf_dir=str(folder))
        )


def test_definitions_that_cannot_be_named(place: Place) -> None:
    catalog = files(place)
    glue = "com.amazonaws.glue.catalog.metastore.AWSCatalogMetastoreClient"
    with pytest.raises(UnsupportedFeatureError, match="is a class of Java"):
        catalog.create_table(T, schema(metadata__iceberg__hive_client_class=glue))
    with pytest.raises(InvalidNameError, match=r"'t-1' is not a valid table name.*Set 'metadata.iceberg.database' and"):
        catalog.create_table(Identifier("db", "t-1"), schema())
    with pytest.raises(InvalidOptionError, match="metastore of its Iceberg metadata: Option 'uri' cannot be 'nowhere'"):
        files(place, metadata__iceberg__uri="nowhere").create_table(T, schema())
    default: Any = place.catalog()
    with pytest.raises(UnsupportedFeatureError, match=r"not in a folder WAREHOUSE/DATABASE\.db.*'table-location'"):
        default.create_table(Identifier("default", "t"), schema())
    folder = Identifier("default", "u")
    default.create_table(folder, schema(metadata__iceberg__storage_location="table-location"))
    insert(default.load_table(folder), [(1, "a")])
    assert seen(place, "default.u") == [(1, "a")]


def test_a_table_that_no_catalog_opened_is_not_written(place: Place) -> None:
    catalog = files(place)
    catalog.create_table(T, schema())
    store = catalog.load_table(T).store
    assert pickle.loads(pickle.dumps(store)).iceberg_catalogs is None  # noqa: S301  our own
    with pytest.raises(UnsupportedFeatureError, match="which needs a catalog"):
        insert(Table(replace(store, iceberg_catalogs=None)), [(1, "a")])
