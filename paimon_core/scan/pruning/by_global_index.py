"""The rows of a version that its global indexes keep.

Rows that an index does not cover count as possible. With `scalar-index.search-mode` = `fast`, a search by a column
finds only rows that an index of this column covers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.expressions.predicate import Predicate, columns
from paimon_core.indexes.file_index.column_index import End
from paimon_core.indexes.file_index.keys import Key
from paimon_core.indexes.global_index.file_meta import decode_file_meta
from paimon_core.indexes.global_index.grouped_rows import RowIds
from paimon_core.indexes.global_index.keys import KeyFormat
from paimon_core.indexes.global_index.reader import BITMAP, BTREE, GLOBAL_INDEX_FILES, GlobalIndexFile, key_type
from paimon_core.indexes.matching_rows import IndexedColumn, matching_rows
from paimon_core.lazy import cached_property
from paimon_core.options import (
    BITMAP_INDEX_SCAN_SIZE,
    BTREE_INDEX_SCAN_SIZE,
    DATA_EVOLUTION,
    GLOBAL_INDEX_ENABLED,
    GLOBAL_INDEX_SEARCH_MODE,
    GLOBAL_INDEX_THREADS,
    SCALAR_INDEX_SEARCH_MODE,
)
from paimon_core.spec.index_manifest import IndexManifestEntry
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.types import DataField, DataType, element_of
from paimon_core.store.indexes.global_indexes import IndexInput, RowSpan, covered, kept_its_type, of_column, without
from paimon_core.store.indexes.index_files import index_entries, index_path
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.table_store import TableStore

_SCAN_SIZES = {BITMAP: BITMAP_INDEX_SCAN_SIZE, BTREE: BTREE_INDEX_SCAN_SIZE}
_FAST = "fast"


def rows_by_global_index(
    store: TableStore, snapshot: Snapshot, predicate: Predicate, partitions: PartitionFilter
) -> RowIds | None:
    """Return the ids of rows of some partitions that may satisfy the predicate, or None if all rows may.

    The result has every row that does, and possibly others. Raises `CorruptFileError`, `DataFileMissingError`,
    `StorageError`.
    """
    if not store.options[DATA_EVOLUTION] or not store.options[GLOBAL_INDEX_ENABLED]:
        return None
    entries = [e for e in index_entries(store, snapshot) if e.file.global_index is not None]
    wanted = columns(predicate) - set(store.schema.partition_keys)
    if not entries or not wanted & store.schema.field_by_name.keys():
        return None
    entries = [e for e in entries if partitions.holds(e.partition)]
    with ThreadPoolExecutor(max(1, store.options[GLOBAL_INDEX_THREADS])) as pool:
        known = _Columns(store, snapshot, entries, pool)
        return matching_rows(predicate, lambda name: known.find(name) if name in wanted else None)


@dataclass(frozen=True)
class _Columns:
    """The indexes of a version, by column."""

    store: TableStore
    snapshot: Snapshot
    entries: Sequence[IndexManifestEntry]
    pool: ThreadPoolExecutor

    def find(self, name: str) -> IndexedColumn[RowIds] | None:
        """Return the indexes of a column, or None if the column has no index."""
        if name not in self._found:
            field = self.store.schema.field_by_name.get(name)
            self._found[name] = None if field is None else self._indexed(field)
        return self._found[name]

    @cached_property
    def _found(self) -> dict[str, IndexedColumn[RowIds] | None]:
        return {}

    def _indexed(self, field: DataField) -> IndexedColumn[RowIds] | None:
        found = of_column(self.entries, field.id)
        entries = [e for e in found if key_type(e.file.index_type, field.type) is not None]
        if not entries or not kept_its_type(self.store, field):
            return None
        whole = covered(e.file for e in entries) if self._is_fast else [(0, self.snapshot.next_row_id or 0)]
        by_type: dict[str, list[IndexManifestEntry]] = defaultdict(list)
        for entry in entries:
            by_type[entry.file.index_type].append(entry)
        return indexed_column(field.type, [self._index(field.type, of, whole) for of in by_type.values()])

    def _index(
        self, data_type: DataType, entries: Sequence[IndexManifestEntry], whole: Sequence[RowSpan]
    ) -> GlobalIndex:
        others = _of_spans(without(whole, covered(e.file for e in entries)))
        return GlobalIndex.of(self.store, data_type, entries, others, self.pool)

    @property
    def _is_fast(self) -> bool:
        options = self.store.options
        return (options[SCALAR_INDEX_SEARCH_MODE] or options[GLOBAL_INDEX_SEARCH_MODE]) == _FAST


@dataclass(frozen=True, slots=True)
class IndexedRows:
    """One file of a global index: the first id of its rows, and the range of its keys, or None if all rows are NULL."""

    content: GlobalIndexFile
    first: int
    size: int
    keys: tuple[Any, Any] | None
    has_nulls: bool

    def may_hold(self, low: End | None, high: End | None) -> bool:
        if self.keys is None:
            return False
        first, last = self.keys
        above = low is None or last > low.key or (low.inclusive and last == low.key)
        return above and (high is None or first < high.key or (high.inclusive and first == high.key))


_Ask = Callable[[GlobalIndexFile], RowIds]


@dataclass(frozen=True, slots=True)
class GlobalIndex:
    """The global index of one type on a column, with all its files. Implements `ColumnIndex`.

    `others` are the rows that the index does not cover. A search for a range of keys reads at most `scan_size` bytes of
    files.
    """

    files: Sequence[IndexedRows]
    others: RowIds
    scan_size: int
    pool: ThreadPoolExecutor

    @staticmethod
    def of(
        store: TableStore,
        data_type: DataType,
        entries: Sequence[IndexManifestEntry],
        others: RowIds,
        pool: ThreadPoolExecutor,
    ) -> GlobalIndex:
        """Return the index of a column of this type that has these files, all of one type."""
        of = key_type(entries[0].file.index_type, data_type)
        key_format = None if of is None else KeyFormat.of(of)
        assert key_format is not None  # callers have only such indexes
        size = _SCAN_SIZES.get(entries[0].file.index_type)
        files = [open_index(store, e, key_format) for e in entries]
        return GlobalIndex(files, others, 0 if size is None else store.options[size], pool)

    def equal(self, keys: Sequence[Key]) -> RowIds | None:
        return self._ask(
            (f, partial(_equal, keys=near))
            for f in self.files
            if (near := [k for k in keys if f.may_hold(End(k), End(k))])
        )

    def not_equal(self, keys: Sequence[Key]) -> RowIds | None:
        return self._ask((f, partial(_without_keys, keys=keys)) for f in self.files if f.keys is not None)

    def less(self, key: Key, or_equal: bool) -> RowIds | None:
        return self._between(None, End(key, or_equal))

    def greater(self, key: Key, or_equal: bool) -> RowIds | None:
        return self._between(End(key, or_equal), None)

    def between(self, low: End, high: End) -> RowIds | None:
        return self._between(low, high)

    def is_null(self) -> RowIds | None:
        return self._ask((f, lambda content: content.nulls()) for f in self.files if f.has_nulls)

    def is_not_null(self) -> RowIds | None:
        return self._ask((f, lambda content: content.values()) for f in self.files if f.keys is not None)

    def _between(self, low: End | None, high: End | None) -> RowIds | None:
        files = [f for f in self.files if f.may_hold(low, high)]
        if sum(f.size for f in files) > self.scan_size:
            return None
        return self._ask((f, lambda content: content.between(low, high)) for f in files)

    def _ask(self, questions: Iterator[tuple[IndexedRows, _Ask]]) -> RowIds:
        """Return the answers of files as row ids of the table, together with the rows that no file covers."""
        answers = list(self.pool.map(_answer, questions))
        return RowIds.union(self.others, *answers)


def indexed_column(data_type: DataType, indexes: Sequence[GlobalIndex]) -> IndexedColumn[RowIds]:
    """Return a column with its indexes: an ARRAY has indexes of its elements."""
    element = element_of(data_type)
    return IndexedColumn(data_type, indexes) if element is None else IndexedColumn(element, indexes, of_elements=True)


def _answer(question: tuple[IndexedRows, _Ask]) -> RowIds:
    file, ask = question
    rows = ask(file.content)
    return rows.shift(file.first) if file.first else rows


def _equal(content: GlobalIndexFile, keys: Sequence[Key]) -> RowIds:
    return RowIds.union(RowIds(), *(content.between(End(k), End(k)) for k in keys))


def _without_keys(content: GlobalIndexFile, keys: Sequence[Key]) -> RowIds:
    return content.values() - _equal(content, keys)


def _of_spans(spans: Sequence[RowSpan]) -> RowIds:
    rows = RowIds()
    for start, end in spans:
        rows.add_range(start, end)
    return rows


def open_index(store: TableStore, entry: IndexManifestEntry, key_format: KeyFormat) -> IndexedRows:
    """Open a file of an index. Raises `CorruptFileError`."""
    file, covers = entry.file, entry.file.global_index
    assert covers is not None
    path = index_path(store, entry.partition, entry.bucket, file)
    meta = decode_file_meta(path, covers.index_meta)
    keys = None
    if meta.first is not None and meta.last is not None:
        keys = key_format.read(path, meta.first), key_format.read(path, meta.last)
    content = GLOBAL_INDEX_FILES[file.index_type](
        path, file.file_size, key_format, IndexInput(store, path, file.file_size)
    )
    return IndexedRows(content, covers.row_range_start, file.file_size, keys, meta.has_nulls)
