"""Line editing with prompt_toolkit: history, completion, several lines. This module can be imported only if
prompt_toolkit is installed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from paimon_core.secrets import may_hold_secret
from paimon_sql.shell.completion import Words, fragment


class StatementHistory(FileHistory):
    """A history file without statements that may contain a secret."""

    def store_string(self, string: str) -> None:
        if not may_hold_secret(string):
            super().store_string(string)


class StatementCompleter(Completer):
    """Completes words of statements. It reads names from Spark again for each statement."""

    def __init__(self, session: Any):
        self.session, self.words = session, Words(session)

    def forget(self) -> None:
        self.words = Words(self.session)

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterator[Completion]:
        text = document.text_before_cursor
        begun = len(fragment(text))
        yield from (Completion(word, start_position=-begun) for word in self.words.after(text))


class TerminalReader:
    """Reads statements from a terminal."""

    def __init__(self, session: Any, prompt: str, continuation: str, is_complete: Callable[[str], bool]):
        self.completer = StatementCompleter(session)
        self.prompts: PromptSession[str] = PromptSession(
            prompt,
            multiline=True,
            prompt_continuation=continuation,
            history=StatementHistory(str(history_file())),
            completer=self.completer,
            complete_while_typing=False,
            key_bindings=_enter_runs(is_complete),
        )

    def read(self) -> str:
        self.completer.forget()
        return self.prompts.prompt()


def history_file() -> Path:
    """Return the user's history file, in the directory of the XDG convention; create it if it is missing."""
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
