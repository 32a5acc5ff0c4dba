"""`values_equal` against Python's comparison of the values."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.arrow.equality import value_codes, values_equal

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
    (
        pa.map_(pa.binary(), pa.float64()),
        st.none() | st.lists(st.tuples(st.sampled_from([b"", b"a"]), FLOATS), max_size=2),
    ),
    (
        pa.list_(pa.map_(pa.string(), pa.int32())),
        st.lists(st.lists(st.tuples(st.sampled_from("ab"), INTS), max_size=2)),
    ),
    (pa.struct({"x": pa.int32(), "y": pa.string()}), STRUCTS),
    (pa.list_(pa.struct({"x": pa.int32(), "y": pa.string()})), st.none() | st.lists(STRUCTS, max_size=2)),
]


def plain(value: Any, arrow: pa.DataType) -> Any:
    """A value in a form that Python compares: entries of maps in one order, NaN as a text."""
    if value is None:
        return None
    if pa.types.is_map(arrow):
        return sorted((repr(plain(k, arrow.key_type)), repr(plain(v, arrow.item_type))) for k, v in value)
    if pa.types.is_list(arrow):
        return [plain(v, arrow.value_type) for v in value]
    if pa.types.is_struct(arrow):
        return {f.name: plain(value[f.name], f.type) for f in arrow}
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


@pytest.mark.parametrize(("arrow", "values"), CASES, ids=[str(c[0]) for c in CASES])
def test_as_python_compares(arrow: pa.DataType, values: st.SearchStrategy[Any]) -> None:
    @given(st.lists(st.tuples(values, values), max_size=6), st.integers(0, 3))
    def check(pairs: list[tuple[Any, Any]], skipped: int) -> None:
        one, other = (pa.array([p[i] for p in pairs], arrow).slice(skipped) for i in (0, 1))
        expected = [plain(a, arrow) == plain(b, arrow) for a, b in zip(one.to_pylist(), other.to_pylist(), strict=True)]
        assert values_equal(one, other).tolist() == expected
        both = pa.concat_arrays([one, other])
        known = [plain(v, arrow) for v in both.to_pylist()]
        assert [known.index(v) for v in known] == [
            known.index(known[first]) for first in firsts(value_codes(both).tolist())
        ]

    check()


def firsts(codes: list[int]) -> list[int]:
    return [codes.index(code) for code in codes]


def test_maps_are_equal_in_any_order_of_their_keys() -> None:
    entries = pa.map_(pa.binary(), pa.int32())
    for arrow, wrap in (
        (entries, lambda v: v),
        (pa.list_(entries), lambda v: [v, None]),
        (pa.struct({"m": entries}), lambda v: {"m": v}),
        (pa.map_(pa.int32(), entries), lambda v: [(1, v)]),
    ):
        one = pa.array([wrap([(b"a", 1), (b"b", None)]), wrap([(b"a", 1)])], arrow)
        other = pa.array([wrap([(b"b", None), (b"a", 1)]), wrap([(b"a", 2)])], arrow)
        assert values_equal(one, other).tolist() == [True, False]


def test_what_lies_under_null_does_not_count() -> None:
    hidden = pa.ListArray.from_arrays([0, 1, 2], pa.array([5, 6], pa.int32()), mask=pa.array([True, False]))
    assert value_codes(hidden).tolist()[0] == value_codes(pa.array([None], hidden.type)).tolist()[0]
    struct = pa.StructArray.from_arrays([pa.array([1, 2])], ["x"], mask=pa.array([True, True]))
    assert len(set(value_codes(struct).tolist())) == 1
