"""vector_search in SQL: the nearest rows, with conditions before the search, over merges and deletions."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from pyspark.errors import PySparkException

from paimon_sql.spark.workers.searches import NearestSearch
from tests.support.spark_versions import since

SCORE = "__paimon_search_score"
TABLES = {
    "append": "'deletion-vectors.enabled' = 'true'",
    "keyed": "'primary-key' = 'k', 'bucket' = '2'",
}


def rows(spark: Any, statement: str) -> list[Any]:
    return [tuple(row) for row in spark.sql(statement).collect()]


def search(arguments: str, rest: str = "") -> str:
    return f"SELECT k FROM vector_search('t', 'v', {arguments}) {rest}"


@pytest.mark.parametrize("kind", TABLES)
def test_the_nearest_rows(spark: Any, kind: str) -> None:
    columns = "k INT, p STRING, v ARRAY<FLOAT> COMMENT '__VECTOR_FIELD;2'"
    spark.sql(f"CREATE TABLE t ({columns}) TBLPROPERTIES ({TABLES[kind]})")
    for first in (0, 5):
        made = "CAST(id AS INT), IF(id % 2 = 0, 'a', 'b'), array(CAST(id AS FLOAT), 0f)"
        spark.sql(f"INSERT INTO t SELECT {made} FROM range({first}, {first + 5})")
    spark.sql("INSERT INTO t VALUES (99, 'a', NULL)")
    assert rows(spark, search("array(6.75f, 0f), 3")) == [(7,), (6,), (8,)]
    assert rows(spark, search("array(6.75, 0), 2", "WHERE p = 'b' AND k <> 7 ORDER BY k")) == [(5,), (9,)]
    found = f"SELECT s.p, s.{SCORE} FROM vector_search('t', 'v', array(1, 1), 1, map('metric', 'inner_product')) s"
    assert rows(spark, found) == [("b", 9.0)]
    assert rows(spark, "SELECT * FROM vector_search('t', 'v', array(9, 0), 1)") == [(9, "b", [9.0, 0.0])]
    assert rows(spark, "SELECT count(*), max(k) FROM vector_search('t', 'v', array(0, 0), 4)") == [(4, 3)]
    assert rows(spark, f"{search('array(0, 0), 4')} WHERE {SCORE} > 0.4 ORDER BY k") == [(0,), (1,)]
    assert rows(spark, search("array(9, 0), 5", "LIMIT 2")) == [(9,), (8,)]
    assert rows(spark, "SELECT s.k, x.k FROM t AS s, vector_search('t', 'v', array(2, 0), 1) x WHERE s.k = 1") == [
        (1, 2)
    ]
    spark.sql("DELETE FROM t WHERE k IN (7, 8)")
    assert rows(spark, search("array(6.75f, 0f), 3")) == [(6,), (5,), (9,)]
    spark.sql("CREATE TEMPORARY VIEW near AS SELECT k FROM vector_search('t', 'v', array(0, 0), 2)")
    joined = "SELECT t.k, t.p FROM t JOIN near ON t.k = near.k ORDER BY t.k"
    assert rows(spark, joined) == [(0, "a"), (1, "b")]
    found = "SELECT t.k FROM t JOIN paimon_incremental_query('t', 0, 1) AS x ON t.k = x.k ORDER BY 1"
    assert rows(spark, found) == [(k,) for k in range(5)]


@since(4, 1, "Spark 4.0 has no functions of Arrow arrays")
@pytest.mark.parametrize("kind", TABLES)
def test_the_nearest_rows_of_each_row(spark: Any, kind: str) -> None:
    columns = "k INT, ts TIMESTAMP, s STRUCT<a: INT>, v ARRAY<FLOAT> COMMENT '__VECTOR_FIELD;2'"
    spark.sql(f"CREATE TABLE t ({columns}) TBLPROPERTIES ({TABLES[kind]})")
    for first in (0, 5):
        made = "CAST(id AS INT), TIMESTAMP '2026-01-01', struct(CAST(id AS INT)), array(CAST(id AS FLOAT), 0f)"
        spark.sql(f"INSERT INTO t SELECT {made} FROM range({first}, {first + 5})")
    spark.sql("INSERT INTO t VALUES (99, NULL, NULL, NULL)")
    spark.sql("DELETE FROM t WHERE k = 3")
    spark.sql("CREATE TABLE q (id INT, e ARRAY<DOUBLE>)")
    spark.sql("INSERT INTO q VALUES (1, array(2.2, 0)), (2, array(7.9, 0)), (3, NULL)")
    near = "LATERAL (SELECT k, s.a, ts FROM vector_search('t', 'v', q.e, 2) AS n) AS r"
    found = rows(spark, f"SELECT q.id, r.k, r.a, CAST(r.ts AS DATE) FROM q, {near} ORDER BY q.id, r.k")
    day = date(2026, 1, 1)
    assert found == [(1, 1, 1, day), (1, 2, 2, day), (2, 7, 7, day), (2, 8, 8, day)]
    direct = "SELECT q.id, r.k FROM q JOIN LATERAL vector_search('t', 'V', q.e, 1, map('metric', 'inner_product')) AS r"
    assert rows(spark, f"{direct} ON r.k > q.id ORDER BY 1") == [(1, 9), (2, 9)]
    alone = rows(spark, f"SELECT k, {SCORE} FROM vector_search('t', 'v', array(7.9, 0), 3)")
    of_each = f"SELECT r.k, r.{SCORE} FROM q JOIN LATERAL vector_search('t', 'v', q.e, 3) AS r WHERE q.id = 2"
    assert [(k, pytest.approx(score, 1e-5)) for k, score in alone] == rows(spark, of_each)
    spark.sql(f"CREATE TEMPORARY VIEW near AS {direct}")
    assert rows(spark, "SELECT count(*) FROM near") == [(2,)]
    spark.sql("DROP VIEW near")
    for vector, said in (
        ("array(CAST(q.id AS FLOAT))", "has a vector of 2 elements, but the search is for a vector of 1"),
        ("array(1f, NULL)", "list of finite numbers"),
        ("array(CAST(q.id AS FLOAT), float('nan'))", "list of finite numbers"),
    ):
        with pytest.raises(PySparkException, match=said):
            spark.sql(f"SELECT * FROM q, LATERAL (SELECT k FROM vector_search('t', 'v', {vector}, 2)) r").collect()
    spark.sql("CREATE VIEW seen AS SELECT * FROM t")
    spark.sql("CREATE TEMPORARY VIEW passing AS SELECT * FROM t")
    for table, column, said in (
        ("seen", "v", "A search cannot read seen: it is a view. Name the table that it reads"),
        ("passing", "v", "A search cannot read passing: it is a temporary view"),
        ("t$files", "v", "A search cannot read t.files: it reads tables with snapshots"),
        ("nothing", "v", "no table .*nothing"),
        ("spark_catalog.default.x", "v", "not in a Paimon catalog"),
        ("t", "w", "no column 'w' to search in"),
        ("t", "k", "'k' of type INT has no vectors"),
    ):
        with pytest.raises(PySparkException, match=said):
            spark.sql(f"SELECT * FROM q, LATERAL vector_search('{table}', '{column}', q.e, 2) r").collect()


def test_searches_in_versions(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT, v ARRAY<FLOAT> COMMENT '__VECTOR_FIELD;1')")
    for k in (1, 2, 3):
        spark.sql(f"INSERT INTO t VALUES ({k}, array(CAST({k} AS FLOAT)))")
    spark.sql("CALL sys.create_tag(table => 't', tag => 'two', snapshot => 2)")
    near = "SELECT s.k FROM vector_search('t', 'v', array(9f), 1)"
    assert [rows(spark, f"{near} {v} AS s") for v in ("", "VERSION AS OF 1", "FOR VERSION AS OF 'two'")] == [
        [(3,)],
        [(1,)],
        [(2,)],
    ]
    made = rows(spark, "SELECT CAST(commit_time AS STRING) FROM t$snapshots WHERE snapshot_id = 2")[0][0]
    assert rows(spark, f"{near} TIMESTAMP AS OF TIMESTAMP '{made}' + INTERVAL '0' SECOND s WHERE s.k > 0") == [(2,)]


def test_explain_does_not_search(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    spark.sql("CREATE TABLE t (k INT, v ARRAY<FLOAT>)")
    spark.sql("INSERT INTO t VALUES (1, array(1f))")
    query, runs, run = search("array(1f), 1"), [], NearestSearch.run
    monkeypatch.setattr(NearestSearch, "run", lambda self, executor: runs.append(1) or run(self, executor))
    for mode in ("", "FORMATTED", "EXTENDED", "COST"):
        spark.sql(f"EXPLAIN {mode} {query}").collect()
    assert runs == []
    found = spark.sql(query)
    found.explain()
    assert [tuple(r) for r in found.collect()] == [(1,)]
    assert runs == [1]  # the plan that DataFrame.explain has made runs


@since(4, 1, "Spark 4.0 has no functions of Arrow arrays")
def test_texts_of_the_nearest_rows_of_each_row(spark: Any) -> None:
    spark.sql("CREATE TABLE t (c CHAR(3), w VARCHAR(3) DEFAULT 'x', s STRUCT<c: CHAR(2)>, v ARRAY<FLOAT>)")
    spark.sql("INSERT INTO t VALUES ('a', 'b', struct('c'), array(1f, 0f)), ('z', 'b', NULL, array(0f, 1f))")
    spark.sql("CREATE TABLE q AS SELECT array(1f, 0f) AS e")
    found = "SELECT c, w, s.c FROM {} WHERE c = 'a' AND w = 'b'"
    of_one = rows(spark, found.format("vector_search('t', 'v', array(1f, 0f), 2)"))
    assert rows(spark, found.format("q, LATERAL vector_search('t', 'v', q.e, 2) r")) == of_one == [("a  ", "b", "c ")]


@pytest.mark.parametrize("kind", ["ivf-flat", "ivf-sq"])
def test_indexes_find_rows(spark: Any, kind: str) -> None:
    evolved = "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true', 'deletion-vectors.enabled' = 'true'"
    columns = "k INT, p STRING, v ARRAY<FLOAT> COMMENT '__VECTOR_FIELD;2'"
    spark.sql(f"CREATE TABLE t ({columns}) PARTITIONED BY (p) TBLPROPERTIES ({evolved})")
    made = "CAST(id AS INT), IF(id % 2 = 0, 'a', 'b'), array(CAST(id AS FLOAT), 1f)"
    spark.sql(f"INSERT INTO t SELECT /*+ COALESCE(1) */ {made} FROM range(0, 60)")
    call = f"CALL sys.create_global_index(table => 't', index_column => 'v', index_type => '{kind}'"
    assert rows(spark, f"{call}, options => 'fields.v.nlist=2,fields.v.metric=l2')") == [(True,)]
    shown = "SELECT index_type, row_count FROM t$table_indexes ORDER BY row_range_start"
    assert rows(spark, shown) == [(kind, 30), (kind, 30)]
    spark.sql(f"INSERT INTO t SELECT {made} FROM range(60, 70)")
    spark.sql("DELETE FROM t WHERE k IN (31, 61)")
    assert set(rows(spark, search("array(30.75f, 1f), 3"))) == {(30,), (32,), (29,)}
    assert rows(spark, search("array(61.25f, 1f), 2")) == [(62,), (60,)]
    assert rows(spark, search("array(10f, 1f), 2", "WHERE p = 'b' AND k > 12 ORDER BY k")) == [(13,), (15,)]
    found = f"SELECT s.k, s._ROW_ID, s.{SCORE} > 0.8 FROM vector_search('t', 'v', array(4, 1), 1) AS s"
    assert rows(spark, found)[0][::2] == (4, True)
    refined = "array(7.1, 1), 2, map('ivf.refine_factor', '4', 'ivf.nprobe', '2')"
    assert rows(spark, search(refined)) == [(7,), (8,)]
    dropped = f"CALL sys.drop_global_index(table => 't', index_column => 'v', index_type => '{kind}')"
    assert rows(spark, dropped) == [(True, 2)]
    assert rows(spark, search("array(30.75f, 1f), 2")) == [(30,), (32,)]


@pytest.mark.parametrize("index", [None, "ivf-flat"])
def test_conditions_choose_rows_before_the_search(spark: Any, index: str | None) -> None:
    """Ids of rows, partitions, deleted rows, fields of structs and values of maps with a file index."""
    evolved = "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true', 'deletion-vectors.enabled' = 'true'"
    columns = "k INT, p STRING, s STRUCT<a: INT>, m MAP<STRING, INT>, v ARRAY<FLOAT> COMMENT '__VECTOR_FIELD;2'"
    indexed = "'file-index.bloom-filter.columns' = 'm[a]'"
    spark.sql(f"CREATE TABLE t ({columns}) PARTITIONED BY (p) TBLPROPERTIES ({evolved}, {indexed})")
    made = "CAST(id AS INT), 'a', struct(CAST(id AS INT)), map('a', CAST(id % 3 AS INT)), array(CAST(id AS FLOAT), 1f)"
    spark.sql(f"INSERT INTO t SELECT /*+ COALESCE(1) */ {made} FROM range(0, 40) ORDER BY id")
    if index:
        call = f"CALL sys.create_global_index(table => 't', index_column => 'v', index_type => '{index}'"
        assert rows(spark, f"{call}, options => 'fields.v.nlist=2,fields.v.metric=l2')") == [(True,)]
    spark.sql("DELETE FROM t WHERE k = 31")
    ids = dict(rows(spark, "SELECT k, _ROW_ID FROM t"))
    near = search("array(4f, 1f), 3", "WHERE {}")
    assert set(rows(spark, near.format(f"_ROW_ID >= {ids[30]}"))) == {(30,), (32,), (33,)}
    assert set(rows(spark, near.format(f"_ROW_ID IN ({ids[35]}, {ids[36]}, {ids[37]})"))) == {(35,), (36,), (37,)}
    assert set(rows(spark, near.format(f"_ROW_ID > {ids[29]} AND k <> 32 AND p = 'a'"))) == {(30,), (33,), (34,)}
    assert set(rows(spark, near.format(f"_ROW_ID = {ids[39]} OR k IN (20, 38)"))) == {(20,), (38,), (39,)}
    assert set(rows(spark, near.format("m['a'] = 2"))) == {(2,), (5,), (8,)}


def test_what_cannot_be_searched(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT, v ARRAY<FLOAT> COMMENT '__VECTOR_FIELD;2')")
    assert rows(spark, search("array(1, 2), 3")) == []
    for arguments, said in (
        ("'t', 'nope', array(1), 2", "no column 'nope' to search in"),
        ("'t', 'k', array(1), 2", "'k' of type INT has no vectors"),
        ("'t', 'v', array(1), 2", "has 1 elements, but the vectors of column 'v' have 2"),
        ("'t', 'v', array(1, 2), 0", "cannot return 0 rows"),
        ("'t', 'v', array(1, 2), 1, map('metric', 'x')", "'x' is unknown"),
    ):
        with pytest.raises(PySparkException, match=said):
            spark.sql(f"SELECT * FROM vector_search({arguments})").collect()
    with pytest.raises(PySparkException, match="in a search only"):
        spark.sql(f"SELECT {SCORE} FROM t").collect()


@pytest.mark.parametrize("table", ["t$audit_log", "t$ro", "t$files", "sys.tables", "f"])
def test_only_tables_with_snapshots_are_searched(spark: Any, table: str) -> None:
    """Others would return all rows."""
    spark.sql("CREATE TABLE t (k INT, v ARRAY<FLOAT> COMMENT '__VECTOR_FIELD;2')")
    spark.sql("CREATE TABLE f (k INT, v ARRAY<FLOAT>) TBLPROPERTIES ('type' = 'format-table')")
    with pytest.raises(PySparkException, match="A search cannot read"):
        spark.sql(f"SELECT * FROM vector_search('{table}', 'v', array(1, 2), 1)").collect()


@pytest.fixture
def near(spark: Any) -> Any:
    """A table with a view, a temporary view, a global one, and a table of Spark's own with the same columns."""
    spark.sql("CREATE TABLE t (k INT, v ARRAY<FLOAT> COMMENT '__VECTOR_FIELD;2')")
    spark.sql("INSERT INTO t VALUES (1, array(0f, 0f)), (2, array(1f, 0f)), (3, array(2f, 0f))")
    spark.sql("CREATE VIEW kept AS SELECT * FROM t WHERE k > 0")
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW passing AS SELECT * FROM t")
    spark.sql("CREATE OR REPLACE GLOBAL TEMPORARY VIEW far AS SELECT * FROM t")
    spark.sql("CREATE TABLE spark_catalog.default.plain USING parquet AS SELECT * FROM t")
    yield spark
    spark.sql("DROP TABLE spark_catalog.default.plain")
    spark.sql("DROP VIEW passing")
    spark.sql("DROP VIEW global_temp.far")


