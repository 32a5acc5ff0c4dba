"""Runs of whole numbers in ORC files (run length encoding, version 2), not negative.

A stream of integers is a sequence of runs. The head of a run has the encoding and the count of its numbers. A run ends
where its numbers do, so runs must be decoded one after the other. The first two bits of a head:

    00 short repeat   3 bits width in bytes - 1, 3 bits count - 3; the number, big endian
    01 direct         5 bits width code, 9 bits count - 1; the numbers, packed
    10 patched base   as direct; then 3 bits width of the base - 1, 5 bits width code of patches, 3 bits width of gaps
                      - 1, 5 bits count of patches; base; the numbers less the base, packed; gaps and patches, packed
    11 delta          as direct (width 0: one delta for all); base and first delta as varints; the other deltas, packed

"Packed" means big endian by bits, of any width (`_packed`): the bits of a whole run become a matrix of one number a
row, padded in front to 64 columns, and eight columns at a time become a byte. So a run of up to 512 numbers costs a few
numpy calls, and Python loops over runs only.

- Patched base: most numbers are narrow and a few are wide. Wide numbers are stored without their high bits; a patch has
  these bits, and the distance (gap) from the number patched before. The sum of gaps is the position of each.
- Delta: after the base, the first delta keeps its sign and the others are sizes in its direction, so that the numbers
  are one running sum. All sums are modulo 2**64, as unsigned words: this is what lets large numbers through.

Each decoder takes the offset of a head, in bytes, and returns the numbers and the offset after the run.
Source: ORC specification v1, "Run Length Encoding", "Integer Run Length Encoding, version 2".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from paimon_core.spec.encodings.varints import unzigzag, varint_at

Numbers = NDArray[np.uint64]
_WIDE = {24: 26, 25: 28, 26: 30, 27: 32, 28: 40, 29: 48, 30: 56, 31: 64}
_FIXED = (*range(1, 25), 26, 28, 30, 32, 40, 48, 56, 64)


def decode_runs(data: bytes) -> Numbers:
    """Return all numbers of a stream. Raises `ValueError`, `IndexError` for bytes that are not runs."""
    runs, offset = [np.zeros(0, dtype=np.uint64)], 0
    while offset < len(data):
        run, offset = (_short_repeat, _direct, _patched, _delta)[data[offset] >> 6](data, offset)
        runs.append(run)
    if offset > len(data):
        raise ValueError("a run is cut off")
    return np.concatenate(runs)


def _short_repeat(data: bytes, offset: int) -> tuple[Numbers, int]:
    width, count = (data[offset] >> 3 & 7) + 1, (data[offset] & 7) + 3
    end = offset + 1 + width
    return np.full(count, int.from_bytes(data[offset + 1 : end], "big"), dtype=np.uint64), end


def _direct(data: bytes, offset: int) -> tuple[Numbers, int]:
    return _packed(data, offset + 2, _width(data[offset] >> 1 & 31), _count(data, offset))


def _patched(data: bytes, offset: int) -> tuple[Numbers, int]:
    base_width, patch_width = (data[offset + 2] >> 5) + 1, _width(data[offset + 2] & 31)
    gap_width, patches = (data[offset + 3] >> 5) + 1, data[offset + 3] & 31
    width, start = _width(data[offset] >> 1 & 31), offset + 4 + base_width
    base = int.from_bytes(data[offset + 4 : start], "big")
    numbers, end = _packed(data, start, width, _count(data, offset))
    pairs, end = _packed(data, end, next(w for w in _FIXED if w >= gap_width + patch_width), patches)
    positions = np.cumsum(pairs >> np.uint64(patch_width))  # a patch of zero only lengthens the gap
    numbers[positions.astype(np.int64)] |= (pairs & np.uint64((1 << patch_width) - 1)) << np.uint64(width)
    return numbers + np.uint64(base), end


def _delta(data: bytes, offset: int) -> tuple[Numbers, int]:
    code, count = data[offset] >> 1 & 31, _count(data, offset)
    base, at = varint_at(data, offset + 2)
    code_of_first, at = varint_at(data, at)
    first = unzigzag(code_of_first)
    deltas = np.full(max(count - 1, 0), abs(first), dtype=np.uint64)
    if code:
        deltas[1:], at = _packed(data, at, _width(code), count - 2)
    start, steps = np.array([base], dtype=np.uint64), np.cumsum(deltas)  # modulo 2**64: negative numbers are large ones
    return np.concatenate([start, start - steps if first < 0 else start + steps]), at


def _packed(data: bytes, start: int, width: int, count: int) -> tuple[Numbers, int]:
    """Return `count` numbers of `width` bits, big endian, from the byte at `start`, and the offset after them."""
    end = start + (width * count + 7) // 8
    content = np.frombuffer(data[start:end], dtype=np.uint8)
    if len(content) < end - start:
        raise ValueError("a run is cut off")
    bits = np.zeros((count, 64), dtype=np.uint8)
    bits[:, 64 - width :] = np.unpackbits(content)[: width * count].reshape(count, width)
    return np.packbits(bits, axis=1).view(">u8")[:, 0].astype(np.uint64), end


def _width(code: int) -> int:
    return _WIDE.get(code, code + 1)


def _count(data: bytes, offset: int) -> int:
    return ((data[offset] & 1) << 8 | data[offset + 1]) + 1
