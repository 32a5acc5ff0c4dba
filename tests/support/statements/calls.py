"""CALL of every procedure."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core.commit.draft import CommitInfo
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import INT
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import SetOption
from paimon_sql.catalog.view import View
from tests.support.iceberg import evolved_table
from tests.support.place import Place
from tests.support.statements.definitions import database_of_two
from tests.support.statements.kind import LAYOUT, Run, Statement
from tests.support.statements.writes import EVOLVED, KEYED, NEW, OLD, VECTORS, run_delete, table_of
from tests.support.tables import fields

THREE = ([(1, "a")], [(2, "b")], [(3, "c")])
PAST, UPKEEP = "2020-01-01 00:00:00", frozenset({"snapshots"})
DAYS = {
    "columns": "k v p",
    "by": "p",
    "partition__timestamp_formatter": "yyyyMMdd",
    "partition__timestamp_pattern": "$p",
}
OF_DAYS = ([(1, "x", "20200101"), (2, "y", "20990101")], [(3, "z", "20200101")])


def call(
    procedure: str, prepare: Run, what: str = "", *, traits: dict[str, Any] | None = None, **arguments: Any
) -> Statement:
    """Return a CALL with arguments; `traits` are the statement's unusual properties."""
    name = f"CALL {procedure}{what and ', '}{what}"

    def run(place: Place) -> Any:
        placed = {key: value.format(root=place.root) if key == "table" else value for key, value in arguments.items()}
        return place.call(procedure, **placed)

    return Statement(name, prepare, run, procedure=procedure, **({"commits": False} | (traits or {})))


def after(prepare: Run, *calls: tuple[str, dict[str, Any]]) -> Run:
    """Return a preparation that also calls other procedures."""

    def prepared(place: Place) -> None:
        prepare(place)
        for procedure, arguments in calls:
            place.call(procedure, **arguments)

    return prepared


def no_table(_: Place) -> None:
    """An empty warehouse."""


def view(place: Place) -> None:
    found = View(fields=tuple(fields(k=INT)), query="SELECT 1 AS k", dialects={"spark": "SELECT 1 AS k"})
    place.catalog.create_view(Identifier("default", "v"), found)


COMMIT, STEPS, COUNTS = {"commits": True}, {"steps": True}, {"steps": True, "counts": True}
MENDS = {"mends": True}
KEPT = table_of(*THREE, **KEYED, write_only="true")
APPENDED = table_of(*THREE, write_only="true")
TAGGED = after(KEPT, ("create_tag", {"tag": "one", "snapshot": 1}))
_FIELDS = '[{"id": 0, "name": "length", "type": "INT"}]'
FUNCTION = {"function": "default.area", "inputParams": _FIELDS, "returnParams": _FIELDS}
AREA = after(no_table, ("create_function", FUNCTION))
BRANCHED = after(TAGGED, ("create_branch", {"branch": "b", "tag": "one"}))


def compactions() -> list[Statement]:
    sorting = {"order_strategy": "zorder", "order_by": "k,v"}
    clustered = {"clustering__columns": "k", "clustering__incremental": "true"}
    return [
        call("compact", KEPT, "keyed", traits=COMMIT),
        call("compact", table_of(*THREE, **KEYED, **VECTORS, write_only="true"), "vectors", traits=COMMIT),
        call(
            "compact",
            table_of(*THREE, **KEYED, changelog_producer="lookup", write_only="true"),
            "lookup",
            traits=COMMIT,
        ),
        call(
            "compact",
            table_of(*THREE, **KEYED, merge_engine="first-row", write_only="true"),
            "first-row",
            traits=COMMIT,
        ),
        call("compact", APPENDED, "append", traits=COMMIT),
        call("compact", with_deletes(APPENDED_VECTORS), "append, vectors", traits=COMMIT),
        call("compact", table_of(*THREE, **EVOLVED, write_only="true"), "data evolution", traits=COMMIT),
        call("materialize_deletion_vectors", with_deletes(APPENDED_VECTORS), traits=COMMIT),
        call("compact", APPENDED, "sorted", traits=COMMIT, **sorting),
        call("reassign_row_id", with_gaps, traits=COMMIT),
        call("compact", table_of(*THREE, **clustered), "clustered", traits=COMMIT, compact_strategy="full"),
        call("compact", postponed, "postponed", traits=COMMIT),
        call("compact_database", KEPT, traits=COUNTS),
        call("compact_manifest", APPENDED, traits={"commits": True, "upkeep": UPKEEP}),
        call("rescale", KEPT, traits=COMMIT, bucket_num=1),
    ]


def postponed(place: Place) -> None:
    options = {"postpone__batch_write_fixed_bucket": "false", "postpone__default_bucket_num": "2"}
    table_of(*THREE, keys="k", bucket="-2", **options)(place)


