"""Moments as texts in one of the surroundings, from a stream's start to a DataFrame's options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.spark

KEYED = "'primary-key' = 'k', 'bucket' = '1', 'changelog-producer' = 'input'"
CLOCK = "date_format(commit_time, 'yyyy-MM-dd HH:mm:ss.SSS')"
SHOWN = "CAST(ts AS STRING)"


def rows(spark: Any, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in spark.sql(query).collect()]


@pytest.fixture
def times(spark: Any) -> list[str]:
    """When each of the three snapshots of `t` was made, as `$snapshots` shows it."""
    spark.sql(f"CREATE TABLE t (k INT NOT NULL, ts TIMESTAMP, n TIMESTAMP_NTZ) TBLPROPERTIES ({KEYED})")
    for k, moment in enumerate(("2024-03-10 03:30:00", "2024-11-03 00:30:00", "1969-12-31 23:59:59.5")):
        spark.sql(f"INSERT INTO t VALUES ({k}, TIMESTAMP '{moment}', TIMESTAMP_NTZ '{moment}')")
    return [time for (time,) in rows(spark, f"SELECT {CLOCK} FROM t$snapshots ORDER BY snapshot_id")]


def test_a_stream_starts_at_a_moment_and_carries_moments(spark: Any, times: list[str], tmp_path: Path) -> None:
    spark.sql("CREATE TABLE sink (kind STRING, k INT, ts TIMESTAMP, n TIMESTAMP_NTZ)")
    options = {"scan.mode": "from-timestamp", "scan.timestamp": times[1]}
    source = spark.readStream.options(**options).table("`t$audit_log`").selectExpr("rowkind AS kind", "k", "ts", "n")
    writer = source.writeStream.option("checkpointLocation", str(tmp_path / "check %20 point"))
    query = writer.trigger(availableNow=True).toTable("sink")
    assert query.awaitTermination(300)
    assert query.exception() is None
    shown = rows(spark, f"SELECT kind, k, {SHOWN}, CAST(n AS STRING) FROM sink ORDER BY k")
    first, last = "2024-11-03 00:30:00", "1969-12-31 23:59:59.5"
    assert shown == [("+I", 1, first, first), ("+I", 2, last, last)]
    assert rows(spark, "SELECT count(*) FROM sink JOIN t ON sink.ts = t.ts AND sink.n = t.n") == [(2,)]


def test_options_of_a_dataframe_name_moments(spark: Any, times: list[str]) -> None:
    def keys(**options: str) -> list[int]:
        read = spark.read.options(**{name.replace("__", "."): value for name, value in options.items()})
        return sorted(row.k for row in read.table("t").collect())

    assert keys(scan__timestamp=times[1]) == [0, 1]
    assert keys(**{"incremental-between-timestamp": f"{times[0]},{times[2]}"}) == [1, 2]
    assert keys(timestampAsOf=times[0]) == [0]
    spark.sql(f"CALL sys.create_tag('t', 'late', {len(times)})")
    assert rows(spark, f"SELECT {CLOCK} FROM t$tags") == [(times[2],)]
    spark.table("t").writeTo("copied").create()
    assert rows(spark, "SELECT * FROM t EXCEPT SELECT * FROM copied") == []
    assert [row.shown for row in spark.table("copied").where("k = 0").selectExpr(f"{SHOWN} AS shown").collect()] == [
        "2024-03-10 03:30:00"
    ]
