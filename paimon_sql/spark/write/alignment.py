"""Alignment of the nested fields of values with a column's fields by name, for UPDATE and MERGE INTO."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from paimon_core.arrow.evolution import AmbiguousNameError, spelled
from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidDataError


@dataclass(frozen=True, slots=True)
class Alignment:
    """The rules for aligning the values of one column. With `fills`, a field that a value lacks keeps its old value, or
    is NULL. Without `fills`, such a value is an error.
    """

    table: str
    column: str
    fills: bool = False


def aligned(value: Column, source: DataType, target: DataType, rules: Alignment, kept: Column | None = None) -> Column:
    """Return a value of type `source` with the fields of `target`, in their order. `kept` is the column's old value.

    Raises `InvalidDataError` for a field that the column or the value lacks.
    """
    if has_same_names(source, target):
        return value
    match source, target:
        case StructType(), StructType():
            return _struct(value, source, target, rules, kept)
        case ArrayType(), ArrayType():
            return F.transform(value, lambda e: aligned(e, source.elementType, target.elementType, rules))
        case MapType(), MapType():
            return F.transform_values(value, lambda _, v: aligned(v, source.valueType, target.valueType, rules))
    return value


def _struct(value: Column, source: StructType, target: StructType, rules: Alignment, kept: Column | None) -> Column:
    given = _matching(source, target)
    matched = {f.name for f in given.values()}
    unknown = [f.name for f in source.fields if f.name not in matched]
    missing = [f.name for f in target.fields if f.name not in given]
    if unknown or (missing and not rules.fills):
        wrong = f"has no field {unknown[0]!r}" if unknown else f"needs a field {missing[0]!r}"
        raise InvalidDataError(
            f"Column {rules.column!r} of table {rules.table} {wrong}; its fields are "
            f"{', '.join(f.name for f in target.fields)}. Name them in the value, or set 'write.merge-schema'."
        )
    fields = []
    for field in target.fields:
        own = None if kept is None else kept.getField(field.name)
        found = given.get(field.name)
        if found is not None:
            part = aligned(value.getField(found.name), found.dataType, field.dataType, rules, own)
        else:
            part = F.lit(None).cast(field.dataType) if own is None else own
        fields.append(part.alias(field.name))
    is_null = value.isNull() if kept is None or not missing else value.isNull() & kept.isNull()
    return F.when(~is_null, F.struct(*fields))


def _matching(source: StructType, target: StructType) -> dict[str, StructField]:
    """Return the source's field of each field of the target, as far as there is one: the field with that name, else the
    only field with that name in another case."""
    found = {}
    for name in target.names:
        try:
            match = spelled(source.names, name, frozenset(target.names))
        except AmbiguousNameError:
            continue
        if match is not None:
            found[name] = source[match]
    return found


def with_field(value: Column, data_type: DataType, path: Sequence[str], new: Column, rules: Alignment) -> Column:
    """Return a struct with one field, or a nested field, replaced. If the struct is NULL, the other fields become NULL.

    Raises `InvalidDataError` for a field that the struct lacks.
    """
    fields = data_type.fields if isinstance(data_type, StructType) else []
    if not path:
        return new
    assigned = spelled([f.name for f in fields], path[0])
    if assigned is None:
        raise InvalidDataError(
            f"Column {rules.column!r} of table {rules.table} has no field {path[0]!r} to assign; its fields are "
            f"{', '.join(f.name for f in fields) or 'none'}."
        )
    parts = (
        with_field(value.getField(f.name), f.dataType, path[1:], new, rules)
        if f.name == assigned
        else value.getField(f.name)
        for f in fields
    )
    return F.struct(*(part.alias(f.name) for part, f in zip(parts, fields, strict=True)))


def has_same_fields(source: DataType, target: DataType, *, some: bool = False) -> bool:
    """Return whether nested fields have the same names, each once, in any order. With `some`, the source
    may lack some.
    """
    match source, target:
        case StructType(), StructType():
            given = _matching(source, target)
            return (
                len(given) == len(source.fields)
                and (some or len(given) == len(target.fields))
                and all(has_same_fields(found.dataType, target[n].dataType, some=some) for n, found in given.items())
            )
        case ArrayType(), ArrayType():
            return has_same_fields(source.elementType, target.elementType, some=some)
        case MapType(), MapType():
            return has_same_fields(source.valueType, target.valueType, some=some)
    return True


def has_same_names(source: DataType, target: DataType) -> bool:
    """Return whether nested fields have the same names in the same order; True for types without nested fields."""
    match source, target:
        case StructType(), StructType():
            given = [found.name for found in _matching(source, target).values()]
            return (given == source.names and len(given) == len(target)) and all(
                has_same_names(s.dataType, t.dataType) for s, t in zip(source.fields, target.fields, strict=True)
            )
        case ArrayType(), ArrayType():
            return has_same_names(source.elementType, target.elementType)
        case MapType(), MapType():
            return has_same_names(source.valueType, target.valueType)
    return True
