"""Convert columns of a file to the present types of the table: nested fields are found by id, values are cast, missing
values are NULL. A column without a field id (Avro, files of other writers) is found by its name when it was written: by
exactly this name, else by the only name that differs just in case. Two such names are refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from paimon_core import compute as pc
from paimon_core.arrow import int96
from paimon_core.arrow.columns import fixed_array, fixed_values, validity
from paimon_core.arrow.types import (
    DIGITS,
    STORED_TIME,
    arrow_type,
    field_id,
)
from paimon_core.lazy import ImportedOnCall
from paimon_core.spec.schema import KEY_FIELD_ID_START, SYSTEM_FIELD_ID_START
from paimon_core.spec.types import VARIANT, DataField

if TYPE_CHECKING:
    from paimon_core.arrow.shredded_variants import is_shredded, reassembled
else:
    is_shredded = ImportedOnCall("paimon_core.arrow.shredded_variants", "is_shredded")
    reassembled = ImportedOnCall("paimon_core.arrow.shredded_variants", "reassembled")

_MOST_SYSTEM_FIELDS = 64
_KINDS = 4  # +I, -U, +U, -D
_VARIANT = arrow_type(VARIANT)
_PER_SECOND = {unit: 10**digits for unit, digits in DIGITS.items()}


class AmbiguousNameError(ValueError):
    """Two names in a file differ from the name of a column only in case."""


def spelled(
    names: Collection[str], name: str, others: Collection[str] = frozenset(), *, exact: bool = False
) -> str | None:
    """Find a name among `names`, ignoring case, but not among `others`. Return None if it is not found.

    With `exact`, case counts. Raises `AmbiguousNameError`."""
    if name in names or exact:
        return name if name in names else None
    lower = name.lower()
    found = [n for n in names if n.lower() == lower and n not in others]
    if len(found) > 1:
        raise AmbiguousNameError(f"its columns {found[0]!r} and {found[1]!r} both match {name!r}")
    return found[0] if found else None


def sources_of(
    found: Sequence[pa.Field],
    wanted: Sequence[tuple[str, int | None]],
    stored: Sequence[DataField] = (),
    *,
    exact: bool = False,
) -> list[str | None]:
    """Return the file's name of each wanted (name, field id), None if the file does not have the column.

    `stored` are the columns in the schema of the file, for files without ids. With `exact`, names in another case are
    other names. Raises `AmbiguousNameError`.
    """
    by_id = {i: f.name for f in found if (i := field_id(f)) is not None}
    unnumbered = [f.name for f in found if field_id(f) is None]
    others = frozenset((*(name for name, _ in wanted), *(f.name for f in stored)))
    if stored and not by_id:
        by_id = {f.id: n for f in stored if (n := spelled(unnumbered, f.name, others, exact=exact)) is not None}
        unnumbered = []
    everything = {f.name: None for f in found}

    def source(name: str, number: int | None) -> str | None:
        if number is None:  # such as a part of a VARIANT
            return spelled(everything, name, others, exact=exact)
        known = by_id.get(number)
        if known is None:
            known = spelled(unnumbered, name, others, exact=exact) or by_id.get(_column_of_key(number))
        return known

    return [source(*each) for each in wanted]


def _column_of_key(key_id: int) -> int:
    """Return the column that a key column repeats. Thin files (`data-file.thin-mode`) have only this column."""
    is_key = KEY_FIELD_ID_START <= key_id < SYSTEM_FIELD_ID_START - _MOST_SYSTEM_FIELDS
    return key_id - KEY_FIELD_ID_START if is_key else -1


def has_known_kinds(kinds: pa.Array) -> bool:
    """Return whether all row kinds are known: insert, update or delete."""
    numbers = fixed_values(kinds, np.int8)
    return not len(numbers) or bool(numbers.min() >= 0 and numbers.max() < _KINDS)


def missing_column(value: pa.Scalar | None, rows: int, target: pa.DataType) -> pa.Array:
    """Return a column that a file lacks: NULL, or a value."""
    return pa.nulls(rows, target) if value is None else pa.repeat(pc.cast(value, target), rows)


def have_names_only(found: Iterable[pa.Field]) -> bool:
    """Return whether the columns of a file have no field ids."""
    return all(field_id(f) is None for f in found)


def conform(column: pa.Array, target: pa.DataType, *, exact: bool = False) -> pa.Array:
    """Return the column as the target type. `exact` has the meaning of `sources_of`.

    Raises `pa.ArrowInvalid`, `pa.ArrowNotImplementedError`, `AmbiguousNameError` if that is not possible."""
    if target.equals(STORED_TIME):
        return int96.stored(column)
    if column.type.id != target.id and column.null_count == len(column) > 0:
        return pa.nulls(len(column), target)  # a writer that has not seen a value may have stored any type
    if pa.types.is_map(target) and _are_entries(column.type):
        return conform(_map_of_entries(column), target, exact=exact)
    if column.type.id != target.id or not pa.types.is_nested(target):
        return column if column.type.equals(target) else _cast(column, target)
    if column.type.equals(target, check_metadata=True) and not int96.holds_stored_times(target):
        return column
    if target.equals(_VARIANT) and is_shredded(column.type):
        return reassembled(column, target)
    nulls = pc.is_null(column) if column.null_count else None
    if pa.types.is_struct(target):
        return _struct(column, target, nulls, exact=exact)
    offsets = pa.array(column.offsets.to_numpy(), pa.int32())  # Arrow accepts no mask with the offsets of a slice
    if pa.types.is_map(target):
        keys = conform(column.keys, target.key_type, exact=exact)
        items = conform(column.items, target.item_type, exact=exact)
        return pa.MapArray.from_arrays(offsets, keys, items, type=target, mask=nulls)
    values = conform(column.values, target.value_type, exact=exact)
    return pa.ListArray.from_arrays(offsets, values, type=target, mask=nulls)


def _are_entries(found: pa.DataType) -> bool:
    """Return whether a column has MAP entries as lists, as in files with nullable keys."""
    return bool(pa.types.is_list(found) and pa.types.is_struct(found.value_type) and found.value_type.num_fields == 2)


def _map_of_entries(column: pa.ListArray) -> pa.MapArray:
    """Convert lists of entries to MAPs. Raises `pa.ArrowInvalid` for a value with a NULL key.

    Entries without key and value are left out: compactions of Paimon 0.8 write an empty MAP as such an entry."""
    offsets = column.offsets.to_numpy()
    first, last = int(offsets[0]), int(offsets[-1])
    entries = column.values.slice(first, last - first)
    keys, items, starts = entries.field(0), entries.field(1), offsets - first
    if keys.null_count:
        has_key = keys.is_valid()
        if items.filter(pc.invert(has_key)).null_count < keys.null_count:
            raise pa.ArrowInvalid("a key is NULL")
        keys, items = keys.filter(has_key), items.filter(has_key)
        starts = np.append(0, np.cumsum(has_key.to_numpy(zero_copy_only=False)))[starts]
    nulls = pc.is_null(column) if column.null_count else None
    return pa.MapArray.from_arrays(pa.array(starts, pa.int32()), keys, items, mask=nulls)


class OutOfReachError(Exception):
    """Times are outside of the range of the target's nanoseconds."""


