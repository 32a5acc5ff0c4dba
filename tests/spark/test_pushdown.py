"""What of a query Spark leaves to a scan: the answers stay those of Spark alone, and EXPLAIN shows what is read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from py4j.clientserver import ClientServerConnection

from tests.support.spark_versions import is_before

pytestmark = pytest.mark.spark

ROWS = (
    "(1, 'a', date'2020-01-01', 1.0, 'x', 1), (5, NULL, NULL, double('nan'), 'x', 2), "
    "(7, 'b', date'2021-01-01', 3, 'y', 1), (NULL, 'c', NULL, 3, NULL, 1)"
)
FROM_METADATA = (
    "SELECT count(*) FROM {t}",
    "SELECT count(*), count(a), min(a), max(a), min(d), max(d), min(pt), max(pt), count(pt) FROM {t}",
    "SELECT pt, count(*), max(a) FROM {t} GROUP BY pt",
    "SELECT h, pt, count(*), max(a) m FROM {t} GROUP BY h, pt ORDER BY m, h",
    "SELECT DISTINCT pt FROM {t}",
    "SELECT count(*) FROM {t} WHERE pt = 'x' AND h > 1",
    "SELECT max(a), count(a) FROM {t} WHERE pt IS NULL",
    "SELECT max(a) FROM {t} WHERE pt = 'nope'",
    "SELECT pt, max(a) FROM {t} WHERE pt = 'nope' GROUP BY pt",
    "SELECT pt, count(*) FROM {t} WHERE NOT (pt <=> 'y') GROUP BY pt HAVING count(*) > 1",
    "SELECT min(a) + max(a) FROM {t} LIMIT 1",
)
FROM_FILES = (
    "SELECT max(s) FROM {t}",
    "SELECT max(f), min(f) FROM {t}",
    "SELECT count(DISTINCT a), sum(a), avg(a) FROM {t}",
    "SELECT count(*) FROM {t} WHERE pt = 'x' AND a > 1",
    "SELECT upper(pt), count(*) FROM {t} GROUP BY upper(pt)",
    "SELECT a, count(*) FROM {t} GROUP BY a",
    "SELECT a FROM {t} WHERE pt = 'x' AND h IN (1, 3)",
    "SELECT a FROM {t} WHERE pt IS NULL OR h = 2",
    "SELECT a FROM {t} WHERE pt > 'x' OR a = 1",
    "SELECT a FROM {t} WHERE pt LIKE 'x%' ORDER BY a DESC NULLS LAST LIMIT 2",
    "SELECT a FROM {t} ORDER BY a LIMIT 2",
    "SELECT a, s FROM {t} ORDER BY a DESC LIMIT 1",
    "SELECT d FROM {t} ORDER BY d NULLS LAST, a LIMIT 2",
    "SELECT s FROM {t} ORDER BY s DESC LIMIT 2 OFFSET 1",
    "SELECT count(*) FROM (SELECT a FROM {t} WHERE h = 1 LIMIT 3)",
    "SELECT f FROM {t} ORDER BY f DESC LIMIT 1",
)


def scan(spark: Any, query: str) -> str:
    return str(spark.sql(f"EXPLAIN {query}").collect()[0][0])


def files(spark: Any, query: str) -> str:
    found = re.search(r"files (\d+/\d+)", scan(spark, query))
    assert found is not None
    return found[1]


def test_answers_equal_those_of_spark(spark: Any) -> None:
    spark.sql("CREATE TABLE t (a INT, s STRING, d DATE, f DOUBLE, pt VARCHAR(9), h INT) PARTITIONED BY (pt, h)")
    for rows in (ROWS, "(100, 'zz', date'2000-01-01', 1.0, 'x', 1)"):
        spark.sql(f"INSERT INTO t VALUES {rows}")
    plain = spark.createDataFrame(spark.table("t").collect(), spark.table("t").schema)
    plain.createOrReplaceTempView("plain")
    for query in FROM_METADATA + FROM_FILES:
        found, alone = (spark.sql(query.format(t=t)) for t in ("t", "plain"))
        assert sorted(map(str, found.collect())) == sorted(map(str, alone.collect())), query
        ran = found._jdf.queryExecution().executedPlan().toString()
        assert ("LocalTableScan" in ran) == (query in FROM_METADATA), query
    assert "Filter (" not in scan(spark, "SELECT a FROM t WHERE pt = 'x' AND h IN (1, 3)")
    assert [files(spark, f"SELECT a FROM t {rest}") for rest in ("", "LIMIT 1", "WHERE pt = 'x' LIMIT 2")] == [
        *("5/5", "1/5", "2/5")
    ]
    tops = {"a DESC": "1/5", "a NULLS LAST": "1/5", "a": "2/5", "d DESC NULLS LAST": "1/5", "s DESC": "1/5", "f": "5/5"}
    assert {o: files(spark, f"SELECT a, s, d, f FROM t ORDER BY {o} LIMIT 1") for o in tops} == tops
    assert "top 1 by a DESC" in scan(spark, "SELECT a FROM t ORDER BY a DESC LIMIT 1")
    spark.sql("DELETE FROM t WHERE a = 100")
    assert spark.sql("SELECT max(a), count(*), min(d) FROM t").collect()[0][:2] == (7, 4)


def test_system_tables(spark: Any) -> None:
    spark.sql("CREATE TABLE t (a INT, pt STRING) PARTITIONED BY (pt)")
    for number in range(3):
        spark.sql(f"INSERT INTO t VALUES ({number}, 'x'), ({number}, 'y')")
    schema = spark.table("`t$files`").schema
    spark.createDataFrame(spark.table("`t$files`").collect(), schema).createOrReplaceTempView("plain")
    for query, jobs in {
        "SELECT count(*), max(schema_id), min(file_path), count(min_key), max(creation_time) FROM {t}": False,
        "SELECT partition, max(record_count) AS m FROM {t} GROUP BY partition ORDER BY partition": True,
        "SELECT DISTINCT partition FROM {t}": False,
        "SELECT count(DISTINCT partition), sum(record_count) FROM {t}": True,
        "SELECT max(bucket) FROM {t} WHERE partition = '[x]'": True,
        "SELECT max(upper(partition)) FROM {t}": True,
    }.items():
        found, alone = (spark.sql(query.format(t=t)).collect() for t in ("`t$files`", "plain"))
        assert sorted(map(str, found)) == sorted(map(str, alone)), query
        assert ("Exchange" in scan(spark, query.format(t="`t$files`"))) == jobs, query
    assert "max(snapshot_id)" in scan(spark, "SELECT max(snapshot_id) FROM `t$snapshots`")


def test_keys(spark: Any) -> None:
    spark.sql(
        "CREATE TABLE t (k CHAR(2), v INT, pt INT) PARTITIONED BY (pt)"
        " TBLPROPERTIES ('primary-key' = 'k,pt', 'bucket' = '1', 'write-only' = 'true')"
    )
    spark.sql("INSERT INTO t VALUES ('a', 10, 1), ('b', 20, 1), ('a', 5, 2)")
    spark.sql("INSERT INTO t VALUES ('b', 2, 1)")
    queries = (
        "SELECT count(*), min(pt) FROM t",
        "SELECT pt, count(*), max(v) FROM t GROUP BY pt ORDER BY pt",
        "SELECT v FROM t ORDER BY v DESC LIMIT 1",
        "SELECT v FROM t ORDER BY v DESC LIMIT 4",
        "SELECT count(*) FROM t",
    )
    expected = [[(3, 1)], [(1, 2, 10), (2, 1, 5)], [(10,)], [(10,), (5,), (2,)], [(3,)]]
    assert [spark.sql(q).collect() for q in queries] == expected
    assert "LocalTableScan" not in scan(spark, queries[0])
    assert "LocalTableScan" in scan(spark, "SELECT count(*), max(v) FROM t WHERE pt = 2")
    spark.sql("CALL sys.compact('t')")
    assert [spark.sql(q).collect() for q in queries] == expected
    assert all("LocalTableScan" in scan(spark, q) for q in queries[:2])
    assert "LocalTableScan" not in scan(spark, "SELECT count(*) FROM `t$audit_log`")


def rows_read(spark: Any, query: str) -> tuple[list[Any], int]:
    """Return the rows of a query, and how many rows its scans gave to Spark."""
    frame = spark.sql(query)
    rows = frame.collect()
    plan = frame._jdf.queryExecution().executedPlan()
    plan = plan.finalPhysicalPlan() if plan.getClass().getSimpleName() == "AdaptiveSparkPlanExec" else plan
    leaves = [plan.collectLeaves().apply(i) for i in range(plan.collectLeaves().size())]
    known = [leaf.metrics().get("numOutputRows") for leaf in leaves]
    return rows, sum(metric.get().value() for metric in known if metric.isDefined())


def test_merges_stop_behind_the_first_rows(spark: Any) -> None:
    """Workers merge no further than the query needs, and partitions that come later are not read."""
    spark.sql(
        "CREATE TABLE t (k INT, n INT, v INT, pt INT) PARTITIONED BY (pt)"
        " TBLPROPERTIES ('primary-key' = 'k,n,pt', 'bucket' = '1', 'write-only' = 'true', 'read.batch-size' = '100')"
    )
    for add in (0, 1):
        spark.sql(f"INSERT INTO t SELECT id % 500, id div 500, {add}, int(id >= 1000) FROM range(2000)")
    spark.createDataFrame(spark.table("t").collect(), spark.table("t").schema).createOrReplaceTempView("plain")
    stops = "tasks stop after"
    for order, count, expected, parts, is_stopped in (
        ("k, n DESC, pt", 3, 8, 4, True),  # two rows of each key in each partition
        ("k", 5, 12, 4, True),
        ("k DESC", 3, 2000, 4, False),
        ("v, k", 3, 2000, 4, False),
        ("n", 3, 2000, 4, False),
        ("pt DESC, k, n", 3, 1000, 2, False),
        ("pt, k, n", 1001, 2000, 4, False),
    ):
        query = f"SELECT * FROM {{}} ORDER BY {order} LIMIT {count}"
        rows, read = rows_read(spark, query.format("t"))
        if order in ("k, n DESC, pt", "pt DESC, k, n", "pt, k, n"):  # else rows tie
            assert rows == spark.sql(query.format("plain")).collect(), order
        assert read == expected, (order, read)
        plan = scan(spark, query.format("t"))
        assert (stops in plan) == is_stopped and files(spark, query.format("t")) == f"{parts}/4", (order, plan)
        assert (f"top {count} by" in plan) == (is_stopped or parts < 4), plan
    assert spark.sql("SELECT count(*) FROM (SELECT * FROM t LIMIT 7)").first()[0] == 7
    assert len(rows_read(spark, "SELECT * FROM t LIMIT 7")[0]) == 7
    assert files(spark, "SELECT * FROM t LIMIT 7") == "2/4" and ", limit " not in scan(
        spark, "SELECT * FROM t LIMIT 2001"
    )
    spark.sql("DELETE FROM t WHERE k < 499")
    query = "SELECT k, n, pt FROM t ORDER BY k, n, pt LIMIT 9"
    assert rows_read(spark, query)[0] == [(499, n, n // 2) for n in range(4)]
    spark.catalog.dropTempView("plain")


def test_scans_that_read_other_files_are_not_the_same(spark: Any) -> None:
    """Spark reads once what two equal scans read: these have as many files of the same size."""
    spark.sql(
        "CREATE TABLE t (k INT, v INT)"
        " TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '2', 'bucket-function.type' = 'mod')"
    )
    spark.sql("INSERT INTO t VALUES (0, 1), (1, 1)")
    for more in ("", ", 'scan.ignore-lost-files' = 'true'"):
        parts = [f"SELECT DISTINCT k + v FROM t WITH ('scan.bucket' = '{bucket}'{more})" for bucket in (0, 1)]
        assert sorted(spark.sql(" UNION ALL ".join(parts)).collect()) == [(1,), (2,)], more
    spark.sql("CREATE TABLE u (a INT)")
    for value in ("1", "NULL"):
        spark.sql(f"INSERT INTO u VALUES ({value})")
    tops = [f"(SELECT a FROM u ORDER BY a NULLS {nulls} LIMIT 1)" for nulls in ("FIRST", "LAST")]
    assert sorted(spark.sql(" UNION ALL ".join(tops)).collect(), key=str) == [(1,), (None,)]


def test_lost_files_do_not_count(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT, p INT) PARTITIONED BY (p)")
    for p in range(3):
        spark.sql(f"INSERT INTO t VALUES (1, {p}), (2, {p})")
    (lost,) = spark.sql("SELECT file_path FROM t$files WHERE partition LIKE '%0%'").first()
    Path(str(lost).removeprefix("file:")).unlink()
    asked = "FROM t WITH ('scan.ignore-lost-files' = 'true')"
    assert spark.sql(f"SELECT count(*), min(p) {asked}").first() == (4, 1)
    assert spark.sql(f"SELECT p {asked} ORDER BY p, k LIMIT 2").collect() == [(1,), (1,)]
    assert [spark.sql(f"SELECT * {asked} LIMIT {n}").toPandas().shape[0] for n in (1, 2, 4, 5)] == [1, 2, 4, 4]


def test_workers_aggregate_what_they_merge(spark: Any) -> None:
    spark.sql(
        "CREATE TABLE t (k INT, a INT, b BIGINT, f DOUBLE, d DECIMAL(9, 2), s STRING, ts TIMESTAMP, pt STRING)"
        " PARTITIONED BY (pt) TBLPROPERTIES ('primary-key' = 'k,pt', 'bucket' = '2', 'write-only' = 'true')"
    )
    for factor, rows in ((1, 60), (3, 40)):
        spark.sql(
            f"INSERT INTO t SELECT id, nullif(id * {factor}, 21), if(id < 9, 4611686018427387904, -id), id / 4,"
            " id / 4, concat('s', id % 3), timestamp'2020-01-01' + make_interval(0, 0, 0, id), concat('p', id % 2)"
            f" FROM (SELECT CAST(id AS INT) id FROM range({rows}))"
        )
    spark.createDataFrame(spark.table("t").collect(), spark.table("t").schema).createOrReplaceTempView("plain")
    reduced = (
        "SELECT count(*), count(a), sum(a), sum(f), avg(a), min(s), max(s), max(ts), min(d) FROM {t}",
        "SELECT s, count(*), round(sum(f), 2), max(d) FROM {t} GROUP BY s",
        "SELECT k, sum(a) FROM {t} GROUP BY k HAVING sum(a) > 30",
        "SELECT DISTINCT s, pt FROM {t}",
        "SELECT pt, avg(f) FROM {t} WHERE pt = 'p1' GROUP BY pt",
        "SELECT try_sum(b), count(b) FROM {t}",
    )
    others = (
        "SELECT sum(d), max(f) FROM {t}",
        "SELECT count(DISTINCT s), sum(a) FROM {t}",
        "SELECT sum(a) FROM {t} WHERE a > 3",
        "SELECT sum(a) FILTER (WHERE a > 3), sum(a + 1) FROM {t}",
        "SELECT f, count(*) FROM {t} GROUP BY f",
        "SELECT pt, k, sum(a) FROM {t} GROUP BY k, pt",
        "SELECT count(*) FROM {t} WHERE k = 4 AND pt = 'p0'",
    )
    for query in reduced + others:
        found, alone = (spark.sql(query.format(t=t)).collect() for t in ("t", "plain"))
        assert sorted(map(str, found)) == sorted(map(str, alone)), query
        about = re.search(r"PaimonScan\[merge\] (.*?)t, snapshot", scan(spark, query.format(t="t")))
        assert (about is not None and " of " in about[1]) == (query in reduced), query
    with pytest.raises(Exception, match="ARITHMETIC_OVERFLOW"):
        spark.sql("SELECT sum(b) FROM t").collect()


@pytest.mark.parametrize(
    "options", ["", "TBLPROPERTIES ('primary-key' = 'k,pt', 'bucket' = '1', 'write-only' = 'true')"]
)
def test_partitions_are_skipped_while_a_query_runs(spark: Any, options: str) -> None:
    spark.sql(f"CREATE TABLE fact (k INT, pt STRING) PARTITIONED BY (pt) {options}")
    spark.sql("CREATE TABLE dim (pt STRING, name STRING)")
    for _ in range(2):  # with a primary key there is something to merge
        spark.sql("INSERT INTO fact SELECT id, 'p' || (id % 5) FROM range(50)")
    spark.sql("INSERT INTO dim VALUES ('p1', 'one'), ('p3', 'three'), (NULL, 'none')")
    rows = 10 if options else 20
    spark.conf.set("spark.sql.adaptive.enabled", "false")  # its plans hide the scans
    for name, expected in (("nosuch", [(0,)]), ("one", [(rows,)])):
        query = f"SELECT count(fact.k) FROM fact JOIN dim ON fact.pt = dim.pt WHERE dim.name = '{name}'"
        assert "RuntimeFilters: [dynamicpruning" in scan(spark, query)
        found = spark.sql(query)
        assert found.collect() == expected
    assert _scanned(found, "fact") == rows
    both = spark.sql(
        "WITH f AS (SELECT fact.pt FROM fact JOIN dim ON fact.pt = dim.pt WHERE dim.name = 'one')"
        " SELECT count(*) FROM f UNION ALL"
        " SELECT count(*) FROM fact WHERE pt IN (SELECT pt FROM dim WHERE name = 'three')"
    )
    assert both.collect() == [(rows,), (rows,)]


def _scanned(frame: Any, table: str) -> int:
    """The rows that the scan of a table gave."""
    leaves = frame._jdf.queryExecution().executedPlan().collectLeaves()
    every = [leaves.apply(i) for i in range(leaves.size())]
    (scan,) = [leaf for leaf in every if leaf.nodeName().endswith(f".{table}")]
    return int(scan.metrics().get("numOutputRows").get().value())


def test_tables_of_equal_buckets_are_joined_without_a_shuffle(spark: Any) -> None:
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    tables = {
        "merged": "'primary-key' = 'k', 'bucket' = '4', 'write-only' = 'true'",
        "raw": "'bucket-key' = 'k', 'bucket' = '4'",
        "days": "'primary-key' = 'k,day', 'bucket-key' = 'k', 'bucket' = '4'",
        "others": "'bucket-key' = 'k', 'bucket' = '8'",
        "both": "'bucket-key' = 'k,v', 'bucket' = '4'",
        "modulo": "'bucket-key' = 'k', 'bucket' = '4', 'bucket-function.type' = 'mod'",
    }
    for name, properties in tables.items():
        partitioned = "PARTITIONED BY (day)" if name == "days" else ""
        spark.sql(f"CREATE TABLE {name} (k BIGINT, v STRING, day INT) {partitioned} TBLPROPERTIES ({properties})")
        for start in (0, 20):
            spark.sql(f"INSERT INTO {name} SELECT id, concat('{name}', id), id % 3 FROM range({start}, {start + 40})")

    def joined(left: str, right: str) -> bool:
        """Whether Spark shuffles nothing; the answer is that of a join that shuffles."""
        query = f"SELECT l.k, l.v, r.v FROM {left} l JOIN {right} r ON l.k = r.k"
        answers = []
        for enabled in ("true", "false"):
            spark.conf.set("spark.sql.sources.v2.bucketing.enabled", enabled)
            answers.append(sorted(map(str, spark.sql(query).collect())))
        if is_before(4, 1):
            spark.conf.set("spark.sql.sources.v2.bucketing.enabled", "true")
        else:
            spark.conf.unset("spark.sql.sources.v2.bucketing.enabled")  # the default
        assert answers[0] == answers[1] != []
        return "Exchange" not in scan(spark, query)

    pairs = (("merged", "merged"), ("merged", "raw"), ("raw", "days"), ("days", "merged"))
    assert [joined(*p) for p in pairs] == [True] * 4
    assert [joined("raw", other) for other in ("others", "both", "modulo")] == [False] * 3
    assert "Exchange" not in scan(spark, "SELECT k, count(*), max(v) FROM merged GROUP BY k")
    spark.sql("CALL sys.rescale('days', bucket_num => 2)")
    assert not joined("days", "merged")


def test_filters_cross_at_once(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many values and conditions a filter has, Python asks the JVM for it as often."""
    spark.sql("CREATE TABLE t (k INT, s STRING)")
    spark.sql("INSERT INTO t VALUES (1, 'a')")
    sent, send = [], ClientServerConnection.send_command

    def counted(self: Any, command: str) -> Any:
        if not command.startswith("m\nd"):  # an object that Python holds no longer
            sent.append(command)
        return send(self, command)

    def once(condition: str) -> int:
        sent.clear()
        assert "pushed filters: none" not in scan(spark, f"SELECT * FROM t WHERE {condition}")
        return len(sent)

    def crossings(condition: str) -> int:
        once(condition)  # what is asked for once
        return min(once(condition) for _ in range(3))  # other threads may add calls

    monkeypatch.setattr(ClientServerConnection, "send_command", counted)
    pairs = [f"(k = {n} AND s = '{n}')" for n in range(40)]
    assert crossings(" OR ".join(pairs)) == crossings(" OR ".join(pairs[:2]))
    values = [f"'{n}'" for n in range(40)]
    assert crossings(f"s IN ({', '.join(values)})") == crossings(f"s IN ({', '.join(values[:11])})")


def test_a_filter_without_a_translation(spark: Any) -> None:
    spark.sql("CREATE TABLE t AS SELECT id AS k FROM range(3)")
    assert "pushed filters: none" in scan(spark, "SELECT * FROM t WHERE hash(k) > 0")
    assert spark.sql("SELECT * FROM t WHERE hash(k) > 0 OR k >= 0").count() == 3
