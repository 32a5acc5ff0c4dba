"""Options of statements and writers that name a branch or a version, with keys in any case."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import PySparkException

from tests.support.spark_versions import spark_minor


@pytest.fixture
def branched(spark: Any) -> Any:
    """A table with two rows, a tag of the first, and an empty branch."""
    spark.sql("CREATE TABLE t (k INT, v STRING)")
    for row in ("(1, 'a')", "(2, 'b')"):
        spark.sql(f"INSERT INTO t VALUES {row}")
    spark.sql("CALL sys.create_branch('t', 'b')")
    spark.sql("ALTER TABLE t CREATE TAG g AS OF VERSION 1")
    return spark


def keys(spark: Any, relation: str) -> list[int]:
    return sorted(row.k for row in spark.sql(f"SELECT k FROM {relation}").collect())


@pytest.mark.skipif(spark_minor() < (4, 3), reason="before Spark 4.3, writes with this option are refused")
@pytest.mark.parametrize("key", ["branch", "Branch", "BRANCH"])
def test_writes_go_to_the_branch_of_their_options(branched: Any, key: str) -> None:
    """Spark's options have no case: a write with a key in another case went to the main branch."""
    row = branched.createDataFrame([(4, "d")], "k INT, v STRING")
    branched.sql(f"INSERT INTO t WITH ('{key}' = 'b') VALUES (3, 'c')")
    row.writeTo("t").option(key, "b").append()
    row.write.option(key, "b").mode("append").saveAsTable("t")
    row.write.option(key, "b").insertInto("t")
    assert keys(branched, "t$branch_b") == [3, 4, 4, 4] == keys(branched, f"t WITH ('{key}' = 'b')")
    assert branched.read.option(key, "b").table("t").count() == 4
    branched.sql(f"UPDATE t WITH ('{key}' = 'b') SET k = 5 WHERE k = 4")
    assert keys(branched, "t$branch_b") == [3, 5, 5, 5]
    branched.sql(f"INSERT OVERWRITE t /*+ OPTIONS('{key}' = 'b') */ VALUES (6, 'f')")
    assert keys(branched, "t$branch_b") == [6] and keys(branched, "t") == [1, 2]


@pytest.mark.parametrize("key", ["scan.tag-name", "Scan.Tag-Name"])
def test_reads_of_a_version(branched: Any, key: str) -> None:
    assert keys(branched, f"t WITH ('{key}' = 'g')") == [1] == keys(branched, f"t /*+ OPTIONS('{key}' = 'g') */")
    assert branched.read.option(key, "g").table("t").count() == 1
    with pytest.raises(PySparkException, match="cannot (be changed with|have) the option"):
        branched.sql(f"UPDATE t /*+ OPTIONS('{key}' = 'g') */ SET v = 'x'")
    assert keys(branched, "t") == [1, 2]


def test_options_of_other_catalogs_stay_theirs(branched: Any) -> None:
    branched.sql("CREATE TABLE spark_catalog.default.plain USING parquet AS SELECT * FROM t")
    try:
        for options in ("'branch' = 'b'", "'scan.mode' = 'latest'"):
            assert keys(branched, f"spark_catalog.default.plain WITH ({options})") == [1, 2]
        assert branched.read.option("branch", "b").table("spark_catalog.default.plain").count() == 2
    finally:
        branched.sql("DROP TABLE spark_catalog.default.plain")
