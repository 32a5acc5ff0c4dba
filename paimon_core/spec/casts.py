"""The types that a column can change to. Source: Paimon's casting rules, and the conversions of its readers.

A change is implicit if every value has an equal value in the new type. It is explicit if values are cut or rounded, or
may not parse.
"""

from __future__ import annotations

from paimon_core.spec.types import MAX_LENGTH, DataType, Kind, LengthType

_INTEGERS = (Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT)
_NUMBERS = (*_INTEGERS, Kind.FLOAT, Kind.DOUBLE, Kind.DECIMAL)
_TEXTS = (Kind.CHAR, Kind.VARCHAR)
_BYTES = (Kind.BINARY, Kind.VARBINARY)
_MOMENTS = (Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ)
_TIMES = (Kind.DATE, Kind.TIME, *_MOMENTS)

# target: sources
_IMPLICIT: dict[Kind, tuple[Kind, ...]] = {
    Kind.CHAR: (Kind.CHAR,),
    Kind.VARCHAR: _TEXTS,
    Kind.BINARY: (Kind.BINARY,),
    Kind.VARBINARY: _BYTES,
    Kind.DECIMAL: _NUMBERS,
    Kind.SMALLINT: (Kind.TINYINT,),
    Kind.INT: (Kind.TINYINT, Kind.SMALLINT),
    Kind.BIGINT: (Kind.TINYINT, Kind.SMALLINT, Kind.INT),
    Kind.FLOAT: (*_INTEGERS, Kind.DECIMAL),
    Kind.DOUBLE: _NUMBERS,
    Kind.DATE: (Kind.TIMESTAMP,),
    Kind.TIME: (Kind.TIME, Kind.TIMESTAMP),
    Kind.TIMESTAMP: _MOMENTS,
    Kind.TIMESTAMP_LTZ: _MOMENTS,
}
_EXPLICIT: dict[Kind, tuple[Kind, ...]] = {
    Kind.CHAR: (*_TEXTS, Kind.BOOLEAN, *_NUMBERS, *_BYTES, *_TIMES),
    Kind.VARCHAR: (Kind.BOOLEAN, *_NUMBERS, *_BYTES, *_TIMES),
    Kind.BOOLEAN: (*_TEXTS, *_INTEGERS),
    Kind.BINARY: (*_TEXTS, *_BYTES),
    Kind.VARBINARY: _TEXTS,
    Kind.DECIMAL: (*_TEXTS, Kind.BOOLEAN),
    Kind.TINYINT: (*_TEXTS, *_NUMBERS, Kind.BOOLEAN),
    Kind.SMALLINT: (*_TEXTS, *_NUMBERS, Kind.BOOLEAN),
    Kind.INT: (*_TEXTS, *_NUMBERS, Kind.BOOLEAN, *_MOMENTS),
    Kind.BIGINT: (*_TEXTS, *_NUMBERS, Kind.BOOLEAN, *_MOMENTS),
    Kind.FLOAT: (*_TEXTS, *_NUMBERS, Kind.BOOLEAN),
    Kind.DOUBLE: (*_TEXTS, Kind.BOOLEAN),
    Kind.DATE: (*_TEXTS, Kind.TIMESTAMP_LTZ),
    Kind.TIME: (*_TEXTS, Kind.TIMESTAMP_LTZ),
    Kind.TIMESTAMP: (*_TEXTS, Kind.DATE, Kind.TIME, Kind.INT, Kind.BIGINT),
    Kind.TIMESTAMP_LTZ: (*_TEXTS, Kind.DATE, Kind.TIME, Kind.INT, Kind.BIGINT),
}


def can_cast(source: DataType, target: DataType, *, explicit: bool = True) -> bool:
    """Return whether values of one type can be read as another type, apart from nullability."""
    if source.with_nullable(True) == target.with_nullable(True):
        return True
    if source.kind in _TIMES and isinstance(target, LengthType) and target.length != MAX_LENGTH:
        return False  # days and moments can only become a STRING
    known = _IMPLICIT.get(target.kind, ())
    return source.kind in known or (explicit and source.kind in _EXPLICIT.get(target.kind, ()))
