"""CHANGES of tables, in SQL, in batch queries and as streams (Spark 4.2 on)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from tests.support.spark_versions import since

pytestmark = [pytest.mark.spark, since(4, 2, "CHANGES is no syntax before")]

LOOKUP = "'primary-key' = 'k', 'bucket' = '2', 'changelog-producer' = 'lookup'"
COLUMNS = "_change_type, _commit_version, k, v"


def rows(spark: Any, text: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(r) for r in spark.sql(text).collect())


@pytest.fixture
def keyed(spark: Any) -> Any:
    """Snapshots 2, 4 and 6 have the changelogs of an insert, of an upsert, and of a delete."""
    spark.sql(f"CREATE TABLE t (k INT, v STRING) TBLPROPERTIES ({LOOKUP})")
    spark.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    spark.sql("INSERT INTO t VALUES (2, 'c'), (3, 'd')")
    spark.sql("DELETE FROM t WHERE k = 1")
    return spark


UPSERT = [("insert", 4, 3, "d"), ("update_postimage", 4, 2, "c"), ("update_preimage", 4, 2, "b")]


def test_versions(keyed: Any) -> None:
    first = [("insert", 2, 1, "a"), ("insert", 2, 2, "b")]
    last = [("delete", 6, 1, "a")]
    assert rows(keyed, f"SELECT {COLUMNS} FROM t CHANGES FROM VERSION 1 TO VERSION 6") == sorted(first + UPSERT + last)
    assert rows(keyed, f"SELECT {COLUMNS} FROM t CHANGES FROM VERSION 3 TO VERSION 4") == UPSERT
    assert rows(keyed, f"SELECT {COLUMNS} FROM t CHANGES FROM VERSION 5") == last
    assert rows(keyed, f"SELECT {COLUMNS} FROM t CHANGES FROM VERSION 2 EXCLUSIVE TO VERSION 4") == UPSERT
    where = "WHERE k = 2 AND _change_type = 'update_postimage'"
    assert rows(keyed, f"SELECT v FROM t CHANGES FROM VERSION 1 TO VERSION 6 {where}") == [("c",)]
    assert rows(keyed, "SELECT count(*) FROM t CHANGES FROM VERSION 1 TO VERSION 6") == [(6,)]


def test_tags_and_moments(keyed: Any) -> None:
    for number in (3, 4):
        keyed.sql(f"CALL sys.create_tag(table => 't', tag => 'tag{number}', snapshot => {number})")
    assert rows(keyed, f"SELECT {COLUMNS} FROM t CHANGES FROM VERSION 'tag3' TO VERSION 'tag4'") == UPSERT
    times = dict(map(tuple, keyed.sql("SELECT snapshot_id, commit_time FROM t$snapshots").collect()))
    assert (
        rows(keyed, f"SELECT {COLUMNS} FROM t CHANGES FROM TIMESTAMP '{times[3]}' TO TIMESTAMP '{times[4]}'") == UPSERT
    )
    moment = "CAST(_commit_timestamp AS TIMESTAMP_NTZ)"  # in the session's zone; PySpark collects in the machine's
    assert rows(keyed, f"SELECT DISTINCT {moment} FROM t CHANGES FROM VERSION 4 TO VERSION 4") == [(times[4],)]


def test_readers(keyed: Any, tmp_path: Path) -> None:
    read = keyed.read.option("startingVersion", "3").option("endingVersion", "4").changes("t")
    assert sorted(map(tuple, read.select("_change_type", "_commit_version", "k", "v").collect())) == UPSERT
    found: list[tuple[Any, ...]] = []

    def run() -> list[tuple[Any, ...]]:
        found.clear()
        stream = keyed.readStream.option("startingVersion", "3").changes("t")
        chosen = stream.select("_change_type", "_commit_version", "k", "v")
        query = chosen.writeStream.foreachBatch(lambda batch, _: found.extend(map(tuple, batch.collect())))
        started = query.option("checkpointLocation", str(tmp_path / "at")).trigger(availableNow=True).start()
        assert started.awaitTermination(120)
        return sorted(found)

    assert run() == sorted([*UPSERT, ("delete", 6, 1, "a")])
    keyed.sql("INSERT INTO t VALUES (9, 'z')")
    assert run() == [("insert", 8, 9, "z")]


def test_tables_without_keys(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT, v STRING) TBLPROPERTIES ('deletion-vectors.enabled' = 'true')")
    spark.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    spark.sql("INSERT INTO t VALUES (3, 'c')")
    spark.sql("DELETE FROM t WHERE k = 2")
    found = rows(spark, f"SELECT {COLUMNS} FROM t CHANGES FROM VERSION 2 TO VERSION 3")
    assert found == [("delete", 3, 2, "b"), ("insert", 2, 3, "c")]


def test_refusals(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT, v STRING)")
    for number in (1, 2, 3):
        spark.sql(f"INSERT INTO t VALUES ({number}, 'a')")
    spark.sql("CALL sys.expire_snapshots(table => 't', retain_max => 1, retain_min => 1)")
    spark.sql("CREATE TABLE none (k INT, v STRING) TBLPROPERTIES ('primary-key' = 'k')")
    spark.sql("CREATE TABLE taken (k INT, _change_type STRING)")
    for text, message in (
        ("SELECT * FROM t CHANGES FROM VERSION 1 TO VERSION 3", "changes of snapshot 1 of table default.t expired"),
        ("SELECT * FROM t CHANGES FROM VERSION 3 TO VERSION 9", "no snapshot 9"),
        ("SELECT * FROM t CHANGES FROM VERSION 'x' TO VERSION 9", "no tag 'x'"),
        ("SELECT * FROM none CHANGES FROM VERSION 1", "records no changes.*changelog-producer"),
        ("SELECT * FROM taken CHANGES FROM VERSION 1", "has a column '_change_type'"),
        ("SELECT * FROM missing CHANGES FROM VERSION 1", "no table default.missing"),
    ):
        with pytest.raises(PySparkException, match=message):
            spark.sql(text).collect()
