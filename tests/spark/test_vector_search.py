"""vector_search in SQL: the nearest rows, with conditions before the search, over merges and deletions."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import PySparkException

SCORE = "__paimon_search_score"
TABLES = {
    "append": "'deletion-vectors.enabled' = 'true'",
    "keyed": "'primary-key' = 'k', 'bucket' = '2'",
}


def rows(spark: Any, statement: str) -> list[Any]:
    return [tuple(row) for row in spark.sql(statement).collect()]


def search(arguments: str, rest: str = "") -> str:
    return f"SELECT k FROM vector_search('t', 'v', {arguments}) {rest}"


@pytest.mark.parametrize("kind", TABLES)
def test_the_nearest_rows(spark: Any, kind: str) -> None:
    columns = "k INT, p STRING, v ARRAY<FLOAT> COMMENT '__VECTOR_FIELD;2'"
    spark.sql(f"CREATE TABLE t ({columns}) TBLPROPERTIES ({TABLES[kind]})")
    for first in (0, 5):
        made = "CAST(id AS INT), IF(id % 2 = 0, 'a', 'b'), array(CAST(id AS FLOAT), 0f)"
        spark.sql(f"INSERT INTO t SELECT {made} FROM range({first}, {first + 5})")
    spark.sql("INSERT INTO t VALUES (99, 'a', NULL)")
    assert rows(spark, search("array(6.75f, 0f), 3")) == [(7,), (6,), (8,)]
    assert rows(spark, search("array(6.75, 0), 2", "WHERE p = 'b' AND k <> 7 ORDER BY k")) == [(5,), (9,)]
    found = f"SELECT s.p, s.{SCORE} FROM vector_search('t', 'v', array(1, 1), 1, map('metric', 'inner_product')) s"
    assert rows(spark, found) == [("b", 9.0)]
    assert rows(spark, "SELECT * FROM vector_search('t', 'v', array(9, 0), 1)") == [(9, "b", [9.0, 0.0])]
    assert rows(spark, "SELECT count(*), max(k) FROM vector_search('t', 'v', array(0, 0), 4)") == [(4, 3)]
    assert rows(spark, f"{search('array(0, 0), 4')} WHERE {SCORE} > 0.4 ORDER BY k") == [(0,), (1,)]
    assert rows(spark, search("array(9, 0), 5", "LIMIT 2")) == [(9,), (8,)]
    spark.sql("DELETE FROM t WHERE k IN (7, 8)")
    assert rows(spark, search("array(6.75f, 0f), 3")) == [(6,), (5,), (9,)]
    spark.sql("CREATE TEMPORARY VIEW near AS SELECT k FROM vector_search('t', 'v', array(0, 0), 2)")
    joined = "SELECT t.k, t.p FROM t JOIN near ON t.k = near.k ORDER BY t.k"
    assert rows(spark, joined) == [(0, "a"), (1, "b")]


def test_what_cannot_be_searched(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT, v ARRAY<FLOAT> COMMENT '__VECTOR_FIELD;2')")
    assert rows(spark, search("array(1, 2), 3")) == []
    for arguments, said in (
        ("'t', 'nope', array(1), 2", "no column 'nope' to search in"),
        ("'t', 'k', array(1), 2", "'k' of type INT has no vectors"),
        ("'t', 'v', array(1), 2", "has 1 elements, but the vectors of column 'v' have 2"),
        ("'t', 'v', array(1, 2), 0", "cannot return 0 rows"),
        ("'t', 'v', array(1, 2), 1, map('metric', 'x')", "'x' is unknown"),
    ):
        with pytest.raises(PySparkException, match=said):
            spark.sql(f"SELECT * FROM vector_search({arguments})").collect()
    with pytest.raises(PySparkException, match="in a search only"):
        spark.sql(f"SELECT {SCORE} FROM t").collect()


@pytest.mark.parametrize("table", ["t$audit_log", "t$ro", "t$files", "sys.tables", "f"])
def test_only_tables_with_snapshots_are_searched(spark: Any, table: str) -> None:
    """Others would return all rows."""
    spark.sql("CREATE TABLE t (k INT, v ARRAY<FLOAT> COMMENT '__VECTOR_FIELD;2')")
    spark.sql("CREATE TABLE f (k INT, v ARRAY<FLOAT>) TBLPROPERTIES ('type' = 'format-table')")
    with pytest.raises(PySparkException, match="vector_search cannot search"):
        spark.sql(f"SELECT * FROM vector_search('{table}', 'v', array(1, 2), 1)").collect()


@pytest.mark.parametrize(
    "arguments",
    [
        '{"column": ["v"], "vector": [0.0, 0.0], "k": 1, "options": {}}',
        '{"column": "v", "vector": ["a"], "k": 1, "options": {}}',
        '{"column": "v", "vector": [0.0, 0.0], "k": 1.5, "options": {}}',
        '{"column": "v", "vector": [0.0, 0.0], "k": 1, "options": {"metric": 3}}',
    ],
)
def test_arguments_that_no_call_writes_are_refused(spark: Any, arguments: str) -> None:
    spark.sql("CREATE TABLE t (k INT, v ARRAY<FLOAT> COMMENT '__VECTOR_FIELD;2')")
    with pytest.raises(PySparkException, match="call vector_search in FROM"):
        spark.sql(f"SELECT * FROM t WITH ('vector-search.arguments' = '{arguments}')").collect()