OF_NAMES = ("vector_search('{}', 'v', array(0, 0), 1)", "paimon_incremental_query('{}', 0, 1)")
NO_TABLES = {
    "kept": "(cannot read kept|rows of kept).*it is a view",
    "default.kept": "it is a view",
    "passing": "it is a temporary view",
    "global_temp.far": "it is a temporary view",
    "spark_catalog.default.plain": "not in a Paimon catalog",
    "parquet./nowhere": "not in a Paimon catalog",
}


@pytest.mark.parametrize("call", OF_NAMES)
def test_only_a_table_of_ours_is_read_by_a_function_of_tables(near: Any, call: str) -> None:
    """Spark ignores the options of other relations, so all of their rows would be the answer."""
    places = (
        "SELECT * FROM {}",
        "SELECT 1 WHERE EXISTS (SELECT * FROM {})",
        "WITH q AS (SELECT * FROM {}) SELECT * FROM q",
        "CREATE TABLE made AS SELECT * FROM {}",
        "INSERT INTO t SELECT k, v FROM {}",
        "DELETE FROM t WHERE k IN (SELECT k FROM {})",
        "MERGE INTO t USING {} AS s ON t.k = s.k WHEN MATCHED THEN DELETE",
        "BEGIN SELECT * FROM {}; END",
    )
    near.conf.set("spark.sql.scripting.enabled", "true")
    for number, (name, refused) in enumerate(NO_TABLES.items()):
        for place in (places[number % len(places)], places[0]):
            with pytest.raises(PySparkException, match=refused):
                near.sql(place.format(call.format(name))).collect()
    for place in (places[4], places[5], places[6]):
        with pytest.raises(PySparkException, match="it is a temporary view"):
            near.sql(place.format(call.format("passing"))).collect()
    assert rows(near, "SELECT k FROM t ORDER BY k") == [(1,), (2,), (3,)]


