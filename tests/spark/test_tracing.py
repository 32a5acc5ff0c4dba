"""Spans of statements in Spark: Spark calls Python in other threads, and the spans are one tree all the same."""

from __future__ import annotations

import sys

import pytest
from pyspark.sql import SparkSession

from paimon_core.tracing import current_parent, span
from paimon_sql.spark.spans import TRACE_PARENT
from tests.support.traces import MODULE, Traces, attributes

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
    assert {
        "commit < write < program",
        "commit < write < statement",
        "commit < compaction < statement",
        "plan < statement",
        "plan",
    } <= traces.chains
    kinds = [attributes(s)["kind"] for s in traces.named("statement")]
    assert kinds == ["UpdateTable", "CALL compact"]
    assert attributes(traces.named("statement")[0])["table"] == "default.traced"
    assert [attributes(s)["snapshot"] for s in traces.named("commit")] == [1, 2, 3]
    assert "hunter" not in str([s.to_json() for s in traces.ended])
    assert spark.sparkContext.getLocalProperty(TRACE_PARENT) is None
