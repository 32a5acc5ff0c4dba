"""Casts from one Paimon type to another, for old files of a column with a changed type.

Integers that do not fit wrap around. Decimals round half up, and are NULL if they have too many digits for the type.
Text that does not parse is an error. Instants become local in a given zone.
Source: Paimon's casting rules.
"""

from __future__ import annotations

import os
from datetime import timedelta, tzinfo
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa

from paimon_core import compute as pc
from paimon_core.arrow import int96, text_casts
from paimon_core.arrow.types import DIGITS, arrow_type
from paimon_core.errors import InvalidDataError, InvalidOptionError
from paimon_core.expressions.constants import scalar_of
from paimon_core.spec.kinds import FLOATS, INTEGERS, MOMENTS, TEXTS
from paimon_core.spec.types import MAX_LENGTH, DataType, DecimalType, Kind, LengthType, StoredTimeType, TimeType
from paimon_core.time_zones import time_zone

_MILLIS_PER_SECOND = 1000
_DECIMAL_LIMIT = 1e38


def cast_column(column: pa.Array, source: DataType, target: DataType, zone: tzinfo | None = None) -> pa.Array:
    """Cast a column from one type to another, for the pairs that `can_cast` allows.

    `zone` is the zone of local times; None means this process's zone. Raises `InvalidDataError`.
    """
    if source.with_nullable(True) == target.with_nullable(True):
        return column
    if isinstance(target, StoredTimeType) and source.kind is target.kind:
        return int96.stored(column)
    if isinstance(source, StoredTimeType):
        column = int96.finest_times(column, arrow_type(TimeType(source.kind)).tz)
        source = TimeType(source.kind, precision=DIGITS[column.type.unit])
    if source.kind is Kind.TIMESTAMP_LTZ and target.kind is not Kind.TIMESTAMP_LTZ:
        column = _local(column, zone or _process_zone())
    match target:
        case LengthType(kind=kind) if kind in TEXTS:
            text = column if source.kind in TEXTS else text_casts.to_text(column, source)
            return _fit_text(text, target)
        case LengthType():
            return _fit_bytes(column.cast(pa.binary()), target)
        case DecimalType():
            return _to_decimal(column, source, target)
        case StoredTimeType(kind=kind, precision=precision):
            digits = (
                precision if source.kind in TEXTS else min(precision, DIGITS["us"])
            )  # the largest possible number of digits
            return int96.stored(_to_time(column, source, TimeType(kind, precision=digits), zone))
        case TimeType():
            return _to_time(column, source, target, zone)
    if target.kind is Kind.BOOLEAN:
        text = source.kind in TEXTS
        return text_casts.boolean_of_text(column) if text else pc.not_equal(column, scalar_of(0, column.type))
    if target.kind in INTEGERS:
        return _to_integer(column, source, arrow_type(target))
    if target.kind in FLOATS:
        return _to_float(column, source, arrow_type(target))
    if target.kind is Kind.DATE:
        return text_casts.times_of_text(column, pa.date32()) if source.kind in TEXTS else _days(column)
    raise InvalidDataError(f"values of type {source.sql()} cannot be read as {target.sql()}")


def local_zone() -> str:
    """Return the name of this process's time zone, UTC if it has none."""
    name = os.environ.get("TZ", "").removeprefix(":")
    if name:
        return name
    _, found, zone = str(Path("/etc/localtime").resolve()).partition("/zoneinfo/")
    return zone if found else "UTC"


def _fit_text(text: pa.Array, target: LengthType) -> pa.Array:
    if target.length == MAX_LENGTH:
        return text
    cut = pc.utf8_slice_codeunits(text, 0, target.length)
    return pc.utf8_rpad(cut, target.length) if target.kind is Kind.CHAR else cut


def _fit_bytes(data: pa.Array, target: LengthType) -> pa.Array:
    if target.length == MAX_LENGTH:
        return data
    cut = pc.binary_slice(data, 0, target.length)
    if target.kind is not Kind.BINARY:
        return cut
    as_text = cut.cast(options=pc.CastOptions(pa.string(), allow_invalid_utf8=True))
    return pc.ascii_rpad(as_text, target.length, "\0").cast(pa.binary())


def _to_integer(column: pa.Array, source: DataType, target: pa.DataType) -> pa.Array:
    if source.kind in TEXTS:
        return text_casts.integers_of_text(column, target)
    if source.kind in MOMENTS:
        millis = column.cast(pa.timestamp("ms"), safe=False).cast(pa.int64())
        return pc.divide(millis, _MILLIS_PER_SECOND).cast(target, safe=False)
    if source.kind in FLOATS:
        return _saturated(column, target)
    if source.kind is Kind.DECIMAL:
        column = column.cast(pa.int64(), safe=False)
    return column.cast(target, safe=False)


def _saturated(column: pa.Array, target: pa.DataType) -> pa.Array:
    """Return floating point numbers as integers: rounded towards zero, limited to INT (to BIGINT for BIGINT), NaN
    as 0.
    """
    through = np.int64 if pa.types.is_int64(target) else np.int32
    valid = pc.is_valid(column)
    values = np.nan_to_num(pc.fill_null(column, 0).to_numpy(zero_copy_only=False).astype(np.float64), nan=0.0)
    low, high = np.iinfo(through).min, np.iinfo(through).max
    inside = np.clip(values, float(low), np.nextafter(float(high) + 1, 0)).astype(through)
    inside = np.where(values >= float(high), high, inside).astype(through)
    return pc.if_else(valid, pa.array(inside), None).cast(target, safe=False)