def _cast(column: pa.Array, target: pa.DataType) -> pa.Array:
    try:
        return _cast_times(column, target)
    except pa.ArrowInvalid as e:
        are_times = pa.types.is_timestamp(column.type) or column.type.equals(STORED_TIME)
        if are_times and pa.types.is_timestamp(target) and target.unit == "ns":
            raise OutOfReachError from e
        raise


def _cast_times(column: pa.Array, target: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(target) and column.type.equals(STORED_TIME):
        return int96.times(column, target)
    if not (pa.types.is_timestamp(target) and pa.types.is_timestamp(column.type)):
        return pc.cast(column, target)
    step = _PER_SECOND[column.type.unit] // _PER_SECOND[target.unit]
    if step <= 1 or target.unit == "s":
        return pc.cast(column, target)
    fewer = pa.timestamp(target.unit, column.type.tz)
    return fixed_array(fixed_values(column, np.int64) // step, fewer, validity(column)).cast(target)


def _struct(
    column: pa.StructArray, target: pa.StructType, nulls: pa.BooleanArray | None, *, exact: bool
) -> pa.StructArray:
    fields = list(target)
    indices = {f.name: i for i, f in enumerate(column.type)}
    names = sources_of(list(column.type), [(f.name, field_id(f)) for f in fields], exact=exact)
    children = [
        pa.nulls(len(column), f.type) if name is None else conform(column.field(indices[name]), f.type, exact=exact)
        for name, f in zip(names, fields, strict=True)
    ]
    return pa.StructArray.from_arrays(children, fields=fields, mask=nulls)
