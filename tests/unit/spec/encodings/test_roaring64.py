"""Sets of 64-bit numbers in the bytes of `Roaring64Bitmap`."""

from __future__ import annotations

import struct
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from paimon_core.spec.encodings.roaring64 import decode_roaring64, encode_roaring64

# what RoaringBitmap 1.3.0 writes
JAVA: list[tuple[Iterable[int], str]] = [
    ([], "00"),
    (
        [1, 3],
        (
            "01010000000000000004000000000000000000000000000000000001000000fe01000000010202000000010003000100"
            "0000000000000000000000000000"
        ),
    ),
    (
        [1, 1 << 40, (1 << 40) + 65536, 2**64 - 1],
        (
            "010400000000000000000200000000ff0000020001000000010004000000000000000000000000000000000000020002"
            "00000000010004000000000001000000010000000000000004000000000001000001020000000000000004000000ffff"
            "ffffffff030000000000000001000000fe04000000010201000000010001020100000000000102010000000000010201"
            "000000ffff04000000000000000000000003000000"
        ),
    ),
    (
        range(10, 110),
        (
            "01010000000000000004000000000000000000000000000000000001000000fe0100000001006400000001000a006300"
            "01000000000000000000000000000000"
        ),
    ),
    (
        [1, 1 << 16, 1 << 24, 1 << 32, 1 << 48, 1 << 56],
        (
            "010600000000000000000200000000010000020000000001000002000100000001000002000000000100000200000000"
            "010004000000000000000000000000000000000004000000000000000001010000000000000004000000000000000100"
            "020000000000000004000000000000010000030000000000000004000000000100000000040000000000000004000000"
            "010000000000050000000000000001000000fe0600000001020100000001000102010000000000010201000000000001"
            "020100000000000102010000000000010201000000000006000000000000000000000005000000"
        ),
    ),
    (
        (5 + (n << 16) for n in range(7)),  # with two slots to spare
        (
            "010700000000000000010700050000000000000605040302010000000000000000000400000000000000000000000000"
            "000000000400000000000000000101000000000000000400000000000000000202000000000000000400000000000000"
            "000303000000000000000400000000000000000404000000000000000400000000000000000505000000000000000400"
            "0000000000000006060000000000000001000000fe090000000102010000000500010201000000050001020100000005"
            "000102010000000500010201000000050001020100000005000102010000000500000007000000000000000000000006"
            "000000"
        ),
    ),
]
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
def test_damaged_bytes_are_refused_or_read(noise: bytes, offset: int, value: int) -> None:
    data = bytearray(encode_roaring64(BitMap64([1, 2, 3, 1 << 20, 1 << 40])))
    data[offset % len(data)] = value
    for broken in (bytes(data), bytes(data[: offset % len(data)]), b"\1" + noise):
        try:
            decode_roaring64(broken)
        except (ValueError, struct.error):
            continue


@pytest.mark.parametrize(("found", "text"), JAVA)
def test_bytes_that_java_wrote(found: Iterable[int], text: str) -> None:
    numbers, data = BitMap64(found), bytes.fromhex(text)
    assert decode_roaring64(data) == numbers
    spare = len(data) - len(encode_roaring64(numbers))
    assert spare == (2 if len(numbers) == 7 else 0)
    assert spare or encode_roaring64(numbers) == data
