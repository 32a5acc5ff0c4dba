"""Java's connector reads and writes a table with generated columns as a plain one, and keeps their expressions."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from tests.interop.engines import Engines
from tests.support.spark_versions import since


@since(4, 1, "Spark 4.0 checks no constraints")
@pytest.mark.parametrize("keyed", [False, True])
def test_java_passes_over_generated_columns(engines: Engines, keyed: bool) -> None:
    options = "TBLPROPERTIES ('primary-key' = 'id,dt', 'bucket' = '1')" if keyed else ""
    engines.run(
        "ours",
        "CREATE TABLE t (id INT, ts TIMESTAMP_NTZ, dt DATE GENERATED ALWAYS AS (CAST(ts AS DATE))) "
        f"PARTITIONED BY (dt) {options}",
        "INSERT INTO t (id, ts) VALUES (1, TIMESTAMP_NTZ '2024-03-05 12:00:00')",
    )
    engines.run("java", "INSERT INTO t VALUES (2, TIMESTAMP_NTZ '2024-03-06 12:00:00', DATE '2024-03-06')")
    first, second, third = (f"2024-03-0{day}" for day in (5, 6, 7))
    engines.both("SELECT id, CAST(dt AS STRING) FROM t", [(1, first), (2, second)])
    engines.both("SELECT id, CAST(dt AS STRING) FROM t WHERE ts > TIMESTAMP_NTZ '2024-03-06 00:00:00'", [(2, second)])
    engines.run("java", "ALTER TABLE t ADD COLUMN note STRING")
    with pytest.raises(PySparkException, match="CHECK_CONSTRAINT_VIOLATION"):
        engines.run("ours", "INSERT INTO t VALUES (3, TIMESTAMP_NTZ '2024-03-07 12:00:00', DATE '2024-03-08', 'x')")
    engines.run("ours", "INSERT INTO t (id, ts) VALUES (3, TIMESTAMP_NTZ '2024-03-07 12:00:00')")
    engines.both("SELECT id, CAST(dt AS STRING), note FROM t", [(1, first, None), (2, second, None), (3, third, None)])
