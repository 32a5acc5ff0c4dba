"""Nested arrays as Arrow for Java before 19 makes them: lists and maps of no entries without an offset."""

from __future__ import annotations

import pyarrow as pa
import pytest

from paimon_core.arrow.columns import with_offsets

MAPS = pa.map_(pa.string(), pa.int32())


def without_offsets(kind: pa.DataType) -> pa.Array:
    """An array of no entries whose buffer of offsets is empty, as are those below it."""
    if pa.types.is_map(kind):
        inner = pa.array([], pa.struct([kind.key_field, kind.item_field]))
    else:
        inner = (
            without_offsets(kind.value_type) if pa.types.is_nested(kind.value_type) else pa.array([], kind.value_type)
        )
    return pa.Array.from_buffers(kind, 0, [None, pa.py_buffer(b"")], children=[inner])


def outer(inner: pa.Array) -> pa.Array:
    """A list column of a NULL and an empty list over `inner`."""
    offsets = pa.py_buffer(pa.array([0, 0, 0], pa.int32()).buffers()[1].to_pybytes()[:12])
    return pa.Array.from_buffers(pa.list_(inner.type), 2, [pa.py_buffer(b"\x02"), offsets], children=[inner])


@pytest.mark.parametrize("kind", [MAPS, pa.list_(pa.int32()), pa.list_(MAPS)])
def test_lists_of_nothing_have_an_offset(kind: pa.DataType) -> None:
    broken = outer(without_offsets(kind))
    sound = with_offsets(broken)
    assert sound.values.buffers()[1].size >= 4
    assert sound.nbytes >= 0, "this is where a process ended"
    assert sound.to_pylist() == [None, []]
    sound.validate(full=True)


def test_structs_are_looked_into() -> None:
    broken = outer(without_offsets(pa.list_(pa.int32())))
    column = pa.StructArray.from_arrays([pa.array([1, 2]), broken], names=["a", "b"], mask=pa.array([False, True]))
    sound = with_offsets(column)
    assert sound.field(1).values.buffers()[1].size >= 4
    assert sound.to_pylist() == [{"a": 1, "b": None}, None]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2]),
        pa.array(["a", None]),
        pa.array([[1], None, []], pa.list_(pa.int32())),
        pa.array([[[("a", 1)]], None], pa.list_(MAPS)),
        pa.array([], pa.list_(pa.int32())),
        pa.array([{"a": [1]}, None], pa.struct({"a": pa.list_(pa.int32())})),
    ],
)
def test_sound_columns_stay_the_very_same(column: pa.Array) -> None:
    assert with_offsets(column) is column


def test_slices_keep_their_rows() -> None:
    column = pa.array([[1], [2, 3], None, []], pa.list_(pa.int32())).slice(1, 3)
    assert with_offsets(column).to_pylist() == [[2, 3], None, []]
