"""The pager: the user's program for results that do not fit the screen."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping
from types import FrameType
from typing import TextIO

from paimon_core.dataclass import dataclass
from paimon_sql.shell.render import text_width

_MISSING = (126, 127)  # exit statuses of a shell that cannot run a command


@dataclass(frozen=True, slots=True)
class Pager:
    """A pager: a command of the user's shell, with its environment variables."""

    command: str
    variables: Mapping[str, str]

    def show(self, text: str) -> bool:
        """Show a text until the user leaves the pager. Return False if the command cannot be run. Ctrl-C affects only
        the pager.
        """
        previous = signal.signal(
            signal.SIGINT, _pass
        )  # the pager would inherit SIG_IGN, but it does not inherit a handler
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", self.command],
                stdin=subprocess.PIPE,
                env=self.environment(),
                text=True,
                encoding="utf-8",
            )
            try:
                process.communicate(text)
            except BrokenPipeError:  # the user has left before the end
                process.wait()
        except OSError:
            return False
        finally:
            signal.signal(signal.SIGINT, previous)
        return process.returncode not in _MISSING

    def environment(self) -> dict[str, str]:
        """Return the environment variables. By default `less` does not wrap rows, quits if the text fits the screen,
        and leaves the text there.
        """
        return {"LESS": "FSX", **self.variables}


def _pass(_number: int, _frame: FrameType | None) -> None:
    pass


def of(
    out: TextIO,
    variables: Mapping[str, str],
    *,
    is_typed: bool,
    find: Callable[[str], str | None] = shutil.which,
) -> Pager | None:
    """Return the pager for an output: `$PAGER`, else `less`.

    None if the output is not a terminal, or the input (`is_typed`) is not, or `$PAGER` is empty."""
    if not (is_typed and out.isatty()) or variables.get("TERM") == "dumb":
        return None
    command = variables.get("PAGER", "less" if find("less") else "").strip()
    return Pager(command, variables) if command not in ("", "cat") else None


def fits(text: str, columns: int, lines: int) -> bool:
    """Return whether a text fits the screen with the prompt below it."""
    rows = text.splitlines()
    return len(rows) < lines and all(text_width(row) <= columns for row in rows)
