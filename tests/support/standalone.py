"""A standalone Spark master with two workers on this machine, in processes of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyspark

from tests.support.ports import free_port
from tests.support.quick_jvm import ARCHIVED
from tests.support.waiting import PATIENCE, wait_until

SPARK = Path(pyspark.__file__).parent


def environment_of(workers: Path) -> dict[str, str]:
    """Return the environment of the master, of its workers, and of drivers. The workers' files are in a folder."""
    own = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, "SPARK_WORKER_DIR": str(workers)}
    return os.environ | own | {"SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": ARCHIVED}


@contextmanager
def standalone(environment: Mapping[str, str], log: Path) -> Iterator[str]:
    """Yield the master's URL; each worker has one core and 512 MB."""
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    place = ["--host", "127.0.0.1", "--webui-port", "0"]
    small = ["--cores", "1", "--memory", "512m", url]
    commands = [["master.Master", *place, "--port", str(port)], *2 * [["worker.Worker", *place, *small]]]
    with log.open("w") as output:
        started = [
            subprocess.Popen(
                [str(SPARK / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments],
                env=dict(environment), stdout=output, stderr=output,
            )
            for name, *arguments in commands
        ]  # fmt: skip
        try:
            wait_until(lambda: len(re.findall("Registering worker", log.read_text())) >= 2, log.read_text)
            yield url
        finally:
            for process in started:
                process.terminate()
            for process in started:
                process.wait(PATIENCE)
