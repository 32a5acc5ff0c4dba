"""Calls of vector_search that cannot be rewritten are refused where they go wrong."""

from __future__ import annotations

import pytest

from paimon_sql.preprocess import rewrite
from paimon_sql.preprocess.errors import PreprocessError


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "'t'",
        "'t', 'v', array(1)",
        "t, 'v', array(1), 2",
        "'t', 'v', , 2",
        "'t', 'v', array(a.v), 2",
        "'t', 'v', a.v, 2",
        "'t', 'v', a.v, 2.5",
        "'t', 'v', a.v, a.k",
        "'t', 'v', a.v, 2, map('a', a.b)",
        "'t', c, a.v, 2",
        "'t', 'v', array(1), 2.5",
        "'t', 'v', array(1), 1e400",
        "'t', 'v', array(1), k",
        "'t', 'v', array(1), 2, map('a')",
        "'t', 'v', array(1), 2, 'a'",
        "'t', 'v', array(1), 2, map('a', 1)",
        "'t', 'v', array(1), 2, 'a=b', 3",
    ],
)
def test_arguments_that_are_not_literals(arguments: str) -> None:
    with pytest.raises(PreprocessError, match="vector_search needs the name of a table"):
        rewrite(f"SELECT * FROM vector_search({arguments})")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("q, LATERAL (SELECT k FROM vector_search('t', 'v', q.e, 2) s WHERE k > 1) r", "cannot have a condition"),
        ("q, LATERAL (SELECT k FROM vector_search('t', 'v', q.e, 2) VERSION AS OF 1) r", "cannot have a version"),
        ("q JOIN LATERAL vector_search('t', 'v', q.e, 2) FOR VERSION AS OF 't' AS r", "cannot have a version"),
        ("q LEFT JOIN LATERAL vector_search('t', 'v', q.e, 2) r", "cannot be in an outer join"),
        ("q LEFT OUTER JOIN LATERAL (SELECT k FROM vector_search('t', 'v', q.e, 2)) r", "cannot be in an outer join"),
    ],
)
def test_searches_for_each_row_that_would_have_other_rows(query: str, said: str) -> None:
    with pytest.raises(PreprocessError, match=said):
        rewrite(f"SELECT * FROM {query}")


ROUTE = "named_struct('column', 't', 'query', 'x')"


@pytest.mark.parametrize(
    "call",
    [
        "full_text_search('t', 'v', 'x')",
        "full_text_search('t', 'v', x, 2)",
        "full_text_search('t', 'v', 'x', 2, 3)",
        "hybrid_search('t', array(), array())",
        f"HYBRID_SEARCH('t', array({ROUTE}, array(), 2)",
        f"hybrid_search('t', array(), array({ROUTE[:-1]}, 'limit')), 2)",
        f"hybrid_search('t', array(), array({ROUTE[:-1]}, 'limit', x)), 2)",
        f"hybrid_search('t', array(), array({ROUTE}), 2, rrf)",
    ],
)
def test_other_searches_with_arguments_that_are_not_literals(call: str) -> None:
    with pytest.raises(PreprocessError, match=f"{call.partition('(')[0].lower()} needs the name of a table"):
        rewrite(f"SELECT * FROM {call}")


@pytest.mark.parametrize(
    "call",
    [
        "sys.vector_search('t', 'v', array(1.0), 3)",
        "paimon.sys.Vector_Search('t', 'v', array(1.0), 3)",
        "sys.full_text_search('t', 'v', 'x')",
        "paimon.sys.paimon_incremental_query('t', 1, 2)",
    ],
)
def test_a_table_function_is_not_a_procedure(call: str) -> None:
    """Spark would look for a function of the catalog, and the table in the database `sys`."""
    with pytest.raises(PreprocessError, match=r"is not in sys: write \w+\(…\), without a qualifier"):
        rewrite(f"SELECT * FROM {call}")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("SELECT * FROM t, {}", True),
        ("SELECT * FROM t JOIN u ON t.a = f(u.a, 1), {}", True),
        ("SELECT * FROM (SELECT a, b FROM t), {} WHERE a IN (1, 2)", True),
        ("MERGE INTO t USING {} AS s ON t.k = s.k WHEN MATCHED THEN DELETE", True),
        ("SELECT a, {} FROM t", False),
        ("SELECT * FROM t WHERE f(a, {})", False),
        ("SELECT * FROM t GROUP BY a, {}", False),
    ],
)
def test_calls_stand_for_tables(before: str, after: bool) -> None:
    text = before.format("vector_search('d.t', 'v', array(1), 2)")
    assert ("d.t WITH ('search.arguments'=" in rewrite(text)) is after
