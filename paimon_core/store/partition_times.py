"""The time of a partition, computed from its values. `partition.timestamp-pattern` makes a text from the values,
`partition.timestamp-formatter` parses the text, in the letters of Java's `DateTimeFormatter`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta, tzinfo

from paimon_core.errors import InvalidDataError, InvalidOptionError
from paimon_core.options import (
    PARTITION_TIMESTAMP_FORMATTER,
    PARTITION_TIMESTAMP_PATTERN,
    PARTITION_TIMESTAMP_STRICT,
)
from paimon_core.spec.binary_row import decode_row
from paimon_core.spec.types import DataField, Kind
from paimon_core.spec.value_texts import cast_text, internal_text
from paimon_core.store.table_store import TableStore

_FIELDS = {"y": "year", "u": "year", "M": "month", "d": "day", "H": "hour", "m": "minute", "s": "second", "S": "micro"}
_LETTERS = re.compile(r"(?P<letters>([a-zA-Z])\2*)|'(?P<quoted>(?:[^']|'')*)'|(?P<other>.)", re.DOTALL)
_DEFAULT = re.compile(
    r"(?P<year>\d{1,10})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"
    r"(?:[ T](?P<hour>\d{1,2}):(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:\.(?P<micro>\d{1,9}))?)?)?"
)


def time_of_partition(store: TableStore, partition: bytes) -> tuple[Mapping[str, str | None], datetime | None]:
    """Return the values of a partition as texts, and its `partition_time` by the table's options."""
    fields, options = store.schema.partition_fields, store.options
    found = decode_row([f.type for f in fields], partition)
    values = {f.name: _text(f, v, store.zone) for f, v in zip(fields, found, strict=True)}
    return values, partition_time(values, options[PARTITION_TIMESTAMP_PATTERN], options[PARTITION_TIMESTAMP_FORMATTER])


def check_partition_time(store: TableStore, partition: bytes) -> None:
    """Raise `InvalidDataError` for a partition without a valid time, if options require one."""
    options = store.options
    means_time = options[PARTITION_TIMESTAMP_PATTERN] or options[PARTITION_TIMESTAMP_FORMATTER]
    if not (options[PARTITION_TIMESTAMP_STRICT] and means_time and store.schema.partition_keys):
        return
    values, found = time_of_partition(store, partition)
    if found is None:
        shown = ", ".join(f"{k}={v}" for k, v in values.items())
        raise InvalidDataError(
            f"Table {store.name} cannot have the partition {shown}: by '{PARTITION_TIMESTAMP_PATTERN.key}' and "
            f"'{PARTITION_TIMESTAMP_FORMATTER.key}' it is not a valid time. Write another value, or set "
            f"'{PARTITION_TIMESTAMP_STRICT.key}' = 'false'."
        )


def partition_time(values: Mapping[str, str | None], pattern: str, formatter: str) -> datetime | None:
    """The wall clock of a partition, or None if its values are not a valid time. `pattern` and `formatter` may be
    empty.

    Raises `InvalidOptionError` for a formatter with other letters than y, M, d, H, m, s and S.
    """
    text = _filled(pattern, values) if pattern else next(iter(values.values()), None)
    if text is None:
        return None
    match = (_expression(formatter) if formatter else _DEFAULT).fullmatch(text)
    if match is None:
        return None
    found = {k: v for k, v in match.groupdict().items() if v}
    if "micro" in found:
        found["micro"] = found["micro"][:6].ljust(6, "0")
    parts = [int(found.get(name, low)) for name, low in _LOWEST.items()]
    try:
        return datetime(*parts)  # type: ignore[arg-type]
    except (ValueError, OverflowError):
        return None


_LOWEST = {"year": 1970, "month": 1, "day": 1, "hour": 0, "minute": 0, "second": 0, "micro": 0}


def _text(field: DataField, value: object, zone: tzinfo | None) -> str | None:
    if value is None:
        return None
    if field.type.kind is Kind.DATE and isinstance(value, int):
        days = min(max(value, -719_162), 2_932_896)
        return (date(1970, 1, 1) + timedelta(days=days)).isoformat()
    if field.type.kind is Kind.TIMESTAMP_LTZ:
        return cast_text(field.type, value, zone)  # ages of partitions are compared by the wall clock
    return internal_text(field.type, value)


def _filled(pattern: str, values: Mapping[str, str | None]) -> str | None:
    """Replace `$column` in the pattern by its value, the longest name first. Return None if a value is NULL."""
    names = sorted(values, key=len, reverse=True)
    if not names:
        return pattern
    nulls = []

    def value(match: re.Match[str]) -> str:
        found = values[match[1]]
        if found is None:
            nulls.append(match[1])
        return found or ""

    text = re.sub(r"\$(" + "|".join(map(re.escape, names)) + ")", value, pattern)
    return None if nulls else text


def _expression(formatter: str) -> re.Pattern[str]:
    parts, seen = [], set()
    for match in _LETTERS.finditer(formatter):
        letters = match["letters"]
        if not letters:
            quoted = match["quoted"]
            parts.append(re.escape(match["other"] if quoted is None else quoted.replace("''", "'") or "'"))
            continue
        name = _FIELDS.get(letters[0])
        if name is None or name in seen:
            raise InvalidOptionError(
                f"Option 'partition.timestamp-formatter' cannot be {formatter!r}: write it with yyyy, MM, dd, HH, mm, "
                "ss, SSS, each once, as in 'yyyy-MM-dd HH:mm'."
            )
        seen.add(name)
        width = len(letters)
        digits = f"{{{width}}}" if width > 1 else "{1,10}" if name == "year" else "{1,2}"
        parts.append(rf"(?P<{name}>\d{digits})")
    return re.compile("".join(parts))
