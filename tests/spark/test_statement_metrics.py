"""`paimon_sql.metrics()` counts the statements of a session by kind and result, and their errors by condition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import PySparkException

import paimon_sql

pytestmark = pytest.mark.spark


def counted(act: Callable[[], Any]) -> dict[str, float]:
    """Return how much the counters of statements rise."""
    before = paimon_sql.metrics().as_dict()
    act()
    after = paimon_sql.metrics().as_dict()
    found = {name: value - before.get(name, 0) for name, value in after.items() if "statement" in name}
    return {name.removeprefix("paimon_sql_"): rise for name, rise in found.items() if rise}


def finished(kind: str) -> str:
    return f'statements_total{{kind="{kind}",server="session",state="finished"}}'


def failed(kind: str) -> str:
    return f'statements_total{{kind="{kind}",server="session",state="failed"}}'


def test_statements_by_kind(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT, v INT CHECK (v > 0), PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '1')")

    def run() -> None:
        spark.sql("INSERT INTO t VALUES (1, 1), (2, 2)")
        spark.sql("/* why */ MERGE INTO t USING (SELECT 1 AS k) s ON t.k = s.k WHEN MATCHED THEN DELETE")
        spark.sql("SELECT * FROM t WHERE k = :k", args={"k": 2}).collect()
        spark.sql("ANALYZE TABLES IN default COMPUTE STATISTICS")  # a statement for each table, of ours
        spark.newSession().sql("SHOW DATABASES")

    kinds = ("insert", "merge", "select", "analyze", "show")
    assert counted(run) == {finished(kind): 1 for kind in kinds}


@pytest.mark.parametrize(
    ("statement", "kind", "condition"),
    [
        ("SELECT * FROM nothing", "select", "TABLE_OR_VIEW_NOT_FOUND"),
        ("hunter2 is no statement", "other", "PARSE_SYNTAX_ERROR"),
        ("DELETE FROM nothing", "delete", "TABLE_OR_VIEW_NOT_FOUND"),
    ],
)
def test_errors_by_condition(spark: Any, statement: str, kind: str, condition: str) -> None:
    def run() -> None:
        with pytest.raises(PySparkException):
            spark.sql(statement)

    assert counted(run) == {failed(kind): 1, f'statement_errors_total{{condition="{condition}"}}': 1}
    assert "hunter2" not in paimon_sql.metrics().prometheus_text()


def test_errors_of_rows(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT NOT NULL)")

    def run() -> None:
        with pytest.raises(PySparkException):
            spark.sql("INSERT INTO t SELECT CAST(id AS INT) / 0 FROM range(3)")

    found = counted(run)
    assert found.pop(failed("insert")) == 1 and list(found.values()) == [1]
