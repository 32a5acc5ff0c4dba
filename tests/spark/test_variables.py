"""Variables `${x}` of statements, which Spark's parser substitutes: also where only we can parse what they are in."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import ParseException

pytestmark = pytest.mark.spark


@pytest.fixture
def table(spark: Any) -> str:
    spark.conf.set("env", "prod")
    spark.sql("CREATE TABLE ${env}_t (k INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '1')")
    spark.sql("INSERT INTO ${hivevar:env}_t VALUES (1), (2)")
    return "prod_t"


def test_names_of_tables_and_of_their_system_tables(spark: Any, table: str) -> None:
    assert [row[0] for row in spark.sql("SELECT k FROM ${env}_t ORDER BY k").collect()] == [1, 2]
    assert [row[0] for row in spark.sql("SELECT snapshot_id FROM ${env}_t$snapshots").collect()] == [1]


def test_statements_that_are_ours(spark: Any, table: str) -> None:
    spark.conf.set("key", "write-only")
    spark.conf.set("version", "1")
    spark.sql("ALTER TABLE ${env}_t SET ('${key}' = 'true')")
    spark.sql("ALTER TABLE ${env}_t CREATE TAG `${env}-1` AS OF VERSION ${version}")
    spark.sql("DELETE FROM ${env}_t WHERE k = ${version}")
    options = dict(tuple(row) for row in spark.sql("SELECT key, value FROM ${env}_t$options").collect())
    assert options["write-only"] == "true"
    assert [row[0] for row in spark.sql("SELECT tag_name FROM prod_t$tags").collect()] == ["prod-1"]
    assert [row[0] for row in spark.table(table).collect()] == [2]


def test_what_is_no_variable_stays(spark: Any) -> None:
    assert spark.sql("SELECT '${' AS a, '$x' AS b").collect() == [("${", "$x")]
    spark.conf.set("spark.sql.variable.substitute", "false")
    with pytest.raises(ParseException):
        spark.sql("SELECT ${env} AS a")
