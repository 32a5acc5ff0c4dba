from __future__ import annotations

import pytest

from paimon_sql.shell.prompt import is_complete
from tests.unit.shell.fakes import FakeFrame, FakeSession

pytest.importorskip("prompt_toolkit")

from prompt_toolkit.application import create_app_session
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from paimon_sql.shell import terminal

TABLES = FakeFrame(
    {"namespace": "string", "tableName": "string", "isTemporary": "boolean"}, ("default", "flights", False)
)


@pytest.fixture
def history(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "paimon-sql" / "history"


def typed(session, keys, count=1):
    with create_pipe_input() as keyboard, create_app_session(input=keyboard, output=DummyOutput()):
        reader = terminal.TerminalReader(session, "> ", ". ", is_complete)
        keyboard.send_text(keys)
        return [reader.read() for _ in range(count)]


def test_enter_runs_only_what_is_complete(history):
    assert typed(FakeSession(), "SELECT\r1;\r") == ["SELECT\n1;"]
    assert typed(FakeSession(), "quit\r") == ["quit"]


def test_history_is_kept_but_no_secrets(history):
    secrets = ["SET password=x;", "SET 's3.secret-key'='x';", "SET fs.s3a.access.key=x;", "SET Token=x;"]
    secrets += ["SET fsspec.sas='x';", "USE 's3://b/w?sig=x';", "SELECT 'https://u:x@h/';", "SET a.session=x;"]
    typed(FakeSession(), "".join(text + "\r" for text in ["SELECT 1;", *secrets, "SELECT 2;"]), count=10)
    kept = history.read_text()
    assert "+SELECT 1;" in kept and "+SELECT 2;" in kept
    assert not any(text in kept for text in secrets)


def test_tables_and_keywords_are_completed(history):
    with create_pipe_input() as keyboard, create_app_session(input=keyboard, output=DummyOutput()):
        reader = terminal.TerminalReader(FakeSession({"SHOW TABLES": TABLES}), "> ", ". ", is_complete)
    completer = reader.prompts.completer

    def offered(text):
        return [found.text for found in completer.get_completions(Document(text), CompleteEvent())]

    assert offered("SELECT * FROM fli") == ["flights"]
    assert offered("trun") == ["TRUNCATE"]
    assert offered("SELECT * FROM other.fli") == []
