"""New row ids for partitions with gaps: the rows, their parts and indexes stay together, whatever others write."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.commit.commit import reassign_row_ids
from paimon_core.commit.publish import AtomicPublisher, PublishOutcome
from paimon_core.commit.renumbering import MovedRows, find_renumbering
from paimon_core.errors import (
    CommitConflictError,
    InvalidOptionError,
    SnapshotNotFoundError,
    UnsupportedFeatureError,
)
from paimon_core.expressions.predicate import Compare
from paimon_core.lsm.strategy import Strategy
from paimon_core.maintenance.orphans.search import remove_orphans
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.snapshot import CommitKind
from paimon_core.store.manifests import data_manifests, live_files, read_manifest, read_manifest_list
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_core.write.compaction.job import live_buckets
from paimon_core.write.compaction.row_ranges import compact_ranges
from paimon_core.write.deletion import delete_rows
from paimon_sql import open_catalog
from paimon_sql.python.table import PaimonTable
from tests.support.evolving import INFO, EvolvingRows, live, read
from tests.support.examples import examples
from tests.unit.procedures.test_advice import Lake
from tests.unit.procedures.test_dry_runs import dry
from tests.unit.write.compaction.test_materialize import staged as staged_without_deleted_rows
from tests.unit.write.indexes.test_global_index import entries, made, spans

TRACKED = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "deletion-vectors.enabled": "true"}
SCHEMA = pa.schema([("k", pa.int32()), ("p", pa.string()), ("v", pa.int64()), ("b", pa.binary())])
ALL = PartitionFilter(())
ROWS = EvolvingRows({f.name: f.type for f in SCHEMA})
COLUMNS = ("_ROW_ID", "k", "p", "v", "b")


def new_table(root: Path, **options: str) -> tuple[PaimonTable, Lake]:
    given = {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
    catalog = open_catalog(str(root))
    table = catalog.create_table(
        "default.t", SCHEMA, partitioned_by="p", options={**TRACKED, "blob-field": "b", "bucket": "-1", **given}
    )
    return table, Lake(root, None)


def add(table: PaimonTable, *rows: tuple[int, str]) -> None:
    table.append([{"k": k, "p": p, "v": 10 * k, "b": b"%d" % k} for k, p in rows])


def interleaved(root: Path, **options: str) -> tuple[PaimonTable, Lake]:
    """A table whose partitions have the row ids 0, 2, 4 (a) and 1, 3 (b), as in the test of Paimon's procedure."""
    table, lake = new_table(root, **options)
    for k, p in enumerate("ababa"):
        add(table, (k, p))
    return table, lake


def ALL_OF(table: Table) -> PartitionFilter:
    return PartitionFilter(table.schema.partition_fields)


def rows(table: Table) -> dict[int, tuple[Any, ...]]:
    found = read(table, *COLUMNS)
    assert len({r[0] for r in found}) == len(found)
    return {r[1]: (r[0], *r[2:]) for r in found}


def ids(table: Table) -> dict[int, int]:
    return {k: row[0] for k, row in rows(table).items()}


def reassign(lake: Lake, **arguments: Any) -> str:
    ((result,),) = lake.call("reassign_row_id", table="t", **arguments)
    return str(result)


