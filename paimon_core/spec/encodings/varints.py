"""Varints: numbers of seven bits per byte, the lowest first; all but the last byte have their high bit set.

A number of 64 bits takes one to ten bytes. Some formats first code signed numbers as zigzag: 0, -1, 1, -2
become 0, 1, 2, 3, so that numbers near zero are short. Avro, ORC, Thrift (Parquet), snappy and global indexes use them.
The first functions handle single numbers, the others arrays of numbers below 2**63, adjacent or at given offsets.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.int64]
MOST_BYTES = 10  # bytes of a 64-bit number
POSITIVE_BYTES = 9  # bytes of a number below 2**63
_BOUNDS = np.array([1 << (7 * n) for n in range(1, POSITIVE_BYTES)], dtype=np.int64)


def encode_varint(number: int) -> bytes:
    """Encode a number that is not negative."""
    if number < 0x80:
        return bytes((number,))
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def varint_at(data: bytes, offset: int, most_bytes: int = MOST_BYTES) -> tuple[int, int]:
    """Return the number at an offset, and the offset after it.

    Raises `ValueError` if the data ends within the number, or the number has more than `most_bytes` bytes."""
    number = shift = 0
    for at in range(offset, min(offset + most_bytes, len(data))):
        byte = data[at]
        if byte < 0x80:
            return number | byte << shift, at + 1
        number |= (byte & 0x7F) << shift
        shift += 7
    raise ValueError("a number does not end")


def zigzag(number: int) -> int:
    """Return the zigzag code of a signed 64-bit number."""
    return (number << 1) ^ (number >> 63)


def unzigzag(code: int) -> int:
    """Return the signed number of a code."""
    return (code >> 1) ^ -(code & 1)


def varint_sizes(numbers: Numbers) -> Numbers:
    """Return the number of bytes of each encoded number."""
    return np.searchsorted(_BOUNDS, numbers, side="right") + 1


def put_varints(target: Bytes, offsets: Numbers, numbers: Numbers) -> None:
    """Write a number at each offset of `target`."""
    sizes = varint_sizes(numbers)
    for i in range(int(sizes.max(initial=0))):
        longer = np.flatnonzero(sizes > i)
        low = (numbers[longer] >> (7 * i)) & 0x7F
        target[offsets[longer] + i] = np.where(sizes[longer] > i + 1, low | 0x80, low)


def decode_varints(data: Bytes) -> Numbers:
    """Decode adjacent numbers that fill `data`.

    Raises `ValueError` if the last number is cut off, or a number is too long.
    """
    if not len(data):
        return np.zeros(0, dtype=np.int64)
    ends = np.flatnonzero(data < 0x80)
    if not len(ends) or ends[-1] != len(data) - 1:
        raise ValueError("a number does not end")
    starts = np.append(0, ends[:-1] + 1)
    sizes = ends - starts + 1
    if sizes.max() > POSITIVE_BYTES:
        raise ValueError("a number has more than 63 bits")
    shifts = 7 * (np.arange(len(data)) - np.repeat(starts, sizes))
    found: Numbers = np.add.reduceat((data & 0x7F).astype(np.int64) << shifts, starts)
    return found


def varints_at(data: Bytes, offsets: Numbers) -> tuple[Numbers, Numbers]:
    """Decode the number at each offset. Return the numbers, and the offsets after them.

    Raises the errors of `decode_varints`, and `ValueError` for offsets outside of `data`."""
    numbers, ends = np.zeros(len(offsets), dtype=np.int64), np.array(offsets, dtype=np.int64)
    unfinished = np.arange(len(offsets))
    for i in range(POSITIVE_BYTES):
        if not len(unfinished):
            return numbers, ends
        if ends[unfinished].min() < 0 or ends[unfinished].max() >= len(data):
            raise ValueError("a number lies outside")
        found = data[ends[unfinished]]
        numbers[unfinished] |= (found & 0x7F).astype(np.int64) << (7 * i)
        ends[unfinished] += 1
        unfinished = unfinished[found >= 0x80]
    if len(unfinished):
        raise ValueError("a number has more than 63 bits")
    return numbers, ends
