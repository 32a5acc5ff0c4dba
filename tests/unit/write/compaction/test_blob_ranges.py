"""Compactions of `.blob` files: the newest value of each row, in one file of several."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import CommitConflictError, CorruptFileError, DataFileMissingError
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
    assert [s[:2] for s in shape(table) if s[2] == ("v",)] == [(0, 4)]
    assert read(table, "v") == [(b"new",), (b"2",), (b"3",), (b"4" * 40,)]
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
