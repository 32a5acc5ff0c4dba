"""The files of keyed buckets that the indexes of their levels leave out (`pk-btree.index.columns` and its like).

An index is used only if it covers exactly the compacted files of its level, by name and number of rows. Files that no
index covers may have every row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from paimon_core.expressions.predicate import Predicate, columns
from paimon_core.indexes.global_index.grouped_rows import RowIds
from paimon_core.indexes.matching_rows import IndexedColumn, matching_rows
from paimon_core.manifests.entries import EntryColumns, Rows
from paimon_core.options import GLOBAL_INDEX_ENABLED, GLOBAL_INDEX_THREADS
from paimon_core.scan.pruning.by_global_index import GlobalIndex, indexed_column
from paimon_core.spec.index_manifest import IndexManifestEntry
from paimon_core.spec.level_sources import LevelSources
from paimon_core.spec.manifest import BucketKey, DataFileMeta
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.indexes.global_indexes import kept_its_type
from paimon_core.store.indexes.index_files import index_entries
from paimon_core.store.indexes.level_indexes import level_indexes
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.table_store import TableStore

_Level = tuple[BucketKey, int]
_LEVELS_AT_ONCE = 16


def files_without_matches(
    store: TableStore,
    snapshot: Snapshot,
    predicate: Predicate,
    partitions: PartitionFilter,
    live: Sequence[tuple[EntryColumns, Rows]],
) -> frozenset[str]:
    """Return the names of live files without a row that satisfies the predicate, by indexes.

    Raises `CorruptFileError`, `DataFileMissingError`, `StorageError`."""
    if not store.options[GLOBAL_INDEX_ENABLED]:
        return frozenset()
    named = {name: kind for name, kind in level_indexes(store).items() if name in columns(predicate)}
    found = _entries(store, snapshot, named, partitions)
    if not found:
        return frozenset()
    files = _files(live, {bucket for bucket, _ in found})
    pairs = ((LevelSources.of(level, files[bucket]), found[bucket, level]) for bucket, level in sorted(found))
    usable = [(sources, exact) for sources, of in pairs if (exact := _exact(sources, of))]
    with (
        ThreadPoolExecutor(max(1, store.options[GLOBAL_INDEX_THREADS])) as pool,
        ThreadPoolExecutor(_LEVELS_AT_ONCE) as levels,
    ):
        parts = levels.map(lambda pair: list(_unmatched(store, predicate, pair[0], pair[1], pool)), usable)
        return frozenset(name for names in parts for name in names)


def _entries(
    store: TableStore, snapshot: Snapshot, named: Mapping[str, str], partitions: PartitionFilter
) -> dict[_Level, dict[str, list[IndexManifestEntry]]]:
    """Return the index files of the named columns, by level."""
    fields = {store.schema.field_by_name[name].id: name for name in named}
    fields = {i: n for i, n in fields.items() if kept_its_type(store, store.schema.field_by_name[n])}
    found: dict[_Level, dict[str, list[IndexManifestEntry]]] = defaultdict(lambda: defaultdict(list))
    for entry in index_entries(store, snapshot):
        covers = entry.file.global_index
        name = None if covers is None or covers.extra_field_ids else fields.get(covers.index_field_id)
        if covers is None or name is None or covers.level is None or entry.file.index_type != named[name]:
            continue
        if partitions.holds(entry.partition):
            found[(entry.partition, entry.bucket), covers.level][name].append(entry)
    return found


def _files(live: Sequence[tuple[EntryColumns, Rows]], buckets: set[BucketKey]) -> dict[BucketKey, list[DataFileMeta]]:
    """Return the live files of buckets above level 0."""
    found: dict[BucketKey, list[DataFileMeta]] = defaultdict(list)
    partitions, numbers = {p for p, _ in buckets}, sorted({b for _, b in buckets})
    for manifest, rows in live:
        held = np.array([p in partitions for p in manifest.partitions], dtype=np.bool_)
        near = (manifest.levels[rows] > 0) & np.isin(manifest.buckets[rows], numbers)
        for entry in manifest.entries(rows[near & held[manifest.partition_codes[rows]]]):
            found[entry.partition, entry.bucket].append(entry.file)
    return found


def _exact(
    sources: LevelSources, by_column: Mapping[str, Sequence[IndexManifestEntry]]
) -> dict[str, IndexManifestEntry]:
    """Return the only index of each column, if it covers just these files."""
    return {name: of[0] for name, of in by_column.items() if len(of) == 1 and _covers(of[0], sources)}


def _covers(entry: IndexManifestEntry, sources: LevelSources) -> bool:
    covers = entry.file.global_index
    assert covers is not None
    whole = covers.row_range_start == 0 and covers.row_range_end == sources.row_count - 1
    return whole and LevelSources.decode(covers.source_meta) == sources


def _unmatched(
    store: TableStore,
    predicate: Predicate,
    sources: LevelSources,
    indexes: Mapping[str, IndexManifestEntry],
    pool: ThreadPoolExecutor,
) -> Iterator[str]:
    """Yield the names of a level's files without a matching row."""

    def indexed(name: str) -> IndexedColumn[RowIds] | None:
        entry = indexes.get(name)
        if entry is None:
            return None
        data_type = store.schema.field_by_name[name].type
        return indexed_column(data_type, [GlobalIndex.of(store, data_type, [entry], RowIds(), pool)])

    rows, start = matching_rows(predicate, indexed), 0
    if rows is None:
        return
    for name, count in sources.files:
        if not rows.range_cardinality(start, start + count):
            yield name
        start += count
