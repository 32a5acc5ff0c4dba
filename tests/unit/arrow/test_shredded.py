"""Shredded VARIANTs against a reference that shreds and decodes one value at a time."""

from __future__ import annotations

import random
import tracemalloc
from contextlib import suppress
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.arrow import shredded_variants
from paimon_core.arrow.evolution import conform
from paimon_core.arrow.types import arrow_type
from paimon_core.spec.types import VARIANT
from tests.support.variants import decode, encode, encode_metadata, shred, shredded_type

V = arrow_type(VARIANT)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.integers(-300, 300)
    | st.floats(allow_nan=False)
    | st.text(max_size=80)
)
NAMES = st.sampled_from(["a", "b", "o", "l", "x", "日本", "\U0001f680", ""])
DOCUMENTS = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=6), max_leaves=12
)
SHAPE = {
    "a": pa.int64(),
    "b": pa.string(),
    "o": {"x": pa.float64(), "日本": {"a": pa.bool_()}, "b": None},
    "l": [{"a": pa.int64(), "x": [pa.string()]}],
    "\U0001f680": [pa.int64()],
}


def keys_of(document: Any) -> set[str]:
    if isinstance(document, dict):
        return set(document).union(*map(keys_of, document.values()))
    return set().union(*map(keys_of, document)) if isinstance(document, list) else set()


def shredded(documents: list[Any], shape: Any) -> pa.Array:
    """The documents as a file has them; "missing" for NULL."""
    rows: list[Any] = []
    for i, document in enumerate(documents):
        keys = sorted(keys_of(document))
        random.Random(i).shuffle(keys)
        parts = shred(document, shape, keys)
        rows.append(None if document == "missing" else {"metadata": encode_metadata(keys), **parts})
    fields = [pa.field("metadata", pa.binary(), nullable=False), *shredded_type(shape)]
    return pa.array(rows, pa.struct(fields))


def decoded(column: pa.Array) -> list[Any]:
    column.validate(full=True)
    return ["missing" if v is None else decode(v["value"], v["metadata"]) for v in column.to_pylist()]


@given(st.lists(DOCUMENTS | st.just("missing"), max_size=8), st.sampled_from([SHAPE, [SHAPE], pa.int64()]))
def test_whole_columns_are_as_value_by_value(documents: list[Any], shape: Any) -> None:
    column = shredded(["missing", *documents], shape)
    assert decoded(conform(column, V)) == ["missing", *documents]
    assert decoded(conform(column.slice(1), V)) == documents
    lists = pa.ListArray.from_arrays(pa.array([0, len(column)], pa.int32()), column)
    assert decoded(conform(lists, pa.list_(V)).flatten()) == ["missing", *documents]


@given(documents=st.lists(DOCUMENTS | st.just("missing"), max_size=8), cells=st.integers(0, 40))
def test_columns_are_put_together_in_slices(documents: list[Any], cells: int) -> None:
    with patch.object(shredded_variants, "_MOST_CELLS", cells):
        assert decoded(conform(shredded([*documents, {"a": 1}], SHAPE), V)) == [*documents, {"a": 1}]


def test_the_memory_does_not_grow_with_rows_of_other_keys() -> None:
    """Each row has a key of its own, so that no two rows share metadata."""
    names = {f"k{i:03}": pa.int64() for i in range(100)}
    column = shredded([{f"u{r:05}": 1, "k007": r} for r in range(2_000)], names)

    def peak(cells: int) -> int:
        with patch.object(shredded_variants, "_MOST_CELLS", cells):
            tracemalloc.start()
            try:
                conform(column, V)
                return tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()

    assert peak(20_000) < peak(2**30) / 4


