from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from paimon_core.commit.changes import Overwrite
from paimon_core.errors import TableNotFoundError
from paimon_core.spec.binary_row import encode_row
from paimon_core.spec.index_manifest import DELETION_VECTORS_INDEX, DeletionVectorMeta, IndexFileMeta
from paimon_core.spec.types import INT, STRING, DataField
from paimon_core.store.ddl.schema_changes import AddColumn, apply_changes
from paimon_core.store.schemas import create_schema
from paimon_core.system_tables.registry import SYSTEM_TABLES
from paimon_core.system_tables.text import duration_text, in_hash_order, partition_path, row_text
from paimon_core.table import Table
from tests.support.golden import golden_checks, golden_names, golden_table, system_table_columns
from tests.support.tables import data_file, info, message, new_store


def golden_queries() -> list[Any]:
    found = []
    for name in golden_names():
        for check in golden_checks(name):
            asked = system_table_columns(check["query"])
            if asked is not None:
                found.append(pytest.param(name, *asked, check["rows"], id=f"{name}${asked[0]}"))
    return found


@pytest.mark.parametrize(("name", "system_table", "columns", "expected"), golden_queries())
def test_golden_tables_show_what_java_shows(
    name: str, system_table: str, columns: list[str], expected: list[list[Any]]
) -> None:
    shown = golden_table(name).system_table(system_table, UTC).select(columns).to_pylist()
    rows = [list(r.values()) for r in shown if r.get("key") != "owner"]
    assert sorted(map(repr, rows)) == sorted(map(repr, expected))


def test_snapshots_show_their_fields(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    table = Table(store)
    table.commit([message(store, data_file(store, 1, 1, rows=4))], info("ann", identifier=9))
    table.truncate(info("bob"))
    first, second = table.system_table("snapshots", UTC).to_pylist()
    made = table.latest_snapshot()
    assert made is not None
    assert (first["snapshot_id"], first["commit_user"], first["commit_identifier"]) == (1, "ann", 9)
    assert (second["commit_kind"], second["operation"], second["total_record_count"]) == ("OVERWRITE", "WRITE", 0)
    assert second["delta_record_count"] == -4
    assert second["commit_time"] == datetime.fromtimestamp(made.time_millis / 1000, UTC).replace(tzinfo=None)


def test_files_of_a_version(tmp_path: Path) -> None:
    store = new_store(tmp_path, partition="p")
    table = Table(store)
    table.commit([message(store, data_file(store, 1, 5, rows=4), p=None)], info())
    table.commit([], info(), Overwrite())
    assert table.system_table("files").num_rows == 0
    (row,) = table.with_options({"scan.snapshot-id": "1"}).system_table("files").to_pylist()
    assert row["partition"] == "{null}"
    assert row["file_path"].startswith(f"{store.root}/p=__DEFAULT_PARTITION__/bucket-0/")
    assert (row["file_format"], row["file_source"], row["min_key"]) == ("parquet", "APPEND", None)
    assert row["min_value_stats"] == "{k=1, n=null, p=null, v=null}"
    assert row["creation_time"] == datetime(2024, 1, 2, 3, 4, 5)
    grown = apply_changes(store.schema, [AddColumn(("extra",), INT)], 0)
    create_schema(store.io, store.root, store.schema)
    assert create_schema(store.io, store.root, grown)
    later = Table(replace(store, schema=grown)).with_options({"scan.snapshot-id": "1"})
    assert later.system_table("files").to_pylist() == [row]  # with the columns of then
    (part,) = table.with_options({"scan.snapshot-id": "1"}).system_table("partitions").to_pylist()
    assert (part["partition"], part["record_count"], part["file_count"]) == ("p=__DEFAULT_PARTITION__", 4, 1)


@pytest.mark.parametrize("name", sorted(SYSTEM_TABLES))
def test_a_new_table_has_empty_system_tables(tmp_path: Path, name: str) -> None:
    table = Table(new_store(tmp_path))
    shown = table.system_table(name)
    assert shown.schema == table.system_table_schema(name)
    assert shown.num_rows == {"schemas": 1, "aggregation_fields": 4}.get(name, 0)


def test_an_unknown_system_table_is_named_with_the_known(tmp_path: Path) -> None:
    with pytest.raises(TableNotFoundError, match=r"\$nope.*buckets, consumers, .*files, manifests"):
        Table(new_store(tmp_path)).system_table("nope")


def test_an_empty_partition_value_is_not_null() -> None:
    fields, row = (
        [DataField(id=i, name=n, type=STRING) for i, n in enumerate("ab")],
        encode_row([STRING] * 2, ["", None]),
    )
    assert row_text(fields, row, UTC) == "{, null}"
    assert partition_path(fields, row, "none", UTC) == "a=none/b=none"


def test_options_are_in_the_order_of_javas_hash_map() -> None:
    written = ("owner", "bucket", "changelog-producer", "file.format", "data-file.thin-mode")
    shown = ["owner", "bucket", "data-file.thin-mode", "changelog-producer", "file.format"]
    assert list(in_hash_order(dict.fromkeys(written, ""))) == shown


def test_partitions_count_deleted_rows(tmp_path: Path) -> None:
    vectors = IndexFileMeta(
        index_type=DELETION_VECTORS_INDEX,
        file_name="index-1",
        file_size=1,
        row_count=2,
        dv_ranges=tuple(
            DeletionVectorMeta(data_file=f, offset=1, length=1, cardinality=n) for f, n in (("a", 3), ("b", 4))
        ),
    )
    for marks, deleted in (("true", 7), ("false", 0)):
        table = Table(new_store(tmp_path / marks, partition="p", **{"deletion-vectors.enabled": marks}))
        files = [data_file(table.store, 1, 5, rows=9, file_name=name) for name in "ab"]
        table.commit([message(table.store, *files, p=1, new_index_files=(vectors,))], info())
        assert table.system_table("partitions")["deleted_record_count"].to_pylist() == [deleted]


def test_durations() -> None:
    assert duration_text(timedelta(days=36500)) == "PT876000H"
    assert duration_text(timedelta(hours=1, minutes=2, seconds=3.5)) == "PT1H2M3.5S"
    assert duration_text(timedelta()) == "PT0S" and duration_text(None) is None
