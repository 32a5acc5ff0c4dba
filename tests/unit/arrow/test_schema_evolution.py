"""Random schemas, random changes: a file written before them reads as a model says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.arrow.schema_evolution import Evolution
from paimon_core.arrow.types import arrow_schema
from paimon_core.errors import InvalidDataError
from paimon_core.expressions.predicate import And, Compare
from paimon_core.spec.types import BIGINT, INT, STRING, CollectionType, DataField, DataType, Kind, MapType, RowType
from tests.support.examples import examples


def field(field_id: int, name: str, data_type: DataType) -> DataField:
    return DataField(id=field_id, name=name, type=data_type)


def row(*fields: DataField) -> RowType:
    return RowType(fields=fields)


THEN = row(field(1, "a", INT), field(2, "b", STRING))
NOW = row(field(3, "new", INT), field(2, "a", STRING), field(1, "b", STRING))
ROWS = [{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}]
LATER = [{"new": None, "a": "x", "b": "1"}, None, {"new": None, "a": "y", "b": None}]


@pytest.mark.parametrize(
    ("then", "now", "values", "expected"),
    [
        (THEN, NOW, ROWS, LATER),
        (
            CollectionType(Kind.ARRAY, element=THEN),
            CollectionType(Kind.ARRAY, element=NOW),
            [ROWS, None],
            [LATER, None],
        ),
        (MapType(key=INT, value=THEN), MapType(key=INT, value=NOW), [[(1, ROWS[0])], None], [[(1, LATER[0])], None]),
        (row(field(9, "r", THEN)), row(field(9, "s", NOW)), [{"r": ROWS[0]}], [{"s": LATER[0]}]),
    ],
)
def test_nested_fields_go_by_id(then: DataType, now: DataType, values: list[Any], expected: list[Any]) -> None:
    old, new = (
        (field(0, "v", then), field(5, "k", INT)),
        (field(5, "key", BIGINT), field(0, "w", now), field(7, "z", INT)),
    )
    evolution = Evolution(old, new)
    assert evolution.stored == (old[1], old[0])
    numbers = list(range(len(values)))
    batch = pa.RecordBatch.from_arrays(
        [pa.array(numbers, pa.int32()), pa.array(values, arrow_schema(old).field("v").type)],
        schema=arrow_schema(evolution.stored),
    )
    for part in (batch, batch.slice(1)):
        found = evolution.apply(part)
        assert found.schema.equals(arrow_schema(new), check_metadata=True)
        skipped = len(values) - part.num_rows
        assert found.column("key").to_pylist() == numbers[skipped:]
        assert found.column("w").to_pylist() == expected[skipped:]
        assert found.column("z").null_count == part.num_rows


def test_predicates_keep_to_columns_whose_values_are_stored() -> None:
    old = (field(1, "a", INT), field(2, "b", INT), field(3, "c", INT))
    new = (field(2, "a", INT), field(3, "c", BIGINT), field(9, "b", INT))
    predicate = And((Compare("a", "=", 1), Compare("c", "=", 2), Compare("b", "=", 3)))
    assert Evolution(old, new).predicate_then(predicate) == Compare("b", "=", 1)
    assert Evolution(old, new).predicate_then(Compare("c", "=", 2)) is None


def test_a_value_that_does_not_convert_names_its_column() -> None:
    evolution = Evolution((field(1, "a", STRING),), (field(1, "b", INT),))
    batch = pa.RecordBatch.from_arrays([pa.array(["x"])], schema=arrow_schema(evolution.stored))
    with pytest.raises(InvalidDataError, match="'b' was STRING and cannot be read as INT"):
        evolution.apply(batch)


@settings(max_examples=examples(100))
@given(st.lists(st.integers(0, 5), unique=True, min_size=1), st.lists(st.integers(0, 9), unique=True, min_size=1))
def test_any_selection_of_columns(stored: list[int], wanted: list[int]) -> None:
    then = tuple(field(i, f"then{i}", INT) for i in stored)
    now = tuple(replace(field(i, f"now{i}", BIGINT if i % 2 else INT)) for i in wanted)
    evolution = Evolution(then, now)
    columns = [pa.array([f.id, None, f.id * 10], pa.int32()) for f in evolution.stored]
    batch = (
        pa.RecordBatch.from_arrays(columns, schema=arrow_schema(evolution.stored))
        if columns
        else pa.RecordBatch.from_struct_array(pa.array([{}] * 3, pa.struct([])))
    )
    expected = {f"now{i}": [i, None, i * 10] if i in stored else [None] * 3 for i in wanted}
    assert evolution.apply(batch).to_pydict() == expected
