"""The types in which Spark compares and computes values, in its ANSI mode. Source: Spark's `AnsiTypeCoercion` and
`DecimalPrecision`."""

from __future__ import annotations

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.spec.kinds import FLOATS, INTEGERS, MOMENTS, NUMBERS, TEXTS
from paimon_core.spec.types import (
    BIGINT,
    BYTES,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TINYINT,
    DataType,
    DecimalType,
    Kind,
    TimeType,
)

TIMESTAMP, TIMESTAMP_LTZ = TimeType(Kind.TIMESTAMP), TimeType(Kind.TIMESTAMP_LTZ)  # of microseconds, as Spark's are
COMPARED = NUMBERS | TEXTS | MOMENTS | {Kind.VARBINARY, Kind.DATE, Kind.BOOLEAN}
_BY_WIDTH = (TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE)
_WIDTHS = {data_type.kind: width for width, data_type in enumerate(_BY_WIDTH)}
_DIGITS = {Kind.TINYINT: 3, Kind.SMALLINT: 5, Kind.INT: 10, Kind.BIGINT: 20}
_MAX_DIGITS, _MIN_SCALE = 38, 6


def spark_type(data_type: DataType) -> DataType:
    """Return the type of a column's values in expressions: without length and nullability, and
    of microseconds."""
    match data_type.kind:
        case Kind.CHAR | Kind.VARCHAR:
            return STRING
        case Kind.BINARY | Kind.VARBINARY:
            return BYTES
        case Kind.TIMESTAMP:
            return TIMESTAMP
        case Kind.TIMESTAMP_LTZ:
            return TIMESTAMP_LTZ
    return data_type.with_nullable(True)


def common_type(left: DataType, right: DataType) -> DataType:
    """Return the type in which values of two types are compared. Raises `UnsupportedFeatureError` if there is none."""
    found = _common(left, right) or _common(right, left)
    if found is None or found.kind not in COMPARED:
        raise UnsupportedFeatureError(
            f"where cannot compare {left.sql()} with {right.sql()}: cast one of them, or filter the result."
        )
    return found


def _common(left: DataType, right: DataType) -> DataType | None:
    """Return the common type if a rule for (left, right) gives it, else None. Callers also try (right, left)."""
    if left == right:
        return left
    one, other = left.kind, right.kind
    if one in NUMBERS and other in NUMBERS:
        return _wider_number(left, right)
    if one in TEXTS:
        return BIGINT if other in INTEGERS else DOUBLE if other in NUMBERS else right if other in COMPARED else None
    if one is Kind.DATE and other in MOMENTS:
        return right
    return TIMESTAMP_LTZ if one is Kind.TIMESTAMP and other is Kind.TIMESTAMP_LTZ else None


def tightest_type(left: DataType, right: DataType) -> DataType:
    """Return the type in which Spark compares elements of ARRAYs, to which it casts no texts and no fractions.

    Raises `UnsupportedFeatureError` if there is none. Source: Spark's `TypeCoercion.findTightestCommonType`.
    """
    if left == right and left.kind in COMPARED:
        return left
    if left.kind in _WIDTHS and right.kind in _WIDTHS:
        return _BY_WIDTH[max(_WIDTHS[left.kind], _WIDTHS[right.kind])]
    for one, other in ((left, right), (right, left)):
        digits = one.precision - one.scale if isinstance(one, DecimalType) else 0
        if other.kind in INTEGERS and digits >= _DIGITS[other.kind]:
            return one
    raise UnsupportedFeatureError(
        f"where cannot compare elements of type {left.sql()} with {right.sql()}: cast the other values to "
        f"{left.sql()}, or filter the result."
    )


def _wider_number(left: DataType, right: DataType) -> DataType:
    decimals = [t for t in (left, right) if t.kind is Kind.DECIMAL]
    if decimals and any(t.kind in FLOATS for t in (left, right)):
        return DOUBLE
    if decimals:
        one, other = as_decimal(left), as_decimal(right)
        scale = max(one.scale, other.scale)
        whole = max(one.precision - one.scale, other.precision - other.scale)
        # too many digits: Spark keeps the ones before the point
        return DecimalType(precision=min(whole + scale, _MAX_DIGITS), scale=min(scale, max(0, _MAX_DIGITS - whole)))
    width = max(_WIDTHS[left.kind], _WIDTHS[right.kind])
    is_mixed = {left.kind, right.kind} & INTEGERS
    return DOUBLE if _BY_WIDTH[width] is FLOAT and is_mixed else _BY_WIDTH[width]


def as_decimal(data_type: DataType) -> DecimalType:
    """Return the DECIMAL that can represent all values of an integer type. Return a DECIMAL type unchanged."""
    if isinstance(data_type, DecimalType):
        return data_type
    return DecimalType(precision=_DIGITS[data_type.kind], scale=0)


def result_type(operator: str, left: DataType, right: DataType) -> DataType:
    """Return the type of the result of `+`, `-`, `*`, `/`, `%` or `div` on numbers.

    Raises `UnsupportedFeatureError`.
    """
    if left.kind not in NUMBERS or right.kind not in NUMBERS:
        raise UnsupportedFeatureError(
            f"where cannot compute {left.sql()} {operator} {right.sql()}: it computes numbers only. Cast the operands."
        )
    has_floats = left.kind in FLOATS or right.kind in FLOATS
    if operator == "/" and (has_floats or Kind.DECIMAL not in (left.kind, right.kind)):
        return DOUBLE
    wide = _wider_number(left, right)
    if not isinstance(wide, DecimalType):
        if operator == "div" and wide.kind not in INTEGERS:
            raise UnsupportedFeatureError("where cannot compute DIV of fractions: use / instead.")
        return BIGINT if operator == "div" else wide
    one, other = as_decimal(left), as_decimal(right)
    if operator == "*":
        return _adjusted(one.precision + other.precision + 1, one.scale + other.scale)
    if operator in ("+", "-"):
        scale = max(one.scale, other.scale)
        return _adjusted(max(one.precision - one.scale, other.precision - other.scale) + scale + 1, scale)
    raise UnsupportedFeatureError(f"where cannot compute {operator} of DECIMAL: cast the operands to DOUBLE or BIGINT.")


def _adjusted(precision: int, scale: int) -> DecimalType:
    if precision <= _MAX_DIGITS:
        return DecimalType(precision=precision, scale=scale)
    whole = precision - scale
    return DecimalType(precision=_MAX_DIGITS, scale=max(_MAX_DIGITS - whole, min(scale, _MIN_SCALE)))
