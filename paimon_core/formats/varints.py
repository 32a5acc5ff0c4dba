"""Lists of numbers as the zigzag varints of their differences: each row has a list of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MOST_BYTES = 10  # of a varint

Numbers = NDArray[np.int64]
Bytes = NDArray[np.uint8]


def encode_varints(numbers: Numbers, bounds: Numbers) -> tuple[Bytes, Numbers]:
    """Encode the numbers of each row, from `bounds[i]` to `bounds[i + 1]`. Return the bytes of all rows, and where each
    row begins in them, with the end of the last one."""
    differences = np.diff(numbers, prepend=0)
    firsts = bounds[:-1][np.diff(bounds) > 0]
    differences[firsts] = numbers[firsts]
    zigzag = ((differences << 1) ^ (differences >> 63)).view(np.uint64)
    groups = zigzag[:, None] >> (np.arange(_MOST_BYTES, dtype=np.uint64) * np.uint64(7))
    kept = groups > 0
    kept[:, 0] = True
    more = np.zeros_like(kept)
    more[:, :-1] = kept[:, 1:]
    data: Bytes = ((groups & np.uint64(0x7F)).astype(np.uint8) | (more * np.uint8(0x80)))[kept].astype(np.uint8)
    ends: Numbers = np.append(0, np.cumsum(kept.sum(axis=1)))
    return data, ends[bounds]


def decode_varints(data: Bytes, ends: Numbers, bounds: Numbers) -> Numbers:
    """Decode the numbers of each row from its bytes, from `ends[i]` to `ends[i + 1]`.

    Raises `ValueError` if a row does not have `bounds[i + 1] - bounds[i]` numbers."""
    lasts = np.flatnonzero(data < 0x80)
    closed = np.append(0, np.cumsum(data < 0x80))
    filled = np.diff(ends) > 0
    if (closed[ends] != bounds).any() or (data[ends[1:][filled] - 1] >= 0x80).any():
        raise ValueError("has another number of lengths than of elements")
    if not len(lasts):
        return np.zeros(0, dtype=np.int64)
    starts = np.append(0, lasts[:-1] + 1)
    if (lasts - starts).max() >= _MOST_BYTES:
        raise ValueError("has a number of more than 64 bits")
    shift = 7 * (np.arange(len(data)) - np.repeat(starts, lasts - starts + 1))
    zigzag = np.add.reduceat((data & 0x7F).astype(np.uint64) << shift.astype(np.uint64), starts)
    sums = np.cumsum((zigzag >> np.uint64(1)).view(np.int64) ^ -(zigzag & np.uint64(1)).view(np.int64))
    before: Numbers = np.append(0, sums)[np.repeat(bounds[:-1], np.diff(bounds))]
    return sums - before
