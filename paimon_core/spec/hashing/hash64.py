"""64-bit hashes of many values at once: xxHash64 (seed 0) for bytes, Thomas Wang's hash for numbers.

Source: specification, "File Index", "BloomFilter"; xxHash's specification.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
_P1, _P2, _P3, _P4, _P5 = (
    np.uint64(p)
    for p in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)
_STRIPE = 32


def xxh64(words: Words, lengths: NDArray[np.int64]) -> Words:
    """Return the hash of each byte string.

    `words` has the strings as zero-padded little-endian words, shape (rows, words); `lengths` are in bytes."""
    with np.errstate(over="ignore"):
        stripes = lengths // _STRIPE
        mixed = _stripes(words, stripes) + lengths.astype(np.uint64)
        return _avalanche(_rest(words, stripes, lengths % _STRIPE, mixed))


def wang_hash(numbers: NDArray[np.int64]) -> Words:
    """Return the hashes of 64-bit numbers."""
    with np.errstate(over="ignore"):
        key = ~numbers + (numbers << 21)
        key = key ^ (key >> 24)
        key = key + (key << 3) + (key << 8)
        key = key ^ (key >> 14)
        key = key + (key << 2) + (key << 4)
        key = key ^ (key >> 28)
        hashes: Words = (key + (key << 31)).view(np.uint64)
        return hashes


def _stripes(words: Words, stripes: NDArray[np.int64]) -> Words:
    """Return the state after all complete stripes."""
    state = np.full(len(words), _P5)
    if not stripes.any():
        return state
    lanes = [np.full(len(words), start) for start in (_P1 + _P2, _P2, np.uint64(0), np.uint64(0) - _P1)]
    for i in range(int(stripes.max())):
        more = i < stripes
        lanes = [np.where(more, _round(lane, words[:, 4 * i + j]), lane) for j, lane in enumerate(lanes)]
    merged = sum((_rotate(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)), np.uint64(0))
    for lane in lanes:
        merged = (merged ^ _round(np.uint64(0), lane)) * _P1 + _P4
    return np.where(stripes > 0, merged, state)


def _rest(words: Words, stripes: NDArray[np.int64], rest: NDArray[np.int64], state: Words) -> Words:
    """Return the state after the last bytes, fewer than 32, which do not fill a stripe."""
    if not words.shape[1]:
        return state
    last = words.shape[1] - 1

    def word(index: NDArray[np.int64]) -> Words:
        found: Words = np.take_along_axis(words, np.minimum(index, last)[:, None], axis=1)[:, 0]
        return found

    for i in range(3):
        mixed = _rotate(state ^ _round(np.uint64(0), word(4 * stripes + i)), 27) * _P1 + _P4
        state = np.where(i < rest // 8, mixed, state)
    tail, remaining = word(4 * stripes + rest // 8), rest % 8
    mixed = _rotate(state ^ ((tail & np.uint64(0xFFFFFFFF)) * _P1), 23) * _P2 + _P3
    state = np.where(remaining >= 4, mixed, state)
    tail = np.where(remaining >= 4, tail >> np.uint64(32), tail)
    for i in range(3):
        byte = tail >> np.uint64(8 * i) & np.uint64(0xFF)
        state = np.where(i < remaining % 4, _rotate(state ^ (byte * _P5), 11) * _P1, state)
    return state


def _round(lane: Words | np.uint64, word: Words) -> Words:
    return _rotate(lane + word * _P2, 31) * _P1


def _rotate(value: Words, by: int) -> Words:
    return value << np.uint64(by) | value >> np.uint64(64 - by)


def _avalanche(state: Words) -> Words:
    state = (state ^ (state >> np.uint64(33))) * _P2
    state = (state ^ (state >> np.uint64(29))) * _P3
    return state ^ (state >> np.uint64(32))