APPENDED_VECTORS = table_of(OLD, [(3, "old"), (4, "old")], **VECTORS, write_only="true")


def with_gaps(place: Place) -> None:
    table_of(*([(k, "v", p)] for k, p in enumerate("aba")), columns="k v p", by="p", **EVOLVED)(place)


def with_deletes(prepare: Run) -> Run:
    def prepared(place: Place) -> None:
        prepare(place)
        run_delete(place)

    return prepared


def with_changelogs(place: Place) -> None:
    """Create changelogs of two snapshots that have expired."""
    longer = {"changelog__num_retained__min": "3", "changelog__num_retained__max": "9", "changelog_producer": "input"}
    table_of(*THREE, **KEYED, **longer, write_only="true")(place)
    place.call("expire_snapshots", retain_max=1, retain_min=1)


def with_orphan(place: Place) -> None:
    """Create a file of a writer that died three days ago."""
    APPENDED(place)
    lost = Path(place.table().store.root, "bucket-0", "data-00000000-0000-0000-0000-000000000000-0.parquet")
    lost.write_bytes(b"PAR1")
    os.utime(lost, (lost.stat().st_mtime - 3 * 86_400,) * 2)


def without_a_file(place: Place) -> None:
    APPENDED(place)
    min(Path(place.table().store.root, "bucket-0").iterdir()).unlink()


def watermarked(place: Place) -> None:
    """Write rows with a watermark of 5, and later ones."""
    place.create(**KEYED, write_only="true")
    table = place.table()
    table.commit(place.write(table, OLD), CommitInfo(user="writer", watermark=5))
    table = place.table()
    table.commit(place.write(table, NEW), CommitInfo(user="writer", watermark=50))


def with_gap(place: Place) -> None:
    APPENDED(place)
    Path(place.table().store.paths.snapshot(2)).unlink()


def branch_that_grew(place: Place) -> None:
    """Create an append table with a row, and a branch with one more."""
    table_of(OLD)(place)
    place.call("create_tag", tag="one")
    place.call("create_branch", branch="b", tag="one")
    place.insert(NEW, name="t$branch_b")


def chain_table(place: Place) -> None:
    """Create a full partition, and the changes of the next day."""
    options = {"chain_table__enabled": "true", "sequence__field": "n", "bucket": "1"}
    place.create(keys="p k", by="p", columns="k v n p", **DAYS_OF_CHAIN, **options)
    for name in ("full", "delta"):
        place.call("create_branch", branch=name)
    named = {"scan.fallback-snapshot-branch": "full", "scan.fallback-delta-branch": "delta"}
    for table in ("t", "t$branch_full", "t$branch_delta"):
        changes = [SetOption(key, value) for key, value in named.items()]
        place.catalog.alter_table(Identifier.of("default", table), changes)
    place.insert([(1, "one", 1, "20250810")], name="t$branch_full")
    place.insert([(2, "two", 1, "20250811")], name="t$branch_delta")


DAYS_OF_CHAIN = {"partition__timestamp_formatter": "yyyyMMdd", "partition__timestamp_pattern": "$p"}


def foreign_files(place: Place) -> None:
    folder = place.root / "files"
    folder.mkdir()
    pq.write_table(pa.table({"k": pa.array([1], pa.int32()), "v": ["a"]}), folder / "part-0.parquet")


def iceberg(place: Place) -> None:
    evolved_table(place.root / "files")


def format_table(place: Place) -> None:
    place.create(type="format-table", file__format="csv")
    place.insert(OLD)


def object_table(place: Place) -> None:
    place.catalog.create_table(Identifier("default", "t"), new_table_schema((), options={"type": "object-table"}))
    for name in ("a", "folder/b"):
        place.io.write_bytes(f"{place.table().store.root}/{name}", b"x")


def parquet_table(place: Place) -> None:
    place.create(type="format-table", file__format="parquet")
    place.insert(OLD)
    place.insert(NEW)


