from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from tests.unit.shell.fakes import FakeFrame, FakeSession, shell_on

NUMBERS = FakeFrame({"n": "long"}, (1,), (2,), (3,))


def printed(shell) -> str:
    return re.sub(r"\d+\.\d\d s", "T", shell.out.getvalue())


def test_a_named_script_reads_as_a_story():
    session = FakeSession({"SELECT n FROM t": NUMBERS, "SELECT 1 LIMIT 1": FakeFrame({"one": "long"}, (1,))})
    shell = shell_on(session)
    script = (
        "-- First a table.\nCREATE TABLE t (n INT);\n\n-- Then its rows.\nSELECT n FROM t; -- all\nSELECT 1 LIMIT 1"
    )
    assert shell.run_script(script, "story.sql") == 0
    assert printed(shell) == (
        "-- First a table.\nCREATE TABLE t (n INT);\nOK (T)\n\n"
        "-- Then its rows.\nSELECT n FROM t;\n n\n---\n 1\n 2\n 3\n(3 rows, T)\n\n"
        "SELECT 1 LIMIT 1;\n one\n-----\n   1\n(1 row, T)\n\n"
    )


@pytest.mark.parametrize(("name", "options"), [("", {}), ("s.sql", {"echo": False}), ("s.sql", {"output": "csv"})])
def test_statements_are_not_printed(name, options):
    shell = shell_on(FakeSession({"SELECT 1": FakeFrame({"one": "long"}, (1,))}), **options)
    assert shell.run_script("-- note\nSELECT 1;", name) == 0
    assert "note" not in printed(shell) and "SELECT" not in printed(shell) and "one" in printed(shell)


def test_output_for_programs_is_nothing_but_the_data():
    shell = shell_on(FakeSession({"SELECT n FROM t": NUMBERS}), output="csv", max_rows=0)
    assert shell.run_script("CREATE TABLE t (n INT); SELECT n FROM t;") == 0
    assert shell.out.getvalue() == "n\n1\n2\n3\n"
    assert shell.err.getvalue() == ""


def test_no_more_rows_are_fetched_than_one_beyond_the_limit():
    frame = FakeFrame({"n": "long"}, (1,), (2,), (3,))
    shell = shell_on(FakeSession({"SELECT n FROM t": frame}), max_rows=2)
    shell.run_script("SELECT n FROM t")
    assert frame.limits == [3]
    assert printed(shell) == " n\n---\n 1\n 2\n(first 2 rows, T; there are more, --max-rows 0 prints all)\n\n"


def test_exactly_the_limit_is_all():
    shell = shell_on(FakeSession({"SELECT n FROM t": NUMBERS}), max_rows=3)
    shell.run_script("SELECT n FROM t")
    assert "(3 rows, T)" in printed(shell)


def test_rows_left_out_of_csv_are_announced_beside_it():
    shell = shell_on(FakeSession({"SELECT n FROM t": NUMBERS}), output="csv", max_rows=1)
    shell.run_script("SELECT n FROM t")
    assert (shell.out.getvalue(), shell.err.getvalue()) == (
        "n\n1\n",
        "only the first 1 rows; --max-rows 0 prints all\n",
    )


def test_the_first_error_ends_a_script_and_names_its_line():
    error = RuntimeError("[X] no column `b` (line 2, pos 2)\n\n== SQL ==\nSELECT\n  b")
    session = FakeSession({"SELECT\n  b": error})
    shell = shell_on(session)
    assert shell.run_script("SET a=1;\n\nSELECT\n  b;\nSELECT 3;", "dir/s.sql") == 1
    assert session.ran == ["SET a=1", "SELECT\n  b"]
    assert shell.err.getvalue() == "error: dir/s.sql:4: [X] no column `b` (line 2, pos 2)\n"


def test_errors_of_the_command_line_name_no_line():
    shell = shell_on(FakeSession({"SELECT": ValueError("bad")}))
    assert shell.run_script("SELECT") == 1
    assert shell.err.getvalue() == "error: bad\n"


def test_debug_prints_the_stack():
    shell = shell_on(FakeSession({"SELECT": ValueError("bad\n\nJVM stacktrace:\nx")}), debug=True)
    assert shell.run_script("SELECT") == 1
    assert "Traceback" in shell.err.getvalue() and "JVM stacktrace" in shell.err.getvalue()
    assert shell.err.getvalue().endswith("\nerror: bad\n")


def test_instants_are_printed_in_the_zone_of_the_session():
    session = FakeSession()
    session.conf = SimpleNamespace(get={"spark.sql.session.timeZone": "+08:00"}.__getitem__)
    shell = shell_on(session)
    assert shell._zone().utcoffset(None).total_seconds() == 8 * 3600


def test_source_runs_another_script(tmp_path):
    session = FakeSession({"SELECT bad": ValueError("no such column")})
    shell = shell_on(session)
    inner, outer = tmp_path / "in ner.sql", tmp_path / "outer.sql"
    inner.write_text("SELECT 1;\nSELECT bad;")
    outer.write_text(f"SELECT 0;\nSOURCE '{inner}';\nSELECT 2;")
    assert shell.run_script(f"source {outer}") == 1
    assert session.ran == ["SELECT 0", "SELECT 1", "SELECT bad"]
    assert shell.err.getvalue() == f"error: {inner}:2: no such column\n"


def test_source_of_what_is_not_there_and_of_itself(tmp_path):
    shell = shell_on(FakeSession())
    assert shell.run_script("source /no/such.sql", "s.sql") == 1
    assert shell.err.getvalue().startswith("error: s.sql:1: ") and "/no/such.sql" in shell.err.getvalue()
    script = tmp_path / "again.sql"
    script.write_text(f"source {script}")
    assert shell.run_script(f"source {script}") == 1
    assert "more than 20 levels deep" in shell.err.getvalue()