def test_rows_of_partitions_get_consecutive_ids(tmp_path: Path) -> None:
    table, lake = interleaved(tmp_path)
    before = lake.table.latest_snapshot()
    assert ids(lake.table) == {0: 0, 1: 1, 2: 2, 3: 3, 4: 4} and before is not None
    planned = dry(lake, "reassign_row_id", tmp_path)
    assert [(r["partition"], r["files"], r["rows"], r["result"]) for r in planned] == [
        ("p=a", 6, 6, "new row ids"),  # a file of rows and a .blob file each
        ("p=b", 4, 4, "new row ids"),
    ]
    assert reassign(lake) == (
        "Success. Reassigned row IDs for table 'default.t': snapshot 5 -> 6, nextRowId 5 -> 10, files=10, rows=5, "
        "indexFiles=0."
    )
    assert rows(lake.table) == {
        0: (5, "a", 0, b"0"),
        1: (8, "b", 10, b"1"),
        2: (6, "a", 20, b"2"),
        3: (9, "b", 30, b"3"),
        4: (7, "a", 40, b"4"),
    }
    after = lake.table.latest_snapshot()
    assert after is not None and (after.commit_kind, after.next_row_id) == (CommitKind.OVERWRITE, 10)
    assert (after.total_record_count, after.delta_record_count) == (before.total_record_count, 0)
    assert not read_manifest_entries(lake.table, after.delta_manifest_list)
    assert {m.min_row_id for m in data_manifests(lake.table.store, after)} <= set(range(5, 10))
    assert reassign(lake) == (
        "Skipped. Row IDs for table 'default.t' were not reassigned because no partition requires row-id "
        "reassignment: snapshot 6 unchanged, nextRowId=10."
    )
    assert dry(lake, "reassign_row_id", tmp_path) == []
    add(table, (5, "a"))
    assert ids(lake.table)[5] == 10
    assert read(lake.table.at(before), "k")  # the old version has its own ids


def read_manifest_entries(table: Table, name: str) -> list[Any]:
    return [e for m in read_manifest_list(table.store, name) for e in read_manifest(table.store, m.file_name)]


def test_only_named_partitions(tmp_path: Path) -> None:
    _, lake = interleaved(tmp_path)
    assert reassign(lake, partitions="p=c").startswith("Skipped.")
    assert reassign(lake, partitions="p=b").endswith("nextRowId 5 -> 7, files=4, rows=2, indexFiles=0.")
    assert ids(lake.table) == {0: 0, 1: 5, 2: 2, 3: 6, 4: 4}
    with pytest.raises(InvalidOptionError):
        reassign(lake, partitions="x=b")


def test_long_runs_keep_their_ids(tmp_path: Path) -> None:
    table, lake = new_table(tmp_path, data_evolution__reassign__skip_contiguous_row_count="2")
    add(table, (0, "a"), (1, "a"), (2, "a"))
    for k, p in enumerate("bababa", 3):
        add(table, (k, p))
    # rows 0 to 2 of a stay; b and the rest of a have gaps
    assert "rows=6" in reassign(lake)
    found = ids(lake.table)
    assert [found[k] for k in (0, 1, 2)] == [0, 1, 2]
    assert [found[k] for k in (4, 6, 8, 3, 5, 7)] == list(range(9, 15))


def test_columns_and_parts_move_with_their_rows(tmp_path: Path) -> None:
    table, lake = interleaved(tmp_path)
    table.update({"v": 99}, where="k = 2")
    table.update({"b": b"new"}, where="k = 4")
    table.delete("k = 0")
    reassign(lake)
    assert rows(lake.table) == {
        1: (8, "b", 10, b"1"),
        2: (6, "a", 99, b"2"),
        3: (9, "b", 30, b"3"),
        4: (7, "a", 40, b"new"),
    }
    table.update({"v": 7}, where="k = 4")
    table.update({"b": b"7"}, where="k = 3")
    lake.call("compact", table="t", options="compaction.min.file-num=2,blob-compaction.enabled=true")
    assert rows(lake.table)[4] == (7, "a", 7, b"new") and rows(lake.table)[3] == (9, "b", 30, b"7")
    assert sorted((f.first_row_id, f.row_count) for f in live(lake.table) if f.write_cols != ("b",)) == [(5, 3), (8, 2)]
    lake.call("materialize_deletion_vectors", table="t")
    assert {k: row[1:] for k, row in rows(lake.table).items()}[4] == ("a", 7, b"new")


