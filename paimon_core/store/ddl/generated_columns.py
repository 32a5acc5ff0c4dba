"""Generated columns: an expression makes their values from other columns of the row.

A schema stores each as an option `generated-column.NAME` with a JSON object as its value. Other engines pass over such
options: they read and write plain columns.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from reprlib import repr as shortened

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidDataError, InvalidOptionError, InvalidSchemaError, UnsupportedFeatureError
from paimon_core.lazy import regex
from paimon_core.spec.json_object import member, text_list
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import MAX_LENGTH, DataField, DataType, Kind, LengthType, TimeType
from paimon_core.time_zones import time_zone

GENERATED_PREFIX = "generated-column."
JAVA_CALLS = regex(r"\b(?:java_method|(?:try_)?reflect)\b", re.IGNORECASE)  # functions of Spark
_KINDS = frozenset(
    (
        *(Kind.BOOLEAN, Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.FLOAT, Kind.DOUBLE, Kind.DECIMAL),
        *(Kind.VARCHAR, Kind.VARBINARY, Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ),
    )
)
_MICROS = 6  # the digits of a second that Spark computes with
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class GeneratedColumn:
    """A generated column. `columns` are the columns that its expression names.

    `zone` is the time zone in which the expression is computed, empty if its values do not depend on a zone.
    """

    name: str
    expression: str
    columns: tuple[str, ...]
    zone: str = ""

    @property
    def key(self) -> str:
        """Return the option that stores the column's expression."""
        return GENERATED_PREFIX + self.name

    @property
    def value(self) -> str:
        """Return the value of the option."""
        node: dict[str, object] = {"expression": self.expression, "columns": list(self.columns)}
        if self.zone:
            node["zone"] = self.zone
        return json.dumps(node, ensure_ascii=False)

    @property
    def sql(self) -> str:
        """Return the column's GENERATED ALWAYS AS clause, as SQL spells it."""
        return f"GENERATED ALWAYS AS ({self.expression})"

    @property
    def condition(self) -> str:
        """Return the condition that every row satisfies."""
        return f"`{self.name.replace('`', '``')}` <=> ({self.expression})"

    @property
    def offset(self) -> int | None:
        """Return the fixed offset of the zone in microseconds; None for a region, and for an unknown zone."""
        if not self.zone:
            return None
        try:
            zone = time_zone(self.zone)
        except InvalidOptionError:
            return None
        return _fixed_offset(zone)


def generated_of(options: Mapping[str, str]) -> tuple[GeneratedColumn, ...]:
    """Return the generated columns among the options of a schema, by their names.

    Raises `UnsupportedFeatureError` for an option in a form that this version does not understand.
    """
    found = (_read(k.removeprefix(GENERATED_PREFIX), v) for k, v in options.items() if is_generated(k))
    return tuple(sorted(found, key=lambda g: g.name))


def is_generated(key: str) -> bool:
    """Return whether an option stores the expression of a generated column."""
    return key.startswith(GENERATED_PREFIX)


def check_generated(schema: TableSchema, previous: TableSchema | None) -> None:
    """Raise `InvalidSchemaError` or `UnsupportedFeatureError` for a new generated column that the table cannot have."""
    before = {} if previous is None else previous.options
    new = generated_of({k: v for k, v in schema.options.items() if is_generated(k) and before.get(k) != v})
    names = {g.name for g in generated_of(schema.options)} if new else set()
    for column in new:
        _check(schema.field_by_name, column, names)


def check_not_generated(schema: TableSchema, column: str, verb: str) -> None:
    """Raise `InvalidSchemaError` if a generated column is made from the column that would be changed."""
    for made in generated_of(schema.options):
        if column in made.columns:
            raise InvalidSchemaError(
                f"Column {column!r} cannot be {verb}: the column {made.name!r} is {made.sql}. Drop that column first, "
                f"or make it a plain column by ALTER TABLE … UNSET TBLPROPERTIES ('{made.key}')."
            )


def check_not_made(schema: TableSchema, column: str, verb: str) -> None:
    """Raise `InvalidSchemaError` if the column that would be changed is a generated column."""
    for made in generated_of(schema.options):
        if column == made.name:
            raise InvalidSchemaError(
                f"Column {column!r} cannot be {verb}: it is {made.sql}. Make it a plain column first by ALTER TABLE … "
                f"UNSET TBLPROPERTIES ('{made.key}')."
            )


