"""Keys along curves: what they sort, and that neighbours on a curve are neighbours in space."""

from __future__ import annotations

import itertools
from datetime import date

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.errors import InvalidOptionError
from paimon_core.write.compaction.space_filling import hilbert, z_order

SQUARE = list(itertools.product(range(3), range(3)))
Z = [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (1, 2), (2, 0), (2, 1), (2, 2)]
HILBERT = [(0, 0), (0, 1), (1, 1), (1, 0), (2, 0), (2, 1), (2, 2), (1, 2), (0, 2)]


def by(keys: pa.Array, rows: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    return [row for _, row in sorted(zip(keys.to_pylist(), rows, strict=True))]


def columns(rows: list[tuple[int, ...]]) -> list[pa.Array]:
    return [pa.array(list(c), pa.int32()) for c in zip(*rows, strict=True)]


def test_a_square() -> None:
    assert by(z_order(columns(SQUARE)), SQUARE) == Z
    assert by(hilbert(columns(SQUARE)), SQUARE) == HILBERT


@pytest.mark.parametrize("dimensions", [2, 3])
def test_steps_of_the_hilbert_curve_are_short(dimensions: int) -> None:
    cube = list(itertools.product(range(8), repeat=dimensions))
    path = by(hilbert(columns(cube)), cube)
    for one, other in itertools.pairwise(path):
        assert sum(abs(a - b) for a, b in zip(one, other, strict=True)) == 1


@given(st.lists(st.none() | st.integers(-(2**31), 2**31 - 1), min_size=1))
def test_one_column_is_sorted(values: list[int | None]) -> None:
    column = pa.array(values, pa.int32())
    ordered = [v for _, v in sorted(zip(z_order([column]).to_pylist(), values, strict=True), key=lambda p: p[0])]
    assert ordered == sorted(values, key=lambda v: (v is not None, v or 0))


def test_every_type_has_an_order() -> None:
    for array in (
        pa.array(["a", None, "b"]),
        pa.array([b"a", None, b"b"]),
        pa.array([date(2024, 1, 1), None, date(2024, 1, 2)]),
        pa.array([-1.5, None, 2.5]),
        pa.array([False, None, True]),
        pa.array([1, None, 2], pa.decimal128(38, 0)),
    ):
        low, null, high = z_order([array, array]).to_pylist()
        assert null < low < high
        low, null, high = hilbert([array]).to_pylist()
        assert low < high
    assert len(z_order([pa.array([], pa.int32())])) == 0
    with pytest.raises(InvalidOptionError, match="list"):
        z_order([pa.array([[1]])])
