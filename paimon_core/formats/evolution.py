"""Columns of a file as the table has them now: nested fields found by id, values cast, absent ones NULL.

A type of a file without field ids (a VARIANT, files of other writers) goes by names.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from paimon_core.formats.arrow_types import field_id


def sources_of(found: Sequence[pa.Field], wanted: Sequence[tuple[str, int | None]]) -> list[str | None]:
    """The name in the file of each wanted (name, field id), None where the file has none."""
    by_id = {i: f.name for f in found if (i := field_id(f)) is not None}
    if by_id:
        return [None if i is None else by_id.get(i) for _, i in wanted]
    names = {f.name for f in found}
    return [name if name in names else None for name, _ in wanted]


def conform(column: pa.Array, target: pa.DataType) -> pa.Array:
    """The column as the target type. Raises `pa.ArrowInvalid`, `pa.ArrowNotImplementedError` where not possible."""
    if column.type.id != target.id or not pa.types.is_nested(target):
        return column if column.type.equals(target) else column.cast(target)
    if column.type.equals(target, check_metadata=True):
        return column
    nulls = column.is_null() if column.null_count else None
    if pa.types.is_struct(target):
        return _struct(column, target, nulls)
    offsets = pa.array(column.offsets.to_numpy(), pa.int32())  # those of a slice take no mask
    if pa.types.is_map(target):
        keys, items = conform(column.keys, target.key_type), conform(column.items, target.item_type)
        return pa.MapArray.from_arrays(offsets, keys, items, type=target, mask=nulls)
    return pa.ListArray.from_arrays(offsets, conform(column.values, target.value_type), type=target, mask=nulls)


def _struct(column: pa.StructArray, target: pa.StructType, nulls: pa.BooleanArray | None) -> pa.StructArray:
    fields = list(target)
    places = {f.name: i for i, f in enumerate(column.type)}
    names = sources_of(list(column.type), [(f.name, field_id(f)) for f in fields])
    children = [
        pa.nulls(len(column), f.type) if name is None else conform(column.field(places[name]), f.type)
        for name, f in zip(names, fields, strict=True)
    ]
    return pa.StructArray.from_arrays(children, fields=fields, mask=nulls)