ONE_TAG = {"tag": "one", "snapshot": 1}
CALLS = [
    *compactions(),
    call("create_tag", KEPT, **ONE_TAG),
    call("create_tag_from_timestamp", KEPT, tag="one", timestamp=1),
    call(
        "replace_tag", TAGGED, traits={"leaves": ".* tag one-[0-9a-f]{32}"}, tag="one", snapshot=3, time_retained="1 d"
    ),
    call("rename_tag", TAGGED, traits=STEPS, tag="one", target_tag="two"),
    call("delete_tag", TAGGED, tag="one"),
    call("expire_tags", after(KEPT, ("create_tag", {**ONE_TAG, "time_retained": "1 ms"}))),
    call(
        "trigger_tag_automatic_creation",
        table_of(*THREE, tag__automatic_creation="batch", write_only="true"),
        traits=STEPS,
    ),
    call("create_branch", TAGGED, branch="b", tag="one"),
    call("create_branch", KEPT, "empty", branch="b"),
    call("rename_branch", BRANCHED, from_branch="b", to_branch="c", traits=STEPS),
    call("delete_branch", BRANCHED, branch="b", traits=STEPS),
    call("fast_forward", BRANCHED, branch="b", traits=STEPS | {"cuts": True}),
    call("fast_forward", branch_that_grew, "longer", branch="b", traits=STEPS),
    call("merge_branch", branch_that_grew, source_branch="b", traits=COMMIT),
    call("publish", branch_that_grew, branch="b", traits=STEPS),
    call("rollback", TAGGED, version="2", traits=STEPS),
    call(
        "rollback",
        after(TAGGED, ("expire_snapshots", {"retain_max": 1, "retain_min": 1})),
        "tag",
        tag="one",
        traits=STEPS,
    ),
    call("rollback_to_timestamp", KEPT, timestamp=2**50),
    call("rollback_to_watermark", watermarked, watermark=9, traits=STEPS),
    call("repair", KEPT, database_or_table="default.t"),
    call("repair_earliest_snapshot", with_gap, snapshot_id=3),
    call("expire_snapshots", KEPT, retain_max=1, retain_min=1, traits=STEPS),
    call("expire_changelogs", with_changelogs, delete_all=True, traits=STEPS),
    call("expire_partitions", table_of(*OF_DAYS, **DAYS), expiration_time="30 d", traits=COMMIT),
    call("drop_partition", table_of(*OF_DAYS, **DAYS), partitions="p=20990101", traits=COMMIT),
    call("mark_partition_done", table_of(*OF_DAYS, **DAYS), partitions="p=20990101"),
    call("reset_consumer", KEPT, consumerId="me", nextSnapshotId=1),
    call("clear_consumers", after(KEPT, ("reset_consumer", {"consumerId": "me", "nextSnapshotId": 1}))),
    call("remove_orphan_files", with_orphan),
    call("remove_orphan_files", with_orphan, "distributed", mode="distributed"),
    call("remove_orphan_blobs", with_orphan),
    call("remove_unexisting_files", without_a_file, traits=COMMIT),
    call("purge_files", BRANCHED, traits=STEPS),
    call(
        "rewrite_file_index", table_of(*THREE, write_only="true", file_index__bloom_filter__columns="k"), traits=COMMIT
    ),
    call("create_global_index", table_of(*THREE, **EVOLVED), index_column="k", index_type="btree", traits=COMMIT),
    call(
        "drop_global_index",
        after(table_of(*THREE, **EVOLVED), ("create_global_index", {"index_column": "k", "index_type": "btree"})),
        index_column="k",
        index_type="btree",
        traits=COMMIT,
    ),
    call("copy", KEPT, source_table="t", target_table="u", traits=STEPS),
    call("clone", KEPT, database="default", table="t", target_database="d", target_table="u", traits=STEPS),
    call("clone", database_of_two, "database", database="d", target_database="e", traits=COUNTS),
    call("compact_chain_table", chain_table, partition="p='20250811'", traits={"commits": True, "upkeep": LAYOUT}),
    call("migrate_table", foreign_files, source_type="hive", table="files", traits=MENDS),
    call(
        "migrate_table", foreign_files, "copied", source_type="hive", table="files", delete_origin=False, traits=STEPS
    ),
    call(
        "migrate_table",
        foreign_files,
        "folder",
        source_type="parquet",
        table="/x/files",
        target_table="t",
        traits=MENDS,
    ),
    call("migrate_table", format_table, "format table", source_type="hive", table="t", traits=MENDS),
    call("migrate_table", parquet_table, "Parquet table", source_type="hive", table="t", traits=MENDS),
    call(
        "migrate_table", iceberg, "iceberg", source_type="iceberg", table="{root}/files", target_table="t", traits=MENDS
    ),
    call("migrate_database", foreign_files, source_type="hive", database="default", traits=MENDS | COUNTS),
    call(
        "migrate_database", format_table, "format table", source_type="hive", database="default", traits=MENDS | COUNTS
    ),
    call("refresh_object_table", object_table, table="t"),
    call("check_storage", no_table, target="default"),
    call("advise", with_orphan, table="t"),
    call("picture", with_orphan, table="t"),
    call("create_function", no_table, **FUNCTION),
    call("alter_function", AREA, function="default.area", change='{"action": "updateComment", "comment": "new"}'),
    call("drop_function", AREA, function="default.area"),
    call("alter_view_dialect", view, view="default.v", action="update", query="SELECT 2 AS k"),
]
