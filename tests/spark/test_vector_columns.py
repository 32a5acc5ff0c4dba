"""A table with a VECTOR column in SQL: the other columns are read, the column is refused by its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException


def rows(spark: Any, statement: str) -> list[Any]:
    return [tuple(row) for row in spark.sql(statement).collect()]


def test_other_columns_of_a_table_with_vectors(spark: Any, warehouse: str) -> None:
    spark.sql("CREATE TABLE vectors (v ARRAY<FLOAT>, k INT, name STRING)")
    spark.sql("INSERT INTO vectors VALUES (ARRAY(0.5f, 1.5f), 1, 'a'), (NULL, 2, 'b')")
    path = Path(warehouse, "default.db", "vectors", "schema", "schema-0")
    node = json.loads(path.read_text())
    node["fields"][0]["type"] = {"type": "VECTOR", "element": "FLOAT", "length": 2}
    path.write_text(json.dumps(node))
    spark.catalog.refreshTable("vectors")
    assert rows(spark, "SELECT k, name FROM vectors ORDER BY k") == [(1, "a"), (2, "b")]
    assert rows(spark, "SELECT name FROM vectors WHERE k = 2") == [("b",)]
    assert rows(spark, "SELECT count(*), max(k) FROM vectors") == [(2, 2)]
    assert ("v", "array<float>") in [r[:2] for r in rows(spark, "DESCRIBE vectors")]
    for statement in ("SELECT * FROM vectors", "SELECT v FROM vectors", "SELECT k FROM vectors WHERE v IS NULL"):
        with pytest.raises(PySparkException, match=r"Column 'v' of table .*vectors is of type VECTOR<FLOAT, 2>"):
            spark.sql(statement).collect()
    with pytest.raises(PySparkException, match="cannot be written: column 'v' is of type VECTOR<FLOAT, 2>"):
        spark.sql("INSERT INTO vectors VALUES (ARRAY(0.5f, 1.5f), 3, 'c')")
    assert rows(spark, "SELECT count(*) FROM vectors") == [(2,)]
