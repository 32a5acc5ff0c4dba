"""Scalar values as text and back: the one rule book. `arrow.text_casts` has the same rules for whole columns.

Values are in the domain of `binary_row`: a DATE is its epoch day, a TIME its millisecond of the day, a moment a pair of
epoch milliseconds and the nanoseconds of the millisecond. Java has two texts for a value:

    type             internal_text: `toString()`                cast_text: CAST(… AS STRING)
    BOOLEAN          true, false                                the same
    integers         digits                                     the same
    FLOAT, DOUBLE    shortest digits, two at least; with an     the same
                     exponent below 1E-3 and from 1.0E7
    DECIMAL          all digits, no exponent                    the same
    CHAR, VARCHAR    as it is                                   the same
    BINARY, …        hex digits                                 the bytes as UTF-8
    DATE             19723, epoch days                          2024-01-01
    TIME             45296789, milliseconds                     12:34:56.789, no more digits than needed, but one
    TIMESTAMP        2024-01-31T12:00, seconds and digits       2024-01-31 12:00:00.000000, digits of the precision
                     in threes where they are not zero

Uses of each text:

- folders of partitions: `internal_text` (`partition.legacy-name`, the default), else `cast_text`; bytes as in
  `folder_text`
- `$files`: keys and bounds by `internal_text`; partitions, there and in all system tables, by `cast_text`
- old files of a column that became a STRING: `cast_text`, by columns
- `partition.timestamp-pattern`: `internal_text`, but a DATE as `cast_text`
- bounds in `statistics/stat-…`: `bound_text`, SQL's text, but a DATE as epoch days
- CSV and JSON files (`formats.text.values`): as `cast_text`, but bytes in base64, and floats as Arrow prints them
- texts that become values: folders of partitions and default values by columns (`arrow.casts`), `partitions` of
  procedures by `value_of_text`

Texts of TIMESTAMP WITH LOCAL TIME ZONE for people are in a zone: partitions in system tables and in arguments of
procedures are in the session's zone, as in SQL. Texts in storage are in UTC, so that they mean the same to every
reader: folders, keys, bounds, CSV and JSON files. TIMESTAMP has no zone: its texts are the same everywhere.
Source: Paimon's `InternalRowPartitionComputer` and `casting` rules, files and answers of Java.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, timedelta, tzinfo
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any

import numpy as np

from paimon_core.lazy import regex
from paimon_core.spec.binary_row import decode_row
from paimon_core.spec.kinds import FLOATS, INTEGERS, MOMENTS, KindColumn, is_in_range
from paimon_core.spec.types import DataField, DataType, Kind, TimeType
from paimon_core.time_zones import epoch_moment, parsed_moment, wall_clock, wall_moment

_MILLIS_PER_DAY = 86_400_000
_EPOCH_DAY = date(1970, 1, 1)
_BLANK = regex(r"[^\S\x85\xa0\u2007\u202f]*")  # non-breaking spaces and NEL do not count as blanks
_INTEGER = regex(r"[+-]?\d{1,19}", re.ASCII)
_FLOAT = regex(r"[+-]?(\d{1,400}(\.\d{0,400})?([eE][+-]?\d{1,4})?|Infinity|NaN)")
_DECIMAL = regex(r"[+-]?\d{1,38}(\.\d{1,38})?([eE][+-]?\d{1,2})?")
_TIME = regex(r"(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?")
_SQL_MOMENT = regex(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.(\d{1,9}))?")
_SPELLINGS: KindColumn[re.Pattern[str]] = KindColumn(
    {
        Kind.BOOLEAN: regex("true|false"),
        **dict.fromkeys(INTEGERS, _INTEGER),
        **dict.fromkeys(FLOATS, _FLOAT),
        Kind.DECIMAL: _DECIMAL,
    },
    others="CHAR VARCHAR BINARY VARBINARY BLOB DATE TIME TIMESTAMP TIMESTAMP_LTZ ARRAY MAP MULTISET ROW VARIANT",
)


def partition_spec(
    fields: Sequence[DataField], partition: bytes, default_name: str, *, legacy: bool = True
) -> dict[str, str]:
    """Return partition columns and their values, spelled as in folders but not escaped. NULL and blanks are
    `default_name`.

    With `legacy` (`partition.legacy-name`), values have the text of `internal_text`, else of `cast_text`; see
    `folder_text`."""
    return _spec(fields, partition, default_name, partial(folder_text, legacy=legacy))


def shown_partition(
    fields: Sequence[DataField], partition: bytes, default_name: str, zone: tzinfo | None
) -> dict[str, str]:
    """Return partition columns and their values for people, by `cast_text`, in a zone (None for this process's
    zone).
    """
    return _spec(fields, partition, default_name, lambda field, value: cast_text(field.type, value, zone))


def _spec(
    fields: Sequence[DataField], partition: bytes, default_name: str, text: Callable[[DataField, Any], str]
) -> dict[str, str]:
    values = decode_row([f.type for f in fields], partition)
    texts = [None if v is None else text(f, v) for f, v in zip(fields, values, strict=True)]
    return {f.name: default_name if t is None or _BLANK.fullmatch(t) else t for f, t in zip(fields, texts, strict=True)}


def folder_text(field: DataField, value: Any, *, legacy: bool) -> str:
    """Return a value in the spelling of folders; see `partition_spec`.

    Java refuses partitions of bytes with `legacy`. pypaimon writes them, with Python's text of bytes: `b'ab'`."""
    if legacy and isinstance(value, bytes):
        return str(value)
    return internal_text(field.type, value) if legacy else cast_text(field.type, value)


