"""Java's connector reads and writes a table with constraints as a plain one, and keeps the constraints."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from tests.interop.engines import Engines
from tests.support.spark_versions import since


@since(4, 1, "Spark 4.0 has no constraints")
@pytest.mark.parametrize("keyed", [False, True])
def test_java_passes_over_constraints(engines: Engines, keyed: bool) -> None:
    options = "TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')" if keyed else ""
    engines.run(
        "ours",
        f"CREATE TABLE t (id INT, amount INT, CONSTRAINT positive CHECK (amount > 0)) {options}",
        "INSERT INTO t VALUES (1, 10), (2, NULL)",
        "ALTER TABLE t ADD CONSTRAINT once UNIQUE (amount) NOT ENFORCED",
    )
    engines.run("java", "INSERT INTO t VALUES (3, -30)")
    engines.both("SELECT * FROM t", [(1, 10), (2, None), (3, -30)])
    with pytest.raises(PySparkException, match="CHECK_CONSTRAINT_VIOLATION"):
        engines.run("ours", "INSERT INTO t VALUES (4, -4)")
    engines.run("java", "ALTER TABLE t ADD COLUMN note STRING", "DELETE FROM t WHERE amount < 0")
    with pytest.raises(PySparkException, match="CHECK_CONSTRAINT_VIOLATION"):
        engines.run("ours", "INSERT INTO t VALUES (4, -4, 'x')")
    engines.run("ours", "INSERT INTO t VALUES (4, 40, 'x')")
    engines.both("SELECT * FROM t", [(1, 10, None), (2, None, None), (4, 40, "x")])
