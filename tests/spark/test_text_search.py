"""full_text_search and hybrid_search in SQL: conditions before the search, rows with and without an index."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyspark.errors import PySparkException

EVOLVED = "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true', 'deletion-vectors.enabled' = 'true'"
COLUMNS = "k INT, p STRING, t STRING, v ARRAY<FLOAT> COMMENT '__VECTOR_FIELD;2'"
SCORE = "__paimon_search_score"
NEAR = "'field', 'v', 'query_vector', array(1, 2)"
LAKE = """'{"match": {"query": "lake"}}'"""


def rows(spark: Any, statement: str) -> list[Any]:
    return [tuple(row) for row in spark.sql(statement).collect()]


def search(arguments: str, rest: str = "") -> str:
    return f"SELECT k FROM full_text_search('t', 't', {arguments}) {rest}"


@pytest.fixture
def table(spark: Any) -> None:
    spark.sql(f"CREATE TABLE t ({COLUMNS}) PARTITIONED BY (p) TBLPROPERTIES ({EVOLVED})")
    text = "CASE id % 4 WHEN 0 THEN 'a lake' WHEN 1 THEN 'lake lake lakes' WHEN 2 THEN NULL ELSE 'a \"sea\"' END"
    made = f"CAST(id AS INT), IF(id % 2 = 0, 'a', 'b'), {text}, array(CAST(id AS FLOAT), 1f)"
    spark.sql(f"INSERT INTO t SELECT /*+ COALESCE(1) */ {made} FROM range(0, 12)")


@pytest.mark.usefixtures("table")
def test_texts_that_match(spark: Any) -> None:
    call = "CALL sys.create_global_index(table => 't', index_column => 't', index_type => 'full-text')"
    for _ in range(2):  # without an index, with one, and then with rows that have none
        assert sorted(rows(spark, search(f"{LAKE}, 20"))) == [(k,) for k in (0, 1, 4, 5, 8, 9)]
        spark.sql(call)
    assert rows(spark, "SELECT index_type, sum(row_count) FROM `t$table_indexes` GROUP BY 1") == [("full-text", 12)]
    spark.sql("INSERT INTO t VALUES (12, 'a', 'the lake', NULL)")
    spark.sql("DELETE FROM t WHERE k IN (0, 5)")
    assert sorted(rows(spark, search(f"{LAKE}, 20"))) == [(k,) for k in (1, 4, 8, 9, 12)]
    assert sorted(rows(spark, search(f"{LAKE}, 20", "WHERE p = 'a' AND k > 4"))) == [(8,), (12,)]
    assert rows(spark, search(f"{LAKE}, 1", "WHERE k = 8")) == [(8,)], "conditions come first"
    ((best, other),) = (rows(spark, f"SELECT k, {SCORE} FROM full_text_search('t', 't', {LAKE}, 2) ORDER BY k"),)
    assert (best[0], other[0]) == (1, 9) and best[1] == other[1] > 0
    assert rows(spark, search("""'{"match": {"query": "\\\\"sea\\\\""}}', 20""", "ORDER BY k LIMIT 1")) == [(3,)]
    assert rows(spark, f"SELECT count(*), max(p) FROM full_text_search('t', 't', {LAKE}, 20) s") == [(5, "b")]
    spark.sql("ALTER TABLE t SET ('full-text-index.search-mode' = 'fast')")
    assert sorted(rows(spark, search(f"{LAKE}, 20"))) == [(k,) for k in (1, 4, 8, 9)]
    spark.sql("ALTER TABLE t RENAME COLUMN t TO words")
    assert len(rows(spark, f"SELECT k, _ROW_ID FROM full_text_search('t', 'words', {LAKE}, 20)")) == 4
    drop = call.replace("create_", "drop_")
    assert rows(spark, drop.replace("=> 't', index_type", "=> 'words', index_type")) == [(True, 2)]


@pytest.mark.usefixtures("table")
def test_names_of_columns_are_as_in_queries(spark: Any) -> None:
    assert len(rows(spark, f"SELECT k FROM full_text_search('t', 'T', {LAKE}, 20)")) == 6
    assert rows(spark, "SELECT K FROM vector_search('t', 'V', array(3, 1), 1)") == [(3,)]
    spark.conf.set("spark.sql.caseSensitive", "true")
    with pytest.raises(PySparkException, match="has no column 'T' to search in"):
        rows(spark, f"SELECT k FROM full_text_search('t', 'T', {LAKE}, 20)")


@pytest.mark.usefixtures("table")
def test_searches_are_not_streams(spark: Any) -> None:
    found = json.dumps({"column": "v", "vector": [1.0, 1.0], "k": 1, "options": {}})
    stream = spark.readStream.option("search.arguments", found).table("t")
    with pytest.raises(PySparkException, match="cannot be a stream"):
        stream.writeStream.format("noop").trigger(availableNow=True).start().awaitTermination()


@pytest.mark.usefixtures("table")
def test_searches_put_together(spark: Any) -> None:
    vectors = "array(named_struct('field', 'v', 'query_vector', array(4.1, 1), 'limit', 3, 'weight', 2.0f))"
    texts = f"array(named_struct('column', 't', 'query', {LAKE}, 'limit', 20, 'weight', 1, 'options', map()))"
    both = f"SELECT k, {SCORE} FROM hybrid_search('t', {vectors}, {texts}, 4, '%s')"
    for _ in range(2):
        found = dict(rows(spark, both % "mrr"))
        assert list(found)[0] == 4 and found[4] == pytest.approx(2 + 1 / 5) and len(found) == 4
        # near are 4, 5, 3; of the texts, the first are 1, 5, 9
        assert found[5] == pytest.approx(2 / 2 + 1 / 2) and found[1] == 1.0 and found[3] == pytest.approx(2 / 3)
        assert dict(rows(spark, both % "rrf"))[5] == pytest.approx(2 / 62 + 1 / 62)
        assert dict(rows(spark, both % "weighted_score"))[4] == pytest.approx(2.0)
        for column, kind, more in (("t", "full-text", ""), ("v", "ivf-flat", ", options => 'fields.v.metric=l2'")):
            call = f"index_column => '{column}', index_type => '{kind}'{more}"
            spark.sql(f"CALL sys.create_global_index(table => 't', {call})")
    alone = f"SELECT k FROM hybrid_search('t', {vectors}, array(), 2) WHERE p = 'b'"
    assert sorted(rows(spark, alone)) == [(3,), (5,)]
    assert [k for (k,) in rows(spark, f"SELECT k FROM hybrid_search('t', array(), {texts}, 2)")] == [1, 5]
    assert len(rows(spark, both % "")) == 4


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (f"full_text_search('t', 'x', {LAKE}, 3)", "has no column 'x'"),
        (f"full_text_search('t', 'k', {LAKE}, 3)", "has no texts to search in"),
        ("full_text_search('t', 't', 'lake', 3)", "A search for texts cannot be 'lake'"),
        (f"full_text_search('t', 't', {LAKE}, 0)", "cannot return 0 rows"),
        (f"full_text_search('plain', 't', {LAKE}, 3)", "full_text_search cannot search table default.plain"),
        (f"full_text_search('t$files', 't', {LAKE}, 3)", "A search cannot read"),
        ("hybrid_search('t', array(), array(), 3)", "it has none"),
        (f"hybrid_search('t', array(), array(named_struct('column', 't', 'query', {LAKE})), 3, 'x')", "Ranker 'x'"),
        ("hybrid_search('t', array(), array(named_struct('column', 't')), 3)", "write column and query"),
        (
            f"hybrid_search('t', array(named_struct({NEAR}, 'weight', 0)), array(), 3)",
            "The weight 0.0 of a search is invalid",
        ),
        ("hybrid_search('t', array(named_struct('field', 'v')), array(), 3)", "write field and query_vector"),
        (f"full_text_search('t', 't', {LAKE})", "full_text_search needs the name of a table"),
        ("hybrid_search('t', 1, 2, 3)", "hybrid_search needs the name of a table"),
    ],
)
def test_what_cannot_be_searched(spark: Any, call: str, message: str) -> None:
    spark.sql("CREATE TABLE IF NOT EXISTS plain (t STRING)")
    with pytest.raises(PySparkException, match=message):
        spark.sql(f"SELECT * FROM {call}").collect()


@pytest.mark.usefixtures("table")
def test_scores_only_of_searches(spark: Any) -> None:
    with pytest.raises(PySparkException, match="has values in a search only"):
        spark.sql(f"SELECT {SCORE} FROM t").collect()
    with pytest.raises(PySparkException, match="cannot have a full-text index"):
        spark.sql("CALL sys.create_global_index(table => 't', index_column => 'k', index_type => 'full-text')")
