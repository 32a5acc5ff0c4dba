"""`array_contains` and `arrays_overlap` skip files by indexes of elements, and give Spark's rows."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pyspark.errors import PySparkException

pytestmark = pytest.mark.spark

EVOLVING = "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true', 'deletion-vectors.enabled' = 'true'"
CONDITIONS = [
    "array_contains(tags, 'red')",
    "NOT array_contains(tags, 'red')",
    "arrays_overlap(tags, array('blue', 'gold'))",
    "arrays_overlap(array('blue', CAST(NULL AS STRING)), tags)",
    "arrays_overlap(tags, array(CAST(NULL AS STRING)))",
    "array_contains(tags, 'red') AND array_contains(tags, 'blue')",
    "array_contains(tags, 'gold') OR id = 2",
    "array_contains(tags, 'red') OR probe = 'x'",
    "array_contains(tags, probe)",
    "array_contains(tags, 'RED' COLLATE UTF8_LCASE)",
    "array_contains(numbers, 3)",
    "arrays_overlap(numbers, array(5, 8))",
    "array_contains(doubles, double('NaN'))",
    "array_contains(doubles, 0.0D)",
    "NOT arrays_overlap(doubles, array(0.0D))",
    "array_contains(moments, TIMESTAMP_NTZ '2024-01-02 03:04:05.678901')",
    "array_contains(nested.inner, 'red')",
]
COLUMNS = """id INT, tags ARRAY<STRING>, numbers ARRAY<INT>, doubles ARRAY<DOUBLE>, moments ARRAY<TIMESTAMP_NTZ>,
  probe STRING, nested STRUCT<inner: ARRAY<STRING>>"""
ROWS = """(1, array('red', 'blue'), array(1, 3), array(0.5D), array(TIMESTAMP_NTZ '2024-01-02 03:04:05.678901'), 'red',
    named_struct('inner', array('red'))),
  (2, array('red', 'red'), array(5), array(double('NaN')), NULL, 'blue', NULL),
  (3, NULL, NULL, NULL, NULL, 'red', NULL), (4, array(), array(), array(), array(), 'red', NULL),
  (5, array(CAST(NULL AS STRING)), array(CAST(NULL AS INT)), array(0.0D), NULL, 'x', NULL),
  (6, array('gold', CAST(NULL AS STRING)), array(3, 8), array(-0.0D), NULL, 'gold', NULL)"""


def files_of(spark: Any, query: str) -> str:
    """The files kept and all files, as EXPLAIN prints them."""
    found = re.search(r"files (\d+/\d+)", spark.sql(f"EXPLAIN {query}").first()[0])
    assert found
    return found[1]


def ids(spark: Any, condition: str, table: str = "a") -> list[int]:
    return [r[0] for r in spark.sql(f"SELECT id FROM {table} WHERE {condition} ORDER BY id").collect()]


def append(spark: Any, rows: str) -> None:
    """Insert rows as one file."""
    spark.sql(f"INSERT INTO a SELECT /*+ COALESCE(1) */ * FROM VALUES {rows}")


def index(spark: Any, column: str) -> None:
    spark.sql(f"CALL sys.create_global_index(table => 'a', index_column => '{column}', index_type => 'multivalue')")


def test_rows_are_those_of_spark(spark: Any) -> None:
    spark.sql(f"CREATE TABLE a ({COLUMNS}) TBLPROPERTIES ({EVOLVING})")
    spark.sql(
        f"CREATE TABLE keyed ({COLUMNS}) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1', "
        "'deletion-vectors.enabled' = 'true', 'pk-multivalue.index.columns' = 'tags,numbers,doubles,moments')"
    )
    names = "id, tags, numbers, doubles, moments, probe, nested"
    spark.sql(f"CREATE TEMPORARY VIEW given AS SELECT * FROM VALUES {ROWS} AS v({names})")
    spark.sql(f"INSERT INTO keyed VALUES {ROWS}")
    for low in (1, 3, 5):
        spark.sql(f"INSERT INTO a SELECT /*+ COALESCE(1) */ * FROM given WHERE id IN ({low}, {low + 1})")
    for column in ("tags", "numbers", "doubles", "moments"):
        index(spark, column)
    spark.sql("CALL sys.compact(table => 'keyed')")
    kinds = "SELECT count(*) FROM {}$table_indexes WHERE index_type = 'multivalue'"
    assert [spark.sql(kinds.format(t)).first()[0] for t in ("a", "keyed")] == [4, 4]
    answers = spark.sql(f"SELECT id, {', '.join(CONDITIONS)} FROM given ORDER BY id").collect()
    for number, condition in enumerate(CONDITIONS, 1):
        expected = [a[0] for a in answers if a[number]]
        assert (condition, ids(spark, condition)) == (condition, expected)
        if number % 4 == 1:
            assert (condition, ids(spark, condition, "keyed")) == (condition, expected)

    assert files_of(spark, "SELECT * FROM a WHERE array_contains(tags, 'gold')") == "1/3"
    assert files_of(spark, "SELECT * FROM a WHERE array_contains(tags, 'green')") == "0/3"
    assert files_of(spark, "SELECT * FROM a WHERE arrays_overlap(array('gold', 'red'), tags)") == "2/3"
    assert files_of(spark, "SELECT * FROM a WHERE array_contains(tags, 'gold') OR array_contains(numbers, 5)") == "2/3"
    moment = "TIMESTAMP_NTZ '2024-01-02 03:04:05.678901'"
    assert files_of(spark, f"SELECT * FROM a WHERE array_contains(moments, {moment})") == "1/3"
    assert files_of(spark, "SELECT * FROM keyed WHERE array_contains(tags, 'green')") == "0/1"
    assert files_of(spark, "SELECT * FROM a WHERE NOT array_contains(tags, 'gold')") == "3/3"


def test_rows_change(spark: Any) -> None:
    spark.sql(f"CREATE TABLE a (id INT, tags ARRAY<STRING>, n INT) TBLPROPERTIES ({EVOLVING})")
    append(spark, "(1, array('red'), 1), (2, array('blue', 'red'), 2)")
    append(spark, "(3, array('blue'), 3)")
    index(spark, "tags")
    append(spark, "(4, array('red'), 4)")
    assert ids(spark, "array_contains(tags, 'red')") == [1, 2, 4]
    assert files_of(spark, "SELECT * FROM a WHERE array_contains(tags, 'red')") == "2/3"
    spark.sql("DELETE FROM a WHERE array_contains(tags, 'red') AND id = 1")
    spark.sql("UPDATE a SET n = 20 WHERE arrays_overlap(tags, array('red', 'green')) AND id < 4")
    assert ids(spark, "array_contains(tags, 'red') AND n >= 4") == [2, 4]
    with pytest.raises(PySparkException, match="globally indexed columns"):
        spark.sql("UPDATE a SET tags = array('green') WHERE id = 2")
    spark.sql("ALTER TABLE a SET TBLPROPERTIES ('global-index.column-update-action' = 'DROP_PARTITION_INDEX')")
    spark.sql("UPDATE a SET tags = array('green') WHERE id = 2")
    assert ids(spark, "array_contains(tags, 'red')") == [4]
    assert ids(spark, "array_contains(tags, 'green')") == [2]
    index(spark, "tags")
    assert files_of(spark, "SELECT * FROM a WHERE array_contains(tags, 'blue')").startswith("1/")
    assert spark.sql("SELECT count(*) FROM a WHERE array_contains(tags, 'blue')").first()[0] == 1
    for wrong, said in (("n", "INT is not supported"), ("tags,n", "multi-column")):
        with pytest.raises(PySparkException, match=said):
            index(spark, wrong)


def test_searches_keep_the_condition(spark: Any) -> None:
    spark.sql("CREATE TABLE a (id INT, tags ARRAY<STRING>, v ARRAY<FLOAT>)")
    spark.sql(
        "INSERT INTO a SELECT CAST(id AS INT), array(IF(id % 10 = 0, 'x', 'y')), array(FLOAT(id), 1F) FROM range(100)"
    )
    query = "SELECT id FROM vector_search('a', 'v', array(50.4, 1.0), 3) WHERE array_contains(tags, 'x') ORDER BY id"
    assert [r[0] for r in spark.sql(query).collect()] == [40, 50, 60]
