"""Rows of Arrow as `expected.json` has them, so that rows of any writer compare: also used where only pyarrow is.

Times are numbers of microseconds, dates days, decimals and bytes texts, a map is its sorted pairs, a row its values.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

_MICROS = {"s": 1_000_000, "ms": 1_000, "us": 1}
Rows = list[list[Any]]
# where a writer reads otherwise than others do, by table: Java before 2.0 takes a ROW of NULLs in Parquet for NULL, and
# the order of a set is nobody's
_NULL_ROWS, _SETS = ("nested_parquet",), ("me_collect",)


def shown_rows(batches: Iterable[pa.RecordBatch]) -> Rows:
    """All rows of the batches, in an order of their own."""
    return in_order([list(row) for b in batches for row in zip(*(_column(c) for c in b.columns), strict=True)])


def in_order(rows: Iterable[Any]) -> Rows:
    """The rows in the order of their texts."""
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


def comparable(table: str, rows: Rows) -> Rows:
    """Rows in one order, and in one form of what writers read differently."""
    if table in _NULL_ROWS:
        rows = [[None if isinstance(v, list) and v and not any(v) else v for v in row] for row in rows]
    if table in _SETS:
        rows = [[sorted(v) if isinstance(v, list) else v for v in row] for row in rows]
    return in_order(rows)


def _column(column: pa.Array) -> list[Any]:
    kind = column.type
    if pa.types.is_timestamp(kind):
        numbers = column.cast(pa.int64()).to_pylist()
        if kind.unit == "ns":
            return [None if n is None else n // 1000 for n in numbers]
        return [None if n is None else n * _MICROS[kind.unit] for n in numbers]
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return column.cast(pa.int32()).to_pylist()
    if pa.types.is_decimal(kind):
        return [None if v is None else format(v, "f") for v in column.to_pylist()]
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return [None if v is None else v.hex() for v in column.to_pylist()]
    if pa.types.is_map(kind):
        pairs = [list(p) for p in zip(_column(column.keys), _column(column.items), strict=True)]
        return [None if part is None else in_order(part) for part in _parts(column, pairs)]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _parts(column, _column(column.values))
    if pa.types.is_struct(kind):
        fields = [_column(column.field(i)) for i in range(kind.num_fields)]
        rows = [list(v) for v in zip(*fields, strict=True)]
        return [row if valid else None for row, valid in zip(rows, column.is_valid().to_pylist(), strict=True)]
    return column.to_pylist()


def _parts(column: pa.Array, values: list[Any]) -> list[Any]:
    """The values of each list or map."""
    offsets, valid = column.offsets.to_pylist(), column.is_valid().to_pylist()
    return [values[a:b] if ok else None for a, b, ok in zip(offsets, offsets[1:], valid, strict=False)]
