"""Filters that are pushed down find the same rows as filters that Spark evaluates alone."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from paimon_sql import open_catalog

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


def test_times_with_nanoseconds(spark: Any, warehouse: str) -> None:
    """Spark cuts times to microseconds: a filter must not skip a file or a partition by the nanoseconds."""
    schema = pa.schema({"k": pa.int64(), "at": pa.timestamp("ns")})
    rows = pa.table({"k": [1], "at": pa.array([1_700_000_000_123_456_789], pa.timestamp("ns"))})
    catalog = open_catalog(warehouse=warehouse)
    for name, partitioned_by, options in (
        ("plain", [], {"file-index.bloom-filter.columns": "at"}),
        ("partitioned", ["at"], {}),
    ):
        catalog.create_table(f"default.{name}", schema, partitioned_by=partitioned_by, options=options).append(rows)
        for second in ("20.123456", "20.123457"):
            conditions = [f"at {op} TIMESTAMP_NTZ '2023-11-14 22:13:{second}'" for op in OPERATORS]
            alone = spark.sql(f"SELECT {', '.join(conditions)} FROM {name}").first()
            pushed = [spark.sql(f"SELECT k FROM {name} WHERE {c}").collect() for c in conditions]
            assert [bool(found) for found in pushed] == list(alone)
