"""The texts of partitions, keys and statistics in system tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from typing import Any

from paimon_core.spec.binary_row import decode_row
from paimon_core.spec.types import DataField
from paimon_core.spec.value_texts import cast_text, internal_text, shown_partition

_ARITY = 4  # bytes before a row that count its fields


def row_text(fields: Sequence[DataField], row: bytes, zone: tzinfo | None) -> str:
    """Return a partition as `{a, b}`. Values have the text of a cast to STRING, in a zone."""
    return "{" + ", ".join("null" if v is None else cast_text(f.type, v, zone) for f, v in _values(fields, row)) + "}"


def partition_path(fields: Sequence[DataField], row: bytes, default_name: str, zone: tzinfo | None) -> str:
    """Return a partition as `a=1/b=2`, in a zone."""
    spec = shown_partition(fields, row, default_name, zone)
    return "/".join(f"{name}={text}" for name, text in spec.items())


def key_text(fields: Sequence[DataField], row: bytes) -> str | None:
    """Return a key as `[a, b]`, or None for the empty key of append tables."""
    if int.from_bytes(row[:_ARITY], "big", signed=True) > len(fields):
        # With `pk-clustering-override`, files are sorted by other columns, and Java stores the values of these columns
        # as keys.
        row = len(fields).to_bytes(_ARITY, "big") + row[_ARITY:]
    values = _values(fields, row)
    return (
        "[" + ", ".join("null" if v is None else internal_text(f.type, v) for f, v in values) + "]" if values else None
    )


def map_text(values: Mapping[str, str]) -> str:
    """Return `{a=1, b=2}`, ordered by name."""
    return "{" + ", ".join(f"{name}={values[name]}" for name in sorted(values)) + "}"


def in_hash_order(options: Mapping[str, str]) -> dict[str, str]:
    """Return options in the order of Java's `HashMap` after inserting them in the given order."""
    capacity = 16
    while len(options) > capacity * 3 // 4:
        capacity *= 2
    return dict(sorted(options.items(), key=lambda option: _spread(option[0]) % capacity))


def local_time(millis: int, zone: tzinfo | None) -> datetime:
    """Return epoch milliseconds as the wall clock of a zone, None for the process's own zone."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=millis)
    return moment.astimezone(zone).replace(tzinfo=None)


def duration_text(duration: timedelta | None) -> str | None:
    """Return an ISO 8601 duration in hours, minutes and seconds, such as `PT36H0.5S`."""
    if duration is None:
        return None
    all_minutes, rest = divmod(duration // timedelta(microseconds=1), 60_000_000)
    hours, minutes = divmod(all_minutes, 60)
    seconds = Decimal(rest).scaleb(-6)
    parts = ((f"{hours}H", hours), (f"{minutes}M", minutes), (f"{seconds.normalize():f}S", seconds))
    return "PT" + ("".join(text for text, amount in parts if amount) or "0S")


def _spread(key: str) -> int:
    code, units = 0, key.encode("utf-16-be")
    for i in range(0, len(units), 2):
        code = (31 * code + int.from_bytes(units[i : i + 2], "big")) & 0xFFFFFFFF
    return code ^ (code >> 16)


def _values(fields: Sequence[DataField], row: bytes) -> list[tuple[DataField, Any]]:
    return list(zip(fields, decode_row([f.type for f in fields], row), strict=True))
