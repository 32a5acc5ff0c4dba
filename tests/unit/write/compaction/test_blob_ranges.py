"""Compactions of `.blob` files: the newest value of each row, in one file of several."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import CommitConflictError, CorruptFileError, DataFileMissingError
from paimon_core.formats.blob import BlobFile, BlobFileWriter
from paimon_core.io.local import LocalFileIO
from paimon_core.lsm.strategy import Strategy
from paimon_core.spec.encodings.blob_descriptor import BlobDescriptor
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.row_ranges import is_blob
from paimon_core.store.partitions import PartitionFilter
from paimon_core.table import Table
from paimon_core.write.compaction.job import live_buckets, planned_compaction
from paimon_core.write.compaction.row_ranges import compact_ranges
from tests.support.evolving import INFO, commit, live, read
from tests.support.stored import compact
from tests.unit.write.files.test_blob_files import COLUMNS, ROWS, new_table


def compacting(root: Path, **options: str) -> Table:
    return new_table(root, blob_compaction__enabled="true", **options)


def shape(table: Table) -> list[tuple[Any, ...]]:
    files = sorted(live(table), key=lambda f: (f.write_cols or (), f.first_row_id, f.max_sequence_number))
    return [
        (f.first_row_id, f.row_count, f.write_cols, f.min_sequence_number, f.max_sequence_number, f.file_source)
        for f in files
    ]


def staged(table: Table, strategy: Strategy = Strategy.FULL) -> CommitMessage | None:
    (bucket,) = live_buckets(table.store, table.latest_snapshot(), PartitionFilter(()))
    planned = planned_compaction(table.store, bucket, strategy)
    message = compact_ranges(table.store, bucket, strategy)
    assert (planned is None) == (message is None)
    if planned is not None and message is not None:
        assert planned.files == message.compact_before
    return message


def test_files_of_several_ranges_become_one_with_the_ranges(tmp_path: Path) -> None:
    table = compacting(tmp_path, target_file_row_num="2")
    descriptor = BlobDescriptor("/etc/passwd").encode()
    ROWS.insert(table, [(1, b"1", b"x"), (2, None, b"y"), (3, b"3", None)])
    commit(table, ROWS.staged(table, {0: (0, b"new", None), 2: (0, None, None)}, ("v",), {1}))
    value = Path(tmp_path / "value")
    value.write_bytes(descriptor)
    commit(table, ROWS.staged(table, {2: (0, BlobDescriptor(str(value)).encode(), None)}, ("v",), set()))
    before = read(table, "_ROW_ID", *COLUMNS)
    assert before == [(0, 1, b"new", b"x"), (2, 3, descriptor, None)]
    compact(table)
    assert shape(table) == [(0, 3, ("k",), 1, 1, 1), (0, 3, ("v",), 1, 3, 1), (0, 3, ("w",), 1, 1, 1)]
    assert read(table, "_ROW_ID", *COLUMNS) == before
    assert staged(table) is None
    described = Table(table.store.with_options({"blob-as-descriptor": "true"}))
    assert [v is None for (v,) in read(described, "v")] == [False, False]


def test_files_of_one_range_become_one_without_it(tmp_path: Path) -> None:
    table = compacting(tmp_path, blob__target_file_size="1 b", target_file_row_num="3", compaction__min__file_num="3")
    ROWS.insert(table, [(i, bytes([i]), None) for i in range(6)])
    assert [s[:3] for s in shape(table) if s[2] == ("v",)] == [(i, 1, ("v",)) for i in range(6)]
    larger = Table(table.store.with_options({"blob.target-file-size": "1 mb", "blob-as-descriptor": "true"}))
    message = staged(larger, Strategy.MINOR)
    assert message is not None
    table.commit([message], INFO)
    assert [s[:3] for s in shape(table) if s[2] == ("v",)] == [(0, 3, ("v",)), (3, 3, ("v",))]
    assert [s[:3] for s in shape(table) if s[2] == ("k",)] == [(0, 3, ("k",)), (3, 3, ("k",))]
    assert read(table, "k", "v") == [(i, bytes([i])) for i in range(6)]


def test_small_compactions_wait_for_several_updates(tmp_path: Path) -> None:
    table = compacting(tmp_path, compaction__min__file_num="3")
    ROWS.insert(table, [(1, b"1", None), (2, b"2", None)])
    commit(table, ROWS.staged(table, {0: (0, b"a", None)}, ("v",), set()))
    assert staged(table, Strategy.MINOR) is None
    commit(table, ROWS.staged(table, {0: (0, b"b", None)}, ("v",), set()))
    message = staged(table, Strategy.MINOR)
    assert message is not None and [len(message.compact_before), len(message.compact_after)] == [3, 1]
    table.commit([message], INFO)
    assert read(table, "v") == [(b"b",), (b"2",)]
    commit(table, ROWS.staged(table, {1: (0, b"c", None)}, ("v",), set()))
    assert staged(table, Strategy.MINOR) is None
    assert staged(table, Strategy.FULL) is not None


def test_large_files_stay_unless_newer_values_replace_theirs(tmp_path: Path) -> None:
    table = compacting(tmp_path, blob__target_file_size="40 b")
    ROWS.insert(table, [(1, b"1" * 40, None), (2, b"2", None), (3, b"3", None), (4, b"4" * 40, None)])
    names = [f.file_name for f in live(table) if is_blob(f)]
    assert [s[:2] for s in shape(table) if s[2] == ("v",)] == [(0, 1), (1, 3)]
    assert staged(table) is None
    commit(table, ROWS.staged(table, {0: (0, b"new", None)}, ("v",), set()))
    compact(table)
    assert [s[:2] for s in shape(table) if s[2] == ("v",)] == [(0, 3), (3, 1)]
    assert read(table, "v") == [(b"new",), (b"2",), (b"3",), (b"4" * 40,)]
    assert staged(table) is None
    assert [n for n in names if n in {f.file_name for f in live(table)}] == names[-1:]  # the file of w


@pytest.mark.parametrize("columns", [("v",), ("k",), COLUMNS])
def test_an_update_meanwhile_stays_newer(tmp_path: Path, columns: tuple[str, ...]) -> None:
    table = compacting(tmp_path)
    ROWS.insert(table, [(1, b"1", None), (2, b"2", None)])
    commit(table, ROWS.staged(table, {0: (0, b"a", None)}, ("v",), set()))
    update = ROWS.staged(table, {1: (9, b"late", b"w")}, columns, set())
    first = staged(table)
    assert first is not None
    table.commit([first], INFO)
    commit(table, update)
    compact(table)
    expected = [
        (1, b"a", None),
        tuple(n if c in columns else o for c, n, o in zip(COLUMNS, (9, b"late", b"w"), (2, b"2", None), strict=True)),
    ]
    assert read(table, *COLUMNS) == expected


def test_a_compaction_after_an_update_keeps_the_update(tmp_path: Path) -> None:
    table = compacting(tmp_path)
    ROWS.insert(table, [(1, b"1", None), (2, b"2", None)])
    commit(table, ROWS.staged(table, {0: (0, b"a", None)}, ("v",), set()))
    compaction = staged(table)
    commit(table, ROWS.staged(table, {0: (0, b"b", None)}, ("v",), set()))
    assert compaction is not None
    table.commit([compaction], CommitInfo(user="compactor"))
    assert read(table, "k", "v") == [(1, b"b"), (2, b"2")]
    compact(table)
    assert read(table, "k", "v") == [(1, b"b"), (2, b"2")]


@pytest.mark.parametrize("meanwhile", ["truncate", "compact", "delete"])
@pytest.mark.parametrize("ranges", ["one", "several"])
def test_other_commits_meanwhile(tmp_path: Path, meanwhile: str, ranges: str) -> None:
    """Files that are gone refuse the compaction, and none of its files becomes visible; deleted rows stay deleted."""
    table = compacting(tmp_path, target_file_row_num="2" if ranges == "several" else "9")
    ROWS.insert(table, [(i, bytes([i]), None) for i in range(4)])
    commit(table, ROWS.staged(table, {0: (0, b"a", None)}, ("v",), set()))
    compaction = staged(table)
    assert compaction is not None and len(compaction.compact_after) == (3 if ranges == "several" else 1)
    if meanwhile == "truncate":
        table.truncate(INFO)
    elif meanwhile == "compact":
        compact(table)
    else:
        commit(table, ROWS.staged(table, {}, (), {1}))
    before = read(table, "k", "v")
    if meanwhile == "delete" and ranges == "one":
        table.commit([compaction], INFO)
    else:
        with pytest.raises(CommitConflictError):
            table.commit([compaction], INFO)
    assert read(table, "k", "v") == before
    assert before == {"truncate": [], "compact": [(0, b"a"), (1, b"\1"), (2, b"\2"), (3, b"\3")]}.get(
        meanwhile, [(0, b"a"), (2, b"\2"), (3, b"\3")]
    )


@pytest.mark.parametrize("damage", ["missing", "short"])
def test_a_failure_leaves_no_new_file(tmp_path: Path, damage: str) -> None:
    table = compacting(tmp_path)
    ROWS.insert(table, [(1, b"1", None), (2, b"2", None)])
    commit(table, ROWS.staged(table, {0: (0, b"a", None)}, ("v",), set()))
    blob = next(f for f in live(table) if is_blob(f) and f.write_cols == ("v",))
    (path,) = tmp_path.rglob(blob.file_name)
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[8:])
    files = set(tmp_path.rglob("data-*"))
    with pytest.raises(DataFileMissingError if damage == "missing" else CorruptFileError, match=blob.file_name):
        staged(table)
    assert set(tmp_path.rglob("data-*")) == files


def test_files_stay_without_the_option(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    ROWS.insert(table, [(1, b"1", b"x")])
    commit(table, ROWS.staged(table, {0: (0, b"a", None)}, ("v",), set()))
    assert staged(table) is None


def test_new_files_end_at_the_target_size(tmp_path: Path) -> None:
    """Values of rows with several files go to files of the target size, too, and NULLs go with them."""
    table = compacting(tmp_path, blob__target_file_size="1 mb")
    rows = [(i, None if i % 5 == 4 else b"%02d" % i * 30, None) for i in range(20)]
    ROWS.insert(table, rows)
    commit(table, ROWS.staged(table, {i: (0, b"new%02d" % i * 10, None) for i in (0, 7, 19)}, ("v",), set()))
    smaller = Table(table.store.with_options({"blob.target-file-size": "300 b"}))
    before = read(table, "_ROW_ID", "k", "v")
    message = staged(smaller)
    assert message is not None
    table.commit([message], INFO)
    files = sorted((f for f in live(table) if f.write_cols == ("v",)), key=lambda f: f.first_row_id or 0)
    assert [(f.first_row_id, f.row_count, f.max_sequence_number) for f in files] == [
        *[(0, 6, 2), (6, 6, 2), (12, 5, 2), (17, 3, 2)]
    ]
    assert all(300 <= f.file_size < 500 for f in files[:-1])
    assert read(table, "_ROW_ID", "k", "v") == before
    assert staged(smaller) is None
    commit(table, ROWS.staged(table, {5: (0, b"last", None)}, ("v",), set()))
    assert read(table, "v")[5] == (b"last",)


@pytest.mark.parametrize("work", ["read", "compact"])
def test_runs_of_rows_are_read_together(tmp_path: Path, work: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every second row has a newer value: each of the two files is opened for its index, and read by one request."""
    table = compacting(tmp_path)
    ROWS.insert(table, [(i, b"%03d" % i, None) for i in range(100)])
    commit(table, ROWS.staged(table, {i: (0, b"new%d" % i, None) for i in range(0, 100, 2)}, ("v",), set()))
    opened: list[str] = []
    with monkeypatch.context() as patched:
        open_input = LocalFileIO.open_input
        patched.setattr(
            LocalFileIO, "open_input", lambda io, path, size=None: (opened.append(path), open_input(io, path, size))[1]
        )
        if work == "read":
            assert read(table, "v") == [(b"%03d" % i if i % 2 else b"new%d" % i,) for i in range(100)]
        else:
            assert staged(table) is not None
    assert sorted(opened.count(p) for p in set(opened) if p.endswith(".blob")) in ([2, 2], [1, 2, 2])


