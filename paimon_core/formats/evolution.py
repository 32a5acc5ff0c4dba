"""Columns of a file as the table has them now: nested fields found by id, values cast, absent ones NULL.

A file without field ids (Avro, files of other writers) goes by the names its columns had when it was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from paimon_core.errors import CorruptFileError, InvalidDataError, UnsupportedFeatureError
from paimon_core.formats import int96
from paimon_core.formats.arrow_types import (
    KEY_PREFIX,
    SEQUENCE_NUMBER,
    STORED_TIME,
    VALUE_KIND,
    arrow_schema,
    arrow_type,
    field_id,
)
from paimon_core.formats.columns import fixed_array, fixed_values, validity
from paimon_core.formats.file_format import ReadRequest
from paimon_core.formats.shredded import is_shredded, reassembled
from paimon_core.formats.shredded_maps import is_shredded_map, whole_maps
from paimon_core.spec.schema import KEY_FIELD_ID_START, SYSTEM_FIELD_ID_START
from paimon_core.spec.types import VARIANT, DataField

_MOST_SYSTEM_FIELDS = 64
_KINDS = 4  # +I, -U, +U, -D
_VARIANT = arrow_type(VARIANT)


def request_sources(found: Sequence[pa.Field], request: ReadRequest) -> list[str | None]:
    """The name in the file of each field of the request, None where the file has none."""
    if request.by_name:
        names = {f.name for f in found}
        return [f.name if f.name in names else None for f in request.fields]
    stored = request.stored() if have_names_only(found) else ()
    return sources_of(found, [(f.name, f.id) for f in request.fields], stored)


def sources_of(
    found: Sequence[pa.Field], wanted: Sequence[tuple[str, int | None]], stored: Sequence[DataField] = ()
) -> list[str | None]:
    """The name in the file of each wanted (name, field id), None where the file has none.

    `stored` are the columns as the schema of the file has them, for files without ids.
    """
    names = {f.name for f in found}
    by_id = {i: f.name for f in found if (i := field_id(f)) is not None}
    by_id = by_id or {f.id: f.name for f in stored if f.name in names}

    def source(name: str, number: int | None) -> str | None:
        if not by_id or number is None:  # as the parts of a VARIANT
            return name if name in names else None
        return by_id.get(number) or by_id.get(_column_of_key(number))

    return [source(*each) for each in wanted]


def _column_of_key(key_id: int) -> int:
    """The column that a key column repeats: thin files (`data-file.thin-mode`) have that one only."""
    is_key = KEY_FIELD_ID_START <= key_id < SYSTEM_FIELD_ID_START - _MOST_SYSTEM_FIELDS
    return key_id - KEY_FIELD_ID_START if is_key else -1


def conform_batch(batch: pa.RecordBatch, sources: Sequence[str | None], request: ReadRequest) -> pa.RecordBatch:
    """The rows of a file as a request wants them. Raises `InvalidDataError`, `CorruptFileError` naming the file."""
    target, arrays = arrow_schema(request.fields), []
    stored = {f.name: f for f in arrow_schema(request.stored())} if have_names_only(batch.schema) else {}
    for source, field in zip(sources, target, strict=True):
        if source is None:
            array = absent_column(request.absent(field.name), batch.num_rows, field.type)
        else:
            index = batch.schema.get_field_index(source)
            column = batch.column(index)
            if is_shredded_map(column.type, field.type):
                column = whole_maps(column, batch.schema.field(index).metadata)
            array = _column(column, stored.get(source), field, request.path)
        system = field.name.startswith(KEY_PREFIX) or field.name in (SEQUENCE_NUMBER, VALUE_KIND)
        if array.null_count and system and not field.nullable:
            raise CorruptFileError(request.path, f"it has rows without {field.name}")
        if field.name == VALUE_KIND and not has_known_kinds(array):
            raise CorruptFileError(request.path, f"it has rows of a {field.name} that there is not")
        arrays.append(array)
    if not arrays:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * batch.num_rows, pa.struct([])))
    return pa.RecordBatch.from_arrays(arrays, schema=target)


def has_known_kinds(kinds: pa.Array) -> bool:
    """Whether rows are inserted, updated or deleted, and nothing else."""
    numbers = fixed_values(kinds, np.int8)
    return not len(numbers) or bool(numbers.min() >= 0 and numbers.max() < _KINDS)


def absent_column(value: pa.Scalar | None, rows: int, target: pa.DataType) -> pa.Array:
    """A column that a file lacks: NULL, or a value."""
    return pa.nulls(rows, target) if value is None else pa.repeat(value.cast(target), rows)


def have_names_only(found: Iterable[pa.Field]) -> bool:
    """Whether the columns of a file tell no field ids."""
    return all(field_id(f) is None for f in found)


def _column(column: pa.Array, stored: pa.Field | None, field: pa.Field, path: str) -> pa.Array:
    try:
        return conform(column if stored is None else conform(column, stored.type), field.type)
    except _OutOfReachError as e:
        raise UnsupportedFeatureError(
            f"Column {field.name!r} of file {path} has times of years that nanoseconds do not reach: of TIMESTAMP(7) "
            "and more this version compares and sorts the years 1678 to 2261. Change the column to TIMESTAMP(6)."
        ) from e
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as e:
        raise InvalidDataError(
            f"Column {field.name!r} of file {path} has type {column.type} and cannot be read as {field.type}: {e}"
        ) from e


def conform(column: pa.Array, target: pa.DataType) -> pa.Array:
    """The column as the target type. Raises `pa.ArrowInvalid`, `pa.ArrowNotImplementedError` where not possible."""
    if target.equals(STORED_TIME):
        return int96.stored(column)
    if column.type.id != target.id or not pa.types.is_nested(target):
        return column if column.type.equals(target) else _cast(column, target)
    if column.type.equals(target, check_metadata=True) and not int96.holds_stored_times(target):
        return column
    if target.equals(_VARIANT) and is_shredded(column.type):
        return reassembled(column, target)
    nulls = column.is_null() if column.null_count else None
    if pa.types.is_struct(target):
        return _struct(column, target, nulls)
    offsets = pa.array(column.offsets.to_numpy(), pa.int32())  # those of a slice take no mask
    if pa.types.is_map(target):
        keys, items = conform(column.keys, target.key_type), conform(column.items, target.item_type)
        return pa.MapArray.from_arrays(offsets, keys, items, type=target, mask=nulls)
    return pa.ListArray.from_arrays(offsets, conform(column.values, target.value_type), type=target, mask=nulls)


class _OutOfReachError(Exception):
    """Times that the nanoseconds of the target do not reach."""


def _cast(column: pa.Array, target: pa.DataType) -> pa.Array:
    try:
        return _cast_times(column, target)
    except pa.ArrowInvalid as e:
        are_times = pa.types.is_timestamp(column.type) or column.type.equals(STORED_TIME)
        if are_times and pa.types.is_timestamp(target) and target.unit == "ns":
            raise _OutOfReachError from e
        raise


def _cast_times(column: pa.Array, target: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(target) and column.type.equals(STORED_TIME):
        return int96.times(column, target)
    if not (pa.types.is_timestamp(target) and pa.types.is_timestamp(column.type)):
        return column.cast(target)
    if (column.type.unit, target.unit) != ("ns", "us"):
        return column.cast(target)
    micros = fixed_array(fixed_values(column, np.int64) // 1000, pa.timestamp("us", column.type.tz), validity(column))
    return micros.cast(target)


def _struct(column: pa.StructArray, target: pa.StructType, nulls: pa.BooleanArray | None) -> pa.StructArray:
    fields = list(target)
    places = {f.name: i for i, f in enumerate(column.type)}
    names = sources_of(list(column.type), [(f.name, field_id(f)) for f in fields])
    children = [
        pa.nulls(len(column), f.type) if name is None else conform(column.field(places[name]), f.type)
        for name, f in zip(names, fields, strict=True)
    ]
    return pa.StructArray.from_arrays(children, fields=fields, mask=nulls)
