"""Hypothesis strategies for values of Paimon types, as Arrow columns."""

from __future__ import annotations

from datetime import date
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from paimon_core.arrow.types import arrow_type
from paimon_core.spec.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TINYINT,
    DataType,
    DecimalType,
    Kind,
    LengthType,
    TimeType,
)

KEY_TYPES: tuple[DataType, ...] = (
    BOOLEAN,
    TINYINT,
    SMALLINT,
    INT,
    BIGINT,
    FLOAT,
    DOUBLE,
    DATE,
    STRING,
    LengthType(Kind.CHAR, True, 3),
    BYTES,
    LengthType(Kind.BINARY, True, 12),
    DecimalType(precision=9, scale=2),
    DecimalType(precision=18, scale=0),
    DecimalType(precision=38, scale=10),
    TimeType(Kind.TIME, True, 3),
    TimeType(Kind.TIMESTAMP, True, 3),
    TimeType(Kind.TIMESTAMP, True, 6),
    TimeType(Kind.TIMESTAMP_LTZ, True, 6),
    TimeType(Kind.TIMESTAMP, True, 9),
)

_BITS = {Kind.TINYINT: 8, Kind.SMALLINT: 16, Kind.INT: 32, Kind.BIGINT: 64}


def physical_values(data_type: DataType) -> st.SearchStrategy[Any]:
    """Values as Arrow's builders take them: integers for dates, times and timestamps."""
    match data_type:
        case DecimalType(precision=precision, scale=scale):
            limit, exact = 10**precision - 1, Context(prec=80)
            return st.integers(-limit, limit).map(lambda v: Decimal(v).scaleb(-scale, exact))
        case TimeType(kind=Kind.TIME):
            return st.integers(0, 86_399_999)
        case TimeType(precision=precision):
            return st.integers(-(10**13), 10**13) if precision <= 3 else st.integers(-(10**17), 10**17)
    match data_type.kind:
        case Kind.BOOLEAN:
            return st.booleans()
        case Kind.TINYINT | Kind.SMALLINT | Kind.INT | Kind.BIGINT as kind:
            half = 2 ** (_BITS[kind] - 1)
            return st.integers(-half, half - 1)
        case Kind.FLOAT:
            return st.floats(width=32, allow_nan=False)
        case Kind.DOUBLE:
            return st.floats(allow_nan=False)
        case Kind.DATE:
            return st.dates(date(1, 1, 1), date(9999, 12, 31))
        case Kind.CHAR | Kind.VARCHAR:
            return st.text(max_size=20)
        case _:
            return st.binary(max_size=20)


def column(data_type: DataType, values: list[Any]) -> pa.Array:
    """An Arrow column of physical values."""
    arrow = arrow_type(data_type)
    if isinstance(data_type, TimeType):
        return pa.array(values, pa.int32() if data_type.kind is Kind.TIME else pa.int64()).view(arrow)
    return pa.array(values, arrow)


def columns_of(types: tuple[DataType, ...], *, max_size: int = 12) -> st.SearchStrategy[list[pa.Array]]:
    """One Arrow column per type, of equal length, with NULLs where the type admits them."""
    values = [physical_values(t) | st.none() if t.nullable else physical_values(t) for t in types]
    return st.lists(st.tuples(*values), max_size=max_size).map(
        lambda rows: [column(t, [r[i] for r in rows]) for i, t in enumerate(types)]
    )
