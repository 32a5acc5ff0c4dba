"""Tables of dynamic and postponed buckets: each engine finds the keys of the other, and updates them there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.interop.engines import ENGINES, Engines

OPTIONS = {
    "dynamic": "'bucket' = '-1', 'dynamic-bucket.target-row-num' = '40'",
    "few_assigners": "'bucket' = '-1', 'dynamic-bucket.target-row-num' = '40', 'dynamic-bucket.initial-buckets' = '2',"
    " 'dynamic-bucket.assigner-parallelism' = '3', 'dynamic-bucket.max-buckets' = '4'",
}


@pytest.mark.parametrize("kind", OPTIONS)
def test_dynamic_buckets_written_alternately(engines: Engines, kind: str) -> None:
    engines.run(
        "ours",
        "CREATE TABLE t (k BIGINT NOT NULL, p INT NOT NULL, v INT) PARTITIONED BY (p)"
        f" TBLPROPERTIES ('primary-key' = 'p,k', {OPTIONS[kind]})",
    )
    model: dict[int, int] = {}
    for number, (engine, low, high) in enumerate(
        (("ours", 0, 200), ("java", 100, 300), ("ours", 250, 400), ("java", 0, 60), ("ours", 30, 450))
    ):
        rows = f"SELECT id AS k, CAST(id % 2 AS INT) AS p, {number} AS v FROM range({low}, {high})"
        engines.run(engine, f"INSERT INTO t {rows}")
        model |= dict.fromkeys(range(low, high), number)
        engines.both("SELECT k, v FROM t", [[k, v] for k, v in model.items()])
        engines.both("SELECT sum(row_count) FROM `t$table_indexes`", [[len(model)]])
    for engine in ENGINES:
        engines.run(engine, f"CALL sys.compact(table => '{engines.database}.t')", "INSERT INTO t VALUES (7, 1, 99)")
        engines.both("SELECT count(*), count(DISTINCT k) FROM t", [[len(model), len(model)]])


@pytest.mark.parametrize("function", ["mod", "hive"])
def test_bucket_functions(engines: Engines, function: str) -> None:
    types = {"a": "INT"} if function == "mod" else {"a": "BIGINT", "b": "STRING", "c": "DECIMAL(20, 4)", "d": "DOUBLE"}
    columns = ", ".join(f"{n} {t}" for n, t in types.items())
    values = {"a": "id - 20", "b": "repeat(concat('ä', id), CAST(id % 9 AS INT))", "c": "id / 8 - 2", "d": "id / 4 - 5"}
    chosen = ", ".join(f"CAST({values[n]} AS {t}) AS {n}" for n, t in types.items())
    for engine in ENGINES:
        options = f"'bucket' = '5', 'bucket-key' = '{','.join(types)}', 'bucket-function.type' = '{function}'"
        engines.run("ours", f"CREATE TABLE {engine} ({columns}, v BIGINT) TBLPROPERTIES ({options})")
        engines.run(engine, f"INSERT INTO {engine} SELECT {chosen}, id AS v FROM range(60)")
    layouts = [
        engines.both(f"SELECT bucket, sum(record_count) FROM `{engine}$files` GROUP BY bucket") for engine in ENGINES
    ]
    assert sorted(layouts[0]) == sorted(layouts[1]) and len(layouts[0]) > 2
    for engine in ENGINES:
        engines.both(f"SELECT * FROM {engine}")


@pytest.mark.parametrize("postponed", [True, False])
def test_postponed_buckets_written_alternately(engines: Engines, postponed: bool) -> None:
    options = f"'bucket' = '-2', 'postpone.batch-write-fixed-bucket' = '{str(not postponed).lower()}'"
    engines.run(
        "java",
        "CREATE TABLE t (k BIGINT NOT NULL, p INT NOT NULL, v INT) PARTITIONED BY (p)"
        f" TBLPROPERTIES ('primary-key' = 'p,k', 'postpone.default-bucket-num' = '3', {options})",
    )
    model: dict[int, int] = {}
    for number, (engine, low, high) in enumerate((("ours", 0, 60), ("java", 40, 90), ("ours", 80, 120))):
        rows = f"SELECT id AS k, CAST(id % 2 AS INT) AS p, {number} AS v FROM range({low}, {high})"
        engines.run(engine, f"INSERT INTO t {rows}")
        if postponed:
            engines.both("SELECT k, v FROM t", [[k, v] for k, v in model.items()])
            engines.both("SELECT DISTINCT bucket FROM `t$buckets` WHERE bucket < 0", [[-2]])
            engines.both("SELECT count(*) FROM `t$files` WHERE bucket < 0", [[0]])
            engines.run(engine if number else "java", f"CALL sys.compact(table => '{engines.database}.t')")
        model |= dict.fromkeys(range(low, high), number)
        engines.both("SELECT k, v FROM t", [[k, v] for k, v in model.items()])
        engines.both("SELECT DISTINCT bucket FROM `t$buckets`", [[0], [1], [2]])
    for engine, buckets in zip(ENGINES, (2, 4), strict=True):
        engines.run(engine, f"CALL sys.rescale(table => '{engines.database}.t', bucket_num => {buckets})")
        engines.both("SELECT k, v FROM t WHERE p = 1", [[k, v] for k, v in model.items() if k % 2])
        engines.both("SELECT count(DISTINCT bucket) FROM `t$files`", [[buckets]])


@pytest.mark.parametrize(
    ("merge_engine", "expected"),
    [("aggregation", [[1, 1, 118], [1, 2, 20], [2, 3, 35]]), ("first-row", [[1, 1, 10], [1, 2, 20], [2, 3, 30]])],
)
def test_keys_across_partitions_written_alternately(engines: Engines, merge_engine: str, expected: list[Any]) -> None:
    more = ", 'fields.v.aggregate-function' = 'sum'" if merge_engine == "aggregation" else ""
    engines.run(
        "ours",
        "CREATE TABLE t (p INT, k INT NOT NULL, v INT) PARTITIONED BY (p)"
        f" TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '-1', 'merge-engine' = '{merge_engine}'{more})",
        "INSERT INTO t VALUES (1, 1, 10), (1, 2, 20)",
    )
    engines.run("java", "INSERT INTO t VALUES (2, 1, 8), (2, 3, 30)")
    engines.run("ours", "INSERT INTO t VALUES (3, 1, 100), (3, 3, 5)")
    engines.both("SELECT * FROM t", expected)