@pytest.mark.parametrize("call", OF_NAMES)
def test_queries_of_with_are_not_read_by_functions_of_tables(near: Any, call: str) -> None:
    query, own = call.format("q"), call.format("t")
    for statement in (
        f"WITH q AS (SELECT * FROM t) SELECT * FROM {query}",
        f"WITH Q AS (SELECT * FROM t), r AS (SELECT * FROM {query}) SELECT * FROM r",
        f"WITH q AS (SELECT * FROM t) SELECT * FROM (WITH r AS (SELECT 1) SELECT * FROM {query})",
        f"WITH q AS (SELECT * FROM t) SELECT 1 WHERE 1 IN (SELECT k FROM {query})",
        f"EXPLAIN WITH q AS (SELECT * FROM t) SELECT * FROM {query}",
        f"WITH q AS (SELECT * FROM t) INSERT INTO t SELECT k, v FROM {query}",
        f"CREATE TEMPORARY VIEW made AS WITH q AS (SELECT * FROM t) SELECT * FROM {query}",
        f"CREATE VIEW made AS WITH q AS (SELECT * FROM t) SELECT * FROM {query}",
    ):
        with pytest.raises(PySparkException, match="it is a query of WITH"):
            assert near.sql(statement).collect() is None, statement
    count = 1 if "vector" in call else 3
    assert rows(near, f"WITH t AS (SELECT k FROM {own}) SELECT count(*) FROM t") == [(count,)]
    assert rows(near, f"SELECT count(*) FROM (WITH q AS (SELECT 1) SELECT * FROM q), {own}") == [(count,)]
    near.sql(f"CREATE VIEW found AS SELECT k FROM {own}")  # the name in a view is looked up where the view was made
    near.sql("CREATE TEMPORARY VIEW t AS SELECT 1 AS k")
    try:
        near.sql("USE spark_catalog.default")
        assert rows(near, "SELECT count(*) FROM paimon.default.found") == [(count,)]
    finally:
        near.sql("USE paimon.default")
        near.sql("DROP VIEW t")