def without_generated(column: str, options: Mapping[str, str]) -> dict[str, str]:
    """Return options without the expression of a column."""
    return {k: v for k, v in options.items() if k != GENERATED_PREFIX + column}


def refuse_generated_option(keys: Iterable[str]) -> None:
    """Raise `InvalidOptionError` if users set the option of a generated column."""
    for key in keys:
        if is_generated(key):
            raise InvalidOptionError(
                f"Option {key!r} cannot be set, because it stores the expression of a generated column: write "
                "GENERATED ALWAYS AS (…) in CREATE TABLE."
            )


def check_zone(columns: Iterable[GeneratedColumn], zone: tzinfo | None, table: str) -> None:
    """Raise `InvalidDataError` for a write in another time zone than the one in which a column is generated."""
    for made in columns:
        if made.zone and not _same(time_zone(made.zone), zone):
            raise InvalidDataError(
                f"Table {table}: column {made.name!r}, {made.sql}, is computed in the time zone {made.zone}, and this "
                f"session has another one: set spark.sql.session.timeZone (in Python, time_zone) to {made.zone!r}."
            )


def _check(fields: Mapping[str, DataField], column: GeneratedColumn, generated: set[str]) -> None:
    if column.name not in fields:
        raise InvalidSchemaError(
            f"Column {column.name!r} cannot be generated, because it does not exist: the table has {', '.join(fields)}."
        )
    for name in (column.name, *column.columns):
        if name not in fields:
            raise InvalidSchemaError(
                f"Column {column.name!r} cannot be made from {name!r}: the table has {', '.join(fields)}."
            )
        kind = fields[name].type
        if not (_is_made(kind) if name == column.name else _is_named(kind)):
            raise UnsupportedFeatureError(
                f"Column {column.name!r} cannot be {column.sql}: column {name!r} is of type {kind.sql()}, and "
                "values that it stores may differ from computed ones. Use STRING, TIMESTAMP, a number or DATE."
            )
    if column.name in column.columns or generated & set(column.columns):
        raise InvalidSchemaError(
            f"Column {column.name!r} cannot be {column.sql}: it names a generated column. Name other columns only."
        )
    if fields[column.name].default is not None:
        raise InvalidSchemaError(f"Column {column.name!r} cannot be generated and have a default: leave one out.")


def _is_made(kind: DataType) -> bool:
    """Return whether a generated column may have a type."""
    cuts = isinstance(kind, LengthType) and kind.length != MAX_LENGTH
    return kind.kind in _KINDS and not cuts and _is_named(kind)


def _is_named(kind: DataType) -> bool:
    """Return whether an expression may name a column of a type: files store its values unchanged."""
    cuts = isinstance(kind, TimeType) and kind.precision != _MICROS
    return kind.kind is not Kind.CHAR and not cuts


def _read(name: str, text: str) -> GeneratedColumn:
    try:
        node = json.loads(text)
        found = GeneratedColumn(
            name=name,
            expression=member(node, "expression", str),
            columns=tuple(text_list(node, "columns")),
            zone=member(node, "zone", str, ""),
        )
        if not found.expression.strip():
            raise ValueError("it has no expression")
        if JAVA_CALLS.search(found.expression):
            raise ValueError("its expression calls a method of Java")
        if found.zone:
            time_zone(found.zone)
    except (ValueError, TypeError, RecursionError, InvalidOptionError) as e:
        raise UnsupportedFeatureError(
            f"Option '{GENERATED_PREFIX}{name}' has the value {shortened(text)}, which this version does not "
            f"understand as a generated column ({e}): upgrade paimon-sql, or make it a plain column by ALTER TABLE … "
            f"UNSET TBLPROPERTIES ('{GENERATED_PREFIX}{name}')."
        ) from e
    return found


def _fixed_offset(zone: tzinfo) -> int | None:
    if not isinstance(zone, timezone) and str(zone) not in ("UTC", "GMT", "Etc/UTC", "Etc/GMT"):
        return None
    offset = zone.utcoffset(_FIRST)
    return None if offset is None else offset // timedelta(microseconds=1)


def _same(one: tzinfo, other: tzinfo | None) -> bool:
    """Return whether two zones are equal. None is the zone of this process; its name is known only if it is UTC."""
    if other is None and set(time.tzname) <= {"UTC", "GMT"} and not time.daylight:
        other = UTC
    if other is None:
        return False
    offsets = _fixed_offset(one), _fixed_offset(other)
    return str(one) == str(other) if None in offsets else offsets[0] == offsets[1]
