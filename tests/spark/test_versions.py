"""What versions of Spark differ in: the same here on each of them, and the gaps as the table has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, ParseException, PySparkException

import paimon_sql
from paimon_core.store.ddl.constraints import Constraint, ConstraintKind
from paimon_sql.spark.gaps import GAPS, Gap
from paimon_sql.spark.jvm.gateway import jvm_of
from tests.support.spark_versions import spark_minor

pytestmark = pytest.mark.spark

FIRST = "/*+ OPTIONS('scan.snapshot-id'='1') */"
ASKS = {"INSERT WITH SCHEMA EVOLUTION": "INSERT WITH SCHEMA EVOLUTION INTO t SELECT 1 AS k, 2 AS more"}
ASKS["UPDATE … WITH (options)"] = "UPDATE t WITH ('source.split.target-size' = '1 mb') SET k = 1"
ASKS["CHANGES of a table"] = "SELECT * FROM t CHANGES FROM VERSION 1"
ASKS["STREAM t in SQL"] = "SELECT * FROM STREAM t WITH ('scan.mode' = 'latest')"
ASKS["CHECK, UNIQUE and FOREIGN KEY of tables"] = "CREATE TABLE u (k INT, CHECK (k > 0))"
ASKS["GENERATED ALWAYS AS of columns"] = "CREATE TABLE u (k INT, g INT GENERATED ALWAYS AS (k + 1))"
ASKS["SHOW PROCEDURES and DESCRIBE PROCEDURE"] = "DESCRIBE PROCEDURE sys.create_tag"


def rows(spark: Any, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in spark.sql(query).collect()]


@pytest.fixture
def grown(spark: Any) -> Any:
    """A table t whose first version has no column v."""
    spark.sql("CREATE TABLE t (k INT)")
    spark.sql("INSERT INTO t VALUES (1)")
    spark.sql("ALTER TABLE t ADD COLUMN v STRING")
    spark.sql("INSERT INTO t VALUES (2, 'b')")
    return spark


# -- the report, and the table of gaps --------------------------------------------------------------------------------
def test_the_doctor_finds_every_hook(spark: Any) -> None:
    found = paimon_sql.doctor(spark)
    assert found.moved == ()
    assert found.is_known
    assert found.spark in str(found)
    assert [f for f in found.findings if f.fails] == [] and found.is_sound


@pytest.mark.parametrize("gap", GAPS, ids=lambda gap: gap.what)
def test_a_gap_is_where_the_table_has_it(spark: Any, gap: Gap) -> None:
    there = spark_minor() >= tuple(map(int, gap.since.split(".")))
    assert jvm_of(spark.sparkContext).has(gap.needs) == there
    statement = ASKS.get(gap.what)
    if statement is None:
        assert gap.statement is None, "a statement that tries it is missing here"
        return
    spark.sql("CREATE TABLE t (k INT)")
    if there:
        spark.sql(statement)
        return
    with pytest.raises(ParseException, match=f"needs Spark {gap.since}"):
        spark.sql(statement)


def test_no_spark_writes_unchecked_rows(spark: Any, warehouse: str) -> None:
    """The table has a constraint that Python without Spark made, or a newer Spark."""
    check = Constraint("positive", ConstraintKind.CHECK, ("k",), "k > 0", enforced=True)
    options = {check.key: check.value}
    paimon_sql.open_catalog(warehouse).create_table("default.t", pa.schema([("k", pa.int32())]), options=options)
    refused = "needs Spark 4.1" if spark_minor() < (4, 1) else "CHECK_CONSTRAINT_VIOLATION"
    paimon_sql.open_table(f"{warehouse}/default.db/t").append([{"k": 1}])
    for statement in ("INSERT INTO t VALUES (-1)", "UPDATE t SET k = -1"):
        with pytest.raises(PySparkException, match=refused):
            spark.sql(statement)
    assert rows(spark, "SELECT * FROM t") == [(1,)]
    spark.sql("DELETE FROM t")


# -- options that decide about columns --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "query",
    [
        f"SELECT * FROM t {FIRST}",
        "SELECT * FROM t WITH ('scan.snapshot-id'='1')",
        f"SELECT t.* FROM t {FIRST}",
        f"SELECT paimon.default.t.k FROM paimon.default.t {FIRST}",
        f"WITH x AS (SELECT * FROM t {FIRST}) SELECT * FROM x",
        f"SELECT k FROM (SELECT * FROM t {FIRST}) WHERE k IN (SELECT k FROM t {FIRST})",
    ],
)
def test_columns_are_those_of_the_version(grown: Any, query: str) -> None:
    assert grown.sql(query).columns == ["k"]
    assert rows(grown, query) == [(1,)]


def test_readers_have_the_columns_of_the_version(grown: Any, warehouse: str) -> None:
    first = {"scan.snapshot-id": "1"}
    assert grown.read.options(**first).table("t").columns == ["k"]
    assert grown.read.options(**first).table("paimon.default.t").collect() == [(1,)]
    path = str(Path(warehouse, "default.db", "t"))
    assert grown.read.format("paimon").options(**first).load(path).collect() == [(1,)]
    assert grown.read.table("t").columns == ["k", "v"]


def test_branches_are_read_with_their_columns(grown: Any) -> None:
    grown.sql("CALL sys.create_tag('t', 'one', 1)")
    grown.sql("CALL sys.create_branch('t', 'b', 'one')")
    assert rows(grown, "SELECT * FROM t /*+ OPTIONS('branch'='b') */") == [(1,)]
    assert grown.read.option("branch", "b").table("t").columns == ["k"]


# -- statements -------------------------------------------------------------------------------------------------------
def test_an_update_with_a_hint(grown: Any) -> None:
    grown.sql("UPDATE t /*+ OPTIONS('write.merge-schema'='false') */ SET v = 'c' WHERE k = 2")
    assert rows(grown, "SELECT * FROM t ORDER BY k") == [(1, None), (2, "c")]


def test_unnest(spark: Any) -> None:
    spark.sql("CREATE TABLE o (k INT, a ARRAY<STRING>, s ARRAY<STRUCT<x: INT, y: STRING>>)")
    spark.sql("INSERT INTO o VALUES (1, array('p', 'q'), array(named_struct('x', 7, 'y', 'z')))")
    assert rows(spark, "SELECT k, e FROM o, UNNEST(o.a) AS u (e) ORDER BY e") == [(1, "p"), (1, "q")]
    assert rows(spark, "SELECT e FROM o CROSS JOIN UNNEST(a) AS u (e) ORDER BY e") == [("p",), ("q",)]
    assert rows(spark, "SELECT x, y FROM o, UNNEST(o.s) AS u (x, y)") == [(7, "z")]
    numbered = "SELECT e, n FROM o, UNNEST(o.a) WITH ORDINALITY AS u (e, n) ORDER BY n"
    assert rows(spark, numbered) == [("p", 1), ("q", 2)]
    assert rows(spark, "SELECT * FROM UNNEST(array(1, 2)) AS u (e) ORDER BY e") == [(1,), (2,)]


def test_replace_where_casts(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT, v STRING) PARTITIONED BY (k)")
    spark.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    spark.sql("INSERT INTO t REPLACE WHERE k = 1 SELECT '1', 5")
    assert rows(spark, "SELECT * FROM t ORDER BY k") == [(1, "5"), (2, "b")]


def test_columns_that_are_left_out(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT, v STRING DEFAULT 'd', w INT)")
    spark.sql("INSERT INTO t (w, k) VALUES (3, 1)")
    spark.sql("INSERT INTO t BY NAME SELECT 2 AS k")
    spark.createDataFrame([(3,)], "k INT").writeTo("t").append()
    assert rows(spark, "SELECT * FROM t ORDER BY k") == [(1, "d", 3), (2, "d", None), (3, "d", None)]


def test_like_of_a_name_of_three_parts(spark: Any) -> None:
    spark.sql("CREATE TABLE s (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) COMMENT 'c'")
    spark.sql("CREATE TABLE paimon.default.t LIKE s TBLPROPERTIES ('bucket' = '2')")
    spark.sql("CREATE TABLE IF NOT EXISTS t LIKE default.s")
    shown = rows(spark, "SHOW CREATE TABLE t")[0][0]
    assert "'primary-key' = 'k'" in shown and "'bucket' = '2'" in shown
    with pytest.raises(AnalysisException, match="already exists"):
        spark.sql("CREATE TABLE t LIKE s")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql("CREATE TABLE u LIKE nowhere")
    spark.range(1).createOrReplaceTempView("some")
    spark.sql("CREATE TABLE u LIKE some")
    assert spark.table("u").dtypes == [("id", "bigint")]


def test_functions_over_columns(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT)")
    spark.sql("INSERT INTO t VALUES (1), (2), (3)")
    found = rows(spark, "SELECT k, sys.bucket(4, k) FROM t ORDER BY k")
    assert [k for k, _ in found] == [1, 2, 3] and {b for _, b in found} <= set(range(4))
    assert rows(spark, "WITH x AS (SELECT sys.mod_bucket(4, k) AS b FROM t) SELECT max(b) FROM x") == [(3,)]
    assert rows(spark, "SELECT paimon.sys.bucket(4, k) = sys.bucket(4, k) FROM t")[0] == (True,)


def test_names_of_arguments_in_any_case(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT)")
    spark.sql("INSERT INTO t VALUES (1)")
    spark.sql("CALL sys.create_tag(TABLE => 't', Tag => 'one')")
    assert rows(spark, "SELECT tag_name FROM t$tags") == [("one",)]


def test_filters_skip_files(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT)")
    for value in (1, 2, 3):
        spark.sql(f"INSERT INTO t VALUES ({value})")
    assert rows(spark, "SELECT * FROM t WHERE k = 2") == [(2,)]
    assert "files 1/3" in rows(spark, "EXPLAIN SELECT * FROM t WHERE k = 2")[0][0]


def test_changes_of_tables_with_padded_columns(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT, c CHAR(3))")
    spark.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    spark.sql("DELETE FROM t WHERE k = 1")
    spark.sql("UPDATE t SET c = 'x' WHERE c = 'b'")
    assert rows(spark, "SELECT k, c FROM t ORDER BY k") == [(2, "x  "), (3, "c  ")]


def test_nested_values_of_nothing_are_written(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT, a ARRAY<MAP<STRING, INT>>, m MAP<STRING, ARRAY<INT>>)")
    spark.sql("INSERT INTO t VALUES (1, NULL, NULL)")
    assert rows(spark, "SELECT * FROM t") == [(1, None, None)]


def test_statements_about_views(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT)")
    spark.sql("INSERT INTO t VALUES (1), (2)")
    spark.sql("CREATE VIEW v (a COMMENT 'the key') AS SELECT k FROM t")
    spark.sql("CREATE VIEW w AS SELECT max(a) AS m FROM v")
    spark.sql("ALTER VIEW v AS SELECT k + 1 AS a FROM t")
    assert rows(spark, "SELECT m FROM w") == [(3,)] and spark.table("v").count() == 2
    assert [r[1] for r in rows(spark, "SHOW VIEWS")] == ["v", "w"]
    assert rows(spark, "DESCRIBE v") == [("a", "int", None)]
    with pytest.raises(AnalysisException, match="RECURSIVE_VIEW"):
        spark.sql("CREATE OR REPLACE VIEW v AS SELECT * FROM w")
    spark.sql("DROP VIEW w")
    spark.sql("DROP VIEW v")
    spark.sql("DROP VIEW IF EXISTS v")
    with pytest.raises(AnalysisException, match="VIEW_NOT_FOUND"):
        spark.sql("DROP VIEW v")
    spark.sql("CREATE TEMPORARY VIEW v AS SELECT 1 AS a")
    spark.sql("DROP VIEW v")
