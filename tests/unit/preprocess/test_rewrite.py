from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from paimon_sql.preprocess import PreprocessError, rewrite
from tests.sql.fixtures import plain_statements, rewrite_pairs

PAIRS = rewrite_pairs()


@pytest.mark.parametrize(("written", "expected"), PAIRS, ids=[written[:60] for written, _ in PAIRS])
def test_rewrites(written, expected):
    assert rewrite(written) == expected


@pytest.mark.parametrize("expected", [expected for _, expected in PAIRS])
def test_a_rewritten_statement_stays_as_it_is(expected):
    assert rewrite(expected) is expected


@pytest.mark.parametrize(("written", "expected"), PAIRS, ids=[written[:60] for written, _ in PAIRS])
def test_every_line_keeps_its_number(written, expected):
    assert rewrite(written).count("\n") == written.count("\n")


@pytest.mark.parametrize("text", plain_statements())
def test_plain_spark_comes_back_as_the_same_string(text):
    assert rewrite(text) is text


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 'never closed FROM t$files",
        "SELECT 1 /* never closed t$files",
        "CREATE TABLE t (a INT) WITH ('k'='v",
        "SELECT * FROM `t$files",
        "CREATE TABLE t (a INT",
        "CREATE TABLE t (a ARRAY<INT",
        "CREATE TABLE t (a ROW(b INT",
        "CREATE TABLE",
        "CREATE TABLE t (",
        "CREATE TABLE t (a INT) WITH",
        "ALTER TABLE t SET",
        "ALTER TABLE",
        "SET 'a' 'b' 'c'",
        "SET a-b c",
        "SELECT * FROM t /*+ OPTIONS('k'='v'",
        "SELECT * FROM t /*+ OPTIONS */",
        "USE CATALOG a.b",
        "SHOW CREATE VIEW",
        "SHOW CREATE VIEW v AS SERDE",
        "SHOW VIEWS",
        "CREATE TABLE t (a STRUCT<b: 'no type'>) WITH",
        "CREATE DATABASE d WITH WITH ('k'='v')",
        "SELECT ${x}_t$files, t$a${b}, t$, $x FROM t${z}",
        "SELECT * FROM t AS x /*+ OPTIONS('k'='v') */",
        "SELECT /*+ OPTIONS('k'='v') */ * FROM t",
        "CREATE TABLE t (a TIMESTAMP(3)) USING parquet",
        "CREATE TABLE t (a BYTES, PRIMARY KEY (a)) STORED AS ORC",
        "CREATE TEMPORARY TABLE t (a INT) WITH ('k'='v')",
        f"CREATE TABLE t (a {'ARRAY<' * 2000}BYTES{'>' * 2000})",
        "",
        ";",
    ],
)
def test_what_is_neither_goes_to_spark_as_it_is(text):
    assert rewrite(text) is text


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("CREATE TABLE t (a, b BYTES)", "CREATE TABLE t (a, b BINARY)"),
        ("CREATE TABLE t (a INT PRIMARY KEY (a), b BYTES)", "CREATE TABLE t (a INT PRIMARY KEY (a), b BINARY)"),
        ("CREATE TABLE t (PRIMARY KEY (k) x)", "CREATE TABLE t ( x) TBLPROPERTIES ('primary-key'='k')"),
        ("CREATE TABLE t (PRIMARY KEY (k) x, k INT)", "CREATE TABLE t ( x, k INT) TBLPROPERTIES ('primary-key'='k')"),
        (
            "CREATE TABLE t (a TIMESTAMP(10), b TIMESTAMP(3) WITH TIME ZONE, c TIMESTAMP(x), d MAP<BYTES>)",
            "CREATE TABLE t (a TIMESTAMP(10), b TIMESTAMP(3) WITH TIME ZONE, c TIMESTAMP(x), d MAP<BINARY>)",
        ),
        ("CREATE TABLE t (a ROW())", "CREATE TABLE t (a STRUCT<>)"),
        (
            "CREATE TABLE t (`a$b` INT, PRIMARY KEY (a$b) NOT ENFORCED)",
            "CREATE TABLE t (`a$b` INT) TBLPROPERTIES ('primary-key'='a$b')",
        ),
        ("CREATE TABLE t (a ROW<b 'no type'>)", "CREATE TABLE t (a STRUCT<b 'no type'>)"),
        (
            "SELECT * FROM t /*+ OPTIONS('a'='b') */ TIMESTAMP AS OF now() - INTERVAL",
            "SELECT * FROM t  TIMESTAMP AS OF now() - INTERVAL WITH ('a'='b')",
        ),
        ("CREATE TABLE t (a MAP<INT>>, b BYTES)", "CREATE TABLE t (a MAP<INT>>, b BINARY)"),
        ("CREATE TABLE t (a ROW<b INT), c BYTES)", "CREATE TABLE t (a STRUCT<b INT), c BYTES)"),
        ("CREATE TABLE t (a MULTISET<INT, b BYTES)", "CREATE TABLE t (a MAP<INT, b BYTES)"),
    ],
)
def test_spark_reports_what_is_not_understood(written, expected):
    assert re.sub(r" TBLPROPERTIES \('paimon-sql.*", "", rewrite(written)) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("CREATE TABLE t (a INT, WATERMARK FOR a AS a - INTERVAL '5' SECOND)", "WATERMARK is for streaming jobs"),
        ("CREATE TABLE t (a INT, cost AS a * 2)", "Column 'cost' cannot be computed"),
        ("CREATE TABLE t (a INT, `cost` AS a * 2) WITH ('bucket' = '1')", "Column 'cost' cannot be computed"),
        ("CREATE TABLE db.t (a INT, `my cost` /* x */ AS a * 2)", "Column 'my cost' cannot be computed"),
        ("CREATE TABLE t (cost AS a * 2, a INT) AS SELECT 1", "Column 'cost' cannot be computed"),
        ("CREATE TABLE t (a BIGINT METADATA FROM 'offset')", "Column 'a' cannot be METADATA"),
        ("CREATE TABLE t (a INT) WITH ('connector' = 'kafka')", "Flink's connectors are not available"),
        ("CREATE TEMPORARY TABLE t (a INT) WITH ('connector' = 'datagen')", "Flink's connectors are not available"),
        ("ALTER TABLE t ADD (ts AS TO_TIMESTAMP(l) AFTER l, WATERMARK FOR ts AS ts)", "Column 'ts' cannot be computed"),
        ("ALTER TABLE t ADD (ts INT, WATERMARK FOR ts AS ts)", "WATERMARK is for streaming jobs"),
        ("ALTER TABLE t ADD WATERMARK FOR ts AS ts", "WATERMARK is for streaming jobs"),
        ("ALTER TABLE t MODIFY WATERMARK FOR ts AS ts", "WATERMARK is for streaming jobs"),
        ("ALTER TABLE t DROP WATERMARK", "WATERMARK is for streaming jobs"),
        ("ALTER TABLE t MODIFY a", "MODIFY needs a column and its type"),
        (f"ALTER TABLE t MODIFY a {'ARRAY<' * 2000}INT", "MODIFY needs a column and its type"),
        ("ALTER TABLE t ADD (a TIMESTAMP(3), b AS a)", "Column 'b' cannot be computed"),
        ("ALTER TABLE t MODIFY (b AS a)", "Column 'b' cannot be computed"),
        ("ALTER TABLE t MODIFY (a INT, b", "MODIFY needs a column and its type"),
        ("ALTER TABLE t MODIFY PRIMARY KEY (a) NOT ENFORCED", "MODIFY needs a column and its type"),
        ("ALTER TABLE t ADD COLUMN (a INT, b INT GENERATED ALWAYS AS (a + 1))", "rows that exist would have no value"),
        ("SET 'execution.runtime-mode' = 'streaming'", "only the runtime mode 'batch'"),
    ],
)
def test_what_only_flink_does_is_refused_by_name(text, words):
    with pytest.raises(PreprocessError, match=words):
        rewrite(text)


