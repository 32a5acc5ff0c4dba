from __future__ import annotations

import io
import os
import shlex
import sys

import pytest

import paimon_sql
from paimon_sql.shell.arguments import SUBMIT_OPTIONS
from paimon_sql.shell.main import main
from tests.unit.shell.fakes import FakeFrame, FakeSession


@pytest.fixture
def session(monkeypatch):
    session = FakeSession({"SELECT 1": FakeFrame({"one": "long"}, (1,)), "SELECT bad": ValueError("no such column")})

    def connect(**options):
        session.options = options
        return session

    session.configured = []
    monkeypatch.setitem(vars(paimon_sql), "connect", connect)
    monkeypatch.setitem(vars(paimon_sql), "configured_catalogs", lambda session: session.configured)
    monkeypatch.setattr("logging.disable", lambda: None)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "")  # so that the variable is removed after the test, too
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS")
    return session


def test_statements_of_the_command_line(session, capsys):
    assert main(["-w", "/w", "-e", "SELECT 1; SELECT 2", "-e", "SELECT 3"]) == 0
    assert session.ran == ["SELECT 1", "SELECT 2", "SELECT 3"]
    assert capsys.readouterr().out.startswith(" one\n-----\n   1\n(1 row, ")
    assert session.is_stopped and session.log_levels == ["OFF"]


def test_statements_and_files_run_in_the_order_of_the_command_line(session, tmp_path, capsys):
    """As with psql; spark-sql and Hive take only one of both."""
    for number in (2, 5):
        (tmp_path / f"{number}.sql").write_text(f"SELECT {number};\n")
    (tmp_path / "first.sql").write_text("SELECT 0;\n")
    words = ["-e", "SELECT 1", "-f", f"{tmp_path}/2.sql", "--execute=SELECT 3; SELECT 4", f"--file={tmp_path}/5.sql"]
    assert main(["-S", *words, "-eSELECT 6", "-i", f"{tmp_path}/first.sql"]) == 0
    assert session.ran == [f"SELECT {number}" for number in range(7)]
    session.ran.clear()
    assert main(["-S", "-f", f"{tmp_path}/5.sql", "-e", "SELECT bad", "-f", f"{tmp_path}/2.sql"]) == 1
    assert session.ran == ["SELECT 5", "SELECT bad"]
    session.ran.clear()
    assert main(["quickstart", "-S", "-e", "SELECT 1"]) == 0
    assert session.ran[-1] == "SELECT 1" and len(session.ran) > 1


def test_what_the_session_is_made_with(session):
    arguments = ["-w", "/w", "--catalog", "c", "--metastore", "jdbc", "--database", "d`b", "-e", "SELECT 1"]
    assert main([*arguments, "--uri", "jdbc:x=y", "-c", "spark.ui.enabled=true"]) == 0
    assert session.options == {
        "warehouse": "/w",
        "catalog": "c",
        "metastore": "jdbc",
        "uri": "jdbc:x=y",
        "spark.ui.enabled": "true",
        "spark.ui.showConsoleProgress": "false",
    }
    assert session.ran[0] == "USE `d``b`"


def test_catalogs_of_sparks_settings(session):
    session.configured = ["lake"]
    assert main(["-e", "SELECT 1"]) == 0
    assert "warehouse" not in session.options
    session.configured = []
    assert main(["-e", "SELECT 1"]) == 0
    assert session.options["warehouse"] == "warehouse" and "catalog" not in session.options
    session.configured = ["lake"]
    assert main(["--catalog", "c", "-e", "SELECT 1"]) == 0
    assert session.options["warehouse"] == "warehouse" and session.options["catalog"] == "c"


def test_variables_and_settings_of_the_session(session):
    assert main(["-d", "x=1", "--hivevar", "y=a=b", "--define", "z=3", "--hiveconf", "k=v", "-e", "SELECT 1"]) == 0
    assert {k: session.conf[k] for k in "xyzk"} == {"x": "1", "y": "a=b", "z": "3", "k": "v"}


def test_scripts_that_run_first(session, tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.sql").write_text(f"SELECT '{name}'")
    first = [word for name in ("a", "b") for word in ("-i", str(tmp_path / f"{name}.sql"))]
    assert main([*first, "-e", "SELECT 1"]) == 0
    assert session.ran == ["SELECT 'a'", "SELECT 'b'", "SELECT 1"]


def test_a_prompt_follows_scripts_that_run_first(session, tmp_path, monkeypatch):
    monkeypatch.setattr("paimon_sql.shell.prompt.terminal", None)
    monkeypatch.setattr(sys, "stdin", io.StringIO("SELECT 2;\nquit\n"))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    (tmp_path / "a.sql").write_text("SELECT 1")
    assert main(["-i", str(tmp_path / "a.sql")]) == 0
    assert session.ran == ["SELECT 1", "SELECT 2"]


def test_statements_of_the_command_line_are_printed_with_v(session, capsys):
    assert main(["-v", "-e", "SELECT 1"]) == 0
    assert capsys.readouterr().out.startswith("SELECT 1;\n one\n")


def test_options_of_spark_submit(session, monkeypatch):
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--jars 'a b.jar' pyspark-shell")
    assert (
        main(["--master", "spark://h:7077", "--deploy-mode", "client", "--num-executors", "3", "-e", "SELECT 1"]) == 0
    )
    expected = "--master spark://h:7077 --deploy-mode client --num-executors 3 --jars 'a b.jar' pyspark-shell"
    assert os.environ["PYSPARK_SUBMIT_ARGS"] == expected
    assert "spark.ui.enabled" not in session.options


@pytest.mark.parametrize("name", SUBMIT_OPTIONS)
def test_each_option_of_spark_submit_reaches_it_unchanged(session, monkeypatch, name):
    value = "client" if name == "--deploy-mode" else "a 'value', b"
    assert main([name, value, "-e", "SELECT 1"]) == 0
    assert shlex.split(os.environ["PYSPARK_SUBMIT_ARGS"]) == [name, value, "pyspark-shell"]
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "pyspark-shell")
    assert main([f"{name}={value}", "-e", "SELECT 1"]) == 0
    assert shlex.split(os.environ["PYSPARK_SUBMIT_ARGS"]) == [name, value, "pyspark-shell"]


