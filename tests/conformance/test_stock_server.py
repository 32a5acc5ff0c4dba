"""The stories of test_conformance.py through Spark's own Connect server, with the jar that `paimon-sql jar` makes.

`start-connect-server.sh` is Spark's, and its clients have PySpark's own readers and writers. So every call goes from a
driver in Java to the Python process beside it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.conformance.test_conformance import marked_cases
from tests.support.jvm_programs import SPARK_HOME, Programs, programs_with_jar
from tests.support.ports import free_port, is_free
from tests.support.waiting import PATIENCE, wait_until

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parents[2]


@dataclass
class Stock:
    """A running server, the JVM's process, and a client."""

    server: psutil.Process
    client: subprocess.Popen[str]
    log: Path

    def run(self, **job: Any) -> list[Any]:
        """Run a job of `tests.support.stock_connect`. Raises `AssertionError` with the client's error."""
        assert self.client.stdin is not None and self.client.stdout is not None
        self.client.stdin.write(json.dumps(job) + "\n")
        self.client.stdin.flush()
        line = self.client.stdout.readline()
        assert line, self.log.read_text()[-3000:]
        answer = json.loads(line)
        assert "failure" not in answer, answer["failure"]
        rows: list[Any] = answer["rows"]
        return rows


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stock]:
    programs = programs_with_jar(tmp_path_factory.mktemp("stock"), {"spark.driver.memory": "2g"})
    with programs.started(_command(programs, port := free_port())) as server:
        log = programs.folder / "log"
        wait_until(lambda: not is_free(port) or server.poll() is not None, log.read_text)
        assert server.poll() is None, log.read_text()
        words = [sys.executable, "-m", "tests.support.stock_connect", f"sc://127.0.0.1:{port}"]
        pipe = subprocess.PIPE
        with subprocess.Popen(words, stdin=pipe, stdout=pipe, cwd=ROOT, text=True) as client:
            yield Stock(server, client, log)
            assert client.stdin is not None
            client.stdin.close()
        started = server.children(recursive=True)
        for process in (server, *started):
            if process.name() == "java":  # the script does not pass on what ends it
                process.terminate()
        ended, living = psutil.wait_procs(started, PATIENCE)
        assert living == [], ended  # Python ends with the driver


def _command(programs: Programs, port: int) -> str:
    options = programs.run(f"paimon-sql spark-options -w {programs.folder}/lake").out.replace("\n", " ")
    settings = f"--conf spark.connect.grpc.binding.port={port} --conf spark.sql.session.timeZone=UTC"
    script = SPARK_HOME / "sbin" / "start-connect-server.sh"
    if script.exists():
        return f"env SPARK_NO_DAEMONIZE=1 {script} {options} {settings}"
    server = "--class org.apache.spark.sql.connect.service.SparkConnectServer"  # what the script runs
    return f"spark-submit {options} {settings} {server} spark-internal"


@pytest.mark.parametrize("case_id", [*marked_cases()])
def test_case(stock: Stock, tmp_path: Path, case_id: str) -> None:
    stock.run(warehouse=str(tmp_path / "warehouse"), files=str(tmp_path / "files"), case=case_id)


def test_python_is_killed_in_a_merge(stock: Stock, tmp_path: Path) -> None:
    """The merge is whole or not there at all, and the next statement goes on in another process."""
    lake = str(tmp_path / "warehouse")
    made = "CREATE TABLE t (id BIGINT, v STRING) WITH ('primary-key' = 'id', 'bucket' = '1')"
    stock.run(warehouse=lake, statements=[made, "INSERT INTO t VALUES (1, 'a')"])
    slow = "SELECT 1L + length(coalesce(reflect('java.lang.Thread', 'sleep', 4000L), '')) AS id, 'b' AS v"
    merge = (
        f"MERGE INTO t USING ({slow} UNION ALL SELECT 2L, 'b') s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
    )
    (python,) = pythons(stock)
    assert stock.client.stdin is not None and stock.client.stdout is not None
    stock.client.stdin.write(json.dumps({"warehouse": lake, "statements": [merge]}) + "\n")
    stock.client.stdin.flush()
    psutil.wait_procs([python], 1)  # a second of the merge
    python.kill()
    outcome = json.loads(stock.client.stdout.readline())
    rows = stock.run(warehouse=lake, statements=["SELECT * FROM t ORDER BY id"])
    assert rows == ([[1, "a"]] if "failure" in outcome else [[1, "b"], [2, "b"]])
    assert "failure" not in outcome or "PAIMON_PYTHON_UNAVAILABLE" in outcome["failure"]
    stock.run(warehouse=lake, statements=["UPDATE t SET v = 'c'"])
    (other,) = pythons(stock)
    assert other.pid != python.pid


def pythons(stock: Stock) -> list[psutil.Process]:
    """The processes that serve Paimon's tables. `bin/spark-class` leaves a zombie of its own."""
    found = [p for p in stock.server.children(recursive=True) if p.status() != psutil.STATUS_ZOMBIE]
    return [p for p in found if "-c" in p.cmdline() and "paimon_sql" in " ".join(p.cmdline())]
