"""DELETE, UPDATE and MERGE INTO, on tables with and without a primary key, against a model of rows in a dictionary."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, SparkRuntimeException, UnsupportedOperationException
from pyspark.errors.exceptions.base import PySparkException

pytestmark = pytest.mark.spark

KINDS = {
    "append": "",
    "bucketed": "TBLPROPERTIES ('bucket' = '2', 'bucket-key' = 'id')",
    "vectors": "TBLPROPERTIES ('deletion-vectors.enabled' = 'true')",
    "keyed": "TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '2')",
}


@pytest.fixture(params=KINDS)
def table(request: Any, spark: Any) -> str:
    spark.sql(f"CREATE TABLE t (id INT NOT NULL, v INT, s STRING) {KINDS[request.param]}")
    spark.sql("INSERT INTO t VALUES (1, 10, 'a'), (2, 20, NULL), (3, NULL, 'c')")
    spark.sql("INSERT INTO t VALUES (4, 40, 'd'), (5, 50, 'e')")
    return str(request.param)


EVOLVING = "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true'"


def rows(spark: Any, text: str = "SELECT * FROM t ORDER BY id") -> list[tuple[Any, ...]]:
    return [tuple(r) for r in spark.sql(text).collect()]


def data_files(warehouse: str) -> set[str]:
    return {p.name for p in Path(warehouse).rglob("data-*.parquet")}


def test_delete_takes_rows_whose_condition_is_true(spark: Any, table: str) -> None:
    assert spark.sql("DELETE FROM t WHERE v > 10 OR s = 'zzz'").collect() == []
    assert rows(spark) == [(1, 10, "a"), (3, None, "c")]
    spark.sql("DELETE FROM t AS x WHERE x.s IN (SELECT s FROM t WHERE id = 1)")
    assert rows(spark) == [(3, None, "c")]
    before = spark.sql("SELECT max(snapshot_id) FROM `t$snapshots`").collect()
    spark.sql("DELETE FROM t WHERE id = 99")
    assert spark.sql("SELECT max(snapshot_id) FROM `t$snapshots`").collect() == before
    spark.sql("DELETE FROM t")
    assert rows(spark) == []


def test_update_sees_the_old_row(spark: Any, table: str) -> None:
    spark.sql("UPDATE t SET v = v + id, s = concat(s, v) WHERE id <> 5")
    assert rows(spark) == [(1, 11, "a10"), (2, 22, None), (3, None, None), (4, 44, "d40"), (5, 50, "e")]
    spark.sql("UPDATE paimon.default.t AS x SET x.v = DEFAULT")
    assert {v for _, v, _ in rows(spark)} == {None}


def test_merge_takes_the_first_clause_that_applies(spark: Any, table: str) -> None:
    spark.sql(
        "CREATE TEMPORARY VIEW source AS "
        "SELECT * FROM VALUES (1, 100, 'A'), (3, 300, 'C'), (7, 700, 'G'), (8, 800, 'H') AS q(id, v, s)"
    )
    spark.sql("""
        MERGE INTO t USING source AS q ON t.id = q.id
        WHEN MATCHED AND t.v IS NULL THEN DELETE
        WHEN MATCHED THEN UPDATE SET v = t.v + q.v
        WHEN NOT MATCHED AND v > 750 THEN INSERT (s, id) VALUES (lower(s), id)
        WHEN NOT MATCHED THEN INSERT *
        WHEN NOT MATCHED BY SOURCE AND v = 20 THEN UPDATE SET s = 'only'
        WHEN NOT MATCHED BY SOURCE AND v = 50 THEN DELETE
    """)
    assert rows(spark) == [(1, 110, "a"), (2, 20, "only"), (4, 40, "d"), (7, 700, "G"), (8, None, "h")]
    operations = rows(spark, "SELECT operation FROM `t$snapshots` ORDER BY snapshot_id")
    assert operations == [("WRITE",), ("WRITE",), ("MERGE",)]


def test_merge_of_a_table_into_itself(spark: Any, table: str) -> None:
    spark.sql("MERGE INTO t USING t AS u ON t.id = u.id + 1 WHEN MATCHED THEN UPDATE SET v = u.v")
    assert rows(spark) == [(1, 10, "a"), (2, 10, None), (3, 20, "c"), (4, None, "d"), (5, 40, "e")]


def test_two_source_rows_for_one(spark: Any, warehouse: str, table: str) -> None:
    before, files = rows(spark), data_files(warehouse)
    source = "(SELECT 1 AS id, explode(array(5, 6)) AS v)"
    with pytest.raises(SparkRuntimeException, match=r"^\[MERGE_CARDINALITY_VIOLATION\] MERGE failed: several"):
        spark.sql(f"MERGE INTO t USING {source} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v")
    assert rows(spark) == before
    assert data_files(warehouse) == files
    spark.sql(f"MERGE INTO t USING {source} s ON t.id = s.id WHEN MATCHED THEN DELETE")
    assert rows(spark) == before[1:]


def test_misspelled_columns_in_a_merge(spark: Any, table: str) -> None:
    source = "(SELECT 1 AS id, 5 AS v)"
    for condition, clause in (
        ("t.id = q.paimon_in_sourc", "MATCHED THEN DELETE"),
        ("t.id = q.id", "MATCHED AND q.paimon_in_sourc THEN DELETE"),
        ("t.id = q.id", "NOT MATCHED THEN INSERT (id, v) VALUES (q.id, q.paimon_in_sourc)"),
    ):
        with pytest.raises(AnalysisException, match="paimon_in_sourc. cannot be resolved") as caught:
            spark.sql(f"MERGE INTO t USING {source} q ON {condition} WHEN {clause}")
        assert "__paimon_in_source" not in str(caught.value)


def test_refused_statements_change_nothing(spark: Any, warehouse: str, table: str) -> None:
    before, files = rows(spark), data_files(warehouse)
    merge = "MERGE INTO t USING (SELECT 1 AS id, 'x' AS v) s ON t.id = s.id WHEN"
    for statement, message in {
        "UPDATE t SET nope = 1": "no column 'nope'",
        "UPDATE t SET v = 1, V = 2": "assigns column 'v' twice",
        "UPDATE t SET v = 'x'": "(?i)cast|incompatible",
        "UPDATE t SET id = NULL WHERE id = 1": "(?i)primary key|NOT NULL",
        "DELETE FROM t WHERE nope = 1": "nope",
        f"{merge} MATCHED THEN UPDATE SET v = s.v": "(?i)cast|incompatible",
        f"{merge} NOT MATCHED THEN INSERT *": "the source has no 's'",
        "DELETE FROM `t$snapshots` WHERE snapshot_id = 1": "does not support deletes",
        "DELETE FROM nope WHERE id = 1": "nope",
    }.items():
        fails_late = "id = NULL" in statement or "SET v = 'x'" in statement or "s.v" in statement
        with pytest.raises(PySparkException if fails_late else AnalysisException, match=message) as caught:
            spark.sql(statement)
        if "id = NULL" not in statement:  # of an executor's error Spark shows where it was raised
            assert "paimon_sql/spark" not in str(caught.value)
    assert rows(spark) == before
    assert data_files(warehouse) == files


@pytest.mark.parametrize("engine", ["aggregation", "first-row"])
def test_engines_that_never_replace_rows_refuse_updates(spark: Any, engine: str) -> None:
    spark.sql(
        "CREATE TABLE t (id INT, v INT) TBLPROPERTIES "
        f"('primary-key' = 'id', 'bucket' = '1', 'merge-engine' = '{engine}', 'fields.v.aggregate-function' = 'sum')"
    )
    for statement, name in (
        ("UPDATE t SET v = 1", "UPDATE"),
        ("MERGE INTO t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE", "MERGE INTO"),
    ):
        for text in (statement, f"EXPLAIN {statement}"):
            with pytest.raises(PySparkException, match=f"{name} of table default.t .* {engine}.* INSERT"):
                spark.sql(text)
    assert rows(spark, "SELECT * FROM `t$snapshots`") == []
    spark.sql("DELETE FROM t WHERE v = 1")


def test_partial_update_takes_updates_and_merges(spark: Any) -> None:
    spark.sql(
        "CREATE TABLE t (id INT, v INT) "
        "TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1', 'merge-engine' = 'partial-update')"
    )
    spark.sql("INSERT INTO t VALUES (1, 10), (2, 20)")
    spark.sql("UPDATE t SET v = 11 WHERE id = 1")
    spark.sql(
        "MERGE INTO t USING (SELECT 2 AS id, 5 AS v UNION ALL SELECT 3, 30) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
    )
    assert rows(spark) == [(1, 11), (2, 5), (3, 30)]


def test_keys_may_only_be_set_to_themselves(spark: Any) -> None:
    spark.sql("CREATE TABLE t (id INT, v INT) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    spark.sql("INSERT INTO t VALUES (1, 10), (2, 20)")
    source = "(SELECT 1 AS id, 20 AS v)"
    with pytest.raises(PySparkException, match="'id' belongs to the primary key"):
        spark.sql(f"MERGE INTO t USING {source} s ON t.v = s.v WHEN MATCHED THEN UPDATE SET *")
    spark.sql(f"MERGE INTO t USING {source} s ON s.id = t.id AND t.v < 50 WHEN MATCHED THEN UPDATE SET *")
    assert rows(spark) == [(1, 20), (2, 20)]


def test_nested_fields_and_defaults(spark: Any) -> None:
    spark.sql("CREATE TABLE t (id INT, p STRUCT<x: INT, q: STRUCT<y: INT>>, d INT DEFAULT 7)")
    spark.sql("INSERT INTO t VALUES (1, named_struct('x', 1, 'q', named_struct('y', 2)), 0)")
    spark.sql("UPDATE t SET p.x = p.x + 1, t.p.q.y = 9, d = DEFAULT")
    assert rows(spark, "SELECT id, p.x, p.q.y, d FROM t") == [(1, 2, 9, 7)]


def test_partitions_of_times_that_python_does_not_know(spark: Any) -> None:
    """A moment of the year 1 is one of the year 0 west of UTC."""
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        spark.sql("CREATE TABLE t (k INT, d DATE, l TIMESTAMP, n TIMESTAMP_NTZ) PARTITIONED BY (d, l, n)")
        first, last = "TIMESTAMP_LTZ '0001-01-01 00:00:00 UTC'", "TIMESTAMP_NTZ '9999-12-31 23:59:59.123456'"
        spark.sql(f"INSERT INTO t VALUES (1, DATE '0001-01-01', {first}, {last}), (2, NULL, {first}, NULL)")
        spark.sql("INSERT INTO t VALUES (3, DATE '2026-01-01', TIMESTAMP_LTZ '2026-01-01 01:02:03.456789', NULL)")
        spark.sql(f"DELETE FROM t WHERE l = {first} AND n = {last}")
        assert spark.sql("SELECT k FROM t ORDER BY k").collect() == [(2,), (3,)]
        spark.sql("DELETE FROM t WHERE l > TIMESTAMP_LTZ '2026-01-01 01:02:03.4'")
        assert spark.sql("SELECT k FROM t").collect() == [(2,)]
        spark.sql(f"DELETE FROM t WHERE l <= {first}")
        assert spark.sql("SELECT k FROM t").collect() == []
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)


def test_whole_partitions_are_deleted_without_reading_rows(spark: Any, warehouse: str) -> None:
    spark.sql("CREATE TABLE t (id INT, day DATE, hh STRING) PARTITIONED BY (day, hh)")
    days = [f"({i}, DATE'2024-01-0{i % 3 + 1}', {'NULL' if i == 5 else repr(str(i % 2))})" for i in range(9)]
    spark.sql(f"INSERT INTO t VALUES {', '.join(days)}")
    files = data_files(warehouse)
    spark.sql("DELETE FROM t WHERE day >= DATE'2024-01-03' OR hh IS NULL")
    assert rows(spark, "SELECT id FROM t ORDER BY id") == [(0,), (1,), (3,), (4,), (6,), (7,)]
    assert data_files(warehouse) == files


def test_names_of_others_stay_with_spark(spark: Any) -> None:
    spark.sql("CREATE TABLE t (id INT)")
    spark.sql("INSERT INTO t VALUES (1)")
    spark.sql("CREATE TEMPORARY VIEW t AS SELECT 1 AS id")
    with pytest.raises(UnsupportedOperationException, match="DELETE FROM temporary view t is not supported"):
        spark.sql("DELETE FROM t WHERE id = 1")
    assert rows(spark, "SELECT * FROM paimon.default.t") == [(1,)]
    spark.sql("DELETE FROM paimon.default.t WHERE id = 1")
    assert rows(spark, "SELECT * FROM paimon.default.t") == []


def test_metadata_columns_say_where_rows_are(spark: Any, table: str) -> None:
    assert "__paimon_bucket" not in spark.table("t").columns
    assert all(b >= 0 for (b,) in rows(spark, "SELECT __paimon_bucket FROM t"))
    if table == "keyed":
        with pytest.raises(PySparkException, match="metadata column __paimon_file_path"):
            rows(spark, "SELECT __paimon_file_path FROM t")
        return
    stored = rows(spark, "SELECT __paimon_file_path, __paimon_row_index, id FROM t WHERE id > 1")
    assert len({p[:2] for p in stored}) == 4
    assert all(Path(p).is_file() for p, _, _ in stored)


def test_histories_equal_a_model(spark: Any, table: str) -> None:
    model = {r[0]: r for r in rows(spark)}
    chances = [random.Random(seed) for seed in range(3)]
    for chance in [c for c in chances for _ in range(5)]:
        low, high = sorted((chance.randrange(12), chance.randrange(12)))
        match chance.randrange(4):
            case 0:
                spark.sql(f"DELETE FROM t WHERE id BETWEEN {low} AND {high} AND v % 2 = 0")
                deleted = [k for k, r in model.items() if low <= k <= high and r[1] is not None and r[1] % 2 == 0]
                model = {k: r for k, r in model.items() if k not in deleted}
            case 1:
                spark.sql(f"UPDATE t SET v = id + {low} WHERE id > {high} OR s IS NULL")
                model |= {k: (k, k + low, r[2]) for k, r in model.items() if k > high or r[2] is None}
            case 2:
                source = f"(SELECT CAST(id AS INT) AS id, {high} AS v, 'm' AS s FROM range({low}, {high}))"
                spark.sql(
                    f"MERGE INTO t USING {source} q ON t.id = q.id WHEN MATCHED AND t.v > 20 THEN DELETE "
                    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
                )
                for k in range(low, high):
                    if k in model and model[k][1] is not None and model[k][1] > 20:
                        del model[k]
                    else:
                        model[k] = (k, high, "m")
            case _:
                spark.sql("CALL sys.compact('t')")
        assert rows(spark) == [model[k] for k in sorted(model)]


def test_values_are_cast_and_nested_fields_go_by_name(spark: Any) -> None:
    spark.sql("CREATE TABLE t (id INT, s STRUCT<a: INT, b: STRING>, v VARCHAR(2))")
    spark.sql("INSERT INTO t VALUES ('1', named_struct('a', 1, 'b', 'x'), 12), ('2', NULL, NULL)")
    assert rows(spark) == [(1, (1, "x"), "12"), (2, None, None)]
    spark.sql("UPDATE t SET s = named_struct('b', 'y', 'a', 5), v = 3 WHERE id = 1")
    source = "(SELECT '2' AS id, named_struct('b', 'z', 'a', '6') AS s)"
    spark.sql(f"MERGE INTO t USING {source} u ON t.id = u.id WHEN MATCHED THEN UPDATE SET s = u.s")
    assert rows(spark) == [(1, (5, "y"), "3"), (2, (6, "z"), None)]
    with pytest.raises(AnalysisException, match="Column 's' of table default.t needs a field 'b'; its fields are a, b"):
        spark.sql("UPDATE t SET s = named_struct('a', 5)")
    with pytest.raises(PySparkException, match="'nope'.*INT"):
        spark.sql("INSERT INTO t (id) VALUES ('nope')")
    spark.conf.set("spark.sql.storeAssignmentPolicy", "STRICT")
    with pytest.raises(AnalysisException, match="INCOMPATIBLE_DATA_FOR_TABLE"):
        spark.sql("INSERT INTO t (id) VALUES ('3')")
    spark.conf.unset("spark.sql.storeAssignmentPolicy")


@pytest.mark.parametrize(
    "options",
    ["'bucket' = '-1'", "'deletion-vectors.enabled' = 'true'", EVOLVING, "'primary-key' = 'k', 'bucket' = '1'"],
)
def test_a_strict_store_assignment_is_for_given_values_only(spark: Any, options: str) -> None:
    """A strict policy refuses a NULL without a type. Statements that leave columns out do not give such a NULL."""
    spark.sql(f"CREATE TABLE t (k INT NOT NULL, v STRING, w BIGINT, a ARRAY<INT>) TBLPROPERTIES ({options})")
    spark.sql("INSERT INTO t VALUES (1, 'a', 1, ARRAY(1)), (2, 'b', 2, NULL)")
    spark.conf.set("spark.sql.storeAssignmentPolicy", "STRICT")
    try:
        spark.sql("INSERT INTO t (k) VALUES (3)")
        spark.sql("UPDATE t SET v = 'x' WHERE k = 1")
        spark.sql("UPDATE t SET w = k, v = DEFAULT WHERE k = 2")
        merge = "MERGE INTO t USING (SELECT 4 AS k, 'n' AS v UNION ALL SELECT 1, 'm') n ON t.k = n.k"
        spark.sql(f"{merge} WHEN MATCHED THEN UPDATE SET v = n.v WHEN NOT MATCHED THEN INSERT (k, v) VALUES (n.k, n.v)")
        if options != EVOLVING:
            spark.sql("DELETE FROM t WHERE k = 3")
            spark.sql("MERGE INTO t USING (SELECT 3 AS k) n ON t.k = n.k WHEN MATCHED THEN DELETE")
        for statement in ("UPDATE t SET w = 'no number'", "UPDATE t SET k = 5L WHERE k = 4", "UPDATE t SET v = NULL"):
            with pytest.raises(PySparkException):
                spark.sql(statement)
    finally:
        spark.conf.unset("spark.sql.storeAssignmentPolicy")
    third = [(3, None, None, None)] if options == EVOLVING else []
    assert rows(spark, "SELECT * FROM t ORDER BY k") == [
        (1, "m", 1, [1]),
        (2, None, 2, None),
        *third,
        (4, "n", None, None),
    ]


def test_merge_with_schema_evolution(spark: Any) -> None:
    spark.sql("CREATE TABLE t (id INT, s STRUCT<a: INT, b: STRING>, d INT DEFAULT 7)")
    spark.sql("INSERT INTO t VALUES (1, named_struct('a', 1, 'b', 'x'), 1), (2, named_struct('a', 2, 'b', 'y'), 2)")
    spark.sql("CREATE TEMPORARY VIEW u AS SELECT * FROM VALUES (1, named_struct('c', 10, 'a', 11), 'n') AS (id, s, n)")
    spark.sql("""
        MERGE WITH SCHEMA EVOLUTION INTO t
        USING (SELECT * FROM u UNION ALL SELECT 3, named_struct('c', 30, 'a', 33), 'm') AS u ON t.id = u.id
        WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *
    """)
    assert rows(spark, "SELECT id, s.a, s.b, s.c, d, n FROM t ORDER BY id") == [
        (1, 11, "x", 10, 1, "n"),
        (2, 2, "y", None, 2, None),
        (3, 33, None, 30, 7, "m"),
    ]
    plan = spark.sql("EXPLAIN UPDATE t SET d = 0 WHERE id = 1").collect()[0][0]
    assert "AppendData" in plan and "PaimonScan" in plan
    assert rows(spark, "SELECT count(*) FROM `t$snapshots`") == [(2,)]