def test_what_spark_sql_takes_is_there():
    assert {
        "--master", "--deploy-mode", "--name", "--properties-file", "--packages", "--jars", "--driver-memory",
        "--executor-memory", "--executor-cores", "--total-executor-cores", "--num-executors", "--queue", "--principal",
        "--keytab",
    } <= set(SUBMIT_OPTIONS)  # fmt: skip


def test_what_spark_submit_cannot_do_here(session, capsys, monkeypatch):
    assert main(["--deploy-mode", "cluster", "-e", "SELECT 1"]) == 1
    assert "--deploy-mode can only be 'client'" in capsys.readouterr().err
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert main(["--master", "yarn", "--queue", "q", "-e", "SELECT 1"]) == 1
    assert "give --master, --queue to spark-submit" in capsys.readouterr().err
    assert not hasattr(session, "options")


def test_a_script_is_echoed_unless_quiet(session, capsys, tmp_path):
    script = tmp_path / "s.sql"
    script.write_text("-- a note\nSELECT 1;\n")
    assert main(["-f", str(script)]) == 0
    assert capsys.readouterr().out.startswith("-- a note\nSELECT 1;\n one\n")
    assert main(["-S", "-f", str(script)]) == 0
    assert capsys.readouterr().out.startswith(" one\n")


def test_an_error_is_one_line_and_status_1(session, capsys, tmp_path):
    script = tmp_path / "s.sql"
    script.write_text("SELECT 1;\nSELECT bad;\nSELECT 1;")
    assert main(["-f", str(script)]) == 1
    assert capsys.readouterr().err == f"error: {script}:2: no such column\n"
    assert main(["-e", "SELECT bad"]) == 1
    assert capsys.readouterr().err == "error: no such column\n"
    assert session.is_stopped


def test_debug_shows_the_stack_and_sparks_log(session, capsys):
    assert main(["--debug", "-e", "SELECT bad"]) == 1
    assert "Traceback" in capsys.readouterr().err
    assert session.log_levels == ["WARN"]


@pytest.mark.parametrize("arguments", [[], ["-f", "-"]])
def test_a_script_on_standard_input(session, capsys, monkeypatch, arguments):
    monkeypatch.setattr(sys, "stdin", io.StringIO("SELECT 1;\nSELECT bad;"))
    assert main(arguments) == 1
    assert capsys.readouterr().err == "error: stdin:2: no such column\n"


def test_a_missing_script_fails_before_spark_starts(session, capsys):
    assert main(["-f", "/no/such.sql"]) == 1
    assert "/no/such.sql" in capsys.readouterr().err
    assert not hasattr(session, "options")


def test_a_session_that_cannot_be_made(monkeypatch, capsys):
    def connect(**_):
        raise RuntimeError("no Java was found")

    monkeypatch.setitem(vars(paimon_sql), "connect", connect)
    monkeypatch.setattr("logging.disable", lambda: None)
    assert main(["-e", "SELECT 1"]) == 1
    assert capsys.readouterr().err == "error: no Java was found\n"


@pytest.mark.parametrize("arguments", [["-c", "novalue"], ["-c", "=x"], ["--output", "xml"], ["--max-rows", "many"]])
def test_wrong_arguments_are_status_2(session, arguments):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2


def test_formats_for_programs_print_all_rows(session, capsys):
    session.answers["SELECT n"] = FakeFrame({"n": "long"}, *((n,) for n in range(1500)))
    assert main(["--output", "json", "-e", "SELECT n"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1500
    assert main(["-e", "SELECT n"]) == 0
    assert "(first 1000 rows, " in capsys.readouterr().out


def test_a_prompt_follows_and_its_status_is_the_shells(session, monkeypatch, capsys):
    monkeypatch.setattr("paimon_sql.shell.prompt.terminal", None)
    monkeypatch.setattr(sys, "stdin", io.StringIO("SELECT 1;\nquit\n"))
    assert main(["--interactive", "-e", "SELECT bad"]) == 0
    assert session.ran == ["SELECT bad", "SELECT 1"]


def test_an_interrupt_is_status_130_and_stops_the_session(session):
    session.answers["SELECT 1"] = KeyboardInterrupt()
    assert main(["-e", "SELECT 1"]) == 130
    assert session.is_stopped
