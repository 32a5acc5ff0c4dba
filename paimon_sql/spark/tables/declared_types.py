"""Types that Spark's types cannot express. CREATE TABLE carries them in a property, and the new table's columns get
them back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from paimon_core.errors import InvalidOptionError
from paimon_core.spec.types import (
    BYTES,
    CollectionType,
    DataField,
    DataType,
    Kind,
    LengthType,
    MapType,
    RowType,
    TimeType,
    VectorType,
    parse_type,
)
from paimon_sql.preprocess import DECLARED_TYPES_PROPERTY

Declared = tuple[tuple[str, ...], str]

_VECTOR = re.compile(r"VECTOR\(([0-9]{1,10})\)")
_SPARK_PRECISION = 6  # of TIMESTAMP types


def apply_declared_types(fields: tuple[DataField, ...], declared: str | None) -> tuple[DataField, ...]:
    """Return the columns with the types that `declared` gives by path: JSON `[[["r", "a"], "TIMESTAMP(3)"], …]`.

    Raises `InvalidOptionError` if the JSON does not have this form, `InvalidSchemaError` for an invalid type.
    """
    if declared is None:
        return fields
    try:
        types = [(tuple(path), str(text)) for path, text in json.loads(declared)]
    except (ValueError, TypeError, RecursionError) as e:
        raise InvalidOptionError(
            f"Property '{DECLARED_TYPES_PROPERTY}' cannot be {declared!r}: leave it out, CREATE TABLE fills it in."
        ) from e
    return _apply_to_fields(fields, types)


def declared_types(fields: Sequence[DataField]) -> str | None:
    """Return the JSON from which `apply_declared_types` restores these types; None if Spark's types express all of
    them.
    """
    found = [entry for f in fields for entry in _declared(f.type, (f.name,))]
    return json.dumps(found, ensure_ascii=False) if found else None


def _declared(data_type: DataType, path: tuple[str, ...]) -> Iterator[Declared]:
    match data_type:
        case RowType(fields=fields):
            for field in fields:
                yield from _declared(field.type, (*path, field.name))
        case CollectionType(kind=Kind.MULTISET, element=element):
            yield path, Kind.MULTISET.value
            yield from _declared(element, (*path, "key"))
        case VectorType(length=length):
            yield path, f"VECTOR({length})"
        case CollectionType(element=element):
            yield from _declared(element, (*path, "element"))
        case MapType(key=key, value=value):
            yield from _declared(key, (*path, "key"))
            yield from _declared(value, (*path, "value"))
        case TimeType(kind=Kind.TIMESTAMP | Kind.TIMESTAMP_LTZ, precision=precision) if precision != _SPARK_PRECISION:
            yield path, data_type.sql()
        case LengthType(kind=Kind.BINARY | Kind.VARBINARY) if data_type.with_nullable(True) != BYTES:
            yield path, data_type.sql()


def _apply_to_fields(fields: Sequence[DataField], types: Sequence[Declared]) -> tuple[DataField, ...]:
    return tuple(replace(f, type=_apply(f.type, _below(f.name, types))) for f in fields)


def _apply(data_type: DataType, types: Sequence[Declared]) -> DataType:
    """Return a type with `types` applied. Their paths are relative to this type: an empty path means the
    type itself.
    """
    match data_type:
        case RowType(fields=fields):
            return replace(data_type, fields=_apply_to_fields(fields, types))
        case CollectionType(element=element):
            array = replace(data_type, element=_apply(element, _below("element", types)))
            lengths = [match[1] for path, text in types if not path and (match := _VECTOR.fullmatch(text))]
            return VectorType(Kind.ARRAY, array.nullable, array.element, int(lengths[0])) if lengths else array
        case MapType(key=key, value=value):
            if ((), Kind.MULTISET.value) in types:
                return CollectionType(Kind.MULTISET, data_type.nullable, _apply(key, _below("key", types)))
            key, value = _apply(key, _below("key", types)), _apply(value, _below("value", types))
            return replace(data_type, key=key, value=value)
    itself = [text for path, text in types if not path]
    return parse_type(itself[0]).with_nullable(data_type.nullable) if itself else data_type


def _below(step: str, types: Sequence[Declared]) -> list[Declared]:
    return [(path[1:], text) for path, text in types if path and path[0] == step]