def test_manifests_with_deleted_files(tmp_path: Path) -> None:
    """The ADD entry of a file and the DELETE entry in a later manifest stay a pair."""
    table, lake = interleaved(tmp_path)
    lake.call("drop_partition", table="t", partitions="p=b")
    add(table, (5, "b"), (6, "a"))
    add(table, (7, "c"))
    add(table, (8, "b"))
    before = ids(lake.table)
    assert "rows=6" in reassign(lake)
    after = ids(lake.table)
    assert [after[k] for k in (0, 2, 4, 6, 5, 8)] == list(range(9, 15)) and after[7] == before[7]
    lake.call("expire_snapshots", table="t", retain_max=1, retain_min=1)
    lake.call("compact_manifest", table="t")
    assert {k: row[1:] for k, row in rows(lake.table).items()} == {
        k: (p, 10 * k, b"%d" % k) for k, p in zip((0, 2, 4, 6, 5, 8, 7), "aaaabbc", strict=True)
    }


def test_indexes_move_or_are_dropped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table, lake = new_table(tmp_path)
    add(table, (0, "a"), (1, "a"))
    add(table, (2, "b"))
    lake.table.commit(made(lake.table), INFO)  # an index of rows 0 and 1, and one of row 2
    add(table, (3, "a"))
    assert spans(lake.table) == [(0, 1, 2), (2, 2, 1)]
    assert reassign(lake).endswith("rows=3, indexFiles=1.")
    assert spans(lake.table) == [(2, 2, 1), (4, 5, 2)]
    assert read(lake.table, "_ROW_ID", "k", predicate=Compare("v", "=", 10)) == [(5, 1)]
    assert not caplog.records


