"""Times of Parquet files that are INT96: nanoseconds of a day, int64, and the number of the day, int32, little endian.

Java's connector writes them for TIMESTAMP(7) and more, with negative nanoseconds before 1970. pyarrow reads and writes
days and nanoseconds as 64 bits, which may overflow. So these columns are values of 12 bytes (`STORED_TIME`), which have
the same bytes in a file; only the footer differs. Source: parquet-format, `parquet.thrift`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.columns import fixed_array, fixed_values, validity
from paimon_core.arrow.leaves import leaves
from paimon_core.arrow.types import STORED_TIME

_PARTS = np.dtype([("nanos", "<i8"), ("day", "<i4")])
_EPOCH_DAY = 2_440_588  # 1970-01-01
_SECONDS_PER_DAY = 86_400
_NANOS_PER_DAY = _SECONDS_PER_DAY * 10**9
_MICROS_PER_DAY = _SECONDS_PER_DAY * 1_000_000
_MOST_DAYS = 2**62 // _MICROS_PER_DAY


def times(column: pa.FixedSizeBinaryArray, target: pa.TimestampType) -> pa.Array:
    """Return the bytes as times of the target type, through microseconds. Raises `pa.ArrowInvalid` out of range."""
    days, nanos, valid = _parts(column)
    if (np.abs(days) > _MOST_DAYS).any():
        raise pa.ArrowInvalid("it has times outside of the range of microseconds")
    micros = days * _MICROS_PER_DAY + nanos // 1000
    exact = fixed_array(micros, pa.timestamp("us", target.tz), valid).cast(target)
    if target.unit != "ns":
        return exact
    return fixed_array(micros * 1000 + nanos % 1000, target, valid)


def finest_times(column: pa.FixedSizeBinaryArray, zone: str | None) -> pa.Array:
    """Return the bytes as nanoseconds, or as microseconds if nanoseconds overflow. Raises `pa.ArrowInvalid`."""
    try:
        return times(column, pa.timestamp("ns", zone))
    except pa.ArrowInvalid:
        return times(column, pa.timestamp("us", zone))


def stored(column: pa.Array) -> pa.Array:
    """Convert times of any unit, or such bytes, to bytes with nanoseconds from 0 on. Equal times have equal bytes."""
    if column.type.equals(STORED_TIME):
        days, nanos, valid = _parts(column)
    else:
        units = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[column.type.unit]
        days, rest = np.divmod(fixed_values(column, np.int64), _SECONDS_PER_DAY * units)
        nanos, valid = rest * (10**9 // units), validity(column)
    parts = np.empty(len(column), _PARTS)
    parts["day"], parts["nanos"] = days + nanos // _NANOS_PER_DAY + _EPOCH_DAY, nanos % _NANOS_PER_DAY
    return fixed_array(parts, STORED_TIME, valid)


def _parts(column: pa.FixedSizeBinaryArray) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return days since 1970, nanoseconds of the day, and a mask of the rows with a value."""
    valid = validity(column)
    if not valid.any():
        return np.zeros(len(column), np.int64), np.zeros(len(column), np.int64), valid
    parts = np.frombuffer(column.buffers()[1], _PARTS)[column.offset : column.offset + len(column)]
    nanos, days = (np.where(valid, parts[n], 0).astype(np.int64) for n in ("nanos", "day"))
    return np.where(valid, days - _EPOCH_DAY, 0), nanos, valid


@lru_cache(maxsize=4096)  # called for each batch
def holds_stored_times(arrow: pa.DataType) -> bool:
    """Return whether a type is the type of such bytes, or contains it."""
    return any(leaf.equals(STORED_TIME) for _, leaf in leaves(pa.schema([("", arrow)])))
