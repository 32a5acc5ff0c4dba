"""Parts of nested values that are never NULL: fields that are NOT NULL, and the parts of a VARIANT.

If the whole value is NULL, Arrow sometimes also marks its parts as NULL. With these marks, it neither casts such a
column nor writes it to Parquet. Without them it does both.
"""

from __future__ import annotations

import pyarrow as pa

from paimon_core import compute as pc
from paimon_core.errors import NullValueError


def has_required_parts(data_type: pa.DataType) -> bool:
    """Return whether a type has required parts. Keys of maps do not count: Arrow handles them correctly."""
    if pa.types.is_map(data_type):
        return has_required_parts(data_type.key_type) or _is_required(data_type.item_field)
    if pa.types.is_struct(data_type):
        return any(_is_required(f) for f in data_type.fields)
    return pa.types.is_list(data_type) and _is_required(data_type.value_field)


def _is_required(part: pa.Field) -> bool:
    return not part.nullable or has_required_parts(part.type)


def with_required_parts(column: pa.Array, wanted: pa.DataType | None = None) -> pa.Array:
    """Return the column without marks of NULL in the parts that `wanted` requires; by default, its own type."""
    required = column.type if wanted is None else wanted
    return _part(column, required, nullable=True) if has_required_parts(required) else column


def check_required_parts(name: str, column: pa.Array, wanted: pa.DataType) -> None:
    """Raise `NullValueError` if a value of a column lacks a part that `wanted` requires."""
    if (below := null_part(column, wanted)) is not None:
        raise null_value(f"{name}.{below}")


def null_value(column: str, *, is_key: bool = False) -> NullValueError:
    """Return the error of a NULL in a column, or in a part of its values."""
    what = "a primary key column" if is_key else "NOT NULL"
    return NullValueError(f"Column {column!r} is {what} and cannot hold NULL: write a value.")


def null_part(column: pa.Array, wanted: pa.DataType) -> str | None:
    """Return the path of a part that `wanted` requires and that a value of the column lacks, from the column down.
    Return None if no value lacks a part. Keys of maps are never NULL.
    """
    if column.type.id != wanted.id or not has_required_parts(wanted):
        return None
    rows = pc.kept(column, pc.is_valid(column)) if column.null_count else column
    if pa.types.is_struct(wanted):
        if column.type.num_fields != wanted.num_fields:
            return None
        parts = [(rows.field(i), field) for i, field in enumerate(_meant(column.type, wanted))]
    elif pa.types.is_map(wanted):
        first, last = (rows.offsets[i].as_py() for i in (0, len(rows)))
        parts = [(part.slice(first, last - first), f) for part, f in _of_map(rows, wanted)]
    else:
        parts = [(rows.flatten(), wanted.value_field)]
    for part, field in parts:
        if part.null_count and not field.nullable:
            return str(field.name)
        if (below := null_part(part, field.type)) is not None:
            return f"{field.name}.{below}"
    return None


def _meant(given: pa.StructType, wanted: pa.StructType) -> list[pa.Field]:
    """Return, for each field of `given`, the field of `wanted` to which Arrow casts it: by name, or by position if the
    names differ.
    """
    by_name = {f.name: f for f in wanted.fields}
    names = [f.name for f in given.fields]
    return [by_name[n] for n in names] if set(names) == by_name.keys() else list(wanted.fields)


def _of_map(rows: pa.MapArray, wanted: pa.MapType) -> list[tuple[pa.Array, pa.Field]]:
    return [(rows.keys, wanted.key_field), (rows.items, wanted.item_field)]


def _part(part: pa.Array, wanted: pa.DataType, *, nullable: bool) -> pa.Array:
    """Return a part with the nullability of `wanted`."""
    known, *content = part.buffers()
    if not nullable:
        known = None
    if part.type.id == wanted.id and pa.types.is_struct(wanted) and part.type.num_fields == wanted.num_fields:
        pairs = list(zip(part.type.fields, _meant(part.type, wanted), strict=True))
        parts = [_part(part.field(i), w.type, nullable=w.nullable) for i, (_, w) in enumerate(pairs)]
        fields = [f.with_type(p.type).with_nullable(w.nullable) for p, (f, w) in zip(parts, pairs, strict=True)]
        mask = pc.is_null(part) if nullable and part.null_count else None
        return pa.StructArray.from_arrays(parts, fields=fields, mask=mask)
    if part.type.id == wanted.id and (pa.types.is_list(wanted) or pa.types.is_map(wanted)):
        entries = _entries(wanted) if pa.types.is_map(wanted) else wanted.value_type
        inner = _part(part.values, entries, nullable=True)
        return pa.Array.from_buffers(
            _holding(part.type, wanted, inner.type),
            len(part),
            [known, content[0]],
            offset=part.offset,
            children=[inner],
        )
    if nullable or not part.null_count:
        return part
    return pa.Array.from_buffers(part.type, len(part), [known, *content], offset=part.offset)


def _entries(of_map: pa.MapType) -> pa.StructType:
    return pa.struct([of_map.key_field, of_map.item_field])


def _holding(given: pa.DataType, wanted: pa.DataType, inner: pa.DataType) -> pa.DataType:
    """Return a list or map type like `given`, with parts of type `inner` and the nullability of `wanted`."""
    if pa.types.is_map(given):
        return pa.map_(inner.field(0), inner.field(1))
    return pa.list_(given.value_field.with_type(inner).with_nullable(wanted.value_field.nullable))
