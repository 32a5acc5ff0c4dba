"""Convert whole columns of values to texts and back, by the rules of `spec.value_texts`.

`to_text` is its `cast_text`, `iso_moments` its `iso_timestamp`; the functions `…_of_text` are CAST of a STRING.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core import compute as pc
from paimon_core.arrow.columns import fixed_array, int64_array
from paimon_core.errors import InvalidDataError
from paimon_core.expressions.constants import scalar_of
from paimon_core.spec.kinds import BINARIES, FLOATS
from paimon_core.spec.types import DataType, DecimalType, Kind, TimeType
from paimon_core.spec.value_texts import float_text, iso_timestamp

_INTEGER = r"^[+-]?[0-9]+(\.[0-9]*)?$"
_NUMBER = r"^(?P<sign>-?)(?P<whole>[0-9]+)(?:\.(?P<part>[0-9]+))?(?:e(?P<exponent>[+-][0-9]+))?$"
_TRUE, _FALSE = ("t", "true", "y", "yes", "1"), ("f", "false", "n", "no", "0")
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799  # of the years 1 to 9999
_SPELLED = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def to_text(column: pa.Array, source: DataType) -> pa.Array:
    """Return the values of a type as strings, by the rules of CAST. Timestamps must be local."""
    if source.kind in FLOATS:
        return _floats(column)
    if isinstance(source, DecimalType):
        return _plain_decimals(column, source)
    if source.kind in BINARIES:
        return column.cast(options=pc.CastOptions(pa.string(), allow_invalid_utf8=True))
    text = column.cast(pa.string())
    if not isinstance(source, TimeType):
        return text
    if source.kind is Kind.TIME:
        text = pc.replace_substring_regex(text, r"(\.[0-9]+?)0+$", r"\1")
        return text if source.precision else pc.utf8_slice_codeunits(text, 0, 8)
    digits = {"ms": 3, "us": 6, "ns": 9}[column.type.unit]
    surplus = digits - source.precision
    text = pc.replace_substring_regex(text, rf"0{{0,{surplus}}}$", "") if surplus else text
    return pc.replace_substring_regex(text, r"\.$", "")


def iso_moments(millis: NDArray[np.int64], nanos: NDArray[np.int64]) -> pa.Array:
    """Return moments in the spelling of `iso_timestamp`, from epoch milliseconds and the nanoseconds of the
    millisecond.
    """
    seconds, rest = np.divmod(millis, 1000)
    fraction = rest * 1_000_000 + nanos
    usual = (seconds >= _FIRST_SECOND) & (seconds <= _LAST_SECOND)
    times = fixed_array(np.where(usual, seconds, 0), pa.timestamp("s")).cast(pa.string())
    times = pc.utf8_replace_slice(times, 10, 11, "T")
    minutes = pc.utf8_slice_codeunits(times, 0, 16)
    whole, broken = (seconds % 60 == 0) & (fraction == 0), fraction != 0
    texts = _replaced(times, _mask(whole), minutes.filter)
    texts = _replaced(texts, _mask(broken), lambda rows: _with_fraction(times.filter(rows), fraction[broken]))
    return _replaced(texts, _mask(~usual), lambda rows: _one_by_one(millis[~usual], nanos[~usual]))


def _mask(rows: NDArray[np.bool_]) -> pa.Array:
    return fixed_array(rows, pa.bool_())


def _with_fraction(times: pa.Array, fraction: NDArray[np.int64]) -> pa.Array:
    """Append three, six or nine digits after the point."""
    nine = pc.utf8_lpad(int64_array(fraction).cast(pa.string()), 9, "0")
    six, three = (pc.utf8_slice_codeunits(nine, 0, n) for n in (6, 3))
    digits = np.where(fraction % 1_000_000 == 0, 0, np.where(fraction % 1000 == 0, 1, 2))
    return pc.binary_join_element_wise(times, pc.choose(int64_array(digits), three, six, nine), ".")


def _one_by_one(millis: NDArray[np.int64], nanos: NDArray[np.int64]) -> pa.Array:
    return pa.array([iso_timestamp(*m) for m in zip(millis.tolist(), nanos.tolist(), strict=True)], pa.string())


def boolean_of_text(text: pa.Array) -> pa.Array:
    """Parse the spellings of TRUE and FALSE. Raises `InvalidDataError` for other texts."""
    lower = pc.utf8_lower(text)
    yes, no = (pc.is_in(lower, pa.array(words)) for words in (_TRUE, _FALSE))
    _check(text, pc.or_(yes, no), "BOOLEAN")
    return pc.if_else(pc.is_valid(text), yes, scalar_of(None, pa.bool_()))


def integers_of_text(text: pa.Array, target: pa.DataType) -> pa.Array:
    """Parse whole numbers; digits after a point are cut off. Raises `InvalidDataError`."""
    _check(text, pc.match_substring_regex(text, _INTEGER), str(target))
    whole = pc.replace_substring_regex(pc.replace_substring_regex(text, r"\..*$", ""), r"^\+", "")
    try:
        return whole.cast(target)
    except pa.ArrowInvalid as e:
        raise InvalidDataError(f"a value is too large for {target} ({e})") from e


def floats_of_text(text: pa.Array, target: pa.DataType) -> pa.Array:
    """Parse floating point numbers. Blanks around them are allowed. Raises `InvalidDataError`."""
    return _parsed(pc.utf8_trim_whitespace(text), target)


def decimals_of_text(text: pa.Array, scale: int) -> pa.Array:
    """Parse decimals, with at least `scale` digits after the point. Raises `InvalidDataError`."""
    return _parsed(pc.utf8_trim_whitespace(text), pa.decimal256(75, max(36, scale)))


def times_of_text(text: pa.Array, target: pa.DataType) -> pa.Array:
    """Parse days, times and local moments.

    A text of only digits counts in the type's own unit. Raises `InvalidDataError`.
    """
    numeric = pc.match_substring_regex(text, "^[0-9]+$")
    counted = pc.if_else(numeric, text, scalar_of(None, pa.string())).cast(pa.int64())
    spelled = pc.if_else(numeric, scalar_of(None, pa.string()), pc.utf8_trim_whitespace(text))
    if pa.types.is_timestamp(target):
        digits = {"ms": 3, "us": 6, "ns": 9}[target.unit]
        spelled = pc.replace_substring_regex(spelled, rf"(\.[0-9]{{{digits}}})[0-9]+$", r"\1")
        whole = counted
    else:
        whole = counted.cast(pa.int32())
        spelled = pc.replace_substring_regex(spelled, r"-([0-9])(-|$)", r"-0\1\2")
        spelled = pc.replace_substring_regex(spelled, r"-([0-9])$", r"-0\1")
    if pa.types.is_time(target):
        moments = _parsed(pc.binary_join_element_wise("1970-01-01", spelled, " "), pa.timestamp(target.unit))
        return pc.coalesce(moments.cast(target), whole.cast(target))
    return pc.coalesce(_parsed(spelled, target), whole.cast(target))


def _parsed(text: pa.Array, target: pa.DataType) -> pa.Array:
    try:
        return text.cast(options=pc.CastOptions(target, allow_decimal_truncate=True))
    except pa.ArrowInvalid as e:
        raise InvalidDataError(f"a value is not a valid {target} ({e})") from e


def _check(text: pa.Array, good: pa.Array, kind: str) -> None:
    bad = text.filter(pc.and_(pc.is_valid(text), pc.invert(good)))
    if len(bad):
        raise InvalidDataError(f"{bad[0].as_py()!r} is not a valid {kind}")


def _plain_decimals(column: pa.Array, source: DecimalType) -> pa.Array:
    """Return decimals as texts, from their digits only. A cast would spell small values with an exponent."""
    if source.scale == 0:
        return column.cast(pa.string())
    unscaled = pa.decimal128(source.precision, 0)
    digits = pa.Array.from_buffers(unscaled, len(column), column.buffers(), offset=column.offset)
    sign = pc.if_else(pc.less(digits, scalar_of(0, unscaled)), "-", "")
    text = pc.utf8_lpad(pc.utf8_ltrim(digits.cast(pa.string()), "-"), source.scale + 1, "0")
    whole, part = pc.utf8_slice_codeunits(text, 0, -source.scale), pc.utf8_slice_codeunits(text, -source.scale)
    return pc.binary_join_element_wise(pc.binary_join_element_wise(sign, whole, ""), part, ".")


def _floats(column: pa.Array) -> pa.Array:
    shortest, size = column.cast(pa.string()), pc.abs(column)
    text = pc.if_else(pc.match_substring(shortest, "."), shortest, pc.binary_join_element_wise(shortest, ".0", ""))
    for arrow, spelled in _SPELLED.items():
        text = pc.if_else(pc.equal(shortest, arrow), spelled, text)
    plain = pc.or_(
        pc.equal(size, 0), pc.and_(pc.greater_equal(size, _like(1e-3, column)), pc.less(size, _like(1e7, column)))
    )
    # At least two digits are printed. Only for the smallest numbers, these are more than one digit and a zero.
    tiny = pc.less(size, _like(float(np.finfo(column.type.to_pandas_dtype()).tiny), column))
    other = pc.and_(pc.is_finite(column), pc.invert(plain))
    text = _replaced(text, pc.and_not(other, tiny), lambda rows: _scientific(shortest.filter(rows)))
    return _replaced(text, pc.and_(other, tiny), lambda rows: pa.array(map(float_text, column.filter(rows).to_numpy())))


def _replaced(text: pa.Array, where: pa.Array, made: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Return the texts, with the rows `where` replaced by the result of `made` for these rows."""
    rows = pc.fill_null(where, False)
    return pc.replace_with_mask(text, rows, made(rows)) if pc.any(rows).as_py() else text


