"""One value of a result as text, and as JSON; rows of Arrow as texts."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, time, tzinfo
from decimal import Decimal
from typing import Any

import pyarrow as pa

from paimon_core.dataclass import dataclass

NULL = "NULL"
# names of Spark's types, by which values are printed
_KINDS = {"int8": "byte", "int16": "short", "int32": "integer", "int64": "long"}


@dataclass(frozen=True, slots=True)
class ColumnKind:
    """The kind of an Arrow type, by which functions of this module decide."""

    name: str

    @staticmethod
    def of(arrow: pa.DataType) -> ColumnKind:
        """Return the kind of an Arrow type."""
        if pa.types.is_timestamp(arrow):
            return ColumnKind("timestamp_ntz" if arrow.tz is None else "timestamp")
        return ColumnKind("decimal" if pa.types.is_decimal(arrow) else _KINDS.get(str(arrow), str(arrow)))

    def typeName(self) -> str:
        return self.name


def with_python_times(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of nanoseconds in microseconds, as Python's datetime has no nanoseconds."""
    is_fine = pa.types.is_timestamp(column.type) and column.type.unit == "ns"
    return column.cast(pa.timestamp("us", column.type.tz), safe=False) if is_fine else column


def text_rows(found: pa.Table, zone: tzinfo | None) -> list[tuple[str, ...]]:
    """Return rows as texts for people. Instants are shown in a zone, if given."""
    columns = []
    for column in map(with_python_times, found.columns):
        kind = ColumnKind.of(column.type)
        columns.append([as_text(value, kind, zone) for value in column.to_pylist()])
    return list(zip(*columns, strict=True))


def as_text(value: Any, kind: Any = None, zone: tzinfo | None = None) -> str:
    """Return a value as text for people. `kind` is its Spark type. Instants are shown in `zone`, if given."""
    if value is None:
        return NULL
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(str(value), str(value))
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, (date, time)):
        return _moment(value, kind, zone)
    if isinstance(value, (bytes, bytearray)):
        return f"X'{value.hex().upper()}'"
    if isinstance(value, dict):
        keys, values = getattr(kind, "keyType", None), getattr(kind, "valueType", None)
        return _braces((as_text(k, keys, zone), as_text(v, values, zone)) for k, v in value.items())
    if isinstance(value, tuple) and hasattr(value, "__fields__"):
        return _braces(zip(value.__fields__, _items(value, kind, zone), strict=True))
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_items(value, kind, zone)) + "]"
    return str(value)


def as_json(value: Any, kind: Any = None, zone: tzinfo | None = None) -> Any:
    """Return a value for `json.dumps`. Types without a JSON type become the text of `as_text`, binary becomes hex
    digits.
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else as_text(value)
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if isinstance(value, dict):
        keys, values = getattr(kind, "keyType", None), getattr(kind, "valueType", None)
        return {as_text(k, keys, zone): as_json(v, values, zone) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        items = [as_json(item, inner, zone) for item, inner in zip(value, _inner_kinds(value, kind), strict=True)]
        return dict(zip(value.__fields__, items, strict=True)) if hasattr(value, "__fields__") else items
    return as_text(value, kind, zone)


def is_number(kind: Any) -> bool:
    name = _name(kind)
    return name in ("byte", "short", "integer", "long", "float", "double") or name.startswith("decimal")


def _name(kind: Any) -> str:
    return str(kind.typeName()) if hasattr(kind, "typeName") else ""


def _moment(value: date | time, kind: Any, zone: tzinfo | None) -> str:
    if not isinstance(value, datetime):
        return value.isoformat()
    if zone is not None and _name(kind) == "timestamp":
        value = value.astimezone(zone).replace(tzinfo=None)  # PySpark returns it as local time of this process
    text = value.isoformat(sep=" ")
    return text.rstrip("0") if value.microsecond else text


def _items(values: Iterable[Any], kind: Any, zone: tzinfo | None) -> list[str]:
    values = list(values)
    return [as_text(item, inner, zone) for item, inner in zip(values, _inner_kinds(values, kind), strict=True)]


def _inner_kinds(values: Iterable[Any], kind: Any) -> list[Any]:
    fields = getattr(kind, "fields", None)
    if fields is not None:
        return [field.dataType for field in fields]
    return [getattr(kind, "elementType", None) for _ in values]


def _braces(pairs: Iterable[tuple[str, str]]) -> str:
    return "{" + ", ".join(f"{name}: {value}" for name, value in pairs) + "}"
