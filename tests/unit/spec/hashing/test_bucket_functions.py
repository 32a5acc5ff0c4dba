from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.arrow.columns import byte_lengths, fixed_values, padded_bytes
from paimon_core.spec.hashing.bucket_functions import (
    hive_bucket,
    hive_bytes,
    hive_decimal,
    hive_int,
    hive_long,
    mod_bucket,
)


def as_int32(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31


def decimal_hash(unscaled: int, scale: int) -> int:
    """The hash of a decimal by the book, one at a time."""
    while scale and unscaled % 10 == 0 and unscaled:
        unscaled, scale = unscaled // 10, scale - 1
    number, rest, words = 0, abs(unscaled), list[int]()
    while rest:
        words, rest = [rest & 0xFFFFFFFF, *words], rest >> 32
    for word in words:
        number = as_int32(31 * number + word)
    return as_int32(31 * (-number if unscaled < 0 else number) + (scale if unscaled else 0))


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), st.integers(1, 1000))
def test_mod_is_never_negative(values: list[int], buckets: int) -> None:
    assert mod_bucket(np.array(values, dtype=np.int64), buckets).tolist() == [v % buckets for v in values]


@given(st.lists(st.binary(max_size=20), min_size=1))
def test_bytes(values: list[bytes]) -> None:
    column = pa.array(values, pa.binary())
    lengths = byte_lengths(column)
    found = hive_bytes(padded_bytes(column, int(lengths.max())), lengths).view(np.int32).tolist()
    expected = []
    for value in values:
        hash_ = 0
        for byte in value:
            hash_ = as_int32(31 * hash_ + (byte - 256 if byte > 127 else byte))
        expected.append(hash_)
    assert found == expected


@given(st.integers(0, 38), st.lists(st.integers(-(10**38) + 1, 10**38 - 1), min_size=1))
def test_decimals(scale: int, unscaled: list[int]) -> None:
    shown = [*unscaled, *(u // 10**9 * 10**9 for u in unscaled if u > 0)]
    column = pa.array([Decimal(f"{u}E-{scale}") for u in shown], pa.decimal128(38, scale))
    halves = fixed_values(column, np.dtype(("<u8", (2,))))
    low, high = np.ascontiguousarray(halves[:, 0]), np.ascontiguousarray(halves[:, 1]).view(np.int64)
    assert hive_decimal(low, high, scale).view(np.int32).tolist() == [decimal_hash(u, scale) for u in shown]


@pytest.mark.parametrize(
    ("text", "expected"), [("0.00", 0), ("1.50", 31 * 15 + 1), ("-1.50", -31 * 15 + 1), ("20.00", 31 * 20)]
)
def test_decimals_by_hand(text: str, expected: int) -> None:
    value = Decimal(text)
    assert decimal_hash(int(value.scaleb(2)), 2) == expected


def test_rows_of_several_columns() -> None:
    numbers, longs = hive_int(np.array([-1, 7], dtype=np.int32)), hive_long(np.array([2**40, -1], dtype=np.int64))
    assert longs.tolist() == [2**8, 0]
    expected = [((31 * n + k) & 0x7FFFFFFF) % 5 for n, k in ((-1, 2**8), (7, 0))]
    assert hive_bucket([numbers, longs], 2, 5).tolist() == expected