def _scientific(shortest: pa.Array) -> pa.Array:
    """Return `1.25E-4` for both `0.000125` and `1.25e-04`."""
    parts = pc.extract_regex(shortest, _NUMBER)
    sign, whole, part, exponent = (pc.struct_field(parts, n) for n in ("sign", "whole", "part", "exponent"))
    digits = pc.utf8_trim(pc.binary_join_element_wise(whole, part, ""), "0")
    rest = pc.utf8_slice_codeunits(digits, 1)
    rest = pc.if_else(pc.equal(rest, ""), "0", rest)
    power = _decimal_power(whole, part, exponent).cast(pa.string())
    return pc.binary_join_element_wise(sign, pc.utf8_slice_codeunits(digits, 0, 1), ".", rest, "E", power, "")


def _decimal_power(whole: pa.Array, part: pa.Array, exponent: pa.Array) -> pa.Array:
    """Return the power of ten of the first digit that is not 0."""
    shift = pc.if_else(pc.equal(exponent, ""), "0", pc.replace_substring_regex(exponent, r"^\+", "")).cast(pa.int32())
    zeros = pc.subtract(pc.utf8_length(part), pc.utf8_length(pc.utf8_ltrim(part, "0")))
    below = pc.negate(pc.add(zeros, 1))
    above = pc.subtract(pc.utf8_length(whole), 1)
    return pc.add(shift, pc.if_else(pc.equal(whole, "0"), below, above))


def _like(value: float, column: pa.Array) -> pa.Scalar:
    return scalar_of(value, column.type)
