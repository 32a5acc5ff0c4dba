"""Filters that are pushed down find the same rows as filters that Spark evaluates alone."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.spark

FLOATS = (
    *("FLOAT('-3.4028235E38')", "FLOAT('3.4028235E38')", "FLOAT('0.1')", "FLOAT('-0.0')"),
    *("FLOAT('NaN')", "FLOAT('Infinity')"),
)
OPERATORS = ("=", "<>", "<", "<=", ">", ">=", "<=>")


@pytest.mark.parametrize("options", ["", "TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')"])
def test_floats(spark: Any, options: str) -> None:
    spark.sql(f"CREATE TABLE t (k INT, f FLOAT) {options}")
    for k, f in enumerate(FLOATS):
        spark.sql(f"INSERT INTO t VALUES ({k}, {f}), ({k + 10}, NULL)")
    for value in FLOATS:
        conditions = [f"f {op} {value}" for op in OPERATORS]
        alone = spark.sql(f"SELECT k, {', '.join(conditions)} FROM t").collect()
        pushed = " UNION ALL ".join(f"SELECT k, {i + 1} FROM t WHERE {c}" for i, c in enumerate(conditions))
        expected = [(row[0], i) for row in alone for i in range(1, len(row)) if row[i]]
        assert sorted(map(tuple, spark.sql(pushed).collect())) == sorted(expected), value