def internal_text(data_type: DataType, value: Any) -> str:
    """Return the text of Java's internal value, by its `toString()`."""
    kind = data_type.kind
    if kind is Kind.BOOLEAN:
        return "true" if value else "false"
    if kind in MOMENTS:
        return iso_timestamp(*value)
    if kind in FLOATS:
        return float_text(np.float32(value) if kind is Kind.FLOAT else np.float64(value))
    if isinstance(value, Decimal):
        return format(value, "f")
    return value.hex() if isinstance(value, bytes) else str(value)


def cast_text(data_type: DataType, value: Any, zone: tzinfo | None = UTC) -> str:
    """Return the text of CAST to STRING, in a zone (None for this process's zone)."""
    if data_type.kind is Kind.DATE:
        return iso_timestamp(value * _MILLIS_PER_DAY, 0).partition("T")[0].removeprefix("+")
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if not isinstance(data_type, TimeType):
        return internal_text(data_type, value)
    if data_type.kind is Kind.TIME:
        return _time_text(value % _MILLIS_PER_DAY, data_type.precision)
    millis, nanos = value
    millis = wall_clock(millis, zone) if data_type.kind is Kind.TIMESTAMP_LTZ else millis
    day, _, time = iso_timestamp(millis - millis % 1000, 0).partition("T")
    digits = f"{millis % 1000 * 1_000_000 + nanos:09d}"
    fraction = digits[: data_type.precision] + digits[data_type.precision :].rstrip("0")
    seconds = time if len(time) == len("hh:mm:ss") else f"{time}:00"
    return f"{day.removeprefix('+')} {seconds}" + (f".{fraction}" if fraction else "")


def _time_text(millis: int, precision: int) -> str:
    seconds, millis = divmod(millis, 1000)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{(f'{millis:03d}'.rstrip('0') or '0')[:precision]}" if precision else text


def iso_timestamp(millis: int, nanos: int) -> str:
    """Return epoch milliseconds and nanoseconds of the millisecond as ISO 8601, without seconds if they are zero."""
    days, millis = divmod(millis, _MILLIS_PER_DAY)
    year, month, day = _civil(days)
    seconds, millis = divmod(millis, 1000)
    fraction = millis * 1_000_000 + nanos
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    text = f"{sign}{abs(year):04d}-{month:02d}-{day:02d}T{seconds // 3600:02d}:{seconds // 60 % 60:02d}"
    if fraction:
        digits = f"{fraction:09d}"
        digits = digits[:3] if digits[3:] == "000000" else digits[:6] if digits[6:] == "000" else digits
        return f"{text}:{seconds % 60:02d}.{digits}"
    return f"{text}:{seconds % 60:02d}" if seconds % 60 else text


def float_text(number: np.floating[Any]) -> str:
    """Return the shortest unique digits of a number, at least two, with an exponent below 1e-3 and from 1e7."""
    if not np.isfinite(number):
        return "NaN" if np.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return str(np.format_float_positional(number, unique=True, trim="0"))
    two_digits = np.format_float_scientific(number, precision=1, unique=False)
    same = type(number)(two_digits) == number  # the nearest number of two digits: 4.9E-324, although 5E-324 is shorter
    text = two_digits if same else np.format_float_scientific(number, unique=True, trim="0")
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}E{int(exponent)}"


