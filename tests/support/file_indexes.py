"""File indexes of columns for tests: made from values, and read again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from paimon_core.arrow.types import arrow_type
from paimon_core.indexes.file_index import options as file_index_options
from paimon_core.indexes.file_index.registry import decode_index
from paimon_core.indexes.matching_rows import Columns, IndexedColumn
from paimon_core.options import TableOptions
from paimon_core.spec.types import DataField, DataType, Kind, TimeType
from paimon_core.write.indexes.file_index import FileIndexBuilder


def column_of(values: Sequence[Any], data_type: DataType) -> pa.Array:
    """Return an Arrow column of values in the form of predicates."""
    arrow = arrow_type(data_type)
    if isinstance(data_type, TimeType) and data_type.kind is not Kind.TIME:
        per_milli = {"ms": 1, "us": 1000, "ns": 1_000_000}[arrow.unit]
        ticks = [None if v is None else v[0] * per_milli + v[1] * per_milli // 1_000_000 for v in values]
        return pa.array(ticks, pa.int64()).cast(arrow)
    if data_type.kind in (Kind.DATE, Kind.TIME):
        return pa.array(values, pa.int32()).cast(arrow)
    return pa.array(values, arrow)


def index_body(
    values: Sequence[Any], data_type: DataType, index_type: str, settings: Mapping[str, str] | None = None
) -> bytes | None:
    """The bytes of an index of a column, written in two parts."""
    field = DataField(id=0, name="c", type=data_type)
    column = file_index_options.WantedIndex(
        field, None, index_type, TableOptions({"items": "50"} | dict(settings or {}))
    )
    builder = FileIndexBuilder([column])
    half = len(values) // 2
    for part in (values[:half], values[half:]):
        builder.add(pa.table({"c": column_of(part, data_type)}))
    return builder.bodies().get("c", {}).get(index_type)


def indexed(columns: Iterable[tuple[str, Sequence[Any], DataType, Sequence[str]]]) -> Columns:
    """Return the columns that a predicate reads, by name, with their values, type and types of index."""
    found = {}
    for name, values, data_type, index_types in columns:
        bodies = [(t, index_body(values, data_type, t)) for t in index_types]
        decoded = [decode_index("x", t, data_type, body, len(values)) for t, body in bodies if body is not None]
        found[name] = IndexedColumn(data_type, [d for d in decoded if d is not None])
    return found.get
