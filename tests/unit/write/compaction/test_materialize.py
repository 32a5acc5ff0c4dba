"""Deletion vectors that are materialized: the other rows stay, under new ids where files of columns share them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.errors import CommitConflictError, UnsupportedFeatureError
from paimon_core.formats.blob import BlobFileWriter
from paimon_core.spec.encodings.blob_descriptor import BlobDescriptor
from paimon_core.spec.index_manifest import DELETION_VECTORS_INDEX, IndexManifestEntry
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.snapshot import CommitKind
from paimon_core.store.indexes.index_files import index_entries
from paimon_core.store.partitions import PartitionFilter
from paimon_core.table import Table
from paimon_core.write.compaction.job import live_buckets
from paimon_core.write.compaction.materialize import (
    check_materializes,
    marked_parts,
    materialize_job,
    without_vectors,
)
from paimon_core.write.deletion import delete_rows
from paimon_sql import open_catalog
from paimon_sql.python.table import PaimonTable
from tests.support.evolving import INFO, commit, live, read
from tests.support.examples import examples
from tests.support.executors import run_job
from tests.support.stored import compact
from tests.unit.procedures.test_advice import Lake, only
from tests.unit.procedures.test_dry_runs import dry
from tests.unit.write.files.test_vector_files import COLUMNS, ROWS, VALUE, VECTOR, Row, new_table
from tests.unit.write.indexes.test_vector_index import index

ALL = PartitionFilter(())
TRACKED = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "deletion-vectors.enabled": "true"}


def staged(table: Table) -> list[CommitMessage]:
    """The messages that materialize the vectors of the latest version."""
    check_materializes(table.store)
    parts = marked_parts(table.store, live_buckets(table.store, table.latest_snapshot(), ALL))
    return without_vectors(table.store, parts, run_job(materialize_job(table.store, parts)))


def materialize(table: Table) -> None:
    messages = staged(table)
    if messages:
        table.commit_or_abort(messages, INFO)


def entries(table: Table) -> list[IndexManifestEntry]:
    return index_entries(table.store, table.latest_snapshot())


def vectors(table: Table) -> set[str]:
    """The data files with deleted rows."""
    return {v.data_file for e in entries(table) for v in e.file.dv_ranges or ()}


def files_below(root: Path) -> set[str]:
    return {p.name for p in root.rglob("*") if p.is_file() and p.parent.name in ("bucket-0", "index")}


def ten_rows(table: Table) -> None:
    ROWS.insert(table, [(i, [i, i], None, bytes([i])) for i in range(10)])


def delete(table: Table, *ids: int) -> None:
    commit(table, ROWS.staged(table, {}, (), set(ids)))


@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), most_rows=st.sampled_from(["2", "1000"]), target=st.sampled_from(["1 b", "1 mb"]))
def test_rows_change_as_in_a_model(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, most_rows: str, target: str
) -> None:
    root = tmp_path_factory.mktemp("wh")
    table = new_table(root, target_file_row_num=most_rows, target_file_size=target)
    model: dict[int, Row] = {}
    for step in range(data.draw(st.integers(2, 6))):
        kind = data.draw(st.sampled_from(["insert", "update", "delete", "materialize", "materialize", "compact"]))
        if kind == "compact":
            compact(table)
        elif kind == "materialize":
            materialize(table)
            rows = {r[0]: r[1:] for r in read(table, "_ROW_ID", *COLUMNS)}
            assert sorted(rows.values(), key=str) == sorted(model.values(), key=str)
            assert not vectors(table) and len(rows) == len(model)
            model = rows  # type: ignore[assignment]
        elif kind == "insert" or not model:
            new = [(step, data.draw(VECTOR), data.draw(VECTOR), data.draw(VALUE)) for _ in range(4)]
            ROWS.insert(table, new)
            latest = table.latest_snapshot()
            assert latest is not None and latest.next_row_id is not None
            model |= dict(enumerate(new, latest.next_row_id - 4))
        else:
            chosen = data.draw(st.sets(st.sampled_from(sorted(model))))
            changed = {i: (step, data.draw(VECTOR), None, data.draw(VALUE)) for i in chosen if kind == "update"}
            commit(table, ROWS.staged(table, changed, ("k", "v", "b"), chosen - changed.keys()))
            model = {i: row for i, row in model.items() if i in changed or i not in chosen}
            model |= {i: (row[0], row[1], model[i][2], row[3]) for i, row in changed.items()}
        assert {r[0]: r[1:] for r in read(table, "_ROW_ID", *COLUMNS)} == model
        snapshot = table.latest_snapshot()
        whole = [f for f in live(table) if f.write_cols == ("k",) or f.write_cols is None]
        assert snapshot is None or len({f.first_row_id for f in whole}) <= len(whole)


def test_only_files_with_deleted_rows_are_written(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    for first in (0, 10, 20):
        ROWS.insert(table, [(first + i, [first, i], None, b"x") for i in range(10)])
    delete(table, 11, 12)
    kept = {f.file_name for f in live(table) if f.first_row_id != 10}
    materialize(table)
    snapshot = table.latest_snapshot()
    assert snapshot is not None and snapshot.commit_kind is CommitKind.COMPACT and snapshot.next_row_id == 38
    assert kept < {f.file_name for f in live(table)} and len(live(table)) == len(kept) + 3
    assert {f.first_row_id for f in live(table)} == {0, 20, 30} and not vectors(table)
    new = [f for f in live(table) if f.first_row_id == 30]
    assert {(f.row_count, f.min_sequence_number) for f in new} == {(8, snapshot.id)}
    assert sorted(r[0] for r in read(table, "k")) == [i for i in range(30) if i not in (11, 12)]
    before = snapshot.id
    materialize(table)
    assert table.latest_snapshot() == snapshot and before == 5, "nothing is left to do"


def test_a_file_without_rows(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    ten_rows(table)
    delete(table, *range(10))
    materialize(table)
    assert live(table) == [] and not entries(table) and read(table, "k") == []
    ten_rows(table)
    assert sorted(r[0] for r in read(table, "_ROW_ID")) == list(range(10, 20)), "ids are never used again"


def test_bytes_that_look_like_a_descriptor_stay_bytes(tmp_path: Path) -> None:
    """They were stored by an engine that stores any bytes: they name no file to read."""
    table, secret = new_table(tmp_path), tmp_path / "secret"
    secret.write_bytes(b"not yours")
    value = BlobDescriptor(str(secret), 0, 9).encode()
    ten_rows(table)
    blob = next(f for f in live(table) if f.file_name.endswith(".blob"))
    path = next(tmp_path.rglob(blob.file_name))
    path.unlink()
    writer = BlobFileWriter(table.store.io, str(path))
    writer.write(pa.array([value] * 10, pa.binary()))
    writer.close()
    delete(table, 3)
    materialize(table)
    assert read(table, "b") == [(value,)] * 9


@pytest.mark.parametrize("as_descriptor", ["true", "false"])
def test_blobs_are_copied(tmp_path: Path, as_descriptor: str) -> None:
    table = new_table(tmp_path, blob_as_descriptor=as_descriptor)
    ten_rows(table)
    old = [f for f in live(table) if f.file_name.endswith(".blob")]
    delete(table, 3)
    materialize(table)
    (new,) = (f for f in live(table) if f.file_name.endswith(".blob"))
    assert new not in old and new.row_count == 9
    plain = table.with_options({"blob-as-descriptor": "false"})
    assert [r[0] for r in read(plain, "b")] == [bytes([i]) for i in range(10) if i != 3]


def test_indexes_of_the_old_rows(tmp_path: Path) -> None:
    """An index that covers rewritten rows is dropped, whenever it was made; indexes of other rows stay."""
    table = new_table(tmp_path)
    ten_rows(table)
    index(table)
    ten_rows(table)
    index(table)
    delete(table, 12)
    materialize(table)
    (kept,) = (e.file.global_index for e in entries(table))
    assert kept is not None and (kept.row_range_start, kept.row_range_end) == (0, 9)
    delete(table, 3)
    late = staged(table)
    index(table)  # of the rows 20 to 28
    table.commit(late, INFO)
    (kept,) = (e.file.global_index for e in entries(table))
    assert kept is not None and (kept.row_range_start, kept.row_range_end) == (20, 28)


@pytest.mark.parametrize("meanwhile", ["delete", "update", "blob", "compact", "materialize", "index"])
def test_another_commit_comes_first(tmp_path: Path, meanwhile: str) -> None:
    """Rows that are deleted or changed meanwhile neither come back nor lose the change."""
    table = new_table(tmp_path)
    ten_rows(table)
    ten_rows(table)
    delete(table, 3)
    late = staged(table)
    there = files_below(tmp_path)
    new = {5: (77, [7, 7], None, b"new")}
    if meanwhile == "delete":
        delete(table, 4)
    elif meanwhile in ("update", "blob"):
        commit(table, ROWS.staged(table, new, ("b",) if meanwhile == "blob" else ("v",), set()))  # type: ignore[arg-type]
    elif meanwhile == "compact":
        compact(table)
    elif meanwhile == "materialize":
        materialize(table)
    else:
        index(table)
    expected = sorted(read(table, *COLUMNS), key=str)
    if meanwhile == "index":
        table.commit(late, INFO)
        assert not [e for e in entries(table) if e.file.index_type == DELETION_VECTORS_INDEX]
    else:
        with pytest.raises(CommitConflictError, match="Nothing was committed"):
            table.commit_or_abort(late, INFO)
        written = {f.file_name for m in late for f in (*m.compact_after, *m.compact_new_index_files)}
        assert written < there and not written & files_below(tmp_path), "its files are deleted"
    assert sorted(read(table, *COLUMNS), key=str) == expected


@pytest.mark.parametrize("late", ["delete", "update", "blob"])
def test_it_comes_first(tmp_path: Path, late: str) -> None:
    table = new_table(tmp_path)
    ten_rows(table)
    delete(table, 3)
    new: Any = {} if late == "delete" else {5: (77, [7, 7], None, b"new")}
    columns = () if late == "delete" else ("b",) if late == "blob" else ("v",)
    writer = ROWS.staged(table, new, columns, {5} if late == "delete" else set())
    messages = writer.finish()
    if late == "delete":
        (file,) = (f for f in live(table) if f.write_cols == ("k",))
        rows = {file.file_name: np.array([3, 5], np.int64)}
        messages = delete_rows(table.store, table.latest_snapshot(), {(b"\0\0\0\0" + bytes(8), 0): rows})
    expected_before = sorted(read(table, *COLUMNS), key=str)
    materialize(table)
    with pytest.raises(CommitConflictError):
        table.commit_or_abort(messages, INFO)
    assert sorted(read(table, *COLUMNS), key=str) == expected_before


def test_plain_append_tables_keep_their_ids(tmp_path: Path) -> None:
    lake = Lake(tmp_path, {"deletion-vectors.enabled": "true", "row-tracking.enabled": "true"})
    lake.insert(*range(10))
    lake.delete(2, 3)
    (planned,) = dry(lake, "materialize_deletion_vectors", tmp_path)
    assert (planned["files"], planned["rows"], planned["result"]) == (1, 10, "without deleted rows")
    assert lake.call("materialize_deletion_vectors", table="t") == [(True,)]
    table = lake.table
    assert not vectors(table) and [f.row_count for f in live(table)] == [8]
    assert sorted(read(table, "k", "_ROW_ID")) == [(i, i) for i in range(10) if i not in (2, 3)]
    assert dry(lake, "materialize_deletion_vectors", tmp_path) == []


def days(tmp_path: Path) -> tuple[PaimonTable, Lake]:
    schema = pa.schema([("k", pa.int32()), ("v", pa.string())])
    table = open_catalog(str(tmp_path)).create_table("default.t", schema, partitioned_by="v", options=TRACKED)
    table.append([{"k": i, "v": v} for v in "ab" for i in range(4)])
    return table, Lake(tmp_path, None)


def test_some_partitions(tmp_path: Path) -> None:
    table, lake = days(tmp_path)
    table.delete("k = 1")
    assert len(vectors(lake.table)) == 2
    planned = dry(lake, "materialize_deletion_vectors", tmp_path, partitions="v=a")
    assert [(r["partition"], r["rows"]) for r in planned] == [("v=a", 4)]
    lake.call("materialize_deletion_vectors", table="t", partitions="v=a")
    assert len(vectors(lake.table)) == 1
    assert sorted(read(lake.table, "v", "k")) == [(v, k) for v in "ab" for k in (0, 2, 3)]
    lake.call("materialize_deletion_vectors", table="t", options="target-file-size=1 mb")
    assert not entries(lake.table)


def test_advice_that_works(tmp_path: Path) -> None:
    lake = Lake(tmp_path, TRACKED)
    lake.insert(*range(10))
    lake.delete(2, 3, 4)
    lake.follow(only(lake.advice(), r"^3 of 10 rows in data files are deleted$"))
    assert lake.advice() == {}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "has no deletion vectors to materialize"),
        ({"primary-key": "k", "bucket": "1", "deletion-vectors.enabled": "true"}, "has a primary key"),
    ],
)
def test_other_tables(tmp_path: Path, options: dict[str, str], message: str) -> None:
    lake = Lake(tmp_path, options)
    lake.insert(1)
    with pytest.raises(UnsupportedFeatureError, match=message):
        lake.call("materialize_deletion_vectors", table="t")


def test_a_task_that_fails_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = new_table(tmp_path)
    ten_rows(table)
    delete(table, 3)
    before = files_below(tmp_path)

    def fail(*_: Any, **__: Any) -> DataFileMeta:
        raise OSError("disk full")

    monkeypatch.setattr("paimon_core.write.files.blob_files.BlobColumnWriter.roll", fail)
    with pytest.raises(OSError, match="disk full"):
        staged(table)
    assert files_below(tmp_path) == before