def _civil(days: int) -> tuple[int, int, int]:
    """Return the year, month and day of epoch days, for any year (Howard Hinnant, "chrono-Compatible Low-Level Date
    Algorithms").
    """
    days += 719_468
    era, doe = divmod(days, 146_097)
    yoe = (doe - doe // 1460 + doe // 36_524 - doe // 146_096) // 365
    doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
    mp = (5 * doy + 2) // 153
    month = mp + 3 if mp < 10 else mp - 9
    return yoe + era * 400 + (month <= 2), month, doy - (153 * mp + 2) // 5 + 1


def value_of_text(data_type: DataType, text: str, zone: tzinfo | None) -> Any:
    """Parse a text to a value: numbers, `true`, `2024-01-31`, `2024-01-31 12:00:00`, `12:34:56.789`.

    The value of BINARY is the bytes of the text. A TIME may also be given in milliseconds. A moment is in the zone that
    the text names, else in `zone` (None for this process's zone). Raises `ValueError`."""
    parse = _PARSERS.get(data_type.kind)
    return text if parse is None else parse(text, zone)


def _integer_of(kind: Kind) -> Callable[[str, tzinfo | None], int]:
    return lambda text, _: _integer(text, kind)


def _integer(text: str, kind: Kind) -> int:
    """Parse a number that the type can hold.

    Python's own `int` also accepts digits of other scripts, and `_` between digits.
    """
    number = int(text) if _INTEGER.fullmatch(text.strip()) else None
    if number is None or not is_in_range(kind, number):
        raise ValueError(text)
    return number


def _millis_of_day(text: str) -> int:
    parts = _TIME.fullmatch(text)
    if parts is None:
        return int(text)
    hours, minutes, seconds = map(int, parts.groups()[:3])
    if hours > 23 or minutes > 59 or seconds > 59:
        raise ValueError(text)
    return (hours * 3600 + minutes * 60 + seconds) * 1000 + int((parts[4] or "").ljust(3, "0")[:3])


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


def _finite(text: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation as e:
        raise ValueError(text) from e
    if not number.is_finite():
        raise ValueError(text)
    return number


_PARSERS: KindColumn[Callable[[str, tzinfo | None], Any]] = KindColumn(
    {
        **{kind: _integer_of(kind) for kind in INTEGERS},
        Kind.FLOAT: lambda text, _: float(np.float32(text)),
        Kind.DOUBLE: lambda text, _: float(text),
        Kind.DECIMAL: lambda text, _: _finite(text),
        Kind.BOOLEAN: lambda text, _: _boolean(text),
        Kind.DATE: lambda text, _: (parsed_moment(text)[0].date() - _EPOCH_DAY).days,
        Kind.TIME: lambda text, _: _millis_of_day(text),
        Kind.TIMESTAMP: lambda text, _: wall_moment(text),
        Kind.TIMESTAMP_LTZ: epoch_moment,
        Kind.BINARY: lambda text, _: text.encode(),  # as CAST to BINARY does
        Kind.VARBINARY: lambda text, _: text.encode(),
    },
    others="CHAR VARCHAR BLOB ARRAY MAP MULTISET ROW VARIANT",
)


def bound_text(kind: Kind, sql_text: str) -> str:
    """Return the text of a bound in a file of statistics, from SQL's text of the value."""
    return str((date.fromisoformat(sql_text) - _EPOCH_DAY).days) if kind is Kind.DATE else sql_text


def sql_bound(kind: Kind, text: object) -> str | None:
    """Reverse `bound_text`, with six digits for moments. Return None for a text that is not a value of that kind."""
    if not isinstance(text, str):
        return None
    if kind is Kind.DATE:
        try:
            return (_EPOCH_DAY + timedelta(days=int(text))).isoformat()
        except (ValueError, OverflowError):
            return None
    if kind in MOMENTS:
        moment = _SQL_MOMENT.fullmatch(text)
        return None if moment is None else f"{moment[1]}.{(moment[2] or '').ljust(6, '0')[:6]}"
    spelling = _SPELLINGS.get(kind)
    return text if spelling is not None and spelling.fullmatch(text) else None
