"""Sort keys along space-filling curves: rows that are near in several columns are near each other in a file.

A key is a binary value that sorts along the curve. Z-order interleaves the bits of the columns' words. The Hilbert
curve is John Skilling's transform ("Programming the Hilbert Curve", 2004) of 63-bit words, after the signs of the
numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.columns import byte_words, validity
from paimon_core.errors import InvalidOptionError
from paimon_core.lsm.keys import key_words

_SIGN = np.uint64(2**63)
_BITS = 63
_ROWS_AT_ONCE = 2**16
Words = NDArray[np.uint64]


def z_order(columns: Sequence[pa.Array]) -> pa.Array:
    """Return keys along the Z-order curve. NULL comes first."""
    return _by_slices(columns, lambda part: _interleaved([_ordered(c) for c in part]))


def hilbert(columns: Sequence[pa.Array]) -> pa.Array:
    """Return keys along the Hilbert curve. NULL comes last."""
    return _by_slices(columns, _hilbert_bytes)


def _by_slices(columns: Sequence[pa.Array], keys: Callable[[Sequence[pa.Array]], NDArray[np.uint8]]) -> pa.Array:
    rows = len(columns[0])
    parts = [_binary(keys([c.slice(start, _ROWS_AT_ONCE) for c in columns])) for start in range(0, rows, _ROWS_AT_ONCE)]
    return pa.concat_arrays(parts) if parts else pa.array([], pa.binary())


def _hilbert_bytes(columns: Sequence[pa.Array]) -> NDArray[np.uint8]:
    ordered = [_ordered(c) for c in columns]
    signs = np.packbits(np.stack([(w >> np.uint64(_BITS)).astype(np.uint8) for w in ordered], axis=1), axis=1)
    axes = [np.where(validity(c), w & ~_SIGN, ~_SIGN) for c, w in zip(columns, ordered, strict=True)]
    return np.concatenate([signs, _interleaved(_transposed(axes))], axis=1)


def _transposed(axes: list[Words]) -> list[Words]:
    """Convert coordinates to the distance along the curve. The bits of the distance are spread over as many words as
    there are coordinates.
    """
    x = [a.copy() for a in axes]
    for bit in _from_high_bit():
        below = bit - np.uint64(1)
        for i in range(len(x)):
            inverted = (x[i] & bit) != 0
            swapped = np.where(inverted, np.uint64(0), (x[0] ^ x[i]) & below)
            x[0] = np.where(inverted, x[0] ^ below, x[0] ^ swapped)
            x[i] = x[i] ^ swapped if i else x[0]
    for i in range(1, len(x)):
        x[i] ^= x[i - 1]
    toggled = np.zeros_like(x[0])
    for bit in _from_high_bit():
        toggled ^= np.where((x[-1] & bit) != 0, bit - np.uint64(1), np.uint64(0))
    return [word ^ toggled for word in x]


def _from_high_bit() -> Iterator[np.uint64]:
    return (np.uint64(1 << n) for n in range(_BITS - 1, 0, -1))


def _ordered(column: pa.Array) -> Words:
    """Return a word per value, in the order of the values; values that 64 bits cannot distinguish have equal words.
    NULL is 0.
    """
    if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
        return np.ascontiguousarray(byte_words(column, 1)[:, 0].byteswap()).astype(np.uint64)
    if pa.types.is_nested(column.type):
        raise InvalidOptionError(
            f"order_by cannot sort along a curve by a column of type {column.type}. "
            "Choose another column, or order_strategy => 'order'."
        )
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    (words,) = key_words([column])
    first = words.words[1 if column.null_count else 0].view(np.uint64) ^ _SIGN
    return np.where(validity(column), first, np.uint64(0))


def _interleaved(words: Sequence[Words]) -> NDArray[np.uint8]:
    """Interleave the bits of the words, the highest of each first; shape (rows, 8 per word)."""
    rows, count = len(words[0]), len(words)
    matrix = np.stack(words, axis=1).astype(">u8").view(np.uint8).reshape(rows, count, 8)
    bits = np.unpackbits(matrix, axis=2).transpose(0, 2, 1)
    return np.packbits(bits.reshape(rows, 64 * count), axis=1)


def _binary(keys: NDArray[np.uint8]) -> pa.Array:
    rows, width = keys.shape
    fixed = pa.Array.from_buffers(pa.binary(width), rows, [None, pa.py_buffer(np.ascontiguousarray(keys))])
    return fixed.cast(pa.binary())
