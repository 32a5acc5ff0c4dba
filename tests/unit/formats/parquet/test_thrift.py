"""Thrift's compact protocol: what is written comes back, footers to the byte, and cut ones are refused."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.formats.parquet.thrift import (
    BINARY,
    BYTE,
    DOUBLE,
    I32,
    I64,
    LIST,
    MAP,
    STRUCT,
    TRUE,
    Items,
    decode,
    encode,
)
from tests.support.golden import GOLDEN_DATABASE

_SCALARS: list[tuple[int, st.SearchStrategy[Any]]] = [
    (I32, st.integers(-(2**31), 2**31 - 1)),
    (I64, st.integers(-(2**63), 2**63 - 1)),
    (BINARY, st.binary(max_size=200)),
    (DOUBLE, st.binary(min_size=8, max_size=8)),
    (BYTE, st.binary(min_size=1, max_size=1)),
]


def of_kind(values: list[tuple[int, st.SearchStrategy[Any]]]) -> st.SearchStrategy[tuple[int, Any]]:
    return st.one_of(*(st.tuples(st.just(kind), own) for kind, own in values))


def lists(values: list[tuple[int, st.SearchStrategy[Any]]]) -> st.SearchStrategy[Any]:
    return st.one_of(*(st.builds(Items, st.just((kind,)), st.lists(own, max_size=20)) for kind, own in values))


def structures(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    values = [*_SCALARS, (STRUCT, children)]
    texts = st.lists(st.tuples(st.binary(max_size=3), children), min_size=1, max_size=3)
    maps = texts.map(lambda pairs: Items((BINARY, STRUCT), [v for pair in pairs for v in pair]))
    each = [*values, (LIST, lists(values)), (MAP, maps), (TRUE, st.booleans())]
    fields = of_kind(each).map(lambda v: (1 if v[1] else 2, v[1]) if v[0] == TRUE else v)
    return st.dictionaries(st.integers(1, 300), fields, max_size=6)


@given(st.recursive(st.just({}), structures, max_leaves=8))
def test_structures_come_back(fields: Any) -> None:
    data = encode(fields)
    assert decode(data) == fields
    assert decode(data + b"anything") == fields
    for end in range(len(data)):
        with pytest.raises(ValueError, match="ends too early"):
            decode(data[:end])


@given(st.recursive(st.just({}), structures, max_leaves=8), st.data())
def test_unwanted_fields_are_skipped(fields: Any, data: st.DataObject) -> None:
    wanted = data.draw(st.sets(st.sampled_from(sorted(fields))) if fields else st.just(set()))
    coded = encode(fields)
    assert decode(coded, dict.fromkeys(wanted)) == {number: fields[number] for number in wanted}
    outer = encode({1: (LIST, Items((STRUCT,), [fields, fields])), 2: (I32, 7)})
    inner = {number: fields[number] for number in wanted}
    assert decode(outer, {1: dict.fromkeys(wanted)}) == {1: (LIST, Items((STRUCT,), [inner, inner]))}
    for end in range(len(coded)):
        with pytest.raises(ValueError, match="ends too early"):
            decode(coded[:end], {})


def test_footers_come_back_to_the_byte() -> None:
    files = sorted(GOLDEN_DATABASE.rglob("*.parquet"))
    assert files
    for path in files:
        content = path.read_bytes()
        footer = content[-8 - int.from_bytes(content[-8:-4], "little") : -8]
        assert encode(decode(footer)) == footer


@pytest.mark.parametrize(
    "data", [b"\x1c" * 100, b"\x19" * 100, b"\x1d\x00", b"\x16" + b"\xff" * 20, b"\x1b\xff\x0f\x88"]
)
def test_what_is_no_structure(data: bytes) -> None:
    with pytest.raises(ValueError, match="its metadata"):
        decode(data)


def test_nested_lists_that_claim_many_elements_take_no_memory() -> None:
    size = 2**15
    lists = (b"\xf9" + b"\x80\x80\x01") * 30  # each claims 2**14 lists
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="its metadata ends too early"):
            decode((b"\x19" + lists).ljust(size, b"\x01"), {})
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
