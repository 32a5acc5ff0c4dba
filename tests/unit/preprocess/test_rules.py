"""The patterns of rules save time only: without them statements become the same."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from paimon_sql.preprocess import PaimonStatement, PreprocessError, preprocess
from paimon_sql.preprocess.rules import EDITS, VALUES
from paimon_sql.preprocess.rules.rule import Rule, first_word
from tests.sql.fixtures import plain_statements, rewrite_pairs


def becomes(text: str) -> str | PaimonStatement:
    try:
        found = preprocess(text)
    except PreprocessError as e:
        return f"{e} {e.line} {e.column}"
    return found if isinstance(found, PaimonStatement) else found.text


def becomes_without_patterns(text: str) -> str | PaimonStatement:
    with patch.object(Rule, "may_apply", lambda rule, first, lower: True):
        return becomes(text)


@pytest.mark.parametrize("text", [*plain_statements(), *(written for written, _ in rewrite_pairs())])
def test_patterns_find_what_is_to_be_changed(text: str) -> None:
    assert becomes(text) == becomes_without_patterns(text)


def may_change(text: str) -> bool:
    lower = text.lower()
    return any(rule.may_apply(first_word(lower), lower) for rule in (*VALUES, *EDITS))


def test_most_plain_statements_take_no_tokens() -> None:
    assert sum(map(may_change, plain_statements())) < len(plain_statements()) / 2
    columns = ", ".join(f"c{i} DECIMAL(10, 2) COMMENT 'the {i}'" for i in range(40))
    for text in (
        f"SELECT {', '.join(f'CASE WHEN a[{i}] > x THEN map(1, {i}) END' for i in range(40))} FROM t",
        f"CREATE TABLE t ({columns}) USING paimon TBLPROPERTIES ('bucket' = '1')",
        f"ALTER TABLE t ADD COLUMNS ({columns})",
        "INSERT INTO t VALUES " + ", ".join(f"({i}, 'it is', array(1, 2))" for i in range(40)),
        "CREATE TABLE t AS SELECT c1 AS d1, c2 AS d2 FROM s",
        "CREATE TABLE t (a INT) USING paimon AS (SELECT c1 AS d1, c2 AS d2 FROM s)",
        "CREATE OR REPLACE VIEW v AS WITH s AS (SELECT 1) SELECT c1 AS d1, c2 AS d2 FROM s",
        "CREATE TEMPORARY VIEW v AS SELECT c1 AS d1, c2 AS d2 FROM s",
        "ALTER TABLE t DROP IF EXISTS PARTITION (a = 1), PARTITION (a = 2)",
        "ALTER TABLE t ADD IF NOT EXISTS PARTITION (a = 1)",
        "SELECT array[i], map [ s.k ] FROM t",
    ):
        assert not may_change(text), text


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("-- it's\n /* mine */ Select 1", "select"),
        ("EXPLAIN create table", "create"),
        ("explain formatted\nALTER", "alter"),
        ("explain select 1", "select"),
        ("/*+ hint */ select", ""),
        ("(select 1)", ""),
        ("", ""),
        ("create or replace temporary view v as", "view"),
        ("create table view", "create"),
    ],
)
def test_first_words(text: str, word: str) -> None:
    assert first_word(text.lower()) == word


_STARTS = "CREATE TABLE t WITH ('k'='v') AS SELECT |ALTER TABLE t ADD (a INT, |ALTER TABLE t SET (|SELECT |"
_STARTS += "INSERT INTO t VALUES |-- it's\nWITH a AS (SELECT |CREATE TABLE t (a INT, |EXPLAIN SELECT "
_QUIET = "a, 1, 'it, is'| = b AND | + -1|(1, 'x'), |f(g(a, b), c), |, c INT|, d DECIMAL(3, 1) NOT NULL COMMENT 'x, y'"
_LOUD = (
    "ARRAY[a, b]|ARRAY[|]|(|)|ROW(1, 2), | FROM s.t$files | FROM t /*+ OPTIONS('k'='v') */|CAST(a AS |BYTES)|, b BYTES"
    "|, PRIMARY KEY (a, b)|, c AS 1|, s STRUCT<x INT|, y TIMESTAMP(3)>|) WITH ('k' = 'v'| WITH ('primary-key'='b')|${x}"
    "|paimon_incremental_query('t', 1, 2)|r'\\'|'\\''|'a''b'|\"c\"| 'open|`q`|-- it's\n|/* it's */|/* /* */ */|$$|;|/"
)
_PARTS = st.tuples(st.sampled_from([*_QUIET.split("|"), *_LOUD.split("|")]), st.sampled_from([1, 1, 2, 30]))


@given(st.sampled_from(_STARTS.split("|")), st.lists(_PARTS, max_size=12))
@example("SELECT ", [("a, ", 60), ("FROM t$files", 1)])
@example("SELECT ", [("x, ", 60), ("'open", 1), (", a", 60), ("t$files", 1)])
@example("INSERT INTO t VALUES ", [("ARRAY[", 1), ("x + ", 60), ("1, ", 60), ("2]", 1)])
def test_patterns_find_what_is_to_be_changed_in_queries(start: str, parts: list[tuple[str, int]]) -> None:
    text = start + "".join(part * times for part, times in parts)
    assert becomes(text) == becomes_without_patterns(text)


_PLAIN = (
    "c BYTES|`a b` ROW<x INT, y VARBINARY(3)> NOT NULL|d TIMESTAMP(3) COMMENT 'x, y'|e INT DEFAULT 'it\\'s'"
    "|f DOUBLE PRECISION"
)
_OTHERS = (
    "PRIMARY KEY (c, d) NOT ENFORCED|c INT PRIMARY KEY|w AS c + 1|WATERMARK FOR c AS d|x METADATA|CHECK (c > 1)"
    "|y WRONG|z INT COMMENT|TIMESTAMP INT|m MULTISET<ROW(a INT, b BYTES)>|g ARRAY<INT|h MAP<INT>>|UNIQUE (a)"
    "|i DECIMAL(1, 2) -- it's\n|1a INT|j BYTES /* , */ NOT NULL|k INT DEFAULT f(1, 2)|l VARCHAR|o BYTES )"
    "|n TIMESTAMP(6) WITH LOCAL TIME ZONE"
)
_ITEMS = st.tuples(
    st.sampled_from([*_PLAIN.split("|"), *_PLAIN.split("|"), *_OTHERS.split("|")]), st.sampled_from([1, 9, 30])
)
_HEADS = (
    "CREATE TABLE t (|create or replace table a.`b`.t$branch_b(|-- it's\nREPLACE TABLE t\n(|ALTER TABLE t ADD ("
    "|ALTER TABLE `t` ADD COLUMNS(|CREATE TABLE IF NOT EXISTS t (SELECT INT, |EXPLAIN CREATE TABLE t ("
)
_ENDS = (
    ")|) WITH ('k' = 'v')|) USING parquet|) USING paimon TBLPROPERTIES ('primary-key' = 'c')"
    "|) WITH ('connector' = 'kafka')|"
)


@given(
    st.sampled_from(_HEADS.split("|")),
    st.lists(_ITEMS, min_size=1, max_size=5),
    st.sampled_from([", ", ",", "\n,\n"]),
    st.sampled_from(_ENDS.split("|")),
)
@example("CREATE TABLE t (", [("PRIMARY KEY (c, d) NOT ENFORCED", 1), ("c BYTES", 30)], ", ", ") WITH ('k' = 'v')")
@example("ALTER TABLE t ADD (", [("f DOUBLE PRECISION", 9), ("e INT", 1), ("d TIMESTAMP(3)", 1)], ", ", ")")
def test_patterns_find_what_is_to_be_changed_in_columns(
    head: str, items: list[tuple[str, int]], comma: str, end: str
) -> None:
    text = head + comma.join(comma.join([item] * times) for item, times in items) + end
    assert becomes(text) == becomes_without_patterns(text)
