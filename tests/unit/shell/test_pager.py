"""Results that do not fit the screen go through a pager: at a prompt on a terminal, and nowhere else."""

from __future__ import annotations

import os
import pty
import select
import signal
import struct
import sys
import time
from collections.abc import Callable
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

import pytest

from paimon_sql.shell import pager
from paimon_sql.shell.pager import Pager, fits
from tests.unit.shell.fakes import FakeFrame, FakeSession, Output, shell_on

ROOT = Path(__file__).parents[3]
SHELL = """
import sys
from paimon_sql.shell import main, prompt
from tests.unit.shell.fakes import FakeFrame, FakeSession

answers = {
    "SELECT long": FakeFrame({"n": "string"}, *((f"row {i}",) for i in range(100))),
    "SELECT short": FakeFrame({"n": "long"}, (1,)),
    "SELECT wide": FakeFrame({f"c{i}": "long" for i in range(40)}, tuple(range(40))),
}
main._connect = lambda arguments: FakeSession(answers)
prompt.terminal = None
sys.exit(main.main(sys.argv[1:]))
"""
PROMPT = b"paimon-sql> "
SECONDS = 600  # a limit, which a test that passes is far from


class Terminal:
    """The shell on a terminal of 24 lines and 80 columns."""

    def __init__(self, paged: Path, arguments: tuple[str, ...], viewer: str) -> None:
        words = [sys.executable, "-c", SHELL, "-w", "/w", *arguments]
        self.paged = paged
        self.child, self.screen = pty.fork()
        if not self.child:
            os.chdir(ROOT)
            os.execvpe(words[0], words, {**os.environ, "PAGER": viewer, "TERM": "xterm", "LINES": "", "COLUMNS": ""})
        ioctl(self.screen, TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.seen, self.before = b"", b""

    def until(self, found: Callable[[bytes], bool]) -> bytes:
        """What is on the screen since the last call, when it is as asked."""
        end = time.monotonic() + SECONDS
        while not found(self.seen):
            assert time.monotonic() < end, self.seen.decode()
            if not select.select([self.screen], [], [], 1)[0]:
                continue
            try:
                self.seen += os.read(self.screen, 65536)
            except OSError:  # the other end is closed
                break
        seen, self.seen = self.seen, b""
        return seen

    def type(self, text: str) -> str:
        os.write(self.screen, text.encode() + b"\n")
        return self.until(lambda seen: seen.endswith(PROMPT)).decode()

    def pages(self) -> int:
        """How many lines the pager was given in all."""
        return self.paged.read_text().count("\n") if self.paged.exists() else 0


@pytest.fixture
def start(tmp_path: Path):
    made: list[Terminal] = []

    def terminal(*arguments: str, viewer: str = "cat >> {}") -> Terminal:
        paged = tmp_path / "paged"
        made.append(Terminal(paged, arguments, viewer.format(paged)))
        made[0].before = made[0].until(lambda seen: seen.endswith(PROMPT))
        return made[0]

    yield terminal
    for found in made:
        os.close(found.screen)
        try:
            os.kill(found.child, signal.SIGKILL)
            os.waitpid(found.child, 0)
        except (ProcessLookupError, ChildProcessError):
            pass


def test_results_that_do_not_fit_are_paged_at_the_prompt(start, tmp_path):
    terminal = start()
    assert "(1 row, " in terminal.type("SELECT short;") and terminal.pages() == 0
    assert "(100 rows" not in terminal.type("SELECT long;")
    text = terminal.paged.read_text()
    assert text.startswith(" n\n--------\n row 0\n") and "(100 rows, " in text
    assert "c39" not in terminal.type("SELECT wide;") and "c39" in terminal.paged.read_text()
    terminal.type("\\x")
    assert "-[ row 1 ]" not in terminal.type("SELECT wide;") and "-[ row 1 ]" in terminal.paged.read_text()
    terminal.type("\\x")
    pages = terminal.pages()
    (tmp_path / "script.sql").write_text("SELECT long;")
    assert "(100 rows, " in terminal.type(f"SOURCE {tmp_path / 'script.sql'};")
    assert "are not paged" in terminal.type("\\pager") and "(100 rows, " in terminal.type("SELECT long;")
    assert terminal.pages() == pages
    assert "are paged" in terminal.type("\\pager;") and "(100 rows, " not in terminal.type("SELECT long;")
    assert terminal.pages() > pages + 100


def test_not_for_the_command_line_and_scripts_nor_with_no_pager(start, tmp_path):
    (tmp_path / "script.sql").write_text("SELECT long;")
    terminal = start("-e", "SELECT long", "-f", str(tmp_path / "script.sql"), "--interactive", "--no-pager")
    assert terminal.before.count(b"(100 rows, ") == 2
    assert "(100 rows, " in terminal.type("SELECT long;") and terminal.pages() == 0
    terminal.type("\\pager")
    assert "(100 rows, " not in terminal.type("SELECT long;") and terminal.pages() > 100


def test_ctrl_c_is_the_pagers(start):
    waits = "while :; do sleep 0.1; done"
    terminal = start(viewer=f"trap 'echo caught; exit' INT; cat > /dev/null; echo ready; {waits}")
    os.write(terminal.screen, b"SELECT long;\n")
    terminal.until(lambda seen: b"ready" in seen)
    os.write(terminal.screen, b"\x03")
    assert b"caught" in terminal.until(lambda seen: seen.endswith(PROMPT))
    assert "(1 row, " in terminal.type("SELECT short;")


@pytest.mark.parametrize("viewer", ["head -1 > /dev/null", "true", "exit 3"])
def test_a_pager_that_is_left_early_does_no_harm(viewer):
    assert Pager(viewer, os.environ).show("a line\n" * 1_000_000)


def test_without_the_program_the_result_is_printed():
    shell = shell_on(FakeSession({"SELECT 1": FakeFrame({"n": "string"}, *((f"row {i}",) for i in range(100)))}))
    shell.pager = Pager("no_such_pager -S 2> /dev/null", os.environ)
    shell.run_script("SELECT 1")
    assert "(100 rows, " in shell.out.getvalue()
    assert "no_such_pager" in shell.err.getvalue() and "PAGER" in shell.err.getvalue()


@pytest.mark.parametrize(
    ("text", "is_small"),
    [
        ("", True),
        ("a\n" * 9, True),
        ("a\n" * 10, False),  # the prompt takes a line, too
        ("a" * 20 + "\n", True),
        ("a" * 21 + "\n", False),
        ("日" * 10 + "\n", True),
        ("日" * 11 + "\n", False),
    ],
)
def test_what_fits(text, is_small):
    assert fits(text, columns=20, lines=10) is is_small


def test_which_program():
    def chosen(environment: dict[str, str], out: bool = True, found: str | None = "/bin/less") -> str | None:
        made = pager.of(Output(out), environment, is_typed=True, find=lambda name: found)
        return made and made.command

    assert chosen({"PAGER": "more"}) == "more" and chosen({}) == "less" and chosen({}, found=None) is None
    assert chosen({"PAGER": " "}) is None and chosen({"PAGER": "more"}, out=False) is None
    assert chosen({"PAGER": "more", "TERM": "dumb"}) is None and chosen({"PAGER": "cat"}) is None
    assert pager.of(Output(True), {"PAGER": "more"}, is_typed=False) is None


def test_less_is_told_to_leave_rows_whole_unless_its_user_says_otherwise():
    assert Pager("less", {}).environment()["LESS"] == "FSX"
    assert Pager("less", {"LESS": "R"}).environment()["LESS"] == "R"