def test_values_of_every_type() -> None:
    columns = {
        "i": pa.array([-128, 127, None], pa.int8()),
        "s": pa.array([300, -129, None], pa.int16()),
        "f": pa.array([1.5, -0.0, None], pa.float32()),
        "d": pa.array([Decimal("1.25"), Decimal("-9999999.99"), None], pa.decimal128(9, 2)),
        "e": pa.array([Decimal("1.25"), Decimal("-9999999999999999.99"), None], pa.decimal128(18, 2)),
        "m": pa.array([Decimal("9" * 38), Decimal("-1"), None], pa.decimal128(38, 0)),
        "n": pa.array([Decimal("1e-20"), Decimal(f"-0.{'9' * 38}"), None], pa.decimal128(38, 38)),
        "b": pa.array([b"\0\xff", b"", None], pa.binary()),
        "y": pa.array([-1, 19000, None], pa.date32()),
        "t": pa.array([-1, 2**60, None], pa.timestamp("us", "UTC")),
        "u": pa.array([-1, 2**40, None], pa.timestamp("ms")),
    }
    names = list(columns)
    parts = [pa.StructArray.from_arrays([c], fields=[pa.field("typed_value", c.type)]) for c in columns.values()]
    typed = pa.StructArray.from_arrays(parts, names=names)
    metadata = pa.array([encode_metadata(names)] * 3)
    column = pa.StructArray.from_arrays([metadata, typed], names=["metadata", "typed_value"])
    first, second, none = decoded(conform(column, V))
    assert first == {
        **{n: c[0].as_py() for n, c in columns.items() if n not in "ytu"},
        "y": -1,
        "t": -1,
        "u": -1000,
    }
    assert second["u"] == 2**40 * 1000
    assert np.signbit(second["f"])
    assert [second[n] for n in "eisdmn"] == [columns[n][1].as_py() for n in "eisdmn"]
    assert none == {}


def test_more_fields_and_elements_than_a_byte_counts() -> None:
    wide = {f"k{i:03}": i for i in range(300)}
    documents = [{"l": list(range(70_000)), **wide}, {"l": [0] * 255}, {"l": [{}] * 256}]
    assert decoded(conform(shredded(documents, {"l": [pa.int64()], "k007": pa.int64()}), V)) == documents


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({}, "neither a value nor a typed value"),
        ({"value": encode(5, []), "typed_value": {"a": {}}}, "is not an object"),
        ({"value": encode({"a": 1}, ["a"]), "typed_value": {"a": {"typed_value": 1}}}, "twice"),
        ({"typed_value": {"b": {"typed_value": "x"}}}, "does not list"),
        ({"value": encode({"b": 1}, ["a", "b"]), "typed_value": {"a": {}}}, "does not list"),
        ({"value": encode({"a": 1}, ["a"])[:5], "typed_value": {"b": {}}}, "ends too early"),
        ({"metadata": b"\1\xff", "typed_value": {"a": {}}}, "ends too early"),
        ({"metadata": b"", "typed_value": {"a": {}}}, "unknown version"),
    ],
)
def test_damaged_ones_are_refused(parts: dict[str, Any], why: str) -> None:
    shape = {"a": pa.int64(), "b": pa.string()}
    fields = [pa.field("metadata", pa.binary()), *shredded_type(shape)]
    column = pa.array([{"metadata": encode_metadata(["a"]), **parts}], pa.struct(fields))
    with pytest.raises(ValueError, match=why):
        conform(column, V)


@given(st.data())
def test_changed_bytes_never_hang_nor_crash(data: st.DataObject) -> None:
    document = {"a": 1, "rest": {"x": [1, "a"]}, "z": "text"}
    row = shredded([document], {"a": pa.int64()}).to_pylist()[0]
    for part in ("metadata", "value"):
        offset = data.draw(st.integers(0, len(row[part]) - 1))
        row[part] = row[part][:offset] + bytes([data.draw(st.integers(0, 255))]) + row[part][offset + 1 :]
    column = pa.array([row], shredded([document], {"a": pa.int64()}).type)
    with suppress(ValueError):
        conform(column, V).validate(full=True)
