"""Write, audit, publish: each way of writing goes to the session's branch, and nowhere else until it is published."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

pytestmark = pytest.mark.spark

ROWS = "id INT, v STRING"
MERGE = "MERGE INTO t USING (SELECT 1 AS id, 'm' AS v) s ON t.id = s.id"


def frame(spark: Any) -> Any:
    return spark.createDataFrame([(9, "f")], ROWS)


def streamed(spark: Any, folder: Path) -> None:
    path = str(folder / "rows")
    frame(spark).write.mode("overwrite").parquet(path)
    rows = spark.readStream.schema(ROWS).parquet(path)
    writer = rows.writeStream.option("checkpointLocation", f"{path}-seen").trigger(availableNow=True)
    writer.toTable("t").awaitTermination()


def copied(spark: Any, folder: Path) -> None:
    path = str(folder / "files")
    frame(spark).write.mode("overwrite").parquet(path)
    spark.sql(f"COPY INTO t FROM '{path}' FILE_FORMAT = (TYPE = PARQUET)")


def of_sql(text: str) -> Callable[[Any, Path], Any]:
    return lambda spark, _: spark.sql(text)


WRITES: dict[str, Callable[[Any, Path], Any]] = {
    "insert": of_sql("INSERT INTO t VALUES (5, 'x')"),
    "overwrite": of_sql("INSERT OVERWRITE t VALUES (1, 'o'), (2, 'p')"),
    "update": of_sql("UPDATE t SET v = 'u' WHERE id = 1"),
    "merge": of_sql(f"{MERGE} WHEN MATCHED THEN UPDATE SET *"),
    "delete": of_sql("DELETE FROM t WHERE id = 2"),
    "truncate": of_sql("TRUNCATE TABLE t"),
    "append": lambda spark, _: frame(spark).writeTo("t").append(),
    "save as table": lambda spark, _: frame(spark).write.mode("append").saveAsTable("t"),
    "insert into": lambda spark, _: frame(spark).write.insertInto("t"),
    "copy": copied,
    "stream": streamed,
    "column": of_sql("ALTER TABLE t ADD COLUMN w INT"),
}


def rows(spark: Any, table: str = "t") -> list[Any]:
    return sorted(map(tuple, spark.sql(f"SELECT * FROM {table}").collect()), key=str)


@pytest.fixture
def audited(spark: Any) -> Any:
    spark.sql(f"CREATE TABLE t ({ROWS}) TBLPROPERTIES ('write.wap.enabled' = 'true')")
    spark.sql(f"CREATE TABLE other ({ROWS})")
    spark.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    return spark


def test_every_write_goes_to_the_branch(audited: Any, tmp_path: Path) -> None:
    spark, before = audited, rows(audited)
    for name, write in WRITES.items():
        spark.sql("SET spark.paimon.wap.branch = audit")
        assert rows(spark) == before
        write(spark, tmp_path)
        changed = rows(spark)
        assert name == "column" or changed != before, name
        assert rows(spark, "`t$branch_audit`") == changed, name
        spark.sql("RESET spark.paimon.wap.branch")
        assert rows(spark) == before, name
        spark.sql("CALL sys.delete_branch('t', 'audit')")


def test_an_audit(audited: Any) -> None:
    spark = audited
    spark.sql("SET spark.paimon.wap.branch = audit")
    spark.sql("INSERT INTO other VALUES (1, 'plain')")
    spark.sql("INSERT INTO t VALUES (3, 'c')")
    assert spark.sql("SELECT count(*) FROM t VERSION AS OF 1").first()[0] == 2
    assert spark.sql("SELECT count(*) FROM `t$audit_log`").first()[0] == 3
    with pytest.raises(PySparkException, match="cannot be replaced while the session audits"):
        spark.sql("CREATE OR REPLACE TABLE t AS SELECT 1 AS id, 'x' AS v")
    spark.sql("RESET spark.paimon.wap.branch")
    assert len(rows(spark)) == 2 and len(rows(spark, "other")) == 1
    assert spark.sql("CALL sys.publish(table => 't', branch => 'audit')").collect() == [(1, 2)]
    assert len(rows(spark)) == 3
    spark.sql("INSERT INTO t VALUES (4, 'd')")
    spark.sql("SET spark.paimon.wap.branch = audit")
    spark.sql("INSERT INTO t VALUES (5, 'e')")  # comes after the row that the branch did not have
    assert len(rows(spark)) == 5
    spark.sql("RESET spark.paimon.wap.branch")
    spark.sql("INSERT INTO t VALUES (6, 'f')")
    with pytest.raises(
        PySparkException, match="has new snapshots since .*Nothing was published, and no commit is lost"
    ):
        spark.sql("CALL sys.publish('t', 'audit')")
    assert [row[0] for row in rows(spark)] == [1, 2, 3, 4, 6]
    spark.sql("CALL sys.merge_branch('t', 'audit')")
    assert [row[0] for row in rows(spark)] == [1, 2, 3, 4, 5, 6]


def test_a_table_that_was_altered_after_its_last_row(audited: Any) -> None:
    spark = audited
    spark.sql("ALTER TABLE t ADD COLUMN w INT")
    spark.sql("SET spark.paimon.wap.branch = audit")
    spark.sql("INSERT INTO t VALUES (3, 'c', 7)")
    spark.sql("RESET spark.paimon.wap.branch")
    assert spark.sql("CALL sys.publish('t', 'audit')").collect() == [(1, 2)]
    assert (3, "c", 7) in rows(spark)


def test_cached_rows_of_the_branch_are_not_rows_of_the_table(audited: Any) -> None:
    """All sessions share the cache, and Spark finds cached rows by the table's name."""
    spark, before = audited, rows(audited)
    spark.sql("CACHE TABLE t")
    spark.sql("SET spark.paimon.wap.branch = audit")
    spark.sql("INSERT INTO t VALUES (3, 'c')")
    assert rows(spark) == [*before, (3, "c")]
    spark.sql("RESET spark.paimon.wap.branch")
    assert rows(spark) == before
    spark.catalog.clearCache()
    spark.sql("SET spark.paimon.wap.branch = audit")
    spark.sql("CACHE TABLE t")
    spark.sql("UPDATE t SET v = 'u' WHERE id = 3")
    assert rows(spark) == [*before, (3, "u")]
    spark.sql("RESET spark.paimon.wap.branch")
    assert rows(spark) == before
    spark.catalog.clearCache()


def test_settings_of_one_table_and_explicit_branches(audited: Any) -> None:
    spark = audited
    spark.sql("CALL sys.create_branch('t', 'own')")
    spark.sql("SET spark.paimon.paimon.default.t.wap.branch = audit")
    spark.sql("INSERT INTO `t$branch_own` VALUES (7, 'own')")
    spark.sql("INSERT INTO t VALUES (8, 'audit')")
    assert rows(spark, "`t$branch_own`") == [(7, "own")]
    assert (8, "audit") in rows(spark)
    spark.sql("RESET spark.paimon.paimon.default.t.wap.branch")
    assert len(rows(spark)) == 2
