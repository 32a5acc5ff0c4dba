from __future__ import annotations

import pytest

from paimon_sql.shell import prompt
from paimon_sql.shell.prompt import PlainReader, is_complete, run_prompt
from tests.unit.shell.fakes import FakeFrame, FakeSession, shell_on


class Typed:
    """A reader of given inputs; an exception among them is raised."""

    def __init__(self, *inputs):
        self.inputs = list(inputs)

    def read(self):
        if not self.inputs:
            raise EOFError
        text = self.inputs.pop(0)
        if isinstance(text, type):
            raise text
        return text


@pytest.mark.parametrize("leave", ["\\q", "quit", "exit;", " QUIT ; "])
def test_leaving(leave):
    session = FakeSession()
    assert run_prompt(shell_on(session), Typed("SELECT 1;", leave, "SELECT 2;")) == 0
    assert session.ran == ["SELECT 1"]


def test_it_goes_on_after_errors_and_interrupts_until_the_end_of_input():
    session = FakeSession({"SELECT 1": ValueError("bad"), "SELECT 2": KeyboardInterrupt()})
    shell = shell_on(session)
    assert run_prompt(shell, Typed("SELECT 1;", KeyboardInterrupt, "SELECT 2;", "SELECT 3; SELECT 4;", "")) == 0
    assert session.ran == ["SELECT 1", "SELECT 2", "SELECT 3", "SELECT 4"]
    assert shell.err.getvalue() == "error: bad\ncancelled\n"


@pytest.mark.parametrize("help_", ["help;", "HELP", "\\?"])
def test_help(help_):
    session = FakeSession()
    shell = shell_on(session)
    run_prompt(shell, Typed(help_))
    assert "SHOW TABLES;" in shell.out.getvalue() and session.ran == []


def test_pictures_of_a_table(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    call = "CALL sys.picture(table => 'db.`it\\'s t`', kind => 'lsm', width => 80)"
    session = FakeSession({call: FakeFrame({"kind": "string", "picture": "string"}, {"picture": "LSM trees\n"})})
    shell = shell_on(session)
    run_prompt(shell, Typed("\\LSM db.`it's t` ;", "\\files", "\\schemas t"))
    assert session.ran == [call, "CALL sys.picture(table => 't', kind => 'schemas', width => 80)"]
    assert "LSM trees\n" in shell.out.getvalue() and shell.err.getvalue() == "\\files needs a table: \\files db.t\n"
    assert is_complete("\\timeline t") and not is_complete("\\timelines")


@pytest.mark.parametrize(
    ("typed", "kind", "table", "after"),
    [
        ("\\lsm t after minor compact;", "lsm", "t", "minor compact"),
        ("\\lsm `a after b` AFTER compact", "lsm", "`a after b`", "compact"),
        ("\\timeline db.t  after  expire_snapshots ;", "timeline", "db.t", "expire_snapshots"),
        ("\\lsm `t after compact`", "lsm", "`t after compact`", None),
    ],
)
def test_pictures_after_an_operation(typed, kind, table, after, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    session = FakeSession()
    run_prompt(shell_on(session), Typed(typed))
    more = "" if after is None else f", after => '{after}'"
    assert session.ran == [f"CALL sys.picture(table => '{table}', kind => '{kind}', width => 200{more})"]


def test_results_are_printed_without_the_statement():
    shell = shell_on(FakeSession({"SELECT 1": FakeFrame({"one": "long"}, (1,))}))
    run_prompt(shell, Typed("SELECT 1;"))
    assert " one\n-----\n   1\n(1 row, " in shell.out.getvalue() and "SELECT" not in shell.out.getvalue()


def test_the_plain_reader_reads_on_to_the_semicolon():
    lines, prompts = iter(["SELECT ';", "' AS a", ";", "quit"]), []

    def read_line(prompt_text):
        prompts.append(prompt_text)
        return next(lines)

    reader = PlainReader(read_line)
    assert reader.read() == "SELECT ';\n' AS a\n;"
    assert reader.read() == "quit"
    assert prompts == [prompt.PROMPT, prompt.CONTINUATION, prompt.CONTINUATION, prompt.PROMPT]


def test_completeness():
    assert all(map(is_complete, ["", "  ", "SELECT 1;", "\\q", "exit", "help;", "\\x", " \\X ;"]))
    assert not any(map(is_complete, ["SELECT 1", "SELECT ';", "SELECT 1; SELECT", "quit now"]))


def test_without_prompt_toolkit_lines_are_read_plainly(monkeypatch):
    monkeypatch.setattr(prompt, "terminal", None)
    assert isinstance(prompt.make_reader(FakeSession()), PlainReader)


def test_rows_are_printed_as_lines_after_x():
    shell = shell_on(FakeSession({"SELECT 1": FakeFrame({"one": "long"}, (1,))}))
    assert run_prompt(shell, Typed("SELECT 1;", "\\x", "SELECT 1;", "\\x", "SELECT 1;")) == 0
    printed = shell.out.getvalue()
    assert printed.count(" one\n-----\n   1\n") == 2 and printed.count("one | 1\n") == 1