def test_options_that_choose_rows_need_a_table(near: Any) -> None:
    for options in ({"Incremental-Between": "0,1"}, {"scan.snapshot-id": "1"}, {"SCAN.TAG-NAME": "x"}):
        for name in ("passing", "kept"):
            with pytest.raises(PySparkException, match="it is a |TIME_TRAVEL"):
                near.read.options(**options).table(name).collect()
            given = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
            with pytest.raises(PySparkException, match="it is a |TIME_TRAVEL"):
                near.sql(f"SELECT * FROM {name} /*+ OPTIONS({given}) */").collect()
    near.sql("INSERT INTO t VALUES (4, array(3f, 0f))")
    assert near.read.option("Scan.Snapshot-Id", "1").table("t").count() == 3
    assert rows(near, "SELECT count(*) FROM t WITH ('Incremental-Between' = '1,2')") == [(1,)]
    assert near.read.option("scan.snapshot-id", "1").table("spark_catalog.default.plain").count() == 3


def test_options_of_a_search_have_no_case(near: Any) -> None:
    for key in ("metric", "METRIC", "Distance.Metric", "Fields.V.metric"):
        call = f"vector_search('t', 'v', array(5, 0), 1, map('{key}', 'inner_product'))"
        assert rows(near, f"SELECT k, {SCORE} FROM {call}") == [(3, 10.0)], key


