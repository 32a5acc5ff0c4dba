"""Values as SQL text."""

import datetime as dt
from decimal import Decimal

import pytest
from dbt.adapters.paimon.literals import literal, properties, quoted, selects_of_rows, string_literal


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        (True, "'true'"),
        (Decimal("1E+3"), "'1000'"),
        (Decimal("0.10"), "'0.10'"),
        (dt.date(2024, 1, 2), "'2024-01-02'"),
        (dt.datetime(2024, 1, 2, 3, 4, 5, 60), "'2024-01-02 03:04:05.000060'"),
        ("it's", "'it\\'s'"),
        ("a\\b", "'a\\\\b'"),
        ("${HOME}", "'\\u0024{HOME}'"),
        (2, "'2'"),
    ],
)
def test_literals(value, text):
    assert literal(value) == text


def test_properties_and_names():
    assert (
        properties({"bucket": 2, "write-only": True, "x": "a'b"})
        == "'bucket' = '2', 'write-only' = 'true', 'x' = 'a\\'b'"
    )
    assert quoted("a`b") == "`a``b`"


def test_rows_as_queries():
    first, second = selects_of_rows([[1, "a"], [2, None], [3, "c"]], {"id": "bigint", "a name": "string"}, 2)
    assert first == (
        "select cast(c0 as bigint) as `id`, cast(c1 as string) as `a name` from values\n"
        "('1', 'a'),\n('2', NULL)\nas rows(c0, c1)"
    )
    assert "('3', 'c')" in second


def test_no_rows_are_a_query_without_rows():
    assert list(selects_of_rows([], {"id": "bigint"}, 2)) == [
        "select cast(c0 as bigint) as `id` from values\n(NULL)\nas rows(c0) where false"
    ]


def test_texts_reach_spark_as_they_are(spark):
    texts = ["it's", "a\\b", "${HOME} ${spark.app.name}", 'a "b"\nc', "", "\u00e9\U0001f600", "\\u0041"]
    query = ", ".join(string_literal(text) for text in texts)
    assert list(spark.sql(f"select {query}").collect()[0]) == texts
