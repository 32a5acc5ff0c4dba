"""The nearest rows of each vector of a batch, as a worker returns them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import ArrayType, FloatType, IntegerType, StructField, StructType

from paimon_core.arrow.nearest import VectorQuery
from paimon_core.errors import InvalidDataError, InvalidOptionError
from paimon_core.spec.split import DATA_SPLIT
from paimon_sql import open_catalog
from paimon_sql.spark.statements.nearest_rows import nearest_rows

COLUMNS = StructType([StructField("k", IntegerType()), StructField("v", ArrayType(FloatType()))])


@pytest.fixture
def search(tmp_path: Path) -> Any:
    schema = pa.schema([("k", pa.int32()), ("v", pa.list_(pa.float32()))])
    table = open_catalog(str(tmp_path)).create_table("default.t", schema)
    for first in (0, 3):
        table.append([{"k": k, "v": [k, 0]} for k in range(first, first + 3)])
    splits = tuple(DATA_SPLIT.encode(s) for s in table.inner.plan(table.inner.latest_snapshot()).splits)
    query = VectorQuery("v", (0.0,), 2)  # a query for an ARRAY does not know the length of its vectors

    def found(vectors: list[Any]) -> list[Any]:
        rows = nearest_rows(table.inner.store, splits, COLUMNS, query, pa.array(vectors, pa.list_(pa.float32())))
        return [[row["k"] for row in of_one] for of_one in rows.to_pylist()]

    return found


def test_each_vector_has_its_rows(search: Any) -> None:
    assert search([[4.9, 0], None, [0, 0]]) == [[5, 4], [], [0, 1]]
    assert search([None]) == [[]]
    assert search([]) == []


@pytest.mark.parametrize("vectors", [[[1.0], [1.0, 2.0]], [[1.0, 2.0, 3.0]]])
def test_vectors_of_other_lengths(search: Any, vectors: list[Any]) -> None:
    with pytest.raises(InvalidDataError, match="1 to 2 elements|search is for a vector of 3"):
        search(vectors)


@pytest.mark.parametrize("element", [None, float("nan"), float("inf")])
def test_elements_that_are_not_numbers(search: Any, element: float | None) -> None:
    with pytest.raises(InvalidOptionError, match="list of finite numbers"):
        search([[1.0, element]])
