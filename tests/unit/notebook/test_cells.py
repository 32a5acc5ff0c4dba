"""Cells on a session that answers from a dictionary, in a real IPython shell."""

from __future__ import annotations

import os
import signal
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("IPython")

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from paimon_core.escapes import visible
from paimon_sql.notebook.answer import MAX_CELL, CellAnswer, CellDone, SqlError
from paimon_sql.notebook.magics import Cell, SqlMagics, read_cell, run_cell
from tests.support.hostile_names import HOSTILE_NAMES
from tests.unit.shell.fakes import FakeFrame, FakeSession


class Session(FakeSession):
    def __init__(self, answers: dict[str, Any] | None = None) -> None:
        super().__init__(answers)
        self.tags: list[str] = []
        self.interrupted: list[str] = []
        self.views: list[str] = []
        self.arguments: list[dict[str, Any]] = []
        self.sparkContext.statusTracker = lambda: SimpleNamespace(getActiveStageIds=list)
        self.catalog = SimpleNamespace(dropTempView=self.views.remove)
        self.sparkContext.addJobTag, self.sparkContext.removeJobTag = self.tags.append, self.tags.remove
        self.sparkContext.cancelJobsWithTag = self.interrupted.append

    def sql(self, text: str, args: dict[str, Any] | None = None) -> Any:
        self.arguments.append(args or {})
        return super().sql(text)


@pytest.mark.parametrize(
    ("line", "body", "cell"),
    [
        ("", "SELECT 1", Cell("SELECT 1", lines_above=1)),
        ("--limit 5", "SELECT 1", Cell("SELECT 1", 5, lines_above=1)),
        ("--limit=0 df <<", "SELECT 1", Cell("SELECT 1", 0, "df", 1)),
        ("df << SELECT 1,", "2", Cell("SELECT 1,\n2", name="df")),
        ("SELECT a << 1", None, Cell("SELECT a << 1")),
        ("df <<SELECT 1", None, Cell("SELECT 1", name="df")),
    ],
)
def test_heads_of_cells(line: str, body: str | None, cell: Cell) -> None:
    assert read_cell(line, body) == cell


def test_each_statement_runs_once_and_the_last_is_shown() -> None:
    session = Session({"SELECT 2": FakeFrame({"n": "long"}, *((i,) for i in range(30)))})
    answer = run_cell(Cell("USE d; SELECT 2"), session, str)
    assert session.ran == ["USE d", "SELECT 2"] and session.tags == []
    assert isinstance(answer, CellAnswer) and len(answer.result.rows) == 20 and answer.has_more
    assert "the first 20 rows" in repr(answer) and "--limit N" in answer._repr_html_()
    assert isinstance(run_cell(Cell("USE d"), session, str), CellDone)


def test_a_named_cell_is_a_frame_that_is_not_executed() -> None:
    frame = FakeFrame({"n": "long"}, (1,))
    session = Session({"SELECT 2": frame})
    assert run_cell(Cell("USE d; SELECT 2", name="df"), session, str) is frame
    assert frame.limits == []


def test_values_are_parameters_and_frames_are_views() -> None:
    session = Session()
    frame = SimpleNamespace(createOrReplaceTempView=session.views.append)
    values = {"day": "2024-05-01", "{'a': '}'}['a']": "}", "df": frame}
    text = "SELECT '{day}', ${x} FROM {df} WHERE d = {day} AND s = {{'a': '}'}['a']} -- {day}"
    run_cell(Cell(text), session, values.__getitem__)
    (sql,), (arguments,) = session.ran, session.arguments
    names = list(arguments)
    assert list(arguments.values()) == ["2024-05-01", "}"]
    assert sql.startswith("SELECT '{day}', ${x} FROM _cell_") and f"d = :{names[0]} AND s = :{names[1]}" in sql
    assert session.views == []


def test_errors_name_the_line_of_the_cell() -> None:
    session = Session({"SELECT\n bad": ValueError("no such column\nline 2, pos 1")})
    with pytest.raises(SqlError) as caught:
        run_cell(Cell("USE d;\nSELECT\n bad", lines_above=1), session, str)
    shown = caught.value._render_traceback_()
    assert shown[0] == "SQL error in line 4 of the cell:" and shown[1].strip() == "bad"
    assert "no such column" in shown[2] and session.tags == []


