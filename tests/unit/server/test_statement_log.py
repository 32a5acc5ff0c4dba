"""Lines of the log."""

from __future__ import annotations

import unicodedata

from paimon_sql.server.statement_log import StatementLog
from paimon_sql.spark.jvm.servers import EndedStatement
from tests.support.hostile_names import HOSTILE_NAMES


def ended(id: str, statement: str, server: str = "thrift") -> EndedStatement:
    return EndedStatement(server, id, "ann", statement, 1234, "FINISHED")


def test_each_statement_is_told_once() -> None:
    log = StatementLog()
    assert log.new_lines([ended("1", "SELECT\n 1")]) == ["thrift user=ann seconds=1.234 finished: SELECT 1"]
    assert log.new_lines([ended("1", "SELECT 1")]) == []
    assert len(log.new_lines([ended("1", "a"), ended("1", "b", "connect"), ended("2", "c")])) == 2
    assert log.new_lines([]) == []


def test_secrets_and_long_texts_are_not_told() -> None:
    (line,) = StatementLog().new_lines([ended("1", "CREATE CATALOG c WITH ('jdbc.password' = 'hush')")])
    assert "hush" not in line and "CREATE CATALOG c" in line
    (line,) = StatementLog().new_lines([ended("1", "SELECT " + "x" * 5000)])
    assert len(line) < 1100


def test_what_clients_say_is_one_line_that_acts_on_no_terminal() -> None:
    """Names of users, names in statements, comments and values."""
    for name in HOSTILE_NAMES:
        one = EndedStatement("thrift", "1", name, f"SELECT '{name}' -- {name}\n/* {name} */", 1, "FINISHED")
        (line,) = StatementLog().new_lines([one])
        assert not [c for c in line if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")], name
        assert line.startswith("thrift user=")
