"""The bloom filter of a `btree` file: which keys the file may have. A search for a missing key reads no blocks then.

Each key sets a few bits: n * (high half of its hash) + hash, for n from 1, with the bits of a negative number flipped,
modulo the number of bits. Bit i is bit i % 8 of byte i / 8. The number of bits follows from the number of keys and the
share of errors, and the number of bits per key from both. The filter has no checksum.
Source: `org.apache.paimon.utils.BloomFilter`; pypaimon 2.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from paimon_core.dataclass import dataclass
from paimon_core.indexes.file_index.keys import ByteKeys
from paimon_core.spec.hashing.murmur import murmur3_with_tail

SHARE_OF_ERRORS = 0.05
_GATHERED = 2**22  # bytes of keys that are hashed at once

Hashes = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class KeyFilter:
    """The bits of a filter for a number of keys."""

    data: bytes
    keys: int

    def may_have(self, key: bytes) -> bool:
        """Return False if the file does not have the key."""
        hashes = murmur3_with_tail(np.frombuffer(key, dtype=np.uint8).reshape(1, -1))
        bits = np.frombuffer(self.data, dtype=np.uint8)
        return all(
            (bits[at >> 3] >> (at & 7)).astype(np.uint8)[0] & 1 for at in _bits(hashes, len(self.data), self.keys)
        )


def filter_of(keys: ByteKeys) -> KeyFilter | None:
    """Return the filter for the keys of a file; None without keys."""
    count = len(keys)
    if not count:
        return None
    size = math.ceil(int(-count * math.log(SHARE_OF_ERRORS) / (math.log(2) * math.log(2))) / 8)
    flags = np.zeros(8 * size, dtype=np.bool_)
    for hashes in _hashes(keys):
        for at in _bits(hashes, size, count):
            flags[at] = True
    return KeyFilter(np.packbits(flags, bitorder="little").tobytes(), count)


def _bits(hashes: Hashes, size: int, keys: int) -> Iterator[NDArray[np.int64]]:
    """Yield the numbers of the bits that keys set: the first of each key, then the second, and so on."""
    per_key = max(1, math.floor(size * 8 / keys * math.log(2) + 0.5))
    step = hashes.view(np.uint32) >> np.uint32(16)
    for n in range(1, per_key + 1):
        combined = (hashes.view(np.uint32) + np.uint32(n) * step).view(np.int32)
        yield np.where(combined < 0, ~combined, combined).astype(np.int64) % (8 * size)


def _hashes(keys: ByteKeys) -> Iterator[Hashes]:
    """Yield the hashes of all keys, one length of keys at a time."""
    sizes = np.diff(keys.offsets)
    order = np.argsort(sizes, kind="stable")
    bounds = [*np.flatnonzero(np.diff(sizes[order], prepend=-1)), len(order)]
    for first, end in zip(bounds, bounds[1:], strict=False):
        size = int(sizes[order[first]])
        step = max(1, _GATHERED // max(size, 1))
        for start in range(first, end, step):
            starts = keys.offsets[order[start : min(start + step, end)]]
            yield murmur3_with_tail(keys.data[starts[:, None] + np.arange(size)])