def test_a_value_that_cannot_be_evaluated_is_such_an_error() -> None:
    def evaluate(_: str) -> Any:
        raise NameError("name 'x' is not defined")

    with pytest.raises(SqlError, match="name 'x' is not defined"):
        run_cell(Cell("SELECT {x}"), Session(), evaluate)


def test_an_interrupt_cancels_the_jobs_of_the_cell() -> None:
    session = Session()

    def slow(text: str, args: Any = None) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(100):
            if session.interrupted:
                raise RuntimeError("the job was cancelled")
            signal.sigtimedwait([], 0.05)
        raise AssertionError("nothing was interrupted")

    session.sql = slow  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt) as interrupted:
        run_cell(Cell("SELECT 1"), session, str)
    shown = interrupted.value._render_traceback_()  # what IPython prints
    assert len(shown) == 1 and shown[0].startswith("Cancelled")
    assert session.interrupted[0] == "paimon-sql-cell" and session.tags == []


def test_html_shows_values_as_they_are() -> None:
    hostile = "<script>alert(1)</script>$x$\x1b[2J"
    session = Session({"SELECT 1": FakeFrame({"<b>": "string", "n": "long"}, (hostile, None), ("y" * 300, 1))})
    answer = run_cell(Cell("SELECT 1"), session, str)
    html = answer._repr_html_()
    assert "<script>" not in html and "<b>" not in html and "$" not in html and "\x1b" not in html
    assert "y" * 200 + "…" in html and "NULL" in html


def test_many_columns_are_cut_and_said() -> None:
    session = Session({"SELECT 1": FakeFrame({f"c{i}": "long" for i in range(100)}, tuple(range(100)))})
    answer = run_cell(Cell("SELECT 1"), session, str)
    assert "the first 60 of 100 columns" in repr(answer) and "c60" not in answer._repr_html_()


def test_the_magics_in_ipython() -> None:
    session = Session({"SELECT 1": FakeFrame({"n": "long"}, (1,))})
    shell = InteractiveShell()
    shell.register_magics(SqlMagics(shell, lambda: session))
    shell.user_ns["k"] = 7
    shell.run_cell_magic("sql", "found <<", "SELECT 1")
    assert shell.user_ns["found"].columns == ["n"]
    assert shell.run_line_magic("sql", "SELECT 1").result.rows == [(1,)]
    shell.run_cell_magic("paimon", "", "SELECT t$files, $k, {k}")
    assert session.ran[-1].startswith("SELECT t$files, $k, :_cell_") and list(session.arguments[-1].values()) == [7]


class _Tags(HTMLParser):
    """The elements and texts of what a cell shows."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found, self.texts = set[str](), list[str]()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        assert {a for a, _ in attrs} <= {"style"}, attrs

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.parametrize("extra", ["", "</td><img src=x onerror=alert(1)>", "<!--", "]]>", "&lt;script&gt;"])
def test_names_and_values_are_no_elements(extra: str) -> None:
    for name in HOSTILE_NAMES:
        text = name + extra
        answer = run_cell(Cell("SELECT 1"), Session({"SELECT 1": FakeFrame({text: "string"}, (text,), (None,))}), str)
        tags = _Tags(answer._repr_html_())
        assert tags.found <= {"table", "thead", "tbody", "tr", "th", "td", "br", "span", "p"}, name
        shown = visible(text)
        assert not text or [
            t for t in tags.texts if t == (shown if len(shown) <= MAX_CELL else f"{shown[:MAX_CELL]}…")
        ], name


@pytest.mark.parametrize("line", ["--nope", "--nope x <<", "--limit=x", "--limit", "--limit 3 --more"])
def test_an_option_that_there_is_not_is_refused(line: str) -> None:
    with pytest.raises(UsageError, match="--limit N"):
        read_cell(line, "SELECT 1")
    assert read_cell("-- nope", "SELECT 1").sql == "-- nope\nSELECT 1"


def test_braces_in_the_code_of_a_function_are_the_functions() -> None:
    text = "CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS $$\ndef f(x): return {1: x}[1]\n$$"
    session = Session()

    def evaluate(expression: str) -> Any:
        raise AssertionError(expression)

    run_cell(Cell(f"{text}; SELECT 1"), session, evaluate)
    assert session.ran == [text, "SELECT 1"] and session.arguments == [{}, {}]
