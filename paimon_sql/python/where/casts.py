"""ANSI casts of Arrow columns: a value that the target type cannot hold is an error, never NULL.

The values are computed by `paimon_core.arrow.casts`; this module checks them as Spark does.
"""

from __future__ import annotations

from collections.abc import Set
from datetime import tzinfo
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa

from paimon_core import compute as pc
from paimon_core.arrow.types import arrow_type
from paimon_core.errors import InvalidDataError, UnsupportedFeatureError
from paimon_core.lazy import ImportedOnCall
from paimon_core.spec.kinds import FLOATS, INTEGERS, MOMENTS, NUMBERS, TEXTS, KindColumn
from paimon_core.spec.types import DataType, DecimalType, Kind
from paimon_core.time_zones import epoch_moment, wall_moment

if TYPE_CHECKING:
    from paimon_core.arrow.casts import cast_column
else:
    cast_column = ImportedOnCall("paimon_core.arrow.casts", "cast_column")

_INTEGER, _NUMBER = r"^[+-]?[0-9]+$", r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_FLOAT = rf"(?i)({_NUMBER[:-1]}[fd]?$)|^[+-]?(infinity|inf|nan)$"
_DATE = r"^[0-9]{4}(-[0-9]{1,2}(-[0-9]{1,2}([T ].*)?)?)?$"
_BOOLEAN = r"(?i)^(t|true|y|yes|1|f|false|n|no|0)$"
_SPELLINGS: KindColumn[str] = KindColumn(
    {
        Kind.BOOLEAN: _BOOLEAN,
        **dict.fromkeys(INTEGERS, _INTEGER),
        **dict.fromkeys(FLOATS, _FLOAT),
        Kind.DECIMAL: _NUMBER,
        Kind.DATE: _DATE,
    },
    others="CHAR VARCHAR BINARY VARBINARY BLOB TIME TIMESTAMP TIMESTAMP_LTZ ARRAY MAP MULTISET ROW VARIANT",
)
_SPACES = "".join(map(chr, range(33)))
_PAIRS: KindColumn[Set[Kind]] = KindColumn(
    {
        Kind.BOOLEAN: NUMBERS | TEXTS,
        **dict.fromkeys(NUMBERS, NUMBERS | TEXTS | {Kind.BOOLEAN}),
        Kind.VARCHAR: NUMBERS | MOMENTS | {Kind.BOOLEAN, Kind.DATE, Kind.CHAR},
        Kind.DATE: TEXTS | MOMENTS,
        Kind.TIMESTAMP: {Kind.DATE, Kind.TIMESTAMP_LTZ},
        Kind.TIMESTAMP_LTZ: {Kind.DATE, Kind.TIMESTAMP},
    },
    others="CHAR BINARY VARBINARY BLOB TIME ARRAY MAP MULTISET ROW VARIANT",
)


def check_castable(source: DataType, target: DataType, *, is_literal: bool) -> None:
    """Raises `UnsupportedFeatureError` for a cast that is not computed here. `is_literal`: the value is a constant."""
    if source == target or (is_literal and source.kind in TEXTS and target.kind in MOMENTS):
        return
    if source.kind not in _PAIRS.get(target.kind, frozenset()):
        raise UnsupportedFeatureError(
            f"where cannot cast {source.sql()} to {target.sql()}: filter the result of the scan instead."
        )


def cast_values(column: pa.Array, source: DataType, target: DataType, zone: tzinfo | None) -> pa.Array:
    """Cast the values of a column as Spark does in ANSI mode; `zone` is the zone of wall clocks.

    Raises `InvalidDataError` for a value that the target type cannot hold.
    """
    if source == target:
        return column
    if source.kind in TEXTS and target.kind not in TEXTS:
        column = pc.utf8_trim(column, _SPACES)
        _check_spelling(column, source, target)
    if target.kind is Kind.DECIMAL and source.kind in FLOATS:  # also in ANSI mode, Spark makes NULL of them
        column = pc.if_else(pc.is_finite(column), column, pa.scalar(None, column.type))
    try:
        found = _cast(column, source, target, zone)
    except (InvalidDataError, pa.ArrowInvalid) as e:
        _refuse(column, source, target, e)
    if found.null_count > column.null_count:
        _refuse(pc.kept(column, pc.and_(pc.is_valid(column), pc.is_null(found))), source, target)
    return found


def text_moment(text: str, target: DataType, zone: tzinfo | None) -> int:
    """Return a constant text as a TIMESTAMP: microseconds. Raises `InvalidDataError`."""
    try:
        found = epoch_moment(text, zone) if target.kind is Kind.TIMESTAMP_LTZ else wall_moment(text)
    except ValueError as e:
        raise InvalidDataError(
            f"where has {text!r}, which is not a valid {target.sql()}: write it as '2024-01-31 12:00:00'."
        ) from e
    millis, nanos = found
    return millis * 1000 + nanos // 1000


def _cast(column: pa.Array, source: DataType, target: DataType, zone: tzinfo | None) -> pa.Array:
    wanted = arrow_type(target)
    if source.kind is Kind.BOOLEAN and target.kind in NUMBERS:
        return column.cast(pa.int8()).cast(wanted)
    if source.kind in TEXTS and target.kind in FLOATS:
        return pc.replace_substring_regex(column, r"(?i)([0-9.])[fd]$", r"\1").cast(wanted)
    if source.kind in TEXTS and target.kind is Kind.DATE:
        for pattern, whole in ((r"[T ].*$", ""), (r"^([0-9]+)$", r"\1-01"), (r"^([0-9]+-[0-9]+)$", r"\1-01")):
            column = pc.replace_substring_regex(column, pattern, whole)
        return cast_column(column, source, target, zone)
    if target.kind in INTEGERS and source.kind in INTEGERS:
        return pc.cast(column, wanted)
    if target.kind in INTEGERS and source.kind in FLOATS:
        return pc.trunc(column.cast(pa.float64())).cast(wanted)
    if target.kind in INTEGERS and isinstance(source, DecimalType):
        return pc.trunc(column).cast(wanted)
    if target.kind in TEXTS and source.kind in MOMENTS:
        text = cast_column(column, source, target, zone)
        return pc.replace_substring_regex(pc.replace_substring_regex(text, r"(\.[0-9]*?)0+$", r"\1"), r"\.$", "")
    return cast_column(column, source, target, zone)


def _check_spelling(column: pa.Array, source: DataType, target: DataType) -> None:
    wrong = pc.invert(pc.match_substring_regex(column, _SPELLINGS[target.kind]))
    if pc.any(wrong).as_py():
        _refuse(column.filter(wrong), source, target)


def _refuse(values: pa.Array, source: DataType, target: DataType, error: Exception | None = None) -> NoReturn:
    shown = next(iter(values.drop_null().slice(0, 1).to_pylist()), None)
    about = "a value" if error is not None and len(values) > 1 else f"the value {_shown(shown)}"
    raise InvalidDataError(
        f"where cannot cast {about} of type {source.sql()} to {target.sql()}: the value is not valid, or out of range. "
        "Exclude such rows by a condition before it, joined by AND."
    ) from error


def _shown(value: Any) -> str:
    return format(value, "f") if isinstance(value, Decimal) else repr(value)
