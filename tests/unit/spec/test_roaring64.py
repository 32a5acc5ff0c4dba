"""Sets of 64-bit numbers in the bytes of `Roaring64Bitmap`."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from paimon_core.spec.roaring64 import decode_roaring64, encode_roaring64

numbers = st.integers(0, 2**64 - 1) | st.integers(0, 2**20) | st.integers(0, 600).map(lambda n: n << 16)


@given(st.sets(numbers, max_size=300), st.lists(st.tuples(numbers, st.integers(1, 70_000)), max_size=2))
def test_round_trip(single: set[int], runs: list[tuple[int, int]]) -> None:
    found = BitMap64(single)
    for start, length in runs:
        found |= BitMap64(range(start, min(start + length, 2**64 - 1)))
    data = encode_roaring64(found)
    assert decode_roaring64(data) == found
    assert encode_roaring64(decode_roaring64(data)) == data


@pytest.mark.parametrize("count", [1, 2, 4, 5, 16, 17, 48, 49, 256, 300])
def test_branches_of_every_size(count: int) -> None:
    for shift in (16, 24, 32, 40, 48, 56):
        found = BitMap64((n << shift) % 2**64 for n in range(count))
        assert decode_roaring64(encode_roaring64(found)) == found


@given(st.binary(max_size=60), st.integers(0, 200), st.integers(0, 255))
def test_damaged_bytes_are_refused_or_read(noise: bytes, place: int, value: int) -> None:
    data = bytearray(encode_roaring64(BitMap64([1, 2, 3, 1 << 20, 1 << 40])))
    data[place % len(data)] = value
    for broken in (bytes(data), bytes(data[: place % len(data)]), b"\1" + noise):
        try:
            decode_roaring64(broken)
        except (ValueError, struct.error):
            continue
