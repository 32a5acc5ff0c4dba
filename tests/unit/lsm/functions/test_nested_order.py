"""Nested rows of a key come in the order of Java's HashMap, as every version of Paimon's Java leaves them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.lsm.functions.field_options import FieldOptions
from paimon_core.lsm.functions.registry import field_function
from paimon_core.lsm.functions.steps import ADD, RETRACT, Groups, Steps
from paimon_core.options import TableOptions
from paimon_core.spec.binary_row import encode_body
from paimon_core.spec.hashing.murmur import murmur3_row
from paimon_core.spec.types import INT, STRING, CollectionType, DataField, Kind, RowType

Row = dict[str, Any]
KEY = (STRING, INT)
ROW = RowType(
    fields=tuple(DataField(id=i, name=n, type=t) for i, (n, t) in enumerate(zip("abv", (*KEY, INT), strict=True)))
)
FIELD = DataField(id=9, name="u", type=CollectionType(Kind.ARRAY, element=ROW))
ARROW = pa.list_(pa.struct([("a", pa.string()), ("b", pa.int32()), ("v", pa.int32())]))

keys = st.tuples(
    st.none() | st.sampled_from(["", "a", "b", "a text of more than a word"]), st.none() | st.integers(0, 9)
)
tables = st.lists(st.tuples(keys, st.none() | st.integers(0, 9)).map(lambda r: {"a": r[0][0], "b": r[0][1], "v": r[1]}))
steps_of_a_key = st.lists(st.tuples(st.sampled_from([ADD, ADD, ADD, RETRACT]), tables), min_size=2, max_size=4)


class JavaMap:
    """Buckets of a HashMap: 16 of them, then twice as many each time three quarters are in use.

    `put` adds a key at the end of its bucket and grows the map afterwards. `compute` looks whether the map must grow
    first, and adds a key in front.
    """

    def __init__(self) -> None:
        self.buckets: list[list[tuple[tuple[Any, Any], Row]]] = [[] for _ in range(16)]

    def put(self, key: tuple[Any, Any], row: Row) -> None:
        bucket = self._bucket(key)
        for i, (other, _) in enumerate(bucket):
            if other == key:
                bucket[i] = key, row
                return
        bucket.append((key, row))
        self._grow()

    def compute(self, key: tuple[Any, Any], row: Row) -> None:
        self._grow()
        if self.get(key) is None:
            self._bucket(key).insert(0, (key, row))
        else:
            self.put(key, row)

    def _grow(self) -> None:
        entries = [e for b in self.buckets for e in b]
        if 4 * len(entries) > 3 * len(self.buckets):
            self.buckets = [[] for _ in range(2 * len(self.buckets))]
            for entry in entries:
                self._bucket(entry[0]).append(entry)

    def remove(self, key: tuple[Any, Any]) -> None:
        bucket = self._bucket(key)
        bucket[:] = [e for e in bucket if e[0] != key]

    def get(self, key: tuple[Any, Any]) -> Row | None:
        return next((row for other, row in self._bucket(key) if other == key), None)

    def rows(self) -> list[Row]:
        return [row for bucket in self.buckets for _, row in bucket]

    def _bucket(self, key: tuple[Any, Any]) -> list[tuple[tuple[Any, Any], Row]]:
        number = murmur3_row(encode_body(KEY, key)) & 0xFFFFFFFF
        return self.buckets[(number ^ number >> 16) & (len(self.buckets) - 1)]


def merged(name: str, steps: list[tuple[int, list[Row]]]) -> list[Row] | None:
    options = TableOptions({"fields.u.nested-key": "a,b"})
    function = field_function(FIELD, name, FieldOptions("u", options))
    column = pa.array([rows for _, rows in steps], ARROW)
    ops = np.array([op for op, _ in steps], dtype=np.int8)
    groups = Groups(np.array([0]), len(steps))
    result: list[Row] | None = function(column, Steps(np.arange(len(steps)), groups, ops)).to_pylist()[0]
    return result


def key_of(row: Row) -> tuple[Any, Any]:
    return row["a"], row["b"]


@given(steps_of_a_key)
def test_nested_update(steps: list[tuple[int, list[Row]]]) -> None:
    expected: list[Row] | None = None
    for op, given_rows in steps:
        if op == RETRACT and expected is None:
            continue
        held = JavaMap()
        for row in expected or []:
            held.put(key_of(row), row)
        for row in given_rows:
            if op == RETRACT:
                held.remove(key_of(row))
            else:
                held.put(key_of(row), row)
        expected = held.rows()
    assert merged("nested_update", steps) == expected


@given(st.lists(tables, min_size=2, max_size=3))
def test_nested_partial_update(given_tables: list[list[Row]]) -> None:
    expected: list[Row] = []
    for rows in given_tables:
        held = JavaMap()
        for row in expected + rows:
            old = held.get(key_of(row)) or dict.fromkeys("abv")
            held.compute(key_of(row), {n: old[n] if v is None else v for n, v in row.items()})
        expected = held.rows()
    assert merged("nested_partial_update", [(ADD, rows) for rows in given_tables]) == expected