def test_an_index_over_a_gap_is_dropped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another engine may let one index file cover all ids from the first to the last row of a partition."""
    _, lake = interleaved(tmp_path)
    lake.table.commit(made(lake.table), INFO)
    kept = [e for e in entries(lake.table) if e.file.global_index and e.file.global_index.row_range_start in (0, 1)]
    wide = [
        replace(e, file=replace(e.file, global_index=replace(meta, row_range_end=meta.row_range_end + 2)))
        for e in kept
        if (meta := e.file.global_index)
    ]
    monkeypatch.setattr("paimon_core.commit.renumbering.index_entries", lambda *_: tuple(wide))
    assert reassign(lake).endswith("indexFiles=0.")
    assert not entries(lake.table) and "no longer has index files" in caplog.text
    assert read(lake.table, "k", predicate=Compare("v", "=", 20)) == [(2,)]


def staged_update(of: Table) -> list[CommitMessage]:
    return ROWS.staged(of, {4: (4, "a", 77, b"4")}, ("v",), set()).finish()


def staged_blob(of: Table) -> list[CommitMessage]:
    return ROWS.staged(of, {4: (4, "a", 40, b"new")}, ("b",), set()).finish()


def staged_index(of: Table) -> list[CommitMessage]:
    return made(of)


def staged_compaction(of: Table) -> list[CommitMessage]:
    found = [compact_ranges(of.store, b, Strategy.FULL) for b in live_buckets(of.store, of.latest_snapshot(), ALL)]
    return [m for m in found if m is not None]


def staged_materialization(of: Table) -> list[CommitMessage]:
    return staged_without_deleted_rows(of)


@pytest.mark.parametrize("stage", [staged_update, staged_blob, staged_index, staged_compaction, staged_materialization])
def test_changes_of_old_ids_conflict(tmp_path: Path, stage: Callable[[Table], list[CommitMessage]]) -> None:
    """A writer that read the old ids must not bring them back, in part or as a whole."""
    table, lake = new_table(tmp_path)
    for k, p in enumerate("aabaab"):
        add(table, (k, p))
    table.delete("k = 0")
    of = lake.table
    messages = stage(of)
    assert messages
    reassign(lake)
    before = rows(lake.table)
    with pytest.raises(CommitConflictError):
        of.commit_or_abort(messages, INFO)
    assert rows(lake.table) == before and len(before) == 5


def test_deletes_of_old_ids_hold(tmp_path: Path) -> None:
    """A deletion vector counts the rows of a file, whatever their ids."""
    _, lake = interleaved(tmp_path)
    of = lake.table
    (file,) = (f for f in live(of) if f.first_row_id == 2 and f.write_cols != ("b",))
    partition = next(e.partition for e in live_files(of.store, of.latest_snapshot()).values() if e.file == file)
    messages = delete_rows(of.store, of.latest_snapshot(), {(partition, 0): {file.file_name: np.array([0], np.int64)}})
    reassign(lake)
    of.commit_or_abort(messages, INFO)
    assert ids(lake.table) == {0: 5, 4: 7, 1: 8, 3: 9}


class Meanwhile:
    """A publisher. Another writer commits before its first try."""

    def __init__(self, inner: AtomicPublisher, other: Callable[[], Any]) -> None:
        self.inner, self.other = inner, other

    def publish(self, path: str, data: bytes) -> PublishOutcome:
        other, self.other = self.other, lambda: None
        other()
        return self.inner.publish(path, data)


@pytest.fixture
def on_other_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TableStore, "writer_slot", lambda _: nullcontext())


@pytest.mark.usefixtures("on_other_machines")
@pytest.mark.parametrize("other", ["append", "update", "compact", "overwrite", "drop"])
def test_other_writers_come_first(tmp_path: Path, other: str) -> None:
    """The new ids follow from the version on which they are published."""
    table, lake = interleaved(tmp_path)
    act: dict[str, Callable[[], Any]] = {
        "append": lambda: add(table, (5, "b")),
        "update": lambda: table.update({"b": b"new"}, where="k = 2"),
        "compact": lambda: lake.call("compact", table="t", options="compaction.min.file-num=2"),
        "overwrite": lambda: table.overwrite([{"k": 9, "p": "a", "v": 90, "b": b"9"}], where="p = 'a'"),
        "drop": lambda: lake.call("drop_partition", table="t", partitions="p=b"),
    }
    of = lake.table
    made_ = reassign_row_ids(of.store, ALL_OF(of), INFO, Meanwhile(AtomicPublisher(of.store.io), act[other]))
    assert made_ is not None
    snapshot, plan = made_
    assert snapshot.next_row_id == plan.next_row_id and min(ids(lake.table).values()) >= 5
    per = {p: sorted(row[0] for row in rows(lake.table).values() if row[1] == p) for p in "ab"}
    assert all(found == list(range(found[0], found[0] + len(found))) for found in per.values() if found)
    model = {k: ("ab"[k % 2], 10 * k, b"%d" % k) for k in range(5)}
    model |= {"append": {5: ("b", 50, b"5")}, "update": {2: ("a", 20, b"new")}}.get(other, {})
    if other == "overwrite":
        model = {9: ("a", 90, b"9"), 1: model[1], 3: model[3]}
    model = {k: row for k, row in model.items() if other != "drop" or row[0] == "a"}
    assert {k: row[1:] for k, row in rows(lake.table).items()} == model
    lost = remove_orphans(lake.table.store, 2**62).paths  # the first try leaves no manifest behind
    assert not [path for path in lost if "/manifest/" in path]


@pytest.mark.usefixtures("on_other_machines")
def test_two_calls_at_once(tmp_path: Path) -> None:
    _, lake = interleaved(tmp_path)
    of = lake.table
    with pytest.raises(CommitConflictError, match="has removed the gaps"):
        reassign_row_ids(of.store, ALL_OF(of), INFO, Meanwhile(AtomicPublisher(of.store.io), lambda: reassign(lake)))
    assert ids(lake.table) == {0: 5, 2: 6, 4: 7, 1: 8, 3: 9}


@settings(max_examples=examples(12), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_rows_stay_as_in_a_model(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """After any changes, partitions have no gaps, and no id comes back."""
    table, lake = new_table(tmp_path_factory.mktemp("wh"))
    model: dict[int, tuple[str, int, bytes]] = {}
    used: dict[int, int] = {}
    for step in range(data.draw(st.integers(3, 7))):
        kind = data.draw(st.sampled_from(["append", "append", "v", "b", "delete", "compact", "reassign"]))
        chosen = data.draw(st.sampled_from(sorted(model))) if model else -1
        if kind == "append" or chosen < 0:
            new = [(10 * step + i, p) for i, p in enumerate(data.draw(st.text("abc", min_size=1, max_size=3)))]
            add(table, *new)
            model |= {k: (p, 10 * k, b"%d" % k) for k, p in new}
        elif kind == "delete":
            table.delete(f"k = {chosen}")
            del model[chosen]
        elif kind == "compact":
            lake.call("compact", table="t", options="compaction.min.file-num=2,blob-compaction.enabled=true")
        elif kind == "reassign":
            reassign(lake)
        else:
            p, v, b = model[chosen]
            model[chosen] = (p, step, b) if kind == "v" else (p, v, b"b%d" % step)
            table.update({kind: step if kind == "v" else b"b%d" % step}, where=f"k = {chosen}")
        found = rows(lake.table)
        assert {k: row[1:] for k, row in found.items()} == model
        assert all(used.setdefault(row[0], k) == k for k, row in found.items())
    reassign(lake)
    snapshot = lake.table.latest_snapshot()
    assert snapshot is not None and find_renumbering(lake.table.store, snapshot, ALL_OF(lake.table)) is None
    assert {k: row[1:] for k, row in rows(lake.table).items()} == model


def test_moved_rows() -> None:
    moved = MovedRows(((0, 3), (5, 6)), (10, 13))
    assert [moved.new_start(*span) for span in ((0, 3), (1, 3), (5, 6), (2, 4), (3, 4), (0, 6), (7, 8))] == [
        *(10, 11, 13),
        *[None] * 4,
    ]
    assert [moved.overlaps(*span) for span in ((2, 4), (3, 5), (0, 9), (6, 9))] == [True, False, True, False]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "row-tracking.enabled=true"),
        ({"row-tracking.enabled": "true"}, "data-evolution.enabled=true"),
        ({"primary-key": "k", "bucket": "1"}, "row-tracking.enabled=true"),
    ],
)
def test_other_tables(tmp_path: Path, options: dict[str, str], message: str) -> None:
    lake = Lake(tmp_path, options)
    lake.insert(1)
    for dry_run in (False, True):
        with pytest.raises(UnsupportedFeatureError, match=message):
            lake.call("reassign_row_id", table="t", dry_run=dry_run)


def test_tables_without_partitions_and_without_rows(tmp_path: Path) -> None:
    lake = Lake(tmp_path, TRACKED)
    with pytest.raises(SnapshotNotFoundError, match="empty table default.t"):
        reassign(lake)
    lake.insert(1)
    assert "because table is not partitioned: snapshot 1 unchanged, nextRowId=1." in reassign(lake)


def test_files_that_store_ids_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, lake = interleaved(tmp_path)
    table = lake.table
    before = live_files(table.store, table.latest_snapshot())
    with_ids = {i: replace(e, file=replace(e.file, write_cols=("k", "_ROW_ID"))) for i, e in before.items()}
    monkeypatch.setattr("paimon_core.commit.renumbering.live_files", lambda *_: with_ids)
    with pytest.raises(UnsupportedFeatureError, match="stores the ids of its rows"):
        reassign(lake)


def test_an_unknown_next_id_is_refused(tmp_path: Path) -> None:
    _, lake = interleaved(tmp_path)
    snapshot = lake.table.latest_snapshot()
    assert snapshot is not None
    with pytest.raises(UnsupportedFeatureError, match="which row ids are unused"):
        find_renumbering(lake.table.store, replace(snapshot, next_row_id=None), ALL_OF(lake.table))


def test_changes_show_no_row_again(tmp_path: Path) -> None:
    table, lake = interleaved(tmp_path)
    reassign(lake)
    add(table, (5, "b"))
    assert [row["k"] for row in table.changes(5, 7).to_arrow().to_pylist()] == [5]
    follower = table.follow(options={"scan.mode": "from-snapshot", "scan.snapshot-id": "5"})
    assert [k for batch in follower for k in batch.to_arrow()["k"].to_pylist()] == [4, 5]
