"""`paimon-sql serve --rest` as a process: tokens, TLS, its log, and its end; no JVM takes part."""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import psutil
import pytest

from paimon_core.errors import StorageError, StorageRefusedError
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.load import load_catalog
from paimon_sql.shell.serving import run_server
from tests.catalogs.kinds import SCHEMA
from tests.support.certificates import self_signed
from tests.support.ports import free_port
from tests.support.stored import insert, read
from tests.support.waiting import PATIENCE

pytest.importorskip("uvicorn", reason='needs pip install "paimon-sql[rest-server]"')

COMMAND = [sys.executable, "-m", "paimon_sql", "serve"]
T = Identifier("db", "t")


def opened(options: dict[str, str]) -> Any:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return load_catalog(options)
        except StorageRefusedError:
            raise
        except StorageError:
            if time.monotonic() > until:
                raise
            time.sleep(0.3)


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    return self_signed(tmp_path)


def test_a_server_with_tokens_and_tls(
    tmp_path: Path,
    certificate: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    tokens, port, health = tmp_path / "tokens", free_port(), free_port()
    given = ("--rest", port, "--rest-tokens", tokens)
    found = []
    for words in (("ann",), ("bob", "--read-only")):
        assert run_server([*map(str, given), "--add-token", *words]) == 0
        found.append(capsys.readouterr().out.strip())
    logging.disable(logging.NOTSET)
    writer, reader = found
    tls = ("--tls-certificate", certificate[0], "--tls-key", certificate[1])
    words = [*given, *tls, "--host", "0.0.0.0", "--health", health, "-w", tmp_path / "wh", "--metastore", "jdbc"]
    log = tmp_path / "log"
    with log.open("w") as output:
        server = subprocess.Popen([*COMMAND, *map(str, words)], stderr=output)
    try:
        options = {"metastore": "rest", "uri": f"https://localhost:{port}", "token": writer}
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
        catalog = opened(options)
        catalog.create_database("db")
        catalog.create_table(T, SCHEMA)
        insert(catalog.load_table(T), [(1, "a")])
        other = opened({**options, "token": reader})
        assert read(other.load_table(T)) == [(1, "a")]
        with pytest.raises(StorageRefusedError, match="may only read"):
            other.drop_table(T)
        monkeypatch.delenv("SSL_CERT_FILE")
        with pytest.raises(StorageError, match="cannot be reached"):
            load_catalog(options)
        answer = urllib.request.urlopen(f"http://127.0.0.1:{health}/health", timeout=PATIENCE).read()
        assert json.loads(answer) == {"status": "serving"}
        assert [p.name() for p in psutil.Process(server.pid).children(recursive=True)] == []
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=PATIENCE) == 0
    lines = [line.split(" ", 2)[2] for line in log.read_text().splitlines()]
    assert lines[0] == f"REST: https://0.0.0.0:{port}"
    assert "rest user=ann POST /v1/paimon/databases/db/tables/t/commit: 200" in lines
    assert "rest user=bob DELETE /v1/paimon/databases/db/tables/t: 403" in lines
    assert writer not in log.read_text() and reader not in log.read_text()


def test_what_does_not_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    port = free_port()
    for words, why in (
        (("--rest", port, "--host", "0.0.0.0"), "requires no token"),
        (("--rest", port, "--metastore", "rest", "--uri", "http://h"), "cannot serve a catalog with metastore=rest"),
        (("--rest", port, "--rest-tokens", tmp_path / "none"), "cannot be read"),
        (("--add-token", "ann"), "--rest-tokens FILE"),
    ):
        try:
            assert run_server([str(word) for word in words]) in (1, 2)
        finally:
            logging.disable(logging.NOTSET)
        assert why in capsys.readouterr().err
