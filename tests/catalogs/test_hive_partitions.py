"""Partitions of Paimon's tables in a Hive metastore, which follow the table and never fail its statements."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.maintenance.branches import create_branch
from paimon_core.maintenance.tags import create_tag, delete_tags, rename_tag, taggable_snapshot
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import INT, STRING
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import SetOption
from tests.catalogs.kinds import SCHEMA, Place
from tests.support.stored import insert, read
from tests.support.tables import fields, info

T, U = Identifier("db", "t"), Identifier("db", "u")


def parted(**options: str) -> TableSchema:
    spelled = {name.replace("__", ".").replace("_", "-"): value for name, value in options.items()}
    return new_table_schema(fields(k=INT, v=STRING), partition_keys=("v",), options=spelled)


@pytest.fixture
def place(make_place: Callable[[str], Place]) -> Place:
    return make_place("hive")


def known(place: Place, table: Identifier) -> dict[tuple[str, ...], str]:
    """The partitions that the metastore has, with their places."""
    found = place.server.client().get_partitions(table.database, table.table, -1)
    return {tuple(part.values): part.sd.location.removeprefix("file:") for part in found}


def make(place: Place, schema: TableSchema) -> Any:
    catalog: Any = place.catalog()
    catalog.create_database("db")
    catalog.create_table(T, schema)
    return catalog


def test_partitions_follow_commits(place: Place) -> None:
    catalog = make(place, parted(metastore__partitioned_table="true"))
    entry = place.server.client().get_table("db", "t")
    assert ([c.name for c in entry.sd.cols], [c.name for c in entry.partitionKeys]) == (["k"], ["v"])
    insert(catalog.load_table(T), [(1, "a/b"), (2, "ä %="), (3, None)])
    root = place.warehouse / "db.db" / "t"
    null = "__DEFAULT_PARTITION__"
    assert known(place, T) == {
        ("a/b",): f"{root}/v=a%2Fb",
        ("ä %=",): f"{root}/v=ä %25%3D",
        (null,): f"{root}/v={null}",
    }
    insert(catalog.load_table(T), [(4, "a/b"), (5, "c")])
    assert len(known(place, T)) == 4
    catalog.load_table(T).truncate(CommitInfo(user="me"))
    assert known(place, T) == {}
    assert read(catalog.load_table(T)) == []


def test_partitions_move_with_their_table(place: Place) -> None:
    catalog = make(place, parted(metastore__partitioned_table="true"))
    insert(catalog.load_table(T), [(1, "a")])
    catalog.rename_table(T, U)
    assert known(place, U) == {("a",): f"{place.warehouse}/db.db/u/v=a"}
    assert read(catalog.load_table(U)) == [(1, "a")]


def test_a_partition_that_a_branch_has_stays(place: Place) -> None:
    catalog = make(place, parted(metastore__partitioned_table="true"))
    insert(catalog.load_table(T), [(1, "a")])
    table = catalog.load_table(T)
    create_tag(table.store, "now", taggable_snapshot(table.store, None))
    create_branch(table.store, "b", "now")
    insert(catalog.load_table(T), [(2, "main")])
    table.truncate(info())
    assert set(known(place, T)) == {("a",)}


def test_tags_as_partitions(place: Place) -> None:
    catalog = make(place, new_table_schema(fields(k=INT, v=STRING), options={"metastore.tag-to-partition": "day"}))
    assert [c.name for c in place.server.client().get_table("db", "t").partitionKeys] == ["day"]
    insert(catalog.load_table(T), [(1, "a")])
    store = catalog.load_table(T).store
    for name in ("2024-01-01", "2024-01-02"):
        create_tag(store, name, taggable_snapshot(store, None))
    assert known(place, T)[("2024-01-01",)] == f"{place.warehouse}/db.db/t/day=2024-01-01"
    rename_tag(store, "2024-01-02", "2024-01-03")
    delete_tags(store, ["2024-01-01"])
    assert set(known(place, T)) == {("2024-01-03",)}
    with pytest.raises(InvalidOptionError, match="is partitioned and cannot have"):
        catalog.create_table(U, parted(metastore__tag_to_partition="day"))


def test_tables_that_do_not_ask_for_it_have_none(place: Place) -> None:
    catalog = make(place, parted())
    insert(catalog.load_table(T), [(1, "a")])
    entry = place.server.client().get_table("db", "t")
    assert ([c.name for c in entry.sd.cols], entry.partitionKeys, known(place, T)) == (["k", "v"], [], {})
    with pytest.raises(UnsupportedFeatureError, match="partition columns none in the metastore"):
        catalog.alter_table(T, [SetOption("metastore.partitioned-table", "true")])
    assert "metastore.partitioned-table" not in catalog.load_table(T).schema.options


def test_a_commit_does_not_fail_where_the_metastore_does(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    catalog = make(place, parted(metastore__partitioned_table="true"))
    table = catalog.load_table(T)
    place.server.client().drop_table("db", "t", False)
    insert(table, [(1, "a")])
    catalog.register_table(T)
    assert set(known(place, T)) == {("a",)}

    def fail(*arguments: object) -> None:
        raise OSError("down")

    catalog._metastore.change = fail
    insert(catalog.load_table(T), [(2, "b")])
    assert "its catalog could not be updated: down" in caplog.text
    assert sorted(read(catalog.load_table(T))) == [(1, "a"), (2, "b")]
    other: Any = place.catalog()
    other.register_table(T)
    assert set(known(place, T)) == {("a",), ("b",)}


def test_executors_tell_nobody(place: Place) -> None:
    catalog = make(place, SCHEMA)
    store = catalog.load_table(T).store
    assert store.watcher is not None
    assert pickle.loads(pickle.dumps(store)).watcher is None  # noqa: S301  our own
