"""The types that a column can change to. Source: Paimon's casting rules, and the conversions of its readers.

A change is implicit if every value has an equal value in the new type. It is explicit if values are cut or rounded, or
may not parse.
"""

from __future__ import annotations

from collections.abc import Set

from paimon_core.spec.kinds import BINARIES, INTEGERS, MOMENTS, NUMBERS, STRINGS, TEXTS, Kind, KindColumn
from paimon_core.spec.types import MAX_LENGTH, DataType, LengthType

_TIMES = MOMENTS | {Kind.DATE, Kind.TIME}

# target: sources
_IMPLICIT: KindColumn[Set[Kind]] = KindColumn(
    {
        Kind.CHAR: {Kind.CHAR},
        Kind.VARCHAR: TEXTS,
        Kind.BINARY: {Kind.BINARY},
        Kind.VARBINARY: BINARIES,
        Kind.DECIMAL: NUMBERS,
        Kind.SMALLINT: {Kind.TINYINT},
        Kind.INT: {Kind.TINYINT, Kind.SMALLINT},
        Kind.BIGINT: {Kind.TINYINT, Kind.SMALLINT, Kind.INT},
        Kind.FLOAT: INTEGERS | {Kind.DECIMAL},
        Kind.DOUBLE: NUMBERS,
        Kind.DATE: {Kind.TIMESTAMP},
        Kind.TIME: {Kind.TIME, Kind.TIMESTAMP},
        Kind.TIMESTAMP: MOMENTS,
        Kind.TIMESTAMP_LTZ: MOMENTS,
    },
    others="BOOLEAN TINYINT BLOB ARRAY MAP MULTISET ROW VARIANT",
)
_OF_NUMBERS = TEXTS | NUMBERS | {Kind.BOOLEAN}
_OF_MOMENTS = TEXTS | {Kind.DATE, Kind.TIME, Kind.INT, Kind.BIGINT}
_EXPLICIT: KindColumn[Set[Kind]] = KindColumn(
    {
        Kind.CHAR: STRINGS | NUMBERS | _TIMES | {Kind.BOOLEAN},
        Kind.VARCHAR: BINARIES | NUMBERS | _TIMES | {Kind.BOOLEAN},
        Kind.BOOLEAN: TEXTS | INTEGERS,
        Kind.BINARY: STRINGS,
        Kind.VARBINARY: TEXTS,
        Kind.DECIMAL: TEXTS | {Kind.BOOLEAN},
        Kind.TINYINT: _OF_NUMBERS,
        Kind.SMALLINT: _OF_NUMBERS,
        Kind.INT: _OF_NUMBERS | MOMENTS,
        Kind.BIGINT: _OF_NUMBERS | MOMENTS,
        Kind.FLOAT: _OF_NUMBERS,
        Kind.DOUBLE: TEXTS | {Kind.BOOLEAN},
        Kind.DATE: TEXTS | {Kind.TIMESTAMP_LTZ},
        Kind.TIME: TEXTS | {Kind.TIMESTAMP_LTZ},
        Kind.TIMESTAMP: _OF_MOMENTS,
        Kind.TIMESTAMP_LTZ: _OF_MOMENTS,
    },
    others="BLOB ARRAY MAP MULTISET ROW VARIANT",
)


def can_cast(source: DataType, target: DataType, *, explicit: bool = True) -> bool:
    """Return whether values of one type can be read as another type, apart from nullability."""
    if source.with_nullable(True) == target.with_nullable(True):
        return True
    if source.kind in _TIMES and isinstance(target, LengthType) and target.length != MAX_LENGTH:
        return False  # days and moments can only become a STRING
    known = _IMPLICIT.get(target.kind, frozenset())
    return source.kind in known or (explicit and source.kind in _EXPLICIT.get(target.kind, ()))