def _to_float(column: pa.Array, source: DataType, target: pa.DataType) -> pa.Array:
    if source.kind in TEXTS:
        return text_casts.floats_of_text(column, target)
    if source.kind is Kind.BOOLEAN:
        column = column.cast(pa.int8())
    if source.kind is Kind.DECIMAL:
        column = column.cast(pa.float64())
    return column.cast(target, safe=False)


def _to_decimal(column: pa.Array, source: DataType, target: DecimalType) -> pa.Array:
    if source.kind in TEXTS:
        wide = text_casts.decimals_of_text(column, target.scale)
    elif source.kind in FLOATS:
        # Convert through the shortest text: 1.005 means 1.005, not 1.00499999999999989.
        column = column.cast(pa.float64())
        fits = pc.and_(pc.is_finite(column), pc.less(pc.abs(column), _DECIMAL_LIMIT))
        wide = text_casts.decimals_of_text(pc.if_else(fits, column.cast(pa.string()), None), target.scale)
    elif source.kind is Kind.DECIMAL:
        wide = column.cast(pa.decimal256(75, column.type.scale))
    else:
        wide = column.cast(pa.int64()).cast(pa.decimal256(75, 0))
    if wide.type.scale > target.scale:
        wide = pc.round(wide, ndigits=target.scale, round_mode="half_towards_infinity")
    room = target.precision - target.scale
    if room + wide.type.scale < wide.type.precision:  # otherwise no value has more digits
        limit = scalar_of(Decimal(10**room), wide.type)
        wide = pc.if_else(pc.less(pc.abs(wide), limit), wide, scalar_of(None, wide.type))
    return wide.cast(arrow_type(target))


def _days(column: pa.Array) -> pa.Array:
    return pc.floor_temporal(column, unit="day").cast(pa.date32())


def _to_time(column: pa.Array, source: DataType, target: TimeType, zone: tzinfo | None) -> pa.Array:
    wanted = arrow_type(target)
    if target.kind is Kind.TIME:
        if source.kind is Kind.TIME:
            return column
        return text_casts.times_of_text(column, wanted) if source.kind in TEXTS else column.cast(wanted, safe=False)
    if source.kind in TEXTS:
        column = text_casts.times_of_text(column, pa.timestamp(wanted.unit))
    elif source.kind in INTEGERS:
        column = pc.multiply(column.cast(pa.int64()), _MILLIS_PER_SECOND).cast(pa.timestamp("ms"))
    elif source.kind is Kind.TIME:
        column = column.cast(pa.int32()).cast(pa.int64()).cast(pa.timestamp("ms"))
    elif source.kind is Kind.DATE:
        column = column.cast(pa.timestamp("ms"))
    if target.kind is Kind.TIMESTAMP_LTZ and column.type.tz is None:
        column = _instant(column, zone or _process_zone())
    return _to_precision(column, target.precision).cast(wanted)


def _to_precision(moments: pa.Array, precision: int) -> pa.Array:
    """Return the moments with `precision` digits of a second. Further digits are cut off."""
    have = DIGITS[moments.type.unit]
    if precision >= have:
        return moments
    unit, digits = (("millisecond", 3), ("microsecond", 6), ("nanosecond", 9))[max(precision - 1, 0) // 3]
    return pc.floor_temporal(moments, multiple=10 ** (digits - precision), unit=unit)


def _process_zone() -> tzinfo:
    try:
        return time_zone(local_zone())
    except InvalidOptionError as e:
        raise InvalidDataError(f"the time zone of this process cannot be determined ({e})") from e


def _local(instants: pa.Array, zone: tzinfo) -> pa.Array:
    offset, unit = zone.utcoffset(None), instants.type.unit
    if offset is not None:
        return _moved(instants, offset).cast(pa.timestamp(unit))
    return pc.local_timestamp(instants.cast(pa.timestamp(unit, tz=str(zone))))


def _instant(local: pa.Array, zone: tzinfo) -> pa.Array:
    """Return the instants of wall clocks. `time_zones` explains repeated and skipped wall clocks."""
    offset, target = zone.utcoffset(None), pa.timestamp(local.type.unit, tz="UTC")
    if offset is not None:
        return _moved(local, -offset).cast(target)
    # A skipped wall clock becomes the last instant before the change, and gets the offset of this instant.
    known = pc.assume_timezone(local, str(zone), ambiguous="earliest", nonexistent="earliest")
    ahead = pc.subtract(pc.local_timestamp(known).cast(pa.int64()), known.cast(pa.int64()))
    return pc.subtract(local.cast(pa.int64()), ahead).cast(target)


def _moved(times: pa.Array, by: timedelta) -> pa.Array:
    units = by // timedelta(microseconds=1) * 10 ** DIGITS[times.type.unit] // 10 ** DIGITS["us"]
    return pc.add(times.cast(pa.int64()), scalar_of(units, pa.int64()))
