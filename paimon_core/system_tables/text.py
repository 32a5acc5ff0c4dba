"""How system tables print values of partitions, keys and statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from typing import Any

from paimon_core.spec.binary_row import decode_row
from paimon_core.spec.paths import partition_text
from paimon_core.spec.types import DataField, Kind

_TIMESTAMPS = (Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ)


def row_text(fields: Sequence[DataField], row: bytes) -> str:
    """A partition as `{a, b}`; values as a cast to STRING gives them."""
    texts = (cast_text(f, v) for f, v in _values(fields, row))
    return "{" + ", ".join("null" if text is None else text for text in texts) + "}"


def partition_path(fields: Sequence[DataField], row: bytes, default_name: str) -> str:
    """A partition as `a=1/b=2`."""
    texts = ((f.name, cast_text(f, v)) for f, v in _values(fields, row))
    return "/".join(f"{name}={default_name if text is None else text}" for name, text in texts)


def key_text(fields: Sequence[DataField], row: bytes) -> str | None:
    """A key as `[a, b]`, None for the empty one of append tables."""
    values = _values(fields, row)
    return "[" + ", ".join(value_text(f, v) for f, v in values) + "]" if values else None


def map_text(values: Mapping[str, str]) -> str:
    """`{a=1, b=2}`, by name."""
    return "{" + ", ".join(f"{name}={values[name]}" for name in sorted(values)) + "}"


def value_text(field: DataField, value: Any) -> str:
    """A value as its internal form prints: DATE as epoch days, moments in ISO form, bytes in hex."""
    if value is None:
        return "null"
    if isinstance(value, bytes):
        return value.hex()
    return partition_text(field, value)


def cast_text(field: DataField, value: Any) -> str | None:
    """A value as a cast to STRING gives it; None for NULL."""
    if value is None:
        return None
    if field.type.kind is Kind.DATE:
        return (date(1970, 1, 1) + timedelta(days=value)).isoformat() if -719_162 <= value <= 2_932_896 else str(value)
    text = value_text(field, value)
    if field.type.kind in _TIMESTAMPS:
        text = text.replace("T", " ") + (":00" if text.count(":") == 1 else "")
    return text


def local_time(millis: int, zone: tzinfo | None) -> datetime:
    """Epoch milliseconds as the wall clock of a zone; None is the process's own."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=millis)
    return moment.astimezone(zone).replace(tzinfo=None)


def duration_text(duration: timedelta | None) -> str | None:
    """An ISO 8601 duration in hours, minutes and seconds: `PT36H0.5S`."""
    if duration is None:
        return None
    all_minutes, rest = divmod(duration // timedelta(microseconds=1), 60_000_000)
    hours, minutes = divmod(all_minutes, 60)
    seconds = Decimal(rest).scaleb(-6)
    parts = ((f"{hours}H", hours), (f"{minutes}M", minutes), (f"{seconds.normalize():f}S", seconds))
    return "PT" + ("".join(text for text, amount in parts if amount) or "0S")


def _values(fields: Sequence[DataField], row: bytes) -> list[tuple[DataField, Any]]:
    return list(zip(fields, decode_row([f.type for f in fields], row), strict=True))
