"""Numbers of seven bits per byte, the lowest first; all but the last byte have their high bit set. Never negative.

Whole arrays at once: numbers end to end, or one number at each of some places.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.int64]
_MOST_BYTES = 9  # of a number below 2**63
_BOUNDS = np.array([1 << (7 * n) for n in range(1, _MOST_BYTES)], dtype=np.int64)


def varint_sizes(numbers: Numbers) -> Numbers:
    """Bytes that each number takes."""
    return np.searchsorted(_BOUNDS, numbers, side="right") + 1


def put_varints(target: Bytes, places: Numbers, numbers: Numbers) -> None:
    """Write a number at each place of `target`."""
    sizes = varint_sizes(numbers)
    for i in range(int(sizes.max(initial=0))):
        there = np.flatnonzero(sizes > i)
        low = (numbers[there] >> (7 * i)) & 0x7F
        target[places[there] + i] = np.where(sizes[there] > i + 1, low | 0x80, low)


def encode_varint(number: int) -> bytes:
    """The bytes of one number."""
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def decode_varints(data: Bytes) -> Numbers:
    """The numbers that fill `data`. Raises `ValueError` where the last one does not end with it, or one is too long."""
    if not len(data):
        return np.zeros(0, dtype=np.int64)
    ends = np.flatnonzero(data < 0x80)
    if not len(ends) or ends[-1] != len(data) - 1:
        raise ValueError("a number does not end")
    starts = np.append(0, ends[:-1] + 1)
    sizes = ends - starts + 1
    if sizes.max() > _MOST_BYTES:
        raise ValueError("a number has more than 63 bits")
    shifts = 7 * (np.arange(len(data)) - np.repeat(starts, sizes))
    found: Numbers = np.add.reduceat((data & 0x7F).astype(np.int64) << shifts, starts)
    return found


def varints_at(data: Bytes, places: Numbers) -> tuple[Numbers, Numbers]:
    """The number at each place, and the places behind them. Raises `ValueError` as `decode_varints`, and for places
    outside of `data`."""
    numbers, ends = np.zeros(len(places), dtype=np.int64), np.array(places, dtype=np.int64)
    open_ = np.arange(len(places))
    for i in range(_MOST_BYTES):
        if not len(open_):
            return numbers, ends
        if ends[open_].min() < 0 or ends[open_].max() >= len(data):
            raise ValueError("a number lies outside")
        found = data[ends[open_]]
        numbers[open_] |= (found & 0x7F).astype(np.int64) << (7 * i)
        ends[open_] += 1
        open_ = open_[found >= 0x80]
    if len(open_):
        raise ValueError("a number has more than 63 bits")
    return numbers, ends
