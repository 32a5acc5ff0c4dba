"""Indexes of buckets with keys: a commit that changes a level leaves no index of the level's old files."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.commit.changes import Overwrite
from paimon_core.commit.global_indexes import stale_indexes
from paimon_core.spec.index_manifest import GlobalIndexMeta, IndexFileMeta, IndexManifestEntry
from paimon_core.spec.manifest import DataFileMeta, FileKind, ManifestEntry
from paimon_core.store.indexes.index_files import index_entries
from paimon_core.table import Table
from tests.support.tables import data_file, info, message, new_store


def source_meta(level: int, *files: DataFileMeta, version: int = 1) -> bytes:
    """As Java's `PrimaryKeyIndexSourceMeta` writes it."""
    names = [(f.file_name.encode(), f.row_count) for f in files]
    parts = (struct.pack(f">h{len(name)}sq", len(name), name, rows) for name, rows in names)
    return struct.pack(">iii", version, level, len(files)) + b"".join(parts)


def index_of(source: bytes, name: str = "index-1", index_type: str = "btree") -> IndexFileMeta:
    meta = GlobalIndexMeta(row_range_start=0, row_range_end=1, index_field_id=1, source_meta=source)
    return IndexFileMeta(index_type=index_type, file_name=name, file_size=9, row_count=2, global_index=meta)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A table with a file on level 5 and its index, and a file on level 0."""
    table = Table(new_store(tmp_path, primary_key="k", bucket="1", deletion_vectors__enabled="true"))
    top = data_file(table.store, 1, 5, level=5, rows=2, file_source=1)
    first = message(table.store, compact_after=(top,), compact_new_index_files=(index_of(source_meta(5, top)),))
    table.commit([first], info())
    table.commit([message(table.store, data_file(table.store, 2, 2))], info())
    return table


def indexes(table: Table) -> list[str]:
    return [e.file.file_name for e in index_entries(table.store, table.latest_snapshot())]


def live(table: Table, level: int) -> DataFileMeta:
    return next(f for s in table.plan(table.latest_snapshot()).splits for f in s.files if f.level == level)


def test_new_rows_keep_the_index(table: Table) -> None:
    assert indexes(table) == ["index-1"]


def test_a_compaction_of_the_level_deletes_it(table: Table) -> None:
    after = data_file(table.store, 1, 5, level=5, rows=2, file_source=1)
    old = (live(table, 5), live(table, 0))
    table.commit([message(table.store, compact_before=old, compact_after=(after,))], info())
    assert indexes(table) == []


def test_a_compaction_of_another_level_keeps_it(table: Table) -> None:
    after = data_file(table.store, 2, 2, level=4, file_source=1)
    table.commit([message(table.store, compact_before=(live(table, 0),), compact_after=(after,))], info())
    assert indexes(table) == ["index-1"]


def test_an_overwrite_deletes_it_once(table: Table) -> None:
    table.commit([message(table.store, data_file(table.store, 7, 7))], info(), overwrite=Overwrite())
    assert indexes(table) == []


def test_a_compaction_may_bring_the_next_index(table: Table) -> None:
    after = data_file(table.store, 1, 5, level=5, rows=2, file_source=1)
    compacted = message(
        table.store,
        compact_before=(live(table, 5),),
        compact_after=(after,),
        compact_deleted_index_files=(index_of(source_meta(5, live(table, 5))),),
        compact_new_index_files=(index_of(source_meta(5, after), "index-2"),),
    )
    table.commit([compacted], info())
    assert indexes(table) == ["index-2"]


_LEVELS = st.integers(0, 3)
_BUCKETS = st.tuples(st.sampled_from([b"p", b"q"]), st.integers(0, 1))


@given(
    kept=st.lists(st.tuples(_BUCKETS, st.integers(1, 3)), max_size=6),
    changed=st.lists(st.tuples(_BUCKETS, _LEVELS, st.sampled_from(FileKind)), max_size=4),
)
def test_only_changed_levels_lose_their_index(
    kept: list[tuple[tuple[bytes, int], int]], changed: list[tuple[tuple[bytes, int], int, FileKind]]
) -> None:
    file = data_file(new_store(Path("/nowhere"), io=_Nothing()), 1, 1)  # type: ignore[arg-type]
    before = [
        IndexManifestEntry(kind=FileKind.ADD, partition=p, bucket=b, file=index_of(source_meta(level, file), f"i-{i}"))
        for i, ((p, b), level) in enumerate(kept)
    ]
    entries = [
        ManifestEntry(kind=kind, partition=p, bucket=b, total_buckets=2, file=replace(file, level=level))
        for (p, b), level, kind in changed
    ]
    touched = {(bucket, level) for bucket, level, _ in changed if level > 0}
    expected = [f"i-{i}" for i, entry in enumerate(kept) if entry in touched]
    assert [e.file.file_name for e in stale_indexes(before, entries)] == expected
    assert all(e.kind is FileKind.DELETE for e in stale_indexes(before, entries))


class _Nothing:
    """A storage that takes files and forgets them."""

    def __getattr__(self, name: str) -> object:
        return lambda *args, **named: True


@pytest.mark.parametrize("source", [b"", b"\x00", source_meta(5, version=2), source_meta(0), source_meta(-1)])
def test_unfamiliar_indexes_go_with_any_compaction_of_their_bucket(table: Table, source: bytes) -> None:
    entry = IndexManifestEntry(kind=FileKind.ADD, partition=b"", bucket=0, file=index_of(source))
    assert entry.file.global_index is not None and entry.file.global_index.level is None
    change = ManifestEntry(kind=FileKind.ADD, partition=b"", bucket=0, total_buckets=1, file=live(table, 5))
    assert len(stale_indexes([entry], [change])) == 1
    assert stale_indexes([entry], [replace(change, bucket=1)]) == []
    assert stale_indexes([entry], [replace(change, file=live(table, 0))]) == []
