"""The interactive prompt: statements over several lines until `;`, with editing if prompt_toolkit is installed."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from typing import Any, Protocol

from paimon_core.optional_packages import install_command
from paimon_sql.pictures.picture import PictureKind
from paimon_sql.preprocess import is_terminated
from paimon_sql.shell import pager
from paimon_sql.shell.runner import Shell

try:
    from paimon_sql.shell import terminal
except ImportError:  # prompt_toolkit, the extra `cli`, is not installed
    terminal = None  # type: ignore[assignment]

PROMPT = "paimon-sql> "
CONTINUATION = "        ... "
PLAIN = f"For a prompt with editing, history and completion, run: {install_command('cli')}\n"
WELCOME = "Type statements that end with ;   help; for help, \\q to leave.\n"
HELP = """Statements run when they end with ;  and may span several lines.

  SHOW TABLES;                         the tables of the current database
  DESCRIBE t;  SHOW CREATE TABLE t;    the columns of a table; its definition
  SELECT * FROM t$snapshots;           its snapshots; also $files, $schemas, $options, $tags, ...
  SELECT * FROM t VERSION AS OF 1;     an earlier state
  CALL sys.compact('t');               maintenance
  EXPLAIN SELECT ...;                  the plan of a query
  \\lsm t;  \\timeline t;  \\files t      pictures of a table; also \\partitions, \\branches, \\schemas
  \\lsm t after compact;               what a compaction would do; also \\timeline t after expire_snapshots
  \\x                                   switch between a table and one line per column
  \\pager                               switch the pager ($PAGER) for large results off and on

  Tab completes keywords and table names, Ctrl-C drops the line or stops the statement, Ctrl-D or \\q leaves.
"""
_LEAVE = re.compile(r"\s*(?:\\q|quit|exit)\s*;?\s*", re.I)
_VERTICAL = re.compile(r"\s*\\x\s*;?\s*", re.I)
_PAGER = re.compile(r"\s*\\pager\s*;?\s*", re.I)
_AFTER = r"(?:\s+after\s+(?P<after>[a-z_]+(?: [a-z_]+)?))?"
_PICTURE = re.compile(rf"\s*\\(?P<kind>{'|'.join(PictureKind)})(?:\s+(?P<table>[^;]+?){_AFTER})?\s*;?\s*", re.I)
_HELP = re.compile(r"\s*(?:\\\?|\\h|help)\s*;?\s*", re.I)


class Reader(Protocol):
    def read(self) -> str:
        """Read the next complete input. Raises EOFError at the end, KeyboardInterrupt if the user cancelled
        the line.
        """


class PlainReader:
    """A reader that uses `input`."""

    def __init__(self, read_line: Callable[[str], str] = input):
        self.read_line = read_line

    def read(self) -> str:
        text = self.read_line(PROMPT)
        while not is_complete(text):
            text += "\n" + self.read_line(CONTINUATION)
        return text


def is_complete(text: str) -> bool:
    """Return whether the input is complete: a terminated statement, a command of the prompt, or nothing."""
    is_command = any(command.fullmatch(text) for command in (_LEAVE, _HELP, _VERTICAL, _PAGER, _PICTURE))
    return not text.strip() or is_command or is_terminated(text)


def make_reader(session: Any) -> Reader:
    if terminal is None:
        return PlainReader()
    return terminal.TerminalReader(session, PROMPT, CONTINUATION, is_complete)


def run_prompt(shell: Shell, reader: Reader) -> int:
    """Read and run statements until the user leaves. Return the exit status."""
    shell.pager = pager.of(shell.out, os.environ, is_typed=sys.stdin.isatty())
    shell.out.write(WELCOME if terminal is not None else WELCOME + PLAIN)
    while True:
        try:
            text = reader.read()
        except EOFError:
            shell.out.write("\n")
            return 0
        except KeyboardInterrupt:
            continue
        if _LEAVE.fullmatch(text):
            return 0
        if _HELP.fullmatch(text):
            shell.out.write(HELP)
            continue
        if _VERTICAL.fullmatch(text):
            shell.toggle_vertical()
            continue
        if _PAGER.fullmatch(text):
            shell.toggle_pager()
            continue
        picture = _PICTURE.fullmatch(text)
        try:
            if picture is None:
                shell.run_script(text)
            else:
                shell.draw(picture["kind"], picture["table"], picture["after"])
        except KeyboardInterrupt:
            shell.err.write("cancelled\n")
        if shell.is_left:
            return 0
