"""The files of a version that a query can leave out: by bucket, key range, column statistics and file indexes."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from decimal import InvalidOperation
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from paimon_core.arrow.types import ROW_ID
from paimon_core.dataclass import dataclass
from paimon_core.expressions.predicate import Compare, In, Predicate, columns, conjuncts, only_on
from paimon_core.expressions.prune import may_match
from paimon_core.lazy import ImportedOnCall, cached_property
from paimon_core.manifests.entries import EntryColumns, Rows
from paimon_core.options import FILE_INDEXES
from paimon_core.scan.pruning.by_file_index import is_worth_reading, rows_by_index
from paimon_core.scan.pruning.file_stats import FileStats
from paimon_core.spec.binary_row import encode_body
from paimon_core.spec.hashing.murmur import bucket_of, murmur3_row
from paimon_core.spec.kinds import MOMENTS
from paimon_core.spec.manifest import DataFileMeta, ManifestEntry
from paimon_core.spec.row_ranges import RowRange, first_row
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.stats import UNKNOWN, ColumnStats
from paimon_core.spec.types import Kind
from paimon_core.store.data.column_stats import names_then
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.table_store import TableStore

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from paimon_core.indexes.file_index.cursor import Rows as Positions
    from paimon_core.indexes.file_index.options import indexed_values
    from paimon_core.indexes.global_index.grouped_rows import RowIds, encode_row_ids
    from paimon_core.scan.pruning.entries import Range, prune_entries, ranges
else:
    indexed_values = ImportedOnCall("paimon_core.indexes.file_index.options", "indexed_values")
    RowIds = ImportedOnCall("paimon_core.indexes.global_index.grouped_rows", "RowIds")
    encode_row_ids = ImportedOnCall("paimon_core.indexes.global_index.grouped_rows", "encode_row_ids")
    ranges = ImportedOnCall("paimon_core.scan.pruning.entries", "ranges")
    prune_entries = ImportedOnCall("paimon_core.scan.pruning.entries", "prune_entries")
    ThreadPoolExecutor = ImportedOnCall("concurrent.futures", "ThreadPoolExecutor")

_MOST_COMBINATIONS = 1000
_FEW = 2  # rows are read one by one if at most one half of them is kept
_THREADS = 16  # for reading file indexes
_ONE_BY_ONE = 4  # entries
# Equal values of these types can have several encodings in a BinaryRow: 0.0 and -0.0, padded CHAR.
_MANY_SPELLINGS = frozenset((Kind.FLOAT, Kind.DOUBLE, Kind.CHAR))
_SECOND = 1000  # milliseconds


@dataclass(frozen=True)
class FileFilter:
    """The filter for files that may have rows satisfying a predicate.

    Columns are the columns of the store's schema, with data evolution also `_ROW_ID`. `row_ids` are the ids of the rows
    that global indexes keep, or None for all rows. `without` are the names of files that indexes of levels leave out.
    """

    store: TableStore
    predicate: Predicate
    row_ids: RowIds | None = None
    without: frozenset[str] = frozenset()

    @cached_property
    def key_predicate(self) -> Predicate | None:
        """The conjuncts that are only on primary key columns."""
        return only_on(self.predicate, self.store.schema.primary_keys)

    def matching(self, entries: Iterable[ManifestEntry]) -> list[ManifestEntry]:
        """Return the files that may have matching rows. Each file is checked alone, by metadata and indexes.

        Raises the same errors as `indexed`."""
        return self.indexed([e for e in entries if e.file.file_name not in self.without and self.may_match(e)])

    def indexed(self, entries: Sequence[ManifestEntry]) -> list[ManifestEntry]:
        """Return the files that may have matching rows by their indexes.

        Indexes are read while planning, so that every execution benefits. Raises `CorruptFileError`,
        `DataFileMissingError`, `StorageError`."""
        if not any(e.file.extra_files for e in entries):
            return [e for e in entries if self._index_may_match(e)]
        with ThreadPoolExecutor(_THREADS) as pool:
            kept = pool.map(self._index_may_match, entries)
            return [e for e, keeps in zip(entries, kept, strict=True) if keeps]

    def may_match(self, entry: ManifestEntry) -> bool:
        """Return whether a file may have matching rows by its own metadata."""
        return self._may_match(self.predicate, entry)

    def range_may_match(self, rows: RowRange, partition: bytes) -> bool:
        """Return whether a range of rows may have matching rows.

        For each column, the newest file that has it decides."""
        if self.row_ids is not None and not self.row_ids.range_cardinality(rows.first, rows.first + rows.count):
            return False
        stored = self._stats.columns & self.store.schema.field_by_name.keys()
        known = dict.fromkeys(stored, ColumnStats(None, None, rows.count))
        for file in reversed(rows.files):
            stats = self._stats.of(file)
            known |= {now: stats.get(now, UNKNOWN) for now in self._held(file)}
        known |= {now: UNKNOWN for part in rows.parts for now in self._held(part)}  # it has only some of the rows
        known |= self._partitions.columns(partition, rows.count)
        known[ROW_ID] = ColumnStats(rows.first, rows.first + rows.count - 1, 0)
        return may_match(self.predicate, lambda name: known.get(name, UNKNOWN), rows.count)

    def ids_of(self, files: Iterable[DataFileMeta]) -> bytes:
        """Return the ids of the rows that global indexes keep in files, encoded as bytes.

        Return empty bytes if the indexes keep so many rows that all rows are read.
        """
        if self.row_ids is None:
            return b""
        rows = RowIds()
        for file in files:
            rows.add_range(first_row(file), first_row(file) + file.row_count)
        kept = rows & self.row_ids
        return encode_row_ids(kept) if len(kept) * _FEW <= len(rows) else b""

    def indexed_ranges(self, ranges: Sequence[RowRange], bucket_dir: str) -> list[RowRange]:
        """Return the ranges that may have matching rows by the indexes of their files.

        Raises the same errors as `indexed`.
        """
        if not any(f.extra_files for r in ranges for f in r.files):
            return [r for r in ranges if self._range_index_may_match(r, bucket_dir)]
        with ThreadPoolExecutor(_THREADS) as pool:
            kept = pool.map(lambda r: self._range_index_may_match(r, bucket_dir), ranges)
            return [r for r, keeps in zip(ranges, kept, strict=True) if keeps]

    def _range_index_may_match(self, rows: RowRange, bucket_dir: str) -> bool:
        """Return whether a range of rows may have matching rows, by its files' indexes."""
        unseen = set(self._stats.columns)
        for file in rows.files:
            own = unseen.intersection(self._held(file))
            named = own | {name for name, column in self._maps.items() if column in own}
            usable, unseen = only_on(self.predicate, named), unseen - own
            found = None if usable is None else self._rows_by_index(usable, bucket_dir, file)
            if found is not None and not found:
                return False
        return True

    def rows_of(self, bucket_dir: str, file: DataFileMeta, *, positional: bool = False) -> Positions | None:
        """Return the positions of a file's rows that may match by its indexes, or None for all rows.

        `positional`: use only index types that return rows. Raises the same errors as `matching`."""
        return self._rows_by_index(self.predicate, bucket_dir, file, positional=positional)

    def _rows_by_index(
        self, predicate: Predicate, bucket_dir: str, file: DataFileMeta, *, positional: bool = False
    ) -> Positions | None:
        if not is_worth_reading(self.store, file, predicate):
            return None
        then = self._stats.schema_then(file.schema_id)
        return rows_by_index(self.store, bucket_dir, file, predicate, then, positional=positional)

    def keys_may_match(self, entry: ManifestEntry) -> bool:
        """Return whether a file may have rows with matching keys."""
        return self.key_predicate is None or self._may_match(self.key_predicate, entry)

    def prune(self, columns: EntryColumns, rows: Rows) -> Rows:
        """Return the rows of a manifest that columns do not exclude, ascending.

        The caller must check the returned entries one by one. For a few rows nothing is excluded here, because the
        caller's checks then take less time.
        """
        if len(rows) <= _ONE_BY_ONE:
            return rows
        if self._hashes is not None:
            rows = rows[self._in_buckets(columns, rows)]
        return prune_entries(self.store, self._ranges, columns, rows)

    def bucket_may_match(self, entry: ManifestEntry) -> bool:
        """Return whether rows with the requested bucket keys can be in the file's bucket."""
        known = self._buckets_of(entry.total_buckets, entry.file.schema_id)
        return known is None or entry.bucket in known

    def _in_buckets(self, columns: EntryColumns, rows: Rows) -> NDArray[np.bool_]:
        buckets, totals, ids = (c[rows] for c in (columns.buckets, columns.total_buckets, columns.schema_ids))
        result = np.ones(len(rows), dtype=np.bool_)
        for total, schema_id in product(sorted(set(totals.tolist())), sorted(set(ids.tolist()))):
            known = self._buckets_of(total, schema_id)
            if known is not None:
                result &= (totals != total) | (ids != schema_id) | np.isin(buckets, list(known))
        return result

    def _buckets_of(self, total: int, schema_id: int) -> frozenset[int] | None:
        """Return the buckets that may have matching rows, or None for all buckets."""
        if total < 1 or self._hashes is None or not self._hashed_as_now(schema_id):
            return None
        if total not in self._buckets:
            self._buckets[total] = frozenset(bucket_of(self._hashes, total).tolist())
        return self._buckets[total]

    @cached_property
    def _ranges(self) -> tuple[Range, ...]:
        usable = self.key_predicate if self.store.has_primary_key else self.predicate
        return () if usable is None else ranges(usable, self.store.schema)

    @cached_property
    def _buckets(self) -> dict[int, frozenset[int]]:
        return {}

    @cached_property
    def _stats(self) -> FileStats:
        return FileStats(self.store, columns(self.predicate) | frozenset(self._maps.values()))

    @cached_property
    def _maps(self) -> dict[str, str]:
        """The MAP columns with values that the predicate names, by the names of these values."""
        if not any(key.startswith(FILE_INDEXES) for key in self.store.options.values):
            return {}
        values = indexed_values(self.store.options, self.store.schema)
        return {c: values[c].field.name for c in columns(self.predicate) if c in values}

    def _hashed_as_now(self, schema_id: int) -> bool:
        """Return whether a file was written with the present types of the bucket keys.

        Other types have other hashes."""
        schema = self.store.schema
        if schema_id == schema.id:
            return True
        names = names_then(schema, self._stats.schema_then(schema_id)[0], same_type=True)
        return all(names.get(k) is not None for k in schema.bucket_keys)

    @cached_property
    def _partitions(self) -> PartitionFilter:
        return PartitionFilter(self.store.schema.partition_fields)

    @cached_property
    def _hashes(self) -> Any:
        """Return the hashes of all combinations of bucket keys that can match, or None if these are unknown."""
        schema = self.store.schema
        if self.store.options.values.get("bucket-function.type", "default") != "default" or not schema.bucket_keys:
            return None
        types = schema.types(schema.bucket_keys)
        choices = [_values_of(self.predicate, name) for name in schema.bucket_keys]
        if any(c is None for c in choices) or any(t.kind in _MANY_SPELLINGS for t in types):
            return None
        known = [c for c in choices if c is not None]
        if any(t.kind in MOMENTS and any(map(_may_be_later, values)) for t, values in zip(types, known, strict=True)):
            return None
        if prod(map(len, known)) > _MOST_COMBINATIONS:
            return None
        try:
            hashes = [murmur3_row(encode_body(types, row)) for row in product(*known)]
        except (struct.error, TypeError, ValueError, AttributeError, InvalidOperation):
            return None  # a value outside its column's type: statistics decide
        return np.array(hashes, dtype=np.int32)

    def _names_then(self, file: DataFileMeta) -> dict[str, str | None]:
        """The names of the table's columns when a file was written, whatever their types."""
        return names_then(self.store.schema, self._stats.schema_then(file.schema_id)[0], same_type=False)

    def _held(self, file: DataFileMeta) -> list[str]:
        """The columns of the predicate that a file has."""
        then = {now: name for now, name in self._names_then(file).items() if now in self._stats.columns}
        written = file.write_cols
        return [now for now, name in then.items() if name is not None and (written is None or name in written)]

    def _may_match(self, predicate: Predicate, entry: ManifestEntry) -> bool:
        rows = entry.file.row_count
        known = self._stats.of(entry.file) | self._partitions.columns(entry.partition, rows)
        return may_match(predicate, lambda name: known.get(name, UNKNOWN), rows)

    def _index_may_match(self, entry: ManifestEntry) -> bool:
        rows = self.rows_of(self.store.bucket_dir(entry.partition, entry.bucket), entry.file)
        return rows is None or bool(rows)


def keys_asked_for(schema: TableSchema, predicate: Predicate | None) -> int | None:
    """Return the number of primary keys that can satisfy a predicate, or None if the predicate does not list keys."""
    if predicate is None or not schema.primary_keys:
        return None
    choices = [_values_of(predicate, name) for name in schema.primary_keys]
    return prod(len(c) for c in choices if c is not None) if None not in choices else None


def _may_be_later(value: Any) -> bool:
    """Return whether a time may have been in the last second before 1970 when its bucket was chosen.

    Java's ORC files have such a time one second later."""
    return isinstance(value, tuple) and (0, 0) < value < (_SECOND, 0)


def _values_of(predicate: Predicate, name: str) -> tuple[Any, ...] | None:
    """Return the values of a column that a predicate allows, or None if it does not limit them."""
    for part in conjuncts(predicate):
        match part:
            case Compare(column=column, op="=" | "<=>", value=value) if column == name and value is not None:
                return (value,)
            case In(column=column, values=values) if column == name:
                return tuple(v for v in values if v is not None)
    return None
