from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from paimon_sql.preprocess import PreprocessError, rewrite
from paimon_sql.preprocess.lexing import tokenize
from paimon_sql.preprocess.rules.column_stretches import ColumnStretches, column_stretches
from paimon_sql.preprocess.rules.dollar_names import dollar_names
from paimon_sql.preprocess.rules.inserted_rows import without_rows

_COLUMNS = ",\n ".join(f"col_{i} DECIMAL(10, 2) NOT NULL COMMENT 'the {i}, column'" for i in range(40))
_KEYS = ", ".join(f"'key-{i}'" for i in range(100))
_ROWS = ",\n".join(f"({i}, 'it has, commas', -{i}.5, NULL)" for i in range(100))
_CASES = ", ".join(f"CASE WHEN c{i} > {i} THEN x.c{i} + 1 ELSE coalesce(a{i}, -1) END AS n{i}" for i in range(40))
_ANDS = " AND ".join(f"c{i} = {i}" for i in range(100))
_OPTIONS = ", ".join(f"'k{i}' = 'v{i}'" for i in range(100))
_TYPES = ("BYTES", "TIMESTAMP(3)", "ROW<a INT, b ARRAY<BYTES>>", "MULTISET<STRING>", "ROW(a VARCHAR)", "MAP<INT, CHAR>")
_FLINK_COLUMNS = ", ".join(f"c{i} {_TYPES[i % 6]} COMMENT 'it''s'" for i in range(100))
LONG = [
    f"SELECT * FROM t$files WHERE a IN ({_KEYS})",
    f"SELECT {_CASES} FROM db.t /*+ OPTIONS('a' = 'b') */ WHERE {_ANDS}",
    f"INSERT INTO t VALUES (ROW(1, 2)), {_ROWS}",
    f"EXPLAIN INSERT INTO t SELECT * FROM paimon_incremental_query('s', 1, 2) WHERE {_ANDS}",
    f"SELECT * FROM t$files t {' '.join(f'JOIN s{i} ON s{i}.k = t.k' for i in range(50))}",
    f"CREATE TABLE t WITH ('bucket' = '1') AS SELECT {_CASES} FROM s",
    f"ALTER TABLE t ADD ({_COLUMNS})",
    f"ALTER TABLE t SET ({_OPTIONS})",
    f"CREATE TABLE t (\n {_COLUMNS},\n b BYTES, PRIMARY KEY (col_0)) WITH ('bucket' = '1')",
    f"CREATE TABLE t (a INT) WITH ({_OPTIONS})",
    f"CREATE TABLE t (\n {_FLINK_COLUMNS},\n PRIMARY KEY (c0) NOT ENFORCED) WITH ('bucket' = '1')",
]


def plainly(text: str) -> str | None:
    """What becomes of a text whose tokens are all read, and by sqlglot."""
    with (
        patch("paimon_sql.preprocess.lexing._plain", lambda text: None),
        patch("paimon_sql.preprocess.without_rows", lambda text: (text, [])),
        patch("paimon_sql.preprocess.rules.column_stretches", ColumnStretches),
        patch("paimon_sql.preprocess.rules.dollar_names", lambda text: None),
    ):
        return answered(text)


def answered(text: str) -> str | None:
    try:
        return rewrite(text)
    except PreprocessError as e:
        return f"{e} {e.line} {e.column}"


@pytest.mark.parametrize("text", LONG)
def test_long_statements_are_read_as_ever(text):
    assert rewrite(text) == plainly(text) != text
    if "TABLE t (\n" in text or "ADD" in text:
        assert len(tokenize(column_stretches(text).text)) < len(tokenize(text)) / 3


_CONSTRUCTORS = [
    "(1, ROW(1, 'x'), 'it is')",
    "(MAP[1, 2], ARRAY[ROW (ARRAY [1, -2.5])])",
    "('ROW(1)', row(NULL, array[]), TRUE)",
    "('ü (', 'it''s', x_row(1), -1)",
    "(ROW(1), 'a)')",
    "(1, 2)",
    "(a.b[1], 2)",
    "(x ROW(1))",
    "(ROW(1, 2)",
    "(ROW(1]))",
    "(ROW(1, --it's\n 2))",
    "(CAST(1 AS BYTES), ROW(1))",
    "((SELECT ARRAY[1] FROM t))",
    '("x", ROW(1))',
    "(ROW('a\\'b'))",
    "(X'ff', ROW(1))",
    "(\ud800, ROW(1))",
]


@given(
    st.sampled_from(
        ["INSERT INTO t VALUES", "insert overwrite c.`d`.t$branch_b (a, `b`) values", "INSERT INTO TABLE t VALUES"]
    ),
    st.lists(st.sampled_from(_CONSTRUCTORS), min_size=1, max_size=4),
    st.sampled_from(["", ";", " ; ", " x", ", ROW(2)", "-- it's"]),
)
@example("INSERT INTO t VALUES", _CONSTRUCTORS[:3], "")
def test_rows_with_constructors_are_read_as_ever(start, rows, end):
    text = f"{start} " + ",\n".join((rows * 60)[:60]) + end
    assert answered(text) == plainly(text)


def test_long_lists_of_constructors_have_few_tokens():
    text = f"INSERT INTO t VALUES {', '.join(_CONSTRUCTORS[:3] * 50)}"
    quiet, edits = without_rows(text)
    assert len(tokenize(quiet)) < 10
    assert len(edits) > 300
    assert rewrite(text) == plainly(text) != text


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
def test_the_rest_is_read_as_ever(start, parts):
    text = start + "".join(part * times for part, times in parts)
    assert answered(text) == plainly(text)


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
def test_columns_are_read_as_ever(head, items, comma, end):
    text = head + comma.join(comma.join([item] * times) for item, times in items) + end
    quiet = column_stretches(text).text
    assert (len(quiet), quiet.count("\n")) == (len(text), text.count("\n"))
    assert answered(text) == plainly(text)


_OF_QUERIES = (
    "SELECT * FROM t$files| UNION ALL |db.t$branch_b1$files|'t$files'|'it''s t$files'|'\\' t$files|r'\\'|\"t$files\""
    "|`t$files`|-- it's t$files\n|-- t$files \\\n|/* t$files */|/* /* */ t$files */|${x}_t$files|$$ t$files $$|1t$files"
    "|1.t$files|db1.t$files|$x|t$| , | (a - 1.5e3) |;|t$files'x'|é$files|#t$files| /2|x'1F'|t$files$| 1L "
)


@settings(max_examples=300)
@given(
    st.sampled_from(["SELECT ", "-- it's\nwith ", "EXPLAIN FROM ", "MERGE INTO ", "REFRESH ", ""]),
    st.lists(st.sampled_from(_OF_QUERIES.split("|"))),
)
def test_names_are_quoted_as_ever(start, parts):
    assert answered(start + "".join(parts)) == plainly(start + "".join(parts))


def test_names_in_queries_take_no_tokens():
    assert len(dollar_names("SELECT * FROM t$files" + " UNION ALL SELECT 'a$b' FROM `c$d`, db.t$files" * 9) or ()) == 10
    assert dollar_names("SELECT * FROM t$files /*+ OPTIONS('a'='b') */") is None
