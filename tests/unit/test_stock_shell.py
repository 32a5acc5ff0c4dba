"""The comparison of what `spark-sql` prints with a case's steps: it finds planted faults."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.stock_shell import Printed, lacking, outputs, script

QUERY = "SELECT * FROM t"


def printed(*lines: str) -> Printed:
    return Printed([*lines], succeeded=2)


def failed(*lines: str) -> Printed:
    return Printed([*lines], succeeded=1)


@pytest.mark.parametrize(
    ("wanted", "line"),
    [
        ([1, None, True], "1\tNULL\ttrue"),
        ([1.5, "a b", "x:c3a9"], "1.5\ta b\té"),
        (["2024-01-01 00:00:00", "2024-01-01 12:00:00.100000"], "2024-01-01 00:00:00\t2024-01-01 12:00:00.1"),
        ([[1, None]], "[1,null]"),
        ([[1, [2, "x y"]]], '{"a":1,"b":{"c":2,"d":"x y"}}'),
        ([[["2024-01-01 12:00:00", 1]]], '[{"t":2024-01-01 12:00:00,"n":1}]'),
        ([{"k": 1, "l": 2}], '{"l":2,"k":1}'),
        ([[], {}], "[]\t{}"),
    ],
)
def test_equal_rows(wanted: list[Any], line: str) -> None:
    assert lacking({"query": QUERY, "rows": [wanted]}, printed(line)) is None


@pytest.mark.parametrize(
    ("wanted", "lines"),
    [
        ([1], ["2"]),
        ([1], ["1", "1"]),
        ([1], []),
        ([1, 2], ["1"]),
        ([None], [""]),
        ([""], ["NULL"]),
        (["a"], ["a "]),
        ([True], ["True"]),
        ([[1, 2]], ["[2,1]"]),
        ([[1, 2]], ['{"a":2,"b":1}']),
        ([[1, None]], ["[1]"]),
        ([["a b"]], ['["b a"]']),
        ([{"k": 1, "l": 2}], ['{"k":2,"l":1}']),
        ([{"k": 1}], ['{"l":1}']),
        ([[12]], ["[1]"]),
        (["2024-01-01 12:00:00.1"], ["2024-01-01 12:00:00.01"]),
        (["2024-01-01 12:00:00"], ["2024-01-01"]),
    ],
)
def test_other_rows(wanted: list[Any], lines: list[str]) -> None:
    assert lacking({"query": QUERY, "rows": [wanted]}, printed(*lines)) is not None


def test_the_order_of_rows_counts_if_a_step_says_so() -> None:
    step = {"query": QUERY, "rows": [[1], [2]]}
    assert lacking(step, printed("2", "1")) is None
    assert lacking(step | {"ordered": True}, printed("2", "1")) is not None


def test_a_step_that_should_succeed_must_not_fail() -> None:
    wrong = failed("Option 'bucket' cannot be changed.")
    for step in ({"sql": QUERY}, {"query": QUERY, "count": 1}, {"query": QUERY, "contains": []}):
        assert lacking(step, wrong) is not None
    assert lacking({"sql": QUERY}, failed()) is not None
    assert lacking({"query": QUERY, "error": "cannot be changed"}, wrong) is None


def test_an_error_is_not_met_by_rows_or_the_statement() -> None:
    step = {"query": "SELECT 'wrong'", "error": "wrong"}
    assert lacking(step, printed("wrong")) is not None
    syntax = failed("[PARSE_SYNTAX_ERROR] Syntax error at 'x'.", "== SQL (line 1) ==", "SELECT 'wrong'")
    assert lacking(step, syntax) is not None


def test_columns_of_described_tables_are_padded() -> None:
    step = {"query": "DESC t", "contains": [["id", "int", None]]}
    assert lacking(step, printed("id                  \tint                 \t                    ")) is None
    assert lacking(step, printed("id                  \tbigint              \t                    ")) is not None


def test_each_step_has_its_lines() -> None:
    stories = {"a/b": {"steps": [{"sql": "CREATE TABLE paimon.db.t (id INT)"}, {"query": QUERY, "rows": []}]}}
    lines = [line for line in script(["a/b"], stories, "/root").splitlines() if "step" in line]
    marks = [line.split("'")[1] for line in lines]
    assert "CREATE TABLE catalog_of_0.db.t (id INT);" in script(["a/b"], stories, "/root")
    took = "Time taken: 0.1 seconds, Fetched 1 row(s)"
    text = "\n".join([marks[0], took, took, "catalog_of_0.db", marks[1], took, "1", marks[2], took, "key\tvalue", took])
    assert outputs(text) == {
        ("a/b", 1): printed("paimon.db"),
        ("a/b", 2): failed("1"),
        ("a/b", 0): printed("key\tvalue"),
    }
