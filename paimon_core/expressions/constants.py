"""Constants as Arrow values, without pandas.

If pandas is installed, the first call of `pyarrow.array` or `pyarrow.scalar` imports it, which takes longer than most
queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_LARGEST_FLOAT = 1e4  # that all types of floats have


def text_constants(*texts: str) -> pa.Array:
    """Return texts as a column."""
    return _texts(texts, None)


def array_of(values: Sequence[Any], arrow: pa.DataType) -> pa.Array:
    """Return values as a column; None is NULL. Raises the errors of `pyarrow.array`."""
    known = [v for v in values if v is not None]
    bits = None if len(known) == len(values) else _bits([v is not None for v in values])
    if pa.types.is_string(arrow) and all(isinstance(v, str) for v in known):
        return _texts(["" if v is None else v for v in values], bits)
    if pa.types.is_binary(arrow) and all(isinstance(v, bytes) for v in known):
        return _bytes([v or b"" for v in values], arrow, bits)
    if pa.types.is_integer(arrow) and all(type(v) is int for v in known):
        numbers = np.array([0 if v is None else v for v in values], dtype=arrow.to_pandas_dtype())
        return pa.Array.from_buffers(arrow, len(values), [bits, pa.py_buffer(numbers)])
    return pa.array(values, arrow)


def _texts(texts: Sequence[str], bits: pa.Buffer | None) -> pa.Array:
    return _bytes([text.encode() for text in texts], pa.string(), bits)


def _bytes(values: Sequence[bytes], arrow: pa.DataType, bits: pa.Buffer | None) -> pa.Array:
    ends = np.cumsum([0, *map(len, values)], dtype=np.int32)
    return pa.Array.from_buffers(arrow, len(values), [bits, pa.py_buffer(ends), pa.py_buffer(b"".join(values))])


def _bits(known: Sequence[bool]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(known, bitorder="little"))


def scalar_of(value: Any, arrow: pa.DataType) -> pa.Scalar:
    """Return a value as a scalar. Raises the errors of `pyarrow.scalar`."""
    if isinstance(value, str) and pa.types.is_string(arrow):
        return text_constants(value)[0]
    if isinstance(value, bytes) and pa.types.is_binary(arrow):
        ends = np.array([0, len(value)], dtype=np.int32)
        return pa.Array.from_buffers(arrow, 1, [None, pa.py_buffer(ends), pa.py_buffer(value)])[0]
    if type(value) is int and pa.types.is_integer(arrow):
        return _of_width(np.array([value], dtype=arrow.to_pandas_dtype()), arrow)
    if value is None:
        return pa.nulls(1, arrow)[0]
    if isinstance(value, float) and pa.types.is_floating(arrow) and abs(value) < _LARGEST_FLOAT:
        return _of_width(np.array([value], dtype=arrow.to_pandas_dtype()), arrow)
    if isinstance(value, bool) and pa.types.is_boolean(arrow):
        return _of_width(np.array([value], dtype=np.uint8), arrow)
    if isinstance(value, Decimal) and pa.types.is_decimal(arrow) and value.is_finite():
        digits = _digits(value, arrow)
        if digits is not None:
            return _of_width(np.frombuffer(digits.to_bytes(arrow.byte_width, "little", signed=True), np.uint8), arrow)
    return pa.scalar(value, arrow)


def _digits(value: Decimal, arrow: pa.DataType) -> int | None:
    """The number that Arrow stores for a decimal, None if the type does not have the value."""
    numerator, denominator = value.as_integer_ratio()
    digits, rest = divmod(numerator * 10**arrow.scale, denominator)
    return None if rest or abs(digits) >= 10**arrow.precision else digits


def _of_width(stored: NDArray[Any], arrow: pa.DataType) -> pa.Scalar:
    return pa.Array.from_buffers(arrow, 1, [None, pa.py_buffer(stored)])[0]
