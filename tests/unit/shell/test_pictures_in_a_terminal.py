"""`\\lsm`, `\\timeline` and `\\files` at the prompt in a pseudo-terminal. The session only runs `CALL sys.picture`."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from tests.unit.procedures.test_advice import Lake

PROGRAM = """
import re, sys
from pathlib import Path
from paimon_sql.shell.prompt import PlainReader, run_prompt
from paimon_sql.shell.runner import Options, Shell
from tests.unit.procedures.test_advice import Lake
from tests.unit.shell.fakes import FakeSession
lake = Lake(Path(sys.argv[1]), None)
class Frame:
    def __init__(self, rows): self.rows = rows
    def collect(self): return self.rows
class Session(FakeSession):
    def sql(self, text):
        given = {k: int(v) if v.isdigit() else v for k, v in re.findall(r"(\\w+) => '?(\\w+)'?", text)}
        return Frame([{"picture": row[-1]} for row in lake.call("picture", **given)])
run_prompt(Shell(Session(), sys.stdout, sys.stderr, Options()), PlainReader())
"""
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def typed(folder: Path, columns: int, text: str) -> list[str]:
    """Return the lines on the screen of a terminal after a text was typed."""
    own, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 500, columns, 0, 0))
    variables = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "PAGER")}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder)], stdin=its, stdout=its, stderr=its, env=variables
    ):
        os.close(its)
        os.write(own, text.encode())
        shown = b""
        try:
            while found := os.read(own, 65536):
                shown += found
        except OSError:  # the program has ended
            pass
    os.close(own)
    return ESCAPES.sub("", shown.decode()).replace("\r", "").split("\n")


@pytest.mark.parametrize("columns", [80, 200])
def test_pictures_are_as_wide_as_the_terminal(columns: int, tmp_path: Path) -> None:
    lake = Lake(tmp_path, {"primary-key": "k", "bucket": "1"})
    for n in range(3):
        lake.insert(*range(n, n + 20))
    lines = typed(tmp_path, columns, "\\lsm t\n\\timeline t\n\\files t\n\\q\n")
    assert not any("error" in line for line in lines), lines
    drawn = [line for line in lines if re.search("[\u2580-\u259f\u2502]", line)]
    assert len([line for line in drawn if line.startswith("level 0")]) == 3
    assert max(map(len, lines)) <= columns and max(map(len, drawn)) > columns - 12
    assert [line for line in lines if "LSM trees of default.t" in line]