def test_reads_ahead_are_bounded(tmp_path: Path) -> None:
    io, path = LocalFileIO(), str(tmp_path / "x.blob")
    writer = BlobFileWriter(io, path)
    writer.write(pa.array([bytes([i]) * 100 for i in range(50)], pa.binary()))
    writer.close()
    rows = np.arange(0, 50, 2)
    file = BlobFile.open(io, path).for_rows(rows, np.ones(25, np.int64), 500)
    sizes: list[int] = []
    keep = file.ahead.keep  # type: ignore[union-attr]
    file.ahead.keep = lambda offset, data: (sizes.append(data.size), keep(offset, data))[1]  # type: ignore[method-assign, union-attr]
    assert [v for row in rows.tolist() for p in file.read(row, 1) for v in p.to_pylist()] == [
        bytes([i]) * 100 for i in range(0, 50, 2)
    ]
    assert sizes and max(sizes) <= 500


def test_a_file_that_ends_early_is_damaged_also_when_it_is_read_ahead(tmp_path: Path) -> None:
    io, path = LocalFileIO(), tmp_path / "x.blob"
    writer = BlobFileWriter(io, str(path))
    writer.write(pa.array([b"a" * 100, b"b" * 100, b"c" * 100], pa.binary()))
    writer.close()
    file = BlobFile.open(io, str(path)).for_rows(np.array([0, 2]), np.array([1, 1]), 500)
    path.write_bytes(path.read_bytes()[:150])
    with pytest.raises(CorruptFileError, match="ends before the last value"):
        list(file.read(0, 1))
