"""`values_equal` against Python's comparison of the values."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.arrow.equality import values_equal

INTS = st.none() | st.integers(0, 2)
FLOATS = st.none() | st.sampled_from([0.0, 1.5, math.nan])
TEXTS = st.none() | st.sampled_from(["", "a", "ab"])
STRUCTS = st.none() | st.fixed_dictionaries({"x": INTS, "y": TEXTS})
CASES = [
    (pa.int32(), INTS),
    (pa.float64(), FLOATS),
    (pa.string(), TEXTS),
    (pa.list_(pa.int32()), st.none() | st.lists(INTS, max_size=2)),
    (pa.list_(pa.list_(pa.float64())), st.none() | st.lists(st.none() | st.lists(FLOATS, max_size=2), max_size=2)),
    (pa.map_(pa.string(), pa.int32()), st.none() | st.lists(st.tuples(st.sampled_from("ab"), INTS), max_size=2)),
    (pa.struct({"x": pa.int32(), "y": pa.string()}), STRUCTS),
    (pa.list_(pa.struct({"x": pa.int32(), "y": pa.string()})), st.none() | st.lists(STRUCTS, max_size=2)),
]


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


@pytest.mark.parametrize(("arrow", "values"), CASES, ids=[str(c[0]) for c in CASES])
def test_as_python_compares(arrow: pa.DataType, values: st.SearchStrategy[Any]) -> None:
    @given(st.lists(st.tuples(values, values), max_size=6), st.integers(0, 3))
    def check(pairs: list[tuple[Any, Any]], skipped: int) -> None:
        one, other = (pa.array([p[i] for p in pairs], arrow).slice(skipped) for i in (0, 1))
        expected = [same(a, b) for a, b in zip(one.to_pylist(), other.to_pylist(), strict=True)]
        assert values_equal(one, other).tolist() == expected

    check()
