"""Spellings of newer Sparks for one that does not take them."""

from __future__ import annotations

import pytest

from paimon_sql.preprocess import CreateLike, Rewriting, Syntax, create_like, preprocess

OLD = Syntax(update_options=False, unnest=False, create_like=False)


def rewritten(text: str, syntax: Syntax) -> str:
    found = preprocess(text, syntax)
    assert isinstance(found, Rewriting)
    return found.text


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("UPDATE t /*+ OPTIONS('k'='v') */ SET a = 1", "UPDATE t  SET a = 1"),
        ("SELECT * FROM t /*+ OPTIONS('k'='v') */", "SELECT * FROM t WITH ('k'='v')"),
        ("SELECT e FROM t, UNNEST(t.a) AS u (e)", "SELECT e FROM t, LATERAL EXPLODE(t.a) AS u (e)"),
        ("SELECT * FROM UNNEST(array(1, 2)) AS u (e)", "SELECT * FROM EXPLODE(array(1, 2)) AS u (e)"),
        ("SELECT e FROM t, LATERAL UNNEST(a) AS u (e)", "SELECT e FROM t, LATERAL EXPLODE(a) AS u (e)"),
        ("SELECT x FROM t, UNNEST(t.s) AS u (x, y)", "SELECT x FROM t, LATERAL INLINE(t.s) AS u (x, y)"),
        (
            "SELECT e FROM t, UNNEST(t.a) WITH ORDINALITY AS u (e, n)",
            "SELECT e FROM t, LATERAL INLINE(TRANSFORM(t.a, (e, i) -> named_struct('e', e, 'i', i + 1))) AS u (e, n)",
        ),
        ("SELECT unnest, 'UNNEST(' FROM t", "SELECT unnest, 'UNNEST(' FROM t"),
    ],
)
def test_what_an_older_parser_gets(text: str, old: str) -> None:
    assert rewritten(text, OLD) == old


def test_the_newest_parser_gets_what_it_takes() -> None:
    text = "SELECT e FROM UNNEST(array(1)) WITH ORDINALITY AS u (e, n)"
    assert rewritten(text, Syntax()) == text
    assert rewritten("UPDATE t /*+ OPTIONS('k'='v') */ SET a = 1", Syntax()) == "UPDATE t WITH ('k'='v') SET a = 1"


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("CREATE TABLE t LIKE s", CreateLike(("t",), ("s",), False, {})),
        ("CREATE TABLE IF NOT EXISTS a.`b c`.t LIKE d.s;", CreateLike(("a", "b c", "t"), ("d", "s"), True, {})),
        ("create table t like s using parquet", CreateLike(("t",), ("s",), False, {"provider": "parquet"})),
        ("CREATE TABLE t LIKE s STORED AS ORC", CreateLike(("t",), ("s",), False, {"hive.stored-as": "ORC"})),
        (
            "CREATE TABLE t LIKE s TBLPROPERTIES ('bucket' = '2', 'a.b' = 'it\\'s', n = 3)",
            CreateLike(("t",), ("s",), False, {"bucket": "2", "a.b": "it's", "n": "3"}),
        ),
        ("CREATE TABLE t LIKE s LOCATION '/p'", CreateLike(("t",), ("s",), False, {"location": "/p"})),
    ],
)
def test_create_like(text: str, statement: CreateLike) -> None:
    assert create_like(text) == statement


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE t (a INT) COMMENT 'like s'",
        "CREATE TABLE t AS SELECT * FROM s WHERE a LIKE 'x'",
        "SELECT * FROM t WHERE a LIKE 'CREATE TABLE t LIKE s'",
        "CREATE TABLE t LIKE s WHATEVER",
        "CREATE TABLE t LIKE s TBLPROPERTIES ('a' = ",
        "CREATE VIEW t LIKE s",
    ],
)
def test_other_statements_are_none(text: str) -> None:
    assert create_like(text) is None
