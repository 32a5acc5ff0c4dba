"""The command `paimon-sql ui`: its address, its end, and what it refuses."""

from __future__ import annotations

import http.client
import signal
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import urlparse

import pytest

from paimon_sql import open_catalog
from paimon_sql.shell.ui import run_ui

pytest.importorskip("uvicorn", reason='needs pip install "paimon-sql[ui]"')


def test_it_serves_until_it_is_stopped_and_needs_no_spark(tmp_path: Path) -> None:
    open_catalog(str(tmp_path)).create_database("shop")
    code = (
        "import sys; sys.modules['pyspark'] = sys.modules['py4j'] = None; import runpy; "
        f"sys.argv = ['paimon-sql', 'ui', '-w', {str(tmp_path)!r}]; runpy.run_module('paimon_sql', run_name='__main__')"
    )
    command = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert command.stdout is not None
    address = urlparse(command.stdout.readline().strip())
    client = http.client.HTTPConnection(str(address.hostname), address.port, timeout=60)
    client.request("GET", f"/?{address.query}")
    answer = client.getresponse()
    answer.read()
    client.request("GET", "/", headers={"Cookie": answer.headers["Set-Cookie"].partition(";")[0]})
    page = client.getresponse()
    assert (answer.status, page.status, address.hostname) == (303, 200, "127.0.0.1")
    assert b"/d/shop" in page.read()
    client.close()
    command.send_signal(signal.SIGTERM)
    _, errors = command.communicate(timeout=60)
    assert command.returncode == 0
    assert errors == "Open this address in a browser. It is valid until Ctrl-C.\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--host", "0.0.0.0"], "can be reached from other machines, and the token travels unencrypted"),
        (["--host", "lake.example"], "--insecure starts it anyway"),
        (["--metastore", "nothing"], "metastore"),
        (["-c", "spark.driver.memory=4g"], "-c spark.driver.memory has no effect: paimon-sql ui does not start Spark"),
        (["--port", "1", "--host", "192.0.2.1", "--insecure"], "paimon-sql ui cannot listen on 192.0.2.1:1"),
    ],
)
def test_what_is_refused(words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_ui(["-w", str(tmp_path), *words], threading.Event()) == 1
    printed = capsys.readouterr()
    assert message in printed.err and printed.out == ""
