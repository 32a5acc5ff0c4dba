"""Scripts as files bring them: several, with byte order marks, the one of the package; and words of the help."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import paimon_sql
from paimon_sql.preprocess import split_statements
from paimon_sql.shell.arguments import SUBMIT_OPTIONS
from paimon_sql.shell.main import QUICKSTART, main
from tests.unit.shell.fakes import FakeSession


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> FakeSession:
    session = FakeSession()
    monkeypatch.setitem(vars(paimon_sql), "connect", lambda **options: vars(session).update(options=options) or session)
    monkeypatch.setitem(vars(paimon_sql), "configured_catalogs", lambda session: [])
    monkeypatch.setattr("logging.disable", lambda: None)
    return session


def test_files_run_in_their_order(session: FakeSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "ab":
        (tmp_path / f"{name}.sql").write_text(f"SELECT '{name}';")
    monkeypatch.setattr(sys, "stdin", io.StringIO("\ufeffSELECT 'stdin'"))
    files = [str(tmp_path / "b.sql"), "-", str(tmp_path / "a.sql")]
    arguments: list[str] = [word for file in files for word in ("-f", file)]
    assert main(["-S", "-e", "SELECT 0", *arguments]) == 0
    assert session.ran == ["SELECT 0", "SELECT 'b'", "SELECT 'stdin'", "SELECT 'a'"]


@pytest.mark.parametrize("how", ["-f", "-i", "SOURCE"])
def test_a_byte_order_mark_is_no_part_of_a_script(session: FakeSession, tmp_path: Path, how: str) -> None:
    file = tmp_path / "windows.sql"
    file.write_bytes("\ufeffSELECT 'ä';\r\n".encode())
    assert main(["-S", "-e", f"SOURCE {file};"] if how == "SOURCE" else ["-S", how, str(file), "-e", "SELECT 2"]) == 0
    assert session.ran[0] == "SELECT 'ä'"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("how", ["-f", "-i", "SOURCE", "-"])
def test_a_byte_order_mark_names_the_encoding(
    session: FakeSession, tmp_path: Path, encoding: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = "\ufeff" if encoding.endswith("e") else ""
    file = tmp_path / "windows.sql"
    file.write_bytes(f"{mark}SELECT 'ä';\r\nSELECT 2;\r\n".encode(encoding))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(file.read_bytes())))
    words = {"SOURCE": ["-e", f"SOURCE {file};"], "-": ["-f", "-"]}.get(how, [how, str(file), "-e", "SELECT 3"])
    assert main(["-S", *words]) == 0
    assert [text for text in session.ran if text != "SELECT 3"] == ["SELECT 'ä'", "SELECT 2"]


@pytest.mark.parametrize(
    ("content", "said"), [(b"SELECT '\xe4'", "UTF-8: byte 8"), (b"\xff\xfe\x00\xd8\x00", "UTF-16")]
)
def test_another_encoding_is_said_to_be_one(
    session: FakeSession, tmp_path: Path, content: bytes, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "old.sql").write_bytes(content)
    assert main(["-f", str(tmp_path / "old.sql")]) == 1
    message = capsys.readouterr().err
    assert f"old.sql is not a text in {said}" in message and "Save it as UTF-8" in message


@pytest.mark.parametrize("word", ["quit", "EXIT"])
def test_a_script_may_leave(session: FakeSession, tmp_path: Path, word: str) -> None:
    (tmp_path / "a.sql").write_text(f"SELECT 1;\n{word};\nSELECT 2;\n")
    assert main(["-S", "-f", str(tmp_path / "a.sql"), "-f", str(tmp_path / "a.sql"), "--interactive"]) == 0
    assert session.ran == ["SELECT 1"]
    session.ran.clear()
    assert main(["-S", "-e", f"SOURCE {tmp_path / 'a.sql'}; SELECT 3"]) == 0
    assert session.ran == ["SELECT 1"]


@pytest.mark.parametrize("word", ["--version", "-H", "--help"])
def test_words_that_run_nothing(session: FakeSession, word: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([word])
    assert ended.value.code == 0 and "paimon-sql" in capsys.readouterr().out and session.ran == []


def test_the_quickstart_is_in_the_package(session: FakeSession, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["quickstart", "-w", "/w"]) == 0
    assert session.options["warehouse"] == "/w"
    assert session.ran == [statement.text for statement in split_statements(QUICKSTART.read_text("utf-8"))]
    assert "CREATE TABLE orders" in capsys.readouterr().out


def test_the_quickstart_touches_no_table_of_others() -> None:
    """It may run in a warehouse that has tables, such as `warehouse` after the programs of README."""
    text = QUICKSTART.read_text("utf-8")
    used = [statement.text for statement in split_statements(text)]
    assert used[:2] == ["CREATE DATABASE IF NOT EXISTS quickstart", "USE quickstart"]
    others = re.findall(r"(?m)(?:CREATE TABLE|DROP TABLE IF EXISTS|INTO|FROM|table =>) ['`]?([\w.]+)", text)
    assert set(others) == {"orders", "quickstart.orders"} and "shop" not in text


@pytest.mark.parametrize("word", ["-d", "-D", "--define", "--hivevar"])
def test_variables(session: FakeSession, word: str) -> None:
    assert main([word, "day=2024-05-01", "-e", "SELECT 1"]) == 0
    assert session.conf["day"] == "2024-05-01"


@pytest.mark.parametrize("command", [[], ["run"], ["serve"], ["pipelines"]])
def test_help_breaks_no_word(command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    for columns in (60, 80, 100):
        monkeypatch.setenv("COLUMNS", str(columns))
        with pytest.raises(SystemExit):
            main([*command, "--help"])
        words = capsys.readouterr().out.split()
        assert set(SUBMIT_OPTIONS) <= set(words)
        assert [word for word in words if word.endswith("-") and word.strip("-")] == []
