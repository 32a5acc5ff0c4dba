"""The statements inside of BEGIN … END, and where it ends."""

from __future__ import annotations

import pytest

from paimon_sql.preprocess import (
    CreatePythonFunction,
    PaimonStatement,
    PreprocessError,
    Script,
    is_terminated,
    preprocess,
    split_statements,
)
from paimon_sql.preprocess.blocks import read_block
from paimon_sql.preprocess.lexing import tokenize


def parts(text: str) -> list[str]:
    tokens = tokenize(text)
    block = read_block(tokens)
    assert block is not None and block.is_whole and block.end == len(tokens)
    return [text[tokens.start(first) : tokens.end(end - 1)] for first, end in block.parts]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("BEGIN END", []),
        ("BEGIN SELECT 1; END", ["SELECT 1"]),
        ("BEGIN SELECT 1; SELECT 2 END", ["SELECT 1", "SELECT 2"]),
        ("begin not atomic select 'END;'; end", ["select 'END;'"]),
        ("BEGIN ATOMIC SELECT CASE WHEN a THEN 1 END; END", ["SELECT CASE WHEN a THEN 1 END"]),
        ("BEGIN a: BEGIN SELECT 1; END a; b: BEGIN END; SELECT 2; END", ["SELECT 1", "SELECT 2"]),
        (
            "BEGIN IF x THEN SELECT 1; ELSEIF y THEN SELECT 2; ELSE SELECT 3; END IF; END",
            "x;SELECT 1;y;SELECT 2;SELECT 3",
        ),
        ("BEGIN IF CASE WHEN a THEN b END THEN SELECT 1; END IF; END", "CASE WHEN a THEN b END;SELECT 1"),
        ("BEGIN CASE WHEN x THEN SELECT 1; SELECT 2; ELSE SELECT 3; END CASE; END", "x;SELECT 1;SELECT 2;SELECT 3"),
        ("BEGIN CASE CASE WHEN a THEN 1 END WHEN 1 THEN SELECT 1; END CASE; END", "CASE WHEN a THEN 1 END;1;SELECT 1"),
        ("BEGIN w: WHILE i < 3 DO SET i = i + 1; ITERATE w; END WHILE w; END", "i < 3;SET i = i + 1;ITERATE w"),
        ("BEGIN REPEAT SET i = 2; UNTIL i > 1 END REPEAT; SELECT 1; END", "SET i = 2;i > 1;SELECT 1"),
        ("BEGIN l: LOOP LEAVE l; END LOOP; SELECT 1; END", "LEAVE l;SELECT 1"),
        ("BEGIN FOR r AS SELECT a AS b FROM t DO SELECT r.b; END FOR; END", "SELECT a AS b FROM t;SELECT r.b"),
        ("BEGIN FOR SELECT a AS b FROM t DO SELECT b; END FOR; END", "SELECT a AS b FROM t;SELECT b"),
        (
            "BEGIN FOR WITH s AS (SELECT 1) SELECT * FROM s DO SELECT 2; END FOR; END",
            "WITH s AS (SELECT 1) SELECT * FROM s;SELECT 2",
        ),
        (
            "BEGIN DECLARE x INT DEFAULT 1; DECLARE c CONDITION FOR SQLSTATE '22012'; END",
            "DECLARE x INT DEFAULT 1;DECLARE c CONDITION FOR SQLSTATE '22012'",
        ),
        (
            "BEGIN DECLARE EXIT HANDLER FOR SQLSTATE VALUE '1', SQLSTATE '2', NOT FOUND, a.b SELECT 1; SELECT 2; END",
            "SELECT 1;SELECT 2",
        ),
        ("BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN SELECT 1; END; SELECT 2; END", "SELECT 1;SELECT 2"),
        ("BEGIN SELECT a AS end; SELECT 2; END", ["SELECT a AS end", "SELECT 2"]),
        ("BEGIN SELECT a end; SELECT 2; END", ["SELECT a end", "SELECT 2"]),
        ("BEGIN SELECT t.end; SELECT 2; END", ["SELECT t.end", "SELECT 2"]),
        (
            "BEGIN SELECT * FROM end; DELETE FROM t WHERE id = end; END",
            "SELECT * FROM end;DELETE FROM t WHERE id = end",
        ),
        ("BEGIN SELECT case FROM t; SELECT 2; END", ["SELECT case FROM t", "SELECT 2"]),
        ("BEGIN SELECT CASE end WHEN 1 THEN 2 END; SELECT 2; END", "SELECT CASE end WHEN 1 THEN 2 END;SELECT 2"),
        (
            "BEGIN SELECT CASE WHEN a THEN end END AS end; SELECT 2; END",
            "SELECT CASE WHEN a THEN end END AS end;SELECT 2",
        ),
        ("BEGIN IF a = end THEN SELECT 1; END IF; END", ["a = end", "SELECT 1"]),
        ("BEGIN DECLARE end INT DEFAULT 3; SET end = end; END", ["DECLARE end INT DEFAULT 3", "SET end = end"]),
        (
            "BEGIN SELECT 1 AS begin; SELECT if(a, 1, 2); SELECT 1 AS loop; END",
            "SELECT 1 AS begin;SELECT if(a, 1, 2);SELECT 1 AS loop",
        ),
        ("BEGIN FOR end AS SELECT 1 DO SELECT end.a; END FOR; END", ["SELECT 1", "SELECT end.a"]),
        ("BEGIN SELECT 1 AS end END", ["SELECT 1 AS end"]),
        ('BEGIN SELECT `end`, "case", end.a FROM begin; END', 'SELECT `end`, "case", end.a FROM begin'),
    ],
)
def test_parts(text: str, found: list[str] | str) -> None:
    assert parts(text) == (found.split(";") if isinstance(found, str) else found)