@pytest.mark.parametrize(
    "arguments",
    [
        '{"column": ["v"], "vector": [0.0, 0.0], "k": 1, "options": {}}',
        '{"column": "v", "vector": ["a"], "k": 1, "options": {}}',
        '{"column": "v", "vector": [0.0, 0.0], "k": 1.5, "options": {}}',
        '{"column": "v", "vector": [0.0, 0.0], "k": 1, "options": {"metric": 3}}',
        "[]",
        '{"vectors": [1], "texts": [], "k": 1, "ranker": ""}',
        '{"vectors": [], "texts": ["x"], "k": 1, "ranker": ""}',
    ],
)
def test_arguments_that_no_call_writes_are_refused(spark: Any, arguments: str) -> None:
    evolved = "TBLPROPERTIES ('row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true')"
    spark.sql(f"CREATE TABLE t (k INT, v ARRAY<FLOAT> COMMENT '__VECTOR_FIELD;2') {evolved}")
    with pytest.raises(PySparkException, match="call vector_search, full_text_search or hybrid_search in FROM"):
        spark.sql(f"SELECT * FROM t WITH ('search.arguments' = '{arguments}')").collect()
    with pytest.raises(PySparkException, match="an older paimon-sql's: create the view with this option again"):
        spark.sql(f"SELECT * FROM t WITH ('vector-search.arguments' = '{arguments}')").collect()
