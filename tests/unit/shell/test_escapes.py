"""What others wrote does not act on the terminal: not as names, values or messages, in any format, on either stream."""

from __future__ import annotations

import unicodedata

import pytest

from paimon_core.escapes import visible
from paimon_sql.shell.render import FORMATS
from paimon_sql.shell.runner import FOR_PEOPLE, Options, Shell
from tests.support.hostile_names import HOSTILE_NAMES
from tests.unit.shell.fakes import FakeFrame, FakeSession, Output

QUERY = "SELECT * FROM t"


def acting(text: str) -> list[str]:
    """Its characters that a terminal takes for more than a character."""
    return [
        c for c in text.replace("\n", "").replace("\t", "") if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    ]


def test_visible() -> None:
    assert visible("a\x1b[2J\r\x07\x9b\u202e\u2028\ud800\nb\t\u3000日é") == (
        "a\\x1b[2J\\r\\x07\\x9b\\u202e\\u2028\\ud800\nb\t\u3000日é"
    )
    assert visible("a\nb", kept="") == "a\\nb"
    assert sum(bool(acting(name)) for name in HOSTILE_NAMES) > 20
    assert [name for name in HOSTILE_NAMES if acting(visible(name))] == []


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("is_terminal", [True, False])
def test_results(format_name: str, is_terminal: bool) -> None:
    """As names of one column, and of two, as values and as several lines."""
    for name in HOSTILE_NAMES:
        frames = (
            FakeFrame({name: "string"}, (name,), (f"{name}\n{name}",)),
            FakeFrame({name: "string", "b": "string"}, (name, "x")),
        )
        for frame in frames:
            out, err = Output(is_terminal), Output(is_terminal)
            shell = Shell(FakeSession({QUERY: frame}), out, err, Options(output=format_name))
            assert shell.run_script(QUERY) == 0
            if is_terminal or format_name in FOR_PEOPLE:
                assert acting(out.getvalue()) == [], name


def test_programs_get_values_as_they_are() -> None:
    out = Output(False)
    frame = FakeFrame({"a": "string"}, ("\x1b[31m",))
    Shell(FakeSession({QUERY: frame}), out, out, Options(output="csv")).run_script(QUERY)
    assert out.getvalue() == "a\n\x1b[31m\n"


@pytest.mark.parametrize("debug", [True, False])
def test_errors_and_scripts(debug: bool) -> None:
    for name in HOSTILE_NAMES:
        out, err = Output(True), Output(False)
        shell = Shell(FakeSession({QUERY: ValueError(f"There is no {name}.")}), out, err, Options(debug=debug))
        assert shell.run_script(f"-- {' '.join(name.split())}\n{QUERY}", name="x.sql") == 1
        assert "There is no" in err.getvalue() and acting(out.getvalue() + err.getvalue()) == [], name
