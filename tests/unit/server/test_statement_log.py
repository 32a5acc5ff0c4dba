"""Lines of the log."""

from __future__ import annotations

import unicodedata

from paimon_core.metrics import STATEMENTS, Metrics
from paimon_sql.server.serve import StatementLog
from paimon_sql.spark.jvm.servers import EndedStatement
from tests.support.hostile_names import HOSTILE_NAMES


def ended(id: str, statement: str, server: str = "thrift") -> EndedStatement:
    return EndedStatement(server, id, "ann", statement, 1234, "FINISHED")


def none(one: EndedStatement) -> None:
    return None


def test_each_statement_is_told_once() -> None:
    log = StatementLog()
    assert log.new_lines([ended("1", "SELECT\n 1")], none) == ["thrift user=ann seconds=1.234 finished: SELECT 1"]
    assert log.new_lines([ended("1", "SELECT 1")], none) == []
    assert len(log.new_lines([ended("1", "a"), ended("1", "b", "connect"), ended("2", "c")], none)) == 2
    assert log.new_lines([], none) == []


def test_secrets_and_long_texts_are_not_told() -> None:
    (line,) = StatementLog().new_lines([ended("1", "CREATE CATALOG c WITH ('jdbc.password' = 'hush')")], none)
    assert "hush" not in line and "CREATE CATALOG c" in line
    (line,) = StatementLog().new_lines([ended("1", "SELECT " + "x" * 5000)], none)
    assert len(line) < 1100


def test_what_clients_say_is_one_line_that_acts_on_no_terminal() -> None:
    """Names of users, names in statements, comments and values."""
    for name in HOSTILE_NAMES:
        one = EndedStatement("thrift", "1", name, f"SELECT '{name}' -- {name}\n/* {name} */", 1, "FINISHED")
        (line,) = StatementLog().new_lines([one], none)
        assert not [c for c in line if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")], name
        assert line.startswith("thrift user=")


def test_rows_that_were_counted_are_told() -> None:
    (line,) = StatementLog().new_lines([ended("1", "SELECT 1")], lambda one: 7)
    assert line == "thrift user=ann seconds=1.234 rows=7 finished: SELECT 1"


def test_statements_are_counted_by_their_first_word() -> None:
    kinds = {
        "DESC t": "describe",
        "describe t": "describe",
        "VALUES (1)": "values",
        "(SELECT 1) UNION (SELECT 2)": "select",
        "/* why */ ( -- and\n (select 1))": "select",
        "(VALUES (1))": "values",
        "TABLE t": "table",
        "FROM t SELECT a": "from",
        "REPLACE TABLE t AS SELECT 1": "replace",
        "CACHE TABLE t": "cache",
        "secret 1": "other",
        "": "other",
    }
    for text, kind in kinds.items():
        metrics = Metrics()
        StatementLog(metrics).new_lines([ended("1", text)], none)
        assert metrics.value(STATEMENTS.name, server="thrift", kind=kind, state="finished") == 1, text
