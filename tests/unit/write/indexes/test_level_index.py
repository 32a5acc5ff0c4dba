"""Indexes of keyed tables (`pk-btree.index.columns`): compactions make them, and plans use them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paimon_core.errors import CommitConflictError
from paimon_core.expressions.predicate import And, Compare, IsNull, Or, Predicate
from paimon_core.lsm.strategy import Strategy
from paimon_core.scan.read import read_split
from paimon_core.spec.index_manifest import ENTRY_VERSION, INDEX_MANIFEST_ENTRY, IndexManifestEntry
from paimon_core.spec.level_sources import LevelSources
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.store.indexes.index_files import index_entries, index_path
from paimon_core.store.manifests import live_files
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.record_files import record_bytes
from paimon_core.table import Table
from paimon_core.write.compaction.bucket import compact_bucket
from paimon_core.write.compaction.job import live_buckets
from tests.support.stored import commit, compact, create_table, insert, open_table, read

OPTIONS = {"primary_key": "k", "bucket": "1", "deletion-vectors__enabled": "true", "write_only": "true"}
B, D = Compare("v", "=", "b"), Compare("v", "=", "d")


def new_table(root: Path, kind: str = "btree", **options: str) -> Table:
    return create_table(str(root), **OPTIONS, **{f"pk-{kind}__index__columns": "v"}, **options)


def payloads(table: Table) -> list[IndexManifestEntry]:
    found = index_entries(table.store, table.latest_snapshot())
    return [e for e in found if e.file.global_index is not None]


def live(table: Table) -> list[DataFileMeta]:
    return [e.file for e in live_files(table.store, table.latest_snapshot()).values()]


def found(table: Table, predicate: Predicate) -> tuple[int, list[int]]:
    """Return the number of files that a query reads, and the keys that it finds."""
    splits = table.plan(table.latest_snapshot(), predicate).splits
    batches = [b for s in splits for b in read_split(table.store, s, ["k", "v"], predicate)]
    return sum(len(s.files) for s in splits), sorted(k for b in batches for k in b.column(0).to_pylist())


@pytest.mark.parametrize("kind", ["btree", "bitmap"])
def test_a_compaction_makes_the_index_of_its_level(tmp_path: Path, kind: str) -> None:
    table = new_table(tmp_path, kind)
    insert(table, [(1, "a"), (2, "b"), (3, None), (4, "d")])  # type: ignore[list-item]
    assert payloads(table) == []
    compact(table)
    (entry,), (file,) = payloads(table), live(table)
    meta = entry.file.global_index
    assert meta is not None and (entry.file.index_type, entry.file.row_count) == (kind, 4)
    assert (meta.row_range_start, meta.row_range_end, meta.index_field_id) == (0, 3, 1)
    assert LevelSources.decode(meta.source_meta) == LevelSources(file.level, ((file.file_name, 4),))
    assert found(table, B) == (1, [2])
    assert found(table, Compare("v", "=", "c")) == (0, [])  # statistics of the file do not decide it
    assert found(table, And((Compare("v", ">", "b"), Compare("v", "<", "d")))) == (0, [])
    assert found(table, And((Compare("v", ">=", "b"), Compare("k", "=", 2)))) == (1, [2])
    assert found(table, Or((Compare("v", "=", "c"), Compare("k", "=", 1)))) == (1, [1])
    assert found(table, IsNull("v")) == (1, [3])


def test_each_change_of_the_level_makes_it_again(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    insert(table, [(1, "a"), (2, "b")])
    compact(table)
    insert(table, [(2, "d"), (4, "b")])
    (before,) = payloads(table)  # level 0 has no index, and the level did not change
    assert found(table, D) == (0, [])  # rows are read when they are compacted
    compact(table)
    (after,) = payloads(table)
    assert after.file.file_name != before.file.file_name
    assert found(table, D) == (1, [2])
    assert found(table, B) == (1, [4])
    assert read(table) == [(1, "a"), (2, "d"), (4, "b")]


def test_files_of_a_level_are_left_out_one_by_one(tmp_path: Path) -> None:
    table = new_table(tmp_path, **{"target-file-row-num": "100"})
    insert(table, [(i, "abcd"[i % 4] + str(i // 100)) for i in range(300)])
    compact(table)
    assert [f.row_count for f in live(table)] == [100, 100, 100]
    assert found(table, Compare("v", "=", "a1")) == (1, list(range(100, 200, 4)))
    assert found(table, Compare("v", "=", "b0x")) == (0, [])  # between the least and the largest value of a file


def test_an_index_of_other_files_is_not_used(tmp_path: Path) -> None:
    """A commit of a writer that knows nothing of indexes."""
    table = new_table(tmp_path)
    insert(table, [(1, "a"), (2, "c")])
    compact(table)
    assert found(table, B) == (0, [])
    (entry,) = payloads(table)
    meta = entry.file.global_index
    assert meta is not None
    source = LevelSources(live(table)[0].level, (("x", 1),)).encode()
    other = replace(entry, file=replace(entry.file, global_index=replace(meta, source_meta=source)))
    snapshot = table.latest_snapshot()
    assert snapshot is not None and snapshot.index_manifest is not None
    path = table.store.paths.manifest(snapshot.index_manifest)
    Path(path).write_bytes(record_bytes(table.store, INDEX_MANIFEST_ENTRY, ENTRY_VERSION, [other]))
    assert found(open_table(str(tmp_path)), B) == (1, [])


def test_a_lost_index_does_not_change_the_rows(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    insert(table, [(1, "a"), (2, "b")])
    compact(table)
    (entry,) = payloads(table)
    Path(index_path(table.store, entry.partition, entry.bucket, entry.file)).unlink()
    without = Table(table.store.with_options({"global-index.enabled": "false"}))
    assert found(without, B) == (1, [2])
    compact(table)
    assert read(table) == [(1, "a"), (2, "b")]


def test_two_compactions_leave_no_index_of_other_files(tmp_path: Path) -> None:
    """The second commit of two compactions of one bucket fails, and its index is deleted."""
    table = new_table(tmp_path)
    insert(table, [(1, "a"), (2, "b")])
    (bucket,) = live_buckets(table.store, table.latest_snapshot(), PartitionFilter(()))
    messages = [compact_bucket(table.store, bucket, Strategy.FULL) for _ in range(2)]
    assert None not in messages
    commit(table, [m for m in messages[:1] if m is not None], "first")
    with pytest.raises(CommitConflictError):
        commit(table, [m for m in messages[1:] if m is not None], "second")
    names = {e.file.file_name for e in payloads(table)}
    assert len(names) == 1
    assert {p.name for p in (Path(table.store.root) / "index").iterdir()} == names


@pytest.mark.parametrize(
    "data",
    [None, b"", b"\0\0\0\1", LevelSources(5, (("x", 1),)).encode()[:-1], LevelSources(0, ()).encode(), b"\0" * 40],
)
def test_unfamiliar_sources(data: bytes | None) -> None:
    assert LevelSources.decode(data) is None
