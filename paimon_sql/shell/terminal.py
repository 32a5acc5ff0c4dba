"""Line editing with prompt_toolkit: history, completion, several lines. Importable only where it is installed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from paimon_core.secrets import may_hold_secret

KEYWORDS = (
    "ADD ALTER AND AS BETWEEN BY CALL CASE CAST COLUMN COMMENT CREATE CROSS DATABASE DELETE DESCRIBE DISTINCT DROP "
    "ELSE END EXISTS EXPLAIN FROM FULL GROUP HAVING IF IN INNER INSERT INTERVAL INTO IS JOIN LEFT LIKE LIMIT MATCHED "
    "MERGE NOT NULL ON OR ORDER OVER OVERWRITE PARTITION PARTITIONED PRIMARY RENAME REPLACE RESET RIGHT SELECT SET "
    "SHOW TABLE TABLES TBLPROPERTIES THEN TIMESTAMP TRUNCATE UNION UPDATE USE USING VALUES VERSION VIEW WHEN WHERE WITH"
)
_WORD = re.compile(r"[\w$.`]+")


class StatementHistory(FileHistory):
    """A history file that never gets a statement that looks as if it held a secret."""

    def store_string(self, string: str) -> None:
        if not may_hold_secret(string):
            super().store_string(string)


class TableNames:
    """The names in the current database, asked for once per statement."""

    def __init__(self, session: Any):
        self.session = session
        self.names: list[str] | None = None

    def forget(self) -> None:
        self.names = None

    def __call__(self) -> list[str]:
        if self.names is None:
            try:
                self.names = sorted(row[1] for row in self.session.sql("SHOW TABLES").collect())
            except Exception:  # completion must not disturb the user's line
                self.names = []
        return self.names


class TerminalReader:
    """Reads statements from a terminal."""

    def __init__(self, session: Any, prompt: str, continuation: str, is_complete: Callable[[str], bool]):
        self.table_names = TableNames(session)
        words = KEYWORDS.split()
        self.prompts: PromptSession[str] = PromptSession(
            prompt,
            multiline=True,
            prompt_continuation=continuation,
            history=StatementHistory(str(history_file())),
            completer=WordCompleter(lambda: words + self.table_names(), ignore_case=True, pattern=_WORD),
            complete_while_typing=False,
            key_bindings=_enter_runs(is_complete),
        )

    def read(self) -> str:
        self.table_names.forget()
        return self.prompts.prompt()


def history_file() -> Path:
    """The user's history, in the directory of the XDG convention, created if it is missing."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    path = Path(state) / "paimon-sql" / "history"
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path


def _enter_runs(is_complete: Callable[[str], bool]) -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.newline()

    return bindings
