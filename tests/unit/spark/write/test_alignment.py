"""The nested fields of a value and of its column, by their names."""

from __future__ import annotations

import pytest
from pyspark.sql.types import ArrayType, IntegerType, StringType, StructType

from paimon_sql.spark.write.alignment import has_same_fields, has_same_names


def row(*names: str) -> StructType:
    found = StructType()
    for name in names:
        found = found.add(name, StringType() if name.isupper() else IntegerType())
    return found


@pytest.mark.parametrize(
    ("source", "target", "fields", "order"),
    [
        (row("a", "b"), row("A", "b"), True, True),
        (row("b", "a"), row("a", "b"), True, False),
        (row("a", "A"), row("a", "A"), True, True),
        (row("a", "A"), row("A", "a"), True, False),
        (row("a", "A"), row("a"), False, False),
        (row("a"), row("a", "A"), False, False),
        (row("Ab", "aB"), row("ab"), False, False),
    ],
)
def test_fields_that_differ_in_case_only_are_not_mixed_up(
    source: StructType, target: StructType, fields: bool, order: bool
) -> None:
    assert has_same_fields(source, target) is fields and has_same_names(source, target) is order
    assert has_same_names(ArrayType(source), ArrayType(target)) is order


def test_a_source_may_lack_fields() -> None:
    assert has_same_fields(row("A"), row("a", "A"), some=True)
    assert not has_same_fields(row("A", "b"), row("a", "A"), some=True)
