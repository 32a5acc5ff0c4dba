"""Lines of the log."""

from __future__ import annotations

from paimon_sql.server.statement_log import StatementLog
from paimon_sql.spark.jvm.servers import EndedStatement


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


def test_rows_that_were_counted_are_told() -> None:
    (line,) = StatementLog().new_lines([ended("1", "SELECT 1")], lambda one: 7)
    assert line == "thrift user=ann seconds=1.234 rows=7 finished: SELECT 1"
