"""Tables of one engine that the other cannot read or maintain: refused by name, never misread."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from tests.interop.engines import Engines
from tests.support.java_oracle import JavaError

KEYED = "'primary-key' = 'k', 'bucket' = '1'"


def test_tables_of_java_with_unsupported_options(engines: Engines) -> None:
    engines.run(
        "java",
        f"CREATE TABLE i (k INT, v INT) TBLPROPERTIES ({KEYED}, 'metadata.iceberg.storage' = 'rest-catalog')",
        "INSERT INTO i VALUES (1, 1)",
        f"CREATE TABLE x (k INT, v INT) TBLPROPERTIES ({KEYED}, 'fields.v.some-later-option' = 'x', 'later' = 'y')",
    )
    engines.both("SELECT * FROM i", [[1, 1]])
    for statement in ("INSERT INTO i VALUES (2, 2)", f"CALL sys.compact(table => '{engines.database}.i')"):
        with pytest.raises(PySparkException, match="and no server: set 'metadata.iceberg.rest.uri'"):
            engines.run("ours", statement)
    engines.run("ours", "ALTER TABLE i SET TBLPROPERTIES ('metadata.iceberg.storage' = 'disabled')")
    engines.run("ours", "INSERT INTO i VALUES (2, 2)", "INSERT INTO x VALUES (1, 1)")
    engines.both("SELECT * FROM i ORDER BY k", [[1, 1], [2, 2]])
    engines.both("SELECT * FROM x", [[1, 1]])


@pytest.mark.parametrize(
    ("columns", "options", "says"),
    [
        ("k INT, v INT", "'metadata.iceberg.format-version' = '3'", "readers of Iceberg would see old rows"),
        ("k INT, v INT", "'pk-multivalue.index.columns' = 'v'", "pk-multivalue.index.columns"),
    ],
)
def test_tables_with_unsupported_options_are_refused(engines: Engines, columns: str, options: str, says: str) -> None:
    with pytest.raises(PySparkException, match=says):
        engines.run("ours", f"CREATE TABLE t ({columns}) TBLPROPERTIES ({KEYED}, {options})")


def test_java_does_not_misread_counts(engines: Engines) -> None:
    counted = f"{KEYED}, 'merge-engine' = 'aggregation', 'fields.v.aggregate-function' = 'count'"
    engines.run("ours", f"CREATE TABLE t (k INT, v INT) TBLPROPERTIES ({counted})")
    for value in (7, 8, "NULL"):
        engines.run("ours", f"INSERT INTO t VALUES (1, {value})")
    assert engines.rows("ours", "SELECT * FROM t") == [[1, 2]]
    with pytest.raises(JavaError, match="count"):
        engines.run("java", "SELECT * FROM t")
