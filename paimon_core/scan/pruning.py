"""Which files of a version a query can leave out: by bucket, by key range, by column statistics."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from decimal import InvalidOperation
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np

from paimon_core.expressions.predicate import Compare, In, Predicate, columns, conjuncts, only_on
from paimon_core.expressions.prune import may_match
from paimon_core.scan.column_stats import believable, for_columns, key_stats, names_then, value_stats
from paimon_core.spec.binary_row import encode_body
from paimon_core.spec.hashing import bucket_of, murmur3_row
from paimon_core.spec.manifest import DataFileMeta, ManifestEntry
from paimon_core.spec.row_ranges import RowRange
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.stats import UNKNOWN, ColumnStats
from paimon_core.spec.types import Kind
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.schemas import read_schema
from paimon_core.store.table_store import TableStore

_MOST_COMBINATIONS = 1000
# equal values of these types can have several spellings in a BinaryRow: 0.0 and -0.0, padded CHAR
_MANY_SPELLINGS = frozenset((Kind.FLOAT, Kind.DOUBLE, Kind.CHAR))


@dataclass(frozen=True)
class FileFilter:
    """The files that can hold rows a predicate is true for. Columns are those of the store's schema."""

    store: TableStore
    predicate: Predicate

    @cached_property
    def key_predicate(self) -> Predicate | None:
        """The conjuncts on primary key columns only."""
        return only_on(self.predicate, self.store.schema.primary_keys)

    def may_match(self, entry: ManifestEntry) -> bool:
        """Whether a file can hold matching rows, judged alone."""
        return self._may_match(self.predicate, entry)

    def range_may_match(self, rows: RowRange, partition: bytes) -> bool:
        """Whether a range of rows can hold matching ones: each column is judged by the newest file that has it."""
        known = dict.fromkeys(self._columns, ColumnStats(None, None, rows.count))
        for file in reversed(rows.all_files):
            stats, names = self._stats(file), self._names_then(file.schema_id)
            for now in self._columns:
                then = names.get(now)
                if then is not None and (file.write_cols is None or then in file.write_cols):
                    known[now] = stats.get(now, UNKNOWN)
        known |= self._partitions.columns(partition, rows.count)
        return may_match(self.predicate, lambda name: known.get(name, UNKNOWN), rows.count)

    def keys_may_match(self, entry: ManifestEntry) -> bool:
        """As `may_match`, by key columns: versions of a row of another key are of no interest in any file."""
        return self.key_predicate is None or self._may_match(self.key_predicate, entry)

    def bucket_may_match(self, entry: ManifestEntry) -> bool:
        """Whether rows with the bucket keys asked for can be in the file's bucket."""
        if entry.total_buckets < 1 or self._hashes is None or not self._hashed_as_now(entry.file.schema_id):
            return True
        known = self._buckets.get(entry.total_buckets)
        if known is None:
            known = frozenset(bucket_of(self._hashes, entry.total_buckets).tolist())
            self._buckets[entry.total_buckets] = known
        return entry.bucket in known

    @cached_property
    def _buckets(self) -> dict[int, frozenset[int]]:
        return {}

    @cached_property
    def _schemas(self) -> dict[int, tuple[TableSchema, dict[str, str | None]]]:
        return {}

    def _hashed_as_now(self, schema_id: int) -> bool:
        """Whether the bucket keys had their types when a file was written: values of another hash otherwise."""
        schema = self.store.schema
        if schema_id == schema.id:
            return True
        names = names_then(schema, self._schema_then(schema_id)[0], same_type=True)
        return all(names.get(k) is not None for k in schema.bucket_keys)

    @cached_property
    def _columns(self) -> frozenset[str]:
        return columns(self.predicate)

    @cached_property
    def _partitions(self) -> PartitionFilter:
        return PartitionFilter(self.store.schema.partition_fields)

    @cached_property
    def _hashes(self) -> Any:
        """Hashes of all combinations of bucket keys that can match, None where they are not known."""
        schema = self.store.schema
        if self.store.options.values.get("bucket-function.type", "default") != "default" or not schema.bucket_keys:
            return None
        types = schema.types(schema.bucket_keys)
        choices = [_values_of(self.predicate, name) for name in schema.bucket_keys]
        if any(c is None for c in choices) or any(t.kind in _MANY_SPELLINGS for t in types):
            return None
        known = [c for c in choices if c is not None]
        if prod(map(len, known)) > _MOST_COMBINATIONS:
            return None
        try:
            hashes = [murmur3_row(encode_body(types, row)) for row in product(*known)]
        except (struct.error, TypeError, ValueError, AttributeError, InvalidOperation):
            return None  # a value outside its column's type: statistics decide
        return np.array(hashes, dtype=np.int32)

    def _may_match(self, predicate: Predicate, entry: ManifestEntry) -> bool:
        rows = entry.file.row_count
        known = self._stats(entry.file) | self._partitions.columns(entry.partition, rows)
        return may_match(predicate, lambda name: known.get(name, UNKNOWN), rows)

    def _schema_then(self, schema_id: int) -> tuple[TableSchema, dict[str, str | None]]:
        """The schema that a file was written with, and what the predicate's columns were called in it."""
        known = self._schemas.get(schema_id)
        if known is None:
            schema = read_schema(self.store, schema_id)
            names = names_then(self.store.schema, schema, same_type=True)
            known = schema, {now: then for now, then in names.items() if now in self._columns}
            self._schemas[schema_id] = known
        return known

    def _names_then(self, schema_id: int) -> dict[str, str | None]:
        """What the table's columns were called in a schema, whatever their types."""
        return names_then(self.store.schema, self._schema_then(schema_id)[0], same_type=False)

    def _stats(self, file: DataFileMeta) -> dict[str, ColumnStats]:
        """Statistics of the columns the predicate looks at."""
        schema, wanted = self._schema_then(file.schema_id)
        stats = key_stats(schema, file)
        if any(then not in stats for then in wanted.values()):
            stats = value_stats(schema, file) | stats
        return for_columns(wanted, believable(schema, stats, file), file)


def _values_of(predicate: Predicate, name: str) -> tuple[Any, ...] | None:
    """The values that a column must have one of, None where the predicate does not say."""
    for part in conjuncts(predicate):
        match part:
            case Compare(column=column, op="=" | "<=>", value=value) if column == name and value is not None:
                return (value,)
            case In(column=column, values=values) if column == name:
                return tuple(v for v in values if v is not None)
    return None
