"""Object tables: the files of a folder as rows, through SQL."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def rows(spark: SparkSession, sql: str) -> list[tuple[object, ...]]:
    return [tuple(r) for r in spark.sql(sql).collect()]


@pytest.fixture
def objects(tmp_path: Path) -> Path:
    folder = tmp_path / "images"
    for name, size in (("a.png", 3), ("cats/b.png", 5), ("cats/old/it's.txt", 7)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x" * size)
    return folder


def test_files_are_read_as_they_are_now(spark: SparkSession, objects: Path) -> None:
    spark.sql(f"CREATE TABLE o COMMENT 'pictures' TBLPROPERTIES ('type' = 'object-table', 'path' = '{objects}')")
    assert rows(spark, "SELECT path, name, length FROM o ORDER BY path") == [
        ("a.png", "a.png", 3),
        ("cats/b.png", "b.png", 5),
        ("cats/old/it's.txt", "it's.txt", 7),
    ]
    assert rows(spark, "SELECT count(*), sum(length), max(owner), max(atime) FROM o WHERE path LIKE 'cats/%'") == [
        (2, 12, None, 0)
    ]
    assert rows(spark, "CALL sys.refresh_object_table('o')") == [(3,)]
    (objects / "c.png").write_bytes(b"")
    assert rows(spark, "SELECT count(*) FROM o") == [(4,)]
    assert spark.table("o").schema.simpleString() == (
        "struct<path:string,name:string,length:bigint,mtime:bigint,atime:bigint,owner:string>"
    )
    described = {r[0]: r[1] for r in rows(spark, "DESCRIBE EXTENDED o")}
    assert described["mtime"] == "bigint" and described["Comment"] == "pictures"
    made = rows(spark, "SHOW CREATE TABLE o")[0][0]
    assert "'type' = 'object-table'" in str(made) and str(objects) in str(made)
    assert ("default", "o", False) in rows(spark, "SHOW TABLES")
    assert [tuple(r)[:3] for r in rows(spark, "SELECT * FROM sys.tables WHERE table_name = 'o'")] == [
        ("default", "o", "object-table")
    ]
    spark.sql("DROP TABLE o")
    assert (objects / "a.png").exists()


def test_it_is_only_read(spark: SparkSession, objects: Path) -> None:
    spark.sql(f"CREATE TABLE o WITH ('type' = 'object-table', 'object-location' = '{objects}')")
    spark.sql("CREATE TABLE t (path STRING)")
    row = "'p', 'n', 1, 1, 1, 'me'"
    for statement, says in (
        (f"INSERT INTO o VALUES ({row})", "does not support append"),
        (f"INSERT OVERWRITE o VALUES ({row})", "does not support truncate"),
        ("DELETE FROM o WHERE length = 3", "cannot be written: 'type' = 'object-table'"),
        ("UPDATE o SET length = 1", "cannot be written: 'type' = 'object-table'"),
        ("MERGE INTO o USING t ON o.path = t.path WHEN MATCHED THEN DELETE", "cannot be written"),
        ("TRUNCATE TABLE o", "does not support truncates"),
        ("ANALYZE TABLE o COMPUTE STATISTICS", "cannot be written"),
        ("ALTER TABLE o ADD COLUMN n INT", "an object table, which has the columns of its files"),
        ("CREATE OR REPLACE TABLE o (k INT)", "can only be read"),
        ("CREATE TABLE p TBLPROPERTIES ('type' = 'object-table') AS SELECT 1 AS length", "can only be read"),
        ("CREATE TABLE p (mine INT) TBLPROPERTIES ('type' = 'object-table')", "cannot have a column 'mine'"),
        ("SELECT * FROM `o$snapshots`", "no snapshots"),
        ("SELECT * FROM o VERSION AS OF 1", "no snapshots"),
        ("CALL sys.compact(table => 'o')", "no snapshots, system tables or procedures"),
        ("CALL sys.create_branch('o', 'b')", "no snapshots, system tables or procedures"),
        ("CALL sys.refresh_object_table('t')", "default.t is not an object table"),
    ):
        with pytest.raises(PySparkException, match=re.escape(says)):
            spark.sql(statement).collect()
    assert rows(spark, "SELECT count(*) FROM o") == [(3,)] and len(list(objects.rglob("*.*"))) == 3
    assert rows(spark, "CALL sys.compact_database(including_tables => 'default.*')")
    spark.sql("ALTER TABLE o SET TBLPROPERTIES ('mine' = 'x')")
    spark.sql("ALTER TABLE o RENAME TO q")
    assert rows(spark, "SELECT max(length) FROM q") == [(7,)]
