"""Parsers of arguments with a syntax of their own, such as lists of partitions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta, tzinfo
from functools import partial
from typing import Any, TypeVar

from paimon_core import time_zones
from paimon_core.errors import InvalidOptionError, InvalidSchemaError
from paimon_core.expressions.predicate import And, Compare, IsNull, Or, Predicate
from paimon_core.options import duration, names
from paimon_core.options.support import in_own_spelling
from paimon_core.spec.kinds import TEXTS
from paimon_core.spec.paths import unescape_path_name
from paimon_core.spec.types import DataField
from paimon_core.spec.value_texts import value_of_text

_T = TypeVar("_T")
# a quoted value up to the next comma or semicolon, a separator, or other text
_PIECES = re.compile(r"""=\s*(?:'(?:[^']|'')*'|"(?:[^"]|"")*")\s*(?=[,;]|$)|[,;]|=|[^,;=]+""")


def partition_specs(
    text: str, fields: Sequence[DataField], default_name: str, zone: tzinfo | None, *, case_sensitive: bool = False
) -> Predicate:
    """Parse `dt=2024-01-01,hh=10;dt=2024-01-02` to a predicate on the partition columns. The value `default_name` means
    NULL.

    `zone` is the time zone of TIMESTAMP values, None for this process's zone. Raises `InvalidOptionError`.
    """
    if not (specs := partition_texts(text)):
        raise InvalidOptionError("partitions is empty: write it as 'dt=2024-01-01,hh=10;dt=2024-01-02'.")
    find = partial(column_named, columns={f.name: f for f in fields}, case_sensitive=case_sensitive)
    condition = partial(_condition, find=find, fields=fields, default_name=default_name, zone=zone)
    return Or(tuple(And(tuple(condition(part) for part in spec)) for spec in specs))


def partition_texts(text: str) -> list[list[str]]:
    """Split `dt=2024-01-01,hh=10;dt=2024-01-02` into partitions, and each partition into `column=value`.

    Commas and semicolons in quotes belong to the value: `name='a,b'`.
    """
    specs: list[list[str]] = [[""]]
    for piece in _PIECES.findall(text):
        if piece == ";":
            specs.append([""])
        elif piece == ",":
            specs[-1].append("")
        else:
            specs[-1][-1] += piece
    return [spec for spec in specs if len(spec) > 1 or spec[0].strip()]


def unquoted(value: str) -> str:
    """Return a value of a partition without the quotes around it; a quote inside of them is doubled."""
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1].replace(value[0] * 2, value[0])
    return value


def table_options(text: str) -> dict[str, str]:
    """Return `k=v,k2=v2` as options. Raises `InvalidOptionError`."""
    pairs = [piece.partition("=") for piece in text.split(",") if piece.strip()]
    if not all(equals and key.strip() for key, equals, _ in pairs):
        raise InvalidOptionError(f"options cannot be {text!r}: write them as 'key=value,key2=value2'.")
    return {key.strip(): value.strip() for key, _, value in pairs}


def call_options(text: str | None) -> dict[str, str]:
    """Return `k=v,k2=v2` as options of one call. Their keys may be in any case, as in the hints of a statement.

    Raises `InvalidOptionError`.
    """
    return in_own_spelling(table_options(text or ""))


def given(text: str | None) -> str | None:
    """Return a text argument; None if it is blank, as if it were not given."""
    return text if text is not None and text.strip() else None


def check_parallelism(parallelism: int | None) -> None:
    """Raise `InvalidOptionError` if the number of tasks is less than 1."""
    if parallelism is not None and parallelism < 1:
        raise InvalidOptionError(f"parallelism cannot be {parallelism}: use a number of tasks, 1 or more.")


def idle_millis(text: str) -> int:
    """Return a duration such as `1 d` in milliseconds. Raises `InvalidOptionError`."""
    try:
        return duration(text)
    except ValueError as e:
        raise InvalidOptionError(f"partition_idle_time cannot be {text!r}: use {e}.") from e


def epoch_millis(argument: str, text: str, zone: tzinfo | None) -> int:
    """Parse `2024-01-31 12:00:00` or `2024-01-31` to epoch milliseconds, in `zone` if the text has no zone.

    Raises `InvalidOptionError`.
    """
    try:
        return time_zones.epoch_millis(text, zone)
    except ValueError as e:
        raise InvalidOptionError(
            f"{argument} cannot be {text!r}: write it as '2024-01-31 12:00:00' or '2024-01-31'."
        ) from e


def time_to_live(text: str | None) -> timedelta | None:
    """Return the argument `time_retained`, a duration such as `1 d` or `12 hours`; None if it is not given.

    Raises `InvalidOptionError`.
    """
    if text is None:
        return None
    try:
        return timedelta(milliseconds=duration(text))
    except (ValueError, OverflowError) as e:
        raise InvalidOptionError(f"time_retained cannot be {text!r}: use a duration such as '1 d' or '12 h'.") from e


def column_named(name: str, columns: Mapping[str, _T], *, case_sensitive: bool) -> _T | None:
    """Return the column that SQL means by a name: the column of exactly this name, or the only one with the name in
    another case. Return None if there is none.
    """
    if name in columns or case_sensitive:
        return columns.get(name)
    alike = [key for key in columns if key.lower() == name.lower()]
    return columns[alike[0]] if len(alike) == 1 else None


def columns_named(
    argument: str, text: str, fields: Sequence[DataField], table: str, *, case_sensitive: bool
) -> list[DataField]:
    """Return the columns of `a,b`, by the rule of `column_named`. Raises `InvalidSchemaError` naming the argument."""
    columns = {f.name: f for f in fields}
    found = []
    for name in names(text):
        column = column_named(name, columns, case_sensitive=case_sensitive)
        if column is None:
            alike = [f.name for f in fields if f.name.lower() == name.lower()]
            cause = f"{name!r} could be {' or '.join(alike)}" if len(alike) > 1 else f"it has no column {name!r}"
            raise InvalidSchemaError(
                f"{argument} cannot be {text!r} for table {table}: {cause}. Its columns are {', '.join(columns)}."
            )
        found.append(column)
    return found


def _condition(
    part: str,
    find: Callable[[str], DataField | None],
    fields: Sequence[DataField],
    default_name: str,
    zone: tzinfo | None,
) -> Predicate:
    name, equals, value = (piece.strip() for piece in part.partition("="))
    field = find(name)
    if not equals or field is None:
        known = ", ".join(f.name for f in fields) or "none: the table is not partitioned"
        raise InvalidOptionError(
            f"partitions has {part.strip()!r}: write column=value; the partition columns are {known}."
        )
    if (value := unquoted(value)) == default_name:
        return IsNull(field.name)
    try:
        return Compare(field.name, "=", partition_value(field, value, zone))
    except ValueError as e:
        raise InvalidOptionError(f"partitions has {name}={value}: the value is not a valid {field.type.sql()}.") from e


def partition_value(field: DataField, text: str, zone: tzinfo | None) -> Any:
    """Return the value of a partition column from its text, which may have escapes of paths, as SHOW PARTITIONS prints.
    Raises `ValueError`.
    """
    is_text = field.type.kind in TEXTS
    return value_of_text(field.type, text if is_text else unescape_path_name(text), zone)
