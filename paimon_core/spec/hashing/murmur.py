"""Murmur3 (x86, 32 bits): hashes of BinaryRow bytes (seed 42) with their bucket numbers, and hashes of any bytes.

`bucket = abs(hash % buckets)` with the remainder of Java and C (sign of the dividend).
Source: Paimon's default bucket function; Austin Appleby, MurmurHash3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_C1, _C2 = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)
SEED = np.uint32(42)


def murmur3_words(words: NDArray[np.uint32], lengths: NDArray[np.int64] | None = None) -> NDArray[np.int32]:
    """Hash rows of 4-byte words, shape (rows, words), little endian. `lengths` gives the words in use per row."""
    h = np.full(words.shape[0], SEED, dtype=np.uint32)
    for i in range(words.shape[1]):
        mixed = _mix(h, words[:, i])
        h = mixed if lengths is None else np.where(lengths > i, mixed, h)
    size = np.uint32(4 * words.shape[1]) if lengths is None else (4 * lengths).astype(np.uint32)
    return _finish(h ^ size).view(np.int32)


def murmur3_row(body: bytes) -> int:
    """Return the hash of one BinaryRow without its field count."""
    return int(murmur3_words(np.frombuffer(body, dtype="<u4").reshape(1, -1))[0])


def murmur3_bytes(data: bytes, seed: int) -> int:
    """Return the hash of bytes of any length, as an unsigned number."""
    whole = len(data) // 4 * 4
    h = np.full(1, seed, dtype=np.uint32)
    for word in np.frombuffer(data[:whole], dtype="<u4").reshape(-1, 1):
        h = _mix(h, word)
    h = h ^ _scramble(np.array([int.from_bytes(data[whole:], "little")], dtype=np.uint32))
    return int(_finish(h ^ np.uint32(len(data)))[0])


def murmur3_with_tail(texts: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Hash bytes of one length, shape (texts, bytes). Each byte behind the last whole word counts as a word, with its
    sign, as in Java's `MurmurHashUtils.hashBytes`.
    """
    count, size = texts.shape
    whole = size // 4 * 4
    h = np.full(count, SEED, dtype=np.uint32)
    words = np.ascontiguousarray(texts[:, :whole]).view("<u4").reshape(count, whole // 4)
    tail = texts[:, whole:].view(np.int8).astype(np.int32).view(np.uint32)
    for part in (words, tail):
        for i in range(part.shape[1]):
            h = _mix(h, part[:, i])
    return _finish(h ^ np.uint32(size)).view(np.int32)


def bucket_of(hashes: NDArray[np.int32], buckets: int) -> NDArray[np.int32]:
    """Return the bucket numbers for hashes, shape (rows,)."""
    return np.abs(np.fmod(hashes, np.int32(buckets)))


def _mix(h: NDArray[np.uint32], k: NDArray[np.uint32]) -> NDArray[np.uint32]:
    h = h ^ _scramble(k)
    h = (h << np.uint32(13)) | (h >> np.uint32(19))
    return h * np.uint32(5) + np.uint32(0xE6546B64)


def _scramble(k: NDArray[np.uint32]) -> NDArray[np.uint32]:
    k = k * _C1
    return ((k << np.uint32(15)) | (k >> np.uint32(17))) * _C2


def _finish(h: NDArray[np.uint32]) -> NDArray[np.uint32]:
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return h ^ (h >> np.uint32(16))
