"""Sizes of the scans that the driver reads: Spark broadcasts their few rows."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.spark

LOCAL = {
    "a system table": ("SELECT snapshot_id AS id FROM `t$snapshots`", 2),
    "a lookup": ("SELECT id, a FROM t WHERE id IN (1, 2)", 2),
    "a search": ("SELECT id FROM vector_search('t', 'v', array(1.0, 0.0), 1)", 1),
}


@pytest.mark.parametrize("query, rows", LOCAL.values(), ids=LOCAL)
def test_few_rows_are_broadcast(spark: Any, query: str, rows: int) -> None:
    spark.sql(
        "CREATE TABLE t (id BIGINT, a INT, v ARRAY<FLOAT>) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1', "
        "'write-only' = 'true', 'vector-field' = 'v', 'field.v.vector-dim' = '2')"
    )
    for change in range(2):
        spark.sql(f"INSERT INTO t SELECT id, {change}, array(float(id), 1.0F) FROM range(100)")
    execution = spark.sql(query)._jdf.queryExecution()
    assert "LocalTableScan" in execution.executedPlan().toString()
    assert int(str(execution.optimizedPlan().stats().sizeInBytes())) < 2**20
    joined = spark.sql(f"SELECT count(*) FROM range(100) AS r LEFT JOIN ({query}) AS few ON r.id = few.id AND r.id < 3")
    assert "BroadcastHashJoin" in joined._jdf.queryExecution().executedPlan().toString()
    assert joined.first()[0] == 100 and spark.sql(query).count() == rows
