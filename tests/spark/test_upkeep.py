"""Upkeep in SQL, where Spark has a say: listing procedures, branches as tables, the database `sys`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from paimon_sql.procedures import PROCEDURES, file_removal

pytestmark = pytest.mark.spark


def rows(spark: Any, query: str) -> list[tuple[Any, ...]]:
    return [tuple(r) for r in spark.sql(query).collect()]


def test_procedures_are_listed_and_described(spark: Any) -> None:
    listed = {r[-1] for r in rows(spark, "SHOW PROCEDURES IN sys")}
    assert listed == set(PROCEDURES)
    text = "\n".join(str(r[0]) for r in rows(spark, "DESCRIBE PROCEDURE sys.create_tag"))
    assert "create_tag" in text and "time_retained" in text


def test_a_branch_is_a_table(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT, dt STRING) PARTITIONED BY (dt)")
    spark.sql("INSERT INTO t VALUES (1, 'a')")
    spark.sql("CALL sys.create_branch('t', 'b')")
    spark.sql("INSERT INTO `t$branch_b` VALUES (2, 'a'), (3, 'b')")
    assert rows(spark, "SELECT * FROM `t$branch_b` WHERE k > 2") == [(3, "b")]
    assert rows(spark, "SELECT partition FROM `t$branch_b$partitions` VERSION AS OF 1") == [("dt=a",), ("dt=b",)]
    spark.sql("ALTER TABLE t SET TBLPROPERTIES ('scan.fallback-branch' = 'b')")
    assert sorted(rows(spark, "SELECT k FROM t")) == [(1,), (3,)]
    assert rows(spark, "SELECT count(*) FROM t") == [(2,)]
    with pytest.raises(PySparkException, match=r"scan\.fallback-branch"):
        spark.sql("DELETE FROM t WHERE k = 3")
    with pytest.raises(PySparkException, match=r"scan\.fallback-branch"):
        spark.sql("CALL sys.delete_branch('t', 'b')")
    with pytest.raises(PySparkException, match="cannot be found|no branch"):
        spark.sql("SELECT * FROM `t$branch_nope`")


def test_files_are_looked_for_and_deleted_by_tasks(spark: Any, warehouse: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spark.sql("CREATE TABLE t (k INT, dt STRING) PARTITIONED BY (dt) TBLPROPERTIES ('write-only' = 'true')")
    for k in range(3):
        spark.sql(f"INSERT INTO t VALUES ({k}, 'a'), ({k}, 'b')")
    spark.sql("CALL sys.create_tag('t', 'kept', 1)")
    root = Path(warehouse, "default.db", "t")
    lost = [root / "dt=a" / "bucket-0" / "lost", root / "manifest" / "manifest-lost"]
    for path in lost:
        path.write_text("12345")
        os.utime(path, (1, 1))
    young = root / "dt=b" / "bucket-0" / "young"
    young.touch()
    call = "CALL sys.remove_orphan_files(table => 't', mode => 'distributed', parallelism => 2, dry_run => "
    assert rows(spark, f"{call} true)") == [(2, 10)] and all(p.exists() for p in lost)
    assert rows(spark, f"{call} false)") == [(2, 10)]
    assert not any(p.exists() for p in lost) and young.exists()
    assert rows(spark, "SELECT count(*) FROM t") == [(6,)]
    spark.sql("INSERT OVERWRITE t VALUES (9, 'a')")
    monkeypatch.setattr(file_removal, "MANY", 1)
    assert rows(spark, "CALL sys.expire_snapshots(table => 't', retain_max => 1, retain_min => 1)") == [(3,)]
    assert rows(spark, "SELECT count(*) FROM t VERSION AS OF 'kept'") == [(2,)]
    assert len(list(root.glob("dt=*/bucket-0/data-*"))) == 3
    (root / "snapshot" / "snapshot-4").write_bytes(b"junk")
    with pytest.raises(PySparkException, match="snapshot-4"):
        spark.sql(f"{call} false)")


def test_the_database_sys(spark: Any) -> None:
    spark.sql("CREATE TABLE u (k INT) TBLPROPERTIES ('x' = 'y')")
    spark.sql("INSERT INTO u VALUES (1), (2)")
    assert rows(spark, "SELECT value FROM sys.all_table_options WHERE table_name = 'u' AND key = 'x'") == [("y",)]
    assert len(rows(spark, "SELECT value FROM sys.all_table_options WHERE table_name = 'u' AND key = 'path'")) == 1
    about = "SELECT partitioned, primary_key, record_count FROM sys.tables WHERE table_name = 'u'"
    assert rows(spark, about) == [(False, False, 2)]
    assert ("warehouse",) in rows(spark, "SELECT key FROM sys.catalog_options")
    assert {r[1] for r in rows(spark, "SHOW TABLES IN sys")} == {
        "all_table_options",
        "catalog_options",
        "partitions",
        "tables",
    }
    with pytest.raises(PySparkException, match=r"sys.*nope"):
        spark.sql("SELECT * FROM sys.nope")