def test_what_begins_no_block() -> None:
    for text in ("BEGIN", "BEGIN;", "SELECT 1", ""):
        assert read_block(tokenize(text)) is None
    block = read_block(tokenize("BEGIN IF x THEN SELECT 1; END;"))
    assert block is not None and not block.is_whole


def test_scripts_are_split_around_blocks() -> None:
    block = "BEGIN\n  DECLARE i INT DEFAULT 0;\n  WHILE i < 2 DO SET i = i + 1; END WHILE;\nEND"
    found = split_statements(f"SELECT 1;\n{block};\n-- two\nSELECT 2; {block}")
    assert [(s.text, s.line) for s in found] == [("SELECT 1", 1), (block, 2), ("SELECT 2", 7), (block, 7)]
    assert found[2].comment == "-- two"


def test_a_block_is_terminated_behind_its_end() -> None:
    assert not is_terminated("BEGIN SELECT 1;")
    assert not is_terminated("BEGIN IF a THEN SELECT 1; END IF;")
    assert not is_terminated("BEGIN SELECT 1; END")
    assert is_terminated("BEGIN SELECT 1; END;") and is_terminated("BEGIN;") and is_terminated("SELECT 1; BEGIN END;")


def test_statements_in_a_block_may_have_every_spelling() -> None:
    text = """BEGIN
      CREATE TABLE t (id INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1');
      IF EXISTS (SELECT * FROM t$snapshots) THEN EXPLAIN ALTER TABLE t CREATE TAG a; ALTER TABLE t DELETE TAG b; END IF;
    END"""
    found = preprocess(text)
    assert isinstance(found, Script)
    assert [s.explain for s in found.statements] == ["EXPLAIN", ""]
    written = found.rewriting.text
    assert (
        "TBLPROPERTIES ('primary-key'='id', 'bucket' = '1')" in written
        and "`t$snapshots`" in written
        and "TAG" not in written
    )
    assert "THEN EXPLAIN CALL `statement of Paimon 0`(); CALL `statement of Paimon 1`();" in written
    assert written.count("\n") == text.count("\n")


def test_an_error_in_a_block_is_shown_where_it_is() -> None:
    statement = "CREATE TABLE t (id INT PRIMARY KEY NOT ENFORCED, PRIMARY KEY (id) NOT ENFORCED)"
    with pytest.raises(PreprocessError) as alone:
        preprocess(statement)
    with pytest.raises(PreprocessError) as first:
        preprocess(f"BEGIN {statement}; END")
    with pytest.raises(PreprocessError) as second:
        preprocess(f"BEGIN\n{statement}; END")
    assert (first.value.line, first.value.column) == (1, alone.value.column + 6)
    assert (second.value.line, second.value.column) == (2, alone.value.column)


def test_a_value_stays_one_outside_of_blocks() -> None:
    assert isinstance(preprocess("ALTER TABLE begin CREATE TAG a"), PaimonStatement)


FUNCTION = "CREATE FUNCTION f(s STRING) RETURNS STRING LANGUAGE PYTHON AS $$\nx = s; return x  # it's; END\n$$"


def test_a_function_in_python_is_one_statement_of_a_script() -> None:
    found = split_statements(f"{FUNCTION};\n-- then\nSELECT f('$$;'); SELECT $a$;$$;$a$, 't$a$;', `$$;`")
    assert [(s.text, s.line) for s in found] == [
        (FUNCTION, 1),
        ("SELECT f('$$;')", 5),
        ("SELECT $a$;$$;$a$, 't$a$;', `$$;`", 5),
    ]


def test_a_function_in_python_ends_behind_its_code() -> None:
    assert not is_terminated("CREATE FUNCTION f() RETURNS INT LANGUAGE PYTHON AS $$\nreturn 1;")
    assert not is_terminated(FUNCTION) and is_terminated(f"{FUNCTION};")
    assert is_terminated("SELECT * FROM t$branch_a$snapshots;") and is_terminated("SELECT '$$';")


def test_functions_in_python_may_stand_in_a_block() -> None:
    block = f"BEGIN {FUNCTION}; SELECT f('a'); END"
    assert [s.text for s in split_statements(f"{block}; SELECT 1")] == [block, "SELECT 1"]
    found = preprocess(block)
    assert isinstance(found, Script)
    (function,) = found.statements
    assert isinstance(function.value, CreatePythonFunction) and "it's; END" in function.value.body
    assert found.text.endswith("; SELECT f('a'); END")
