from __future__ import annotations

import pytest

from paimon_sql.preprocess import ScriptStatement, is_terminated, split_statements


def texts(script: str) -> list[str]:
    return [statement.text for statement in split_statements(script)]


def test_splits_at_semicolons_that_are_no_part_of_a_token():
    script = """SELECT 'a;b', "c;d", `e;f`, r'\\', 'it''s;' -- g;h
    FROM t /* i; /* j; */ k; */ ; SELECT /*+ BROADCAST(`x;y`) */ 1"""
    first, second = texts(script)
    assert first.startswith("SELECT 'a;b'") and first.endswith("FROM t")
    assert second == "SELECT /*+ BROADCAST(`x;y`) */ 1"


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT /*+ REPARTITION(3); COALESCE(1) */ 1",
        "SELECT /*+ a; */ 1",
        "SELECT /*+ OPTIONS('a' = 'x;y', \"b;\" = `;`); */ 1",
        "INSERT INTO t /*+ OPTIONS('a' = ';') */ SELECT 1 * /*+ a /* b; */ c; */ 2 / 1",
        "SELECT /*+ a * / ; */ 1",
        "BEGIN SELECT /*+ a; END; */ 1; SELECT /*+ b; */ 2; END",
        "CREATE TABLE t (a INT) WITH ('a' = 'x;y', \"b\" = \"c;d\", 'e' = 'f\\';g', 'h' = r'\\;')",
    ],
)
def test_no_statement_ends_inside_of_a_hint_or_an_option(statement):
    assert texts(f"{statement}; SELECT /*+ x */ 2 * 3; SELECT 4") == [statement, "SELECT /*+ x */ 2 * 3", "SELECT 4"]
    assert is_terminated(f"{statement};") and not is_terminated(statement)


def test_what_follows_an_open_hint_is_one_statement():
    assert texts("SELECT 1; SELECT /*+ a; SELECT 2;") == ["SELECT 1", "SELECT /*+ a; SELECT 2;"]
    assert not is_terminated("SELECT /*+ a;")


def test_drops_empty_and_comment_only_pieces():
    assert texts("; ;-- nothing\n;/* here */; SELECT 1 ;; -- the end") == ["SELECT 1"]
    assert texts("") == texts("  \n ") == texts("-- only a comment") == []


def test_knows_lines_and_comment_lines():
    script = "-- A story\n\n-- in two parts\nSELECT 1; -- one\r\n/* then */\nSELECT\n 2;\n\n/* x */ SELECT 3; SELECT 4"
    assert split_statements(script) == [
        ScriptStatement("SELECT 1", 4, "-- A story\n\n-- in two parts"),
        ScriptStatement("SELECT\n 2", 6, "/* then */"),
        ScriptStatement("SELECT 3", 9),
        ScriptStatement("SELECT 4", 9),
    ]


def test_keeps_comments_inside_a_statement():
    assert texts("SELECT 1 -- one\n, 2 /* two */;") == ["SELECT 1 -- one\n, 2"]


@pytest.mark.parametrize("rest", ["SELECT 'b; SELECT 3;", "SELECT `b; x", "'", 'SELECT "', "SELECT 2 /* x; "])
def test_what_follows_an_open_quote_is_one_statement(rest):
    assert split_statements("SELECT 1;\n" + rest) == [ScriptStatement("SELECT 1", 1), ScriptStatement(rest.rstrip(), 2)]


@pytest.mark.parametrize(
    ("text", "terminated"),
    [
        ("SELECT 1;", True),
        ("SELECT 1; -- done", True),
        (";", True),
        ("SELECT 1", False),
        ("SELECT ';", False),
        ("SELECT ';'", False),
        ("SELECT 1 -- ;", False),
        ("SELECT 1; SELECT 2", False),
        ("", False),
    ],
)
def test_is_terminated(text, terminated):
    assert is_terminated(text) is terminated


@pytest.mark.parametrize("begin", ["BEGIN", "BEGIN TRANSACTION", "begin work"])
def test_a_transaction_of_another_database_is_no_block(begin: str) -> None:
    """A prompt that waits for END would never run it."""
    assert is_terminated(f"{begin};")
    assert [s.text for s in split_statements(f"{begin}; SELECT 1; COMMIT;")] == [begin, "SELECT 1", "COMMIT"]
