"""Rows of files that count equal rows (`store.data.counted_rows`): add the counts, and repeat each row as often as it
counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.columns import fixed_values, int64_array
from paimon_core.arrow.equality import row_codes
from paimon_core.arrow.types import SEQUENCE_NUMBER, VALUE_COUNT, arrow_schema, counted_row_fields, key_value_fields
from paimon_core.errors import UnfamiliarFormError
from paimon_core.expressions.predicate import Predicate
from paimon_core.lsm.merge import key_windows
from paimon_core.lsm.rows import ROW_DELETE, concat_batches
from paimon_core.lsm.runs import sections
from paimon_core.scan.splits import key_sections, pack_files, pack_sections
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.split import DataSplit, SplitKind
from paimon_core.spec.types import NESTED_KINDS, DataField
from paimon_core.store.data.bucket_files import BucketFiles
from paimon_core.store.data.counted_rows import is_counted, is_counted_once
from paimon_core.store.table_store import TableStore

_STEP = 64 * 1024  # rows of a batch
_MOST = 2.0**62  # equal rows that are counted, of one window
_NUMBERS = 2  # columns behind the row: sequence number and count
_KEY = "{}\0"  # not a possible name of a column
_Counts = NDArray[np.int64]


def counted_groups(
    schema: TableSchema, files: Sequence[DataFileMeta], target: int, open_cost: int
) -> Iterator[tuple[tuple[DataFileMeta, ...], bool]]:
    """Yield the files of a bucket that are read together, and whether rows must be counted over all these files."""
    if all(is_counted_once(schema, f) for f in files):
        yield from pack_files(files, target, open_cost)
    elif not _are_sorted(schema, files):
        yield tuple(files), True
    else:
        parts = key_sections(files, [f.type for f in schema.fields])
        once = [all(is_counted_once(schema, f) for f in p.files) for p in parts]
        yield from pack_sections([replace(p, raw=o) for p, o in zip(parts, once, strict=True)], target, open_cost)


def counted_changes(
    store: TableStore, split: DataSplit, fields: Sequence[DataField], predicate: Predicate | None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a split, with their sequence numbers and kinds.

    A row is repeated as often as it counts. A count below 0 makes deletes. Counts in the `before` files are subtracted.
    The counts of changes are not added up.
    """
    stored = counted_row_fields(store.schema.fields)
    wanted = tuple(f for f in stored if f.name in (*store.schema.field_by_name, SEQUENCE_NUMBER, VALUE_COUNT))
    reader = BucketFiles(store, split.bucket_dir, wanted, predicate, split.deletions_by_file, lenient=True)
    windows = _added(reader, split) if split.kind is SplitKind.CHANGES else map(_summed, _windows(reader, split))
    target = arrow_schema([*fields, *key_value_fields((), ())])
    for rows in windows:
        counts = _counts_of(rows)
        if np.abs(counts.astype(np.float64)).sum() >= _MOST:
            names = ", ".join(f.file_name for f in (*split.files, *split.before))
            raise UnfamiliarFormError(f"{split.bucket_dir}/{names}", "it counts more equal rows than can be read")
        ends = np.cumsum(np.abs(counts))
        for start in range(0, int(ends[-1]), _STEP):
            index = np.searchsorted(ends, np.arange(start, min(start + _STEP, int(ends[-1]))), "right")
            taken = rows.take(int64_array(index))
            kinds = pa.array(np.where(counts[index] < 0, ROW_DELETE, 0).astype(np.int8))
            columns = [*(taken.column(f.name) for f in fields), taken.column(SEQUENCE_NUMBER), kinds]
            yield pa.RecordBatch.from_arrays(columns, schema=target)


def _are_sorted(schema: TableSchema, files: Sequence[DataFileMeta]) -> bool:
    """Return whether files are sorted by all present columns of the table."""
    plain = not any(f.type.kind in NESTED_KINDS for f in schema.fields)
    return plain and all(is_counted(schema, f) and f.schema_id == schema.id for f in files)


def _windows(reader: BucketFiles, split: DataSplit) -> Iterator[pa.RecordBatch]:
    """Yield the rows of all files, with equal rows in one batch."""
    schema, files = reader.store.schema, (*split.before, *split.files)
    minus = frozenset(f.file_name for f in split.before)
    if not _are_sorted(schema, files):
        rows = list(_signed(reader, files, minus))
        yield from [concat_batches(rows)] if rows else []
        return
    reader_names = [f.name for f in reader.fields]
    for runs in sections(files, [f.type for f in schema.fields]):
        readers = [map(_with_keys, _signed(reader, run.files, minus)) for run in runs]
        for window in key_windows(readers, [_KEY.format(i) for i in range(2 * len(schema.fields))]):
            yield concat_batches([rows.select(reader_names) for _, rows in window])


def _with_keys(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows with sort columns added at the end. They have the order of the rows without any NULL: NULL is
    replaced by the smallest value.
    """
    keys: list[pa.Array] = []
    for name in rows.schema.names[:-_NUMBERS]:
        column = rows.column(name)
        keys += [column.is_valid(), column.fill_null(_least(column.type))]
    names = [*rows.schema.names, *(_KEY.format(i) for i in range(len(keys)))]
    return pa.RecordBatch.from_arrays([*rows.columns, *keys], names=names)


def _least(arrow: pa.DataType) -> pa.Scalar:
    """Return some value of a type, which replaces NULL."""
    text = pa.types.is_string(arrow) or pa.types.is_binary(arrow) or pa.types.is_fixed_size_binary(arrow)
    return pa.scalar("" if text else False if pa.types.is_boolean(arrow) else 0, arrow)


def _added(reader: BucketFiles, split: DataSplit) -> Iterator[pa.RecordBatch]:
    return _signed(reader, split.files, frozenset())


def _signed(reader: BucketFiles, files: Sequence[DataFileMeta], minus: frozenset[str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of files, one file after another. The counts in the files `minus` are negated."""
    for file in files:
        counted = is_counted(reader.store.schema, file)
        batches = reader.read([file]) if counted else _numbered_once(reader, file)
        for rows in batches:
            yield _with_counts(rows, -_counts_of(rows)) if file.file_name in minus else rows


def _numbered_once(reader: BucketFiles, file: DataFileMeta) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file without counts."""
    plain = replace(reader, fields=reader.store.schema.fields)
    number = file.min_sequence_number
    for rows in plain.read([file]):
        numbers = np.arange(number, number + rows.num_rows, dtype=np.int64)
        number += rows.num_rows
        columns = [*rows.columns, int64_array(numbers), int64_array(np.ones(rows.num_rows, dtype=np.int64))]
        yield pa.RecordBatch.from_arrays(columns, schema=arrow_schema(reader.fields))


def _summed(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return each row once, with the sum of its counts."""
    codes = row_codes(rows, [n for n in rows.schema.names if n not in (SEQUENCE_NUMBER, VALUE_COUNT)])
    _, first, which = np.unique(codes, return_index=True, return_inverse=True)
    totals = np.zeros(len(first), dtype=np.int64)
    np.add.at(totals, which, _counts_of(rows))
    return _with_counts(rows.take(int64_array(first)), totals)


def _counts_of(rows: pa.RecordBatch) -> _Counts:
    counts: NDArray[Any] = fixed_values(rows.column(VALUE_COUNT), np.int64)
    return counts


def _with_counts(rows: pa.RecordBatch, counts: _Counts) -> pa.RecordBatch:
    index = rows.schema.get_field_index(VALUE_COUNT)
    return rows.set_column(index, rows.schema.field(index), int64_array(counts))
