"""The default value of a column, from its text in the schema. The text is a constant that can be cast to the type, with
or without quotes. An instant is in the zone of the writing session. Nested values are `ARRAY(1, 2)` or `[1, 2]`,
`MAP('a', 1)` or `{a -> 1}`, `STRUCT(1, 'x')` or `{1, x}`. Source: Paimon's page "Default Value".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import tzinfo

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow.casts import cast_column
from paimon_core.arrow.types import arrow_type
from paimon_core.errors import InvalidDataError, InvalidSchemaError
from paimon_core.spec.casts import can_cast
from paimon_core.spec.kinds import FLOATS
from paimon_core.spec.types import STRING, CollectionType, DataField, DataType, Kind, MapType, RowType

_OPENING, _CLOSING = "([{<", ")]}>"
_ARROW = re.compile(r"\s*->\s*")


def default_value(field: DataField, zone: tzinfo | None = None) -> pa.Array:
    """Return the default of a column, as one value of its Arrow type.

    Instants are in `zone`, None for this process's zone. Raises `InvalidSchemaError` for a text that is not a value of
    the type.
    """
    try:
        return _value(field.default or "null", field.type, zone)
    except (InvalidDataError, pa.ArrowException, ValueError) as e:
        why = f"{e}; use" if isinstance(e, InvalidDataError) else "use"
        raise InvalidSchemaError(
            f"Column {field.name!r} of type {field.type.sql()} cannot have the default value {field.default}: "
            f"{why} a constant, such as 1, 'text' or ARRAY(1, 2)."
        ) from e


def fill_default(column: pa.Array, field: DataField, zone: tzinfo | None = None) -> pa.Array:
    """Return the column with its default instead of NULL; see `default_value`."""
    if field.default is None or column.null_count == 0:
        return column
    value = default_value(field, zone)[0]
    if not value.is_valid:
        return column
    if not pa.types.is_nested(column.type):
        return pc.fill_null(column, value)
    indices = pc.if_else(column.is_valid(), pa.array(range(len(column)), pa.int64()), len(column))
    return pa.concat_arrays([column, pa.array([value], column.type)]).take(indices)


def unquoted(text: str) -> str:
    """Return the text of a constant without the quotes around it. There are no escapes in it."""
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def nested_parts(text: str, data_type: DataType) -> list[tuple[str, DataType]] | None:
    """Return the constants in the constant of an ARRAY, MAP (keys and values in turn) or ROW, each with its type.

    Return None for another type, or a text that does not have this form. A ROW without parts has NULL in all fields.
    """
    try:
        return _nested(text.strip(), data_type)
    except InvalidDataError:
        return None


def _nested(text: str, data_type: DataType) -> list[tuple[str, DataType]] | None:
    match data_type:
        case CollectionType(kind=Kind.ARRAY, element=element):
            return [(part, element) for part in _parts(text, "array", "[")]
        case MapType(key=key, value=value):
            parts = _parts(text, "map", "{")
            if text.startswith("{"):
                parts = [side for part in parts for side in _ARROW.split(part, maxsplit=1)]
            if len(parts) % 2:
                raise InvalidDataError("a key has no value")
            return [(part, value if i % 2 else key) for i, part in enumerate(parts)]
        case RowType(fields=fields):
            parts = _parts(text, "struct", "{") or ["null"] * len(fields)
            if len(parts) != len(fields):
                raise InvalidDataError(f"it has {len(parts)} fields instead of {len(fields)}")
            return [(part, field.type) for part, field in zip(parts, fields, strict=True)]
    return None


def _value(text: str, data_type: DataType, zone: tzinfo | None) -> pa.Array:
    text = text.strip()
    if text.lower() == "null":
        return pa.nulls(1, arrow_type(data_type))
    parts = _nested(text, data_type)
    if parts is not None:
        return _of_parts([_value(part, kind, zone) for part, kind in parts], data_type).cast(arrow_type(data_type))
    if not can_cast(STRING, data_type):
        raise InvalidDataError("columns of this type have no default value")
    text = unquoted(text)
    if data_type.kind in FLOATS:
        text = re.sub(r"(?<=[0-9.])[dDfF]$", "", text)
    try:
        value = cast_column(pa.array([text]), STRING, data_type, zone)
    except (InvalidDataError, pa.ArrowException, ValueError) as e:
        raise InvalidDataError(f"{text!r} is not a valid {data_type.sql()}") from e
    if value.null_count:
        raise InvalidDataError("it has too many digits")
    return value


def _of_parts(values: list[pa.Array], data_type: DataType) -> pa.Array:
    match data_type:
        case CollectionType(element=element):
            return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), _joined(values, element))
        case MapType(key=key, value=value):
            keys, items = _joined(values[::2], key), _joined(values[1::2], value)
            return pa.MapArray.from_arrays(pa.array([0, len(keys)], pa.int32()), keys, items)
        case RowType(fields=fields):
            return pa.StructArray.from_arrays(values, names=[f.name for f in fields])
    raise AssertionError(data_type)


def _joined(values: list[pa.Array], data_type: DataType) -> pa.Array:
    return pa.concat_arrays([pa.nulls(0, arrow_type(data_type)), *values])


def _parts(text: str, function: str, bracket: str) -> list[str]:
    """Return the parts between commas in `function(…)` or in brackets."""
    match = re.fullmatch(rf"{function}\s*\((.*)\)", text, re.I | re.S)
    if match is None and text[:1] == bracket and text[-1:] == _CLOSING[_OPENING.index(bracket)]:
        return list(_split(text[1:-1]))
    if match is None:
        raise InvalidDataError(f"write it as {function.upper()}(…)")
    return list(_split(match[1]))


def _split(text: str) -> Iterable[str]:
    depth, quote, start = 0, "", 0
    for i, c in enumerate(text):
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c in _OPENING or c in _CLOSING:
            is_arrow = c == ">" and text[i - 1] == "-"
            depth += 0 if is_arrow else 1 if c in _OPENING else -1
        elif c == "," and depth == 0:
            yield text[start:i]
            start = i + 1
    if text[start:].strip():
        yield text[start:]
