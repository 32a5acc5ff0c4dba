"""Changelogs, incremental queries, `$audit_log`, `$binlog`, `$ro`, and compaction behind writes, in SQL."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.spark

PRODUCERS = {
    "lookup": "'changelog-producer' = 'lookup'",
    "full": "'changelog-producer' = 'full-compaction', 'full-compaction.delta-commits' = '1'",
}


def rows(spark: Any, text: str) -> list[tuple[Any, ...]]:
    return [tuple(r) for r in spark.sql(text).collect()]


def kinds(spark: Any, table: str = "t") -> list[str]:
    return [k for (k,) in rows(spark, f"SELECT commit_kind FROM {table}$snapshots ORDER BY snapshot_id")]


def latest(spark: Any) -> int:
    return int(rows(spark, "SELECT max(snapshot_id) FROM t$snapshots")[0][0] or 0)


def create(spark: Any, options: str, table: str = "t") -> None:
    spark.sql(f"CREATE TABLE {table} (k INT, v STRING) TBLPROPERTIES ('primary-key' = 'k', {options})")


@pytest.mark.parametrize("producer", PRODUCERS)
def test_following_the_changelog_gives_the_table(spark: Any, producer: str) -> None:
    create(spark, f"'bucket' = '2', {PRODUCERS[producer]}")
    random.seed(producer)
    state: dict[int, str | None] = {}
    read = 0
    for step in range(10):
        low = random.randint(0, 20)
        spark.sql(
            random.choice(
                [
                    f"INSERT INTO t SELECT CAST(id AS INT), 'v{step}' FROM range({low}, {low + 9})",
                    f"DELETE FROM t WHERE k BETWEEN {low} AND {low + 3}",
                    f"UPDATE t SET v = concat(v, '{step}') WHERE k % 3 = {step % 3}",
                ]
            )
        )
        end = latest(spark)
        log = rows(spark, f"SELECT * FROM paimon_incremental_query('t$audit_log', {read}, {end})") if end else []
        for kind, k, v in log:
            if kind in ("-U", "-D"):
                assert state.pop(k) == v
        for kind, k, v in log:
            if kind in ("+I", "+U"):
                assert k not in state
                state[k] = v
        read = end
        assert sorted(state.items()) == rows(spark, "SELECT * FROM t ORDER BY k")


def test_derived_tables_are_tables(spark: Any) -> None:
    create(spark, "'bucket' = '1', 'changelog-producer' = 'lookup'")
    spark.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    spark.sql("INSERT INTO t VALUES (2, 'c')")
    spark.sql("DELETE FROM t WHERE k = 1")
    log = "paimon_incremental_query('t$audit_log', 0, 6)"
    assert rows(spark, f"SELECT v FROM {log} WHERE rowkind = '-D'") == [("a",)]
    assert rows(spark, f"SELECT rowkind, count(*) FROM {log} GROUP BY 1 ORDER BY 1") == [
        ("+I", 2),
        ("+U", 1),
        ("-D", 1),
        ("-U", 1),
    ]
    assert rows(spark, f"SELECT count(*) FROM {log} WHERE k = 2") == [(3,)]
    assert rows(spark, "SELECT v[1] FROM paimon_incremental_query('t$binlog', 0, 6) WHERE rowkind = '+U'") == [("c",)]
    assert rows(spark, "SELECT * FROM t$audit_log VERSION AS OF 2 ORDER BY k") == [("+I", 1, "a"), ("+I", 2, "b")]
    both = (
        f"SELECT x.v, y.v FROM {log} x JOIN paimon_incremental_query('t', 2, 4) y ON x.k = y.k WHERE x.rowkind = '-U'"
    )
    assert rows(spark, both) == [("b", "c")]
    plan = spark.sql(f"EXPLAIN SELECT * FROM {log}").collect()[0][0]
    assert "audit_log of default.t" in plan and "changelog after the beginning up to snapshot 6" in plan


def test_options_say_the_same(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT)")
    for k in range(4):
        spark.sql(f"INSERT INTO t VALUES ({k})")
    expected = [(1,), (2,)]
    assert rows(spark, "SELECT * FROM t /*+ OPTIONS('incremental-between' = '1,3') */ ORDER BY k") == expected
    frame = spark.read.option("incremental-between", "1,3").table("t")
    assert sorted(map(tuple, frame.collect())) == expected
    spark.sql("SET spark.paimon.incremental-between=1,3")
    assert rows(spark, "SELECT * FROM t ORDER BY k") == expected
    assert rows(spark, "SELECT count(*) FROM t") == [(2,)]


def test_a_failed_compaction_fails_nothing(spark: Any, warehouse: str) -> None:
    create(spark, "'bucket' = '1', 'changelog-producer' = 'lookup'")
    spark.sql("INSERT INTO t VALUES (1, 'a')")
    (file,) = Path(warehouse).rglob("data-*.parquet")
    content = file.read_bytes()
    file.write_bytes(content[:10])
    spark.sql("INSERT INTO t VALUES (1, 'b')")
    assert kinds(spark) == ["APPEND", "COMPACT", "APPEND"]
    assert len(list(Path(warehouse).rglob("*.parquet"))) == 3, "no file of the compaction is left"
    file.write_bytes(content)
    spark.sql("INSERT INTO t VALUES (2, 'c')")
    assert kinds(spark) == ["APPEND", "COMPACT", "APPEND", "APPEND", "COMPACT"]
    log = rows(spark, "SELECT * FROM paimon_incremental_query('t$audit_log', 2, 5) ORDER BY k, rowkind")
    assert log == [("+U", 1, "b"), ("-U", 1, "a"), ("+I", 2, "c")], "told later, and once"


def test_compaction_follows_the_write_that_makes_it_due(spark: Any) -> None:
    create(spark, "'bucket' = '2', 'num-sorted-run.compaction-trigger' = '3'")
    create(spark, "'bucket' = '2', 'num-sorted-run.compaction-trigger' = '3', 'write-only' = 'true'", "w")
    for step in "abcd":
        for table in "tw":
            spark.sql(f"INSERT INTO {table} SELECT CAST(id AS INT), '{step}' FROM range(100)")
    assert kinds(spark, "w") == ["APPEND"] * 4
    assert kinds(spark)[-1] == "COMPACT" or "COMPACT" in kinds(spark)
    assert rows(spark, "SELECT v, count(*) FROM t GROUP BY v") == [("d", 100)]
    assert rows(spark, "SELECT count(*) FROM w$ro") == [(0,)]


def test_overwrites_write_no_changelog(spark: Any) -> None:
    for number, producer in enumerate(("'input'", "'lookup'")):
        name = f"t{number}"
        create(spark, f"'bucket' = '1', 'changelog-producer' = {producer}", name)
        spark.sql(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b')")
        spark.sql(f"INSERT OVERWRITE {name} VALUES (1, 'c')")
        spark.sql(f"INSERT INTO {name} VALUES (3, 'd')")
        end = len(kinds(spark, name))
        log = rows(spark, f"SELECT * FROM paimon_incremental_query('{name}$audit_log', 0, {end}) ORDER BY k")
        assert log == [("+I", 1, "a"), ("+I", 2, "b"), ("+I", 3, "d")]


def test_partitions_are_deleted_row_by_row_where_the_table_says_so(spark: Any) -> None:
    options = "'primary-key' = 'k, p', 'bucket' = '1', 'changelog-producer' = 'input'"
    for table, more in (("a", ""), ("b", ", 'delete.force-produce-changelog' = 'true'")):
        spark.sql(f"CREATE TABLE {table} (k INT, p INT) PARTITIONED BY (p) TBLPROPERTIES ({options}{more})")
        spark.sql(f"INSERT INTO {table} VALUES (1, 1), (2, 1), (3, 2)")
        spark.sql(f"DELETE FROM {table} WHERE p = 1")
        assert rows(spark, f"SELECT * FROM {table}") == [(3, 2)]
    deleted = "SELECT count(*) FROM paimon_incremental_query('{}$audit_log', 1, 2) WHERE rowkind = '-D'"
    assert [rows(spark, deleted.format(t)) for t in "ab"] == [[(0,)], [(2,)]]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("zorder", [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (1, 2), (2, 0), (2, 1), (2, 2)]),
        ("hilbert", [(0, 0), (0, 1), (1, 1), (1, 0), (2, 0), (2, 1), (2, 2), (1, 2), (0, 2)]),
        ("order", [(a, b) for a in range(3) for b in range(3)]),
    ],
)
def test_append_tables_are_sorted(spark: Any, order: str, expected: list[tuple[int, int]]) -> None:
    spark.sql("CREATE TABLE t (a INT, b INT, c CHAR(3), d ARRAY<INT>, p STRING) PARTITIONED BY (p)")
    for p in ("x", "y"):
        spark.sql(f"INSERT INTO t SELECT id % 3, id DIV 3, 'c', array(id), '{p}' FROM range(9)")
    spark.sql(f"CALL sys.compact(table => 't', order_strategy => '{order}', order_by => 'a,b', where => \"p = 'x'\")")
    assert rows(spark, "SELECT a, b FROM t WHERE p = 'x'") == expected
    assert rows(spark, "SELECT a, b FROM t WHERE p = 'y'") != expected
    assert rows(spark, "SELECT DISTINCT c FROM t") == [("c  ",)]
    assert kinds(spark) == ["APPEND", "APPEND", "OVERWRITE"]  # as in Java
