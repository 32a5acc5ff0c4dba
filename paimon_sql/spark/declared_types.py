"""Types that Spark cannot hold, carried past its parser by the preprocessor and put back into a new table's columns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from paimon_core.errors import InvalidOptionError
from paimon_core.spec.types import CollectionType, DataField, DataType, Kind, MapType, RowType, parse_type
from paimon_sql.preprocess import DECLARED_TYPES_PROPERTY

Declared = tuple[tuple[str, ...], str]


def apply_declared_types(fields: tuple[DataField, ...], declared: str | None) -> tuple[DataField, ...]:
    """The columns with the types that `declared` gives by path: JSON `[[["r", "a"], "TIMESTAMP(3)"], …]`.

    Raises `InvalidOptionError` where it is none, `InvalidSchemaError` for a type that is none.
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


def _apply_to_fields(fields: Sequence[DataField], types: Sequence[Declared]) -> tuple[DataField, ...]:
    return tuple(replace(f, type=_apply(f.type, _below(f.name, types))) for f in fields)


def _apply(data_type: DataType, types: Sequence[Declared]) -> DataType:
    """`types` are relative to this type: an empty path means the type itself."""
    match data_type:
        case RowType(fields=fields):
            return replace(data_type, fields=_apply_to_fields(fields, types))
        case CollectionType(element=element):
            return replace(data_type, element=_apply(element, _below("element", types)))
        case MapType(key=key, value=value):
            if ((), Kind.MULTISET.value) in types:
                return CollectionType(Kind.MULTISET, data_type.nullable, _apply(key, _below("key", types)))
            key, value = _apply(key, _below("key", types)), _apply(value, _below("value", types))
            return replace(data_type, key=key, value=value)
    itself = [text for path, text in types if not path]
    return parse_type(itself[0]).with_nullable(data_type.nullable) if itself else data_type


def _below(step: str, types: Sequence[Declared]) -> list[Declared]:
    return [(path[1:], text) for path, text in types if path and path[0] == step]
