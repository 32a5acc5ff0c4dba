"""Spans of statements in Spark: Spark calls Python in other threads, and the spans are one tree all the same."""

from __future__ import annotations

import sys

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from paimon_core.tracing import current_parent, span
from paimon_sql.spark.spans import TRACE_PARENT
from tests.support.traces import MODULE, Traces, attributes
from tests.support.waiting import wait_until

pytestmark = pytest.mark.spark


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> Traces:
    found = Traces()
    monkeypatch.setitem(sys.modules, MODULE, found)
    return found


def test_statements_are_trees(spark: SparkSession, traces: Traces) -> None:
    spark.sql("CREATE TABLE traced (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '1')")
    with span("program"):
        parent = current_parent()
        assert parent is not None
        spark.sparkContext.setLocalProperty(TRACE_PARENT, parent)
        spark.sql("INSERT INTO traced VALUES (1, 'hunter2'), (2, 'b')")
        spark.sparkContext.setLocalProperty(TRACE_PARENT, None)  # type: ignore[arg-type]
    spark.sql("UPDATE traced SET v = 'hunter3' WHERE k = 1")
    spark.sql("CALL sys.compact('traced')")
    assert sorted(map(tuple, spark.table("traced").collect())) == [(1, "hunter3"), (2, "b")]
    wait_until(
        lambda: {"plan < query", "plan < query < statement"} <= traces.chains
    )  # Spark reports the end of a query a moment later
    assert {
        "commit < write < program",
        "commit < write < query < statement",
        "commit < compaction < statement",
        "plan < query < statement",
        "plan < query",
    } <= traces.chains
    kinds = [attributes(s)["kind"] for s in traces.named("statement")]
    assert kinds == ["UpdateTable", "CALL compact"]
    assert attributes(traces.named("statement")[0])["table"] == "default.traced"
    assert [attributes(s)["snapshot"] for s in traces.named("commit")] == [1, 2, 3]
    assert "hunter" not in str([s.to_json() for s in traces.ended])
    assert spark.sparkContext.getLocalProperty(TRACE_PARENT) is None


def test_queries_that_fail_and_queries_that_are_explained(spark: SparkSession, traces: Traces) -> None:
    spark.sql("CREATE TABLE queried (k INT, v STRING)")
    spark.sql("INSERT INTO queried VALUES (1, 'hunter2')")
    spark.sql("EXPLAIN SELECT * FROM queried WHERE k = 1").collect()
    assert traces.named("query") == []
    with pytest.raises(PySparkException):
        spark.sql("SELECT assert_true(v = 'b') FROM queried WHERE k > 0").collect()
    wait_until(lambda: traces.named("query"))
    (found,) = traces.named("query")
    assert (found.attributes or {})["error.type"] == "failed"
    assert "hunter" not in str([s.to_json() for s in traces.ended])