@given(st.text(alphabet=st.characters(exclude_characters="$")))
@example("\x00")
@example("\ud800'")
def test_text_without_a_spelling_of_ours_comes_back_as_the_same_string(noise):
    text = "SELECT " + noise.replace("/*+", "")
    assert rewrite(text) is text


_STARTS = st.sampled_from(["CREATE TABLE t (", "ALTER TABLE t SET ", "SET ", "SELECT "])
_VOCABULARY = (
    "CREATE TABLE t ALTER SET RESET USE CATALOG WITH PRIMARY KEY NOT ENFORCED CONSTRAINT USING paimon AS SELECT FROM",
    "OPTIONS IDENTIFIER a b$c 3 'k' 'v' ROW ARRAY MULTISET BYTES TIMESTAMP < > ( ) , ; . = - *",
    "/*+ */ ` ' \" -- /* ${x} \n",
)
_WORDS = st.sampled_from([word for line in _VOCABULARY for word in line.split(" ")])


@given(_STARTS, st.lists(_WORDS))
def test_a_second_pass_changes_nothing(start, words):
    try:
        once = rewrite(start + " ".join(words))
    except PreprocessError:
        return
    assert rewrite(once) is once


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("CREATE TABLE t (k INT,\n  PRIMARY KEY (k)) WITH ('primary-key'='k,j')", 2, 3, ["k,j", "primary-key"]),
        ("CREATE TABLE t (k INT PRIMARY KEY, j INT PRIMARY KEY)", 1, 42, ["one primary key"]),
        ("CREATE TABLE t (k INT, j INT PRIMARY KEY, PRIMARY KEY (k))", 1, 43, ["one primary key"]),
        ("CREATE TABLE t (k INT PRIMARY KEY ENFORCED)", 1, 23, ["NOT ENFORCED"]),
        ("CREATE TABLE t (k INT, CONSTRAINT c PRIMARY KEY (k) RELY ENFORCED)", 1, 37, ["NOT ENFORCED"]),
    ],
)
def test_contradictions_are_refused_by_line_and_column(text, line, column, words):
    with pytest.raises(PreprocessError) as caught:
        rewrite(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert isinstance(caught.value, ValueError)
    assert all(word in str(caught.value) for word in words)


def test_contradictions_of_other_providers_are_theirs():
    text = "CREATE TABLE t (k INT PRIMARY KEY ENFORCED, j INT PRIMARY KEY) USING delta"
    assert rewrite(text) is text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("BEGIN SET n = (SELECT 1 FROM t$tags); END", "BEGIN SET n = (SELECT 1 FROM `t$tags`); END"),
        ("BEGIN SET VAR n = (SELECT 1 FROM t$tags); END", "BEGIN SET VAR n = (SELECT 1 FROM `t$tags`); END"),
        ("BEGIN SET (a, b) = (SELECT 1, 2 FROM t$tags); END", "BEGIN SET (a, b) = (SELECT 1, 2 FROM `t$tags`); END"),
        ("BEGIN SET; END", "BEGIN SET; END"),
        ("SET spark.x = t$tags", "SET spark.x = t$tags"),
    ],
)
def test_assignments_of_a_script_may_read_system_tables(text: str, expected: str) -> None:
    """SET outside of a script may be a setting, with a value that is not SQL."""
    assert rewrite(text) == expected
