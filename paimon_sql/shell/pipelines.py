"""`paimon-sql pipelines`: runs Spark's declarative pipelines on a server of its own.

Spark's program for pipelines is a client of Spark Connect. This command starts a driver with the configured catalogs,
which listens on a free port of this machine and requires a token, runs that program, and ends the driver.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence

from paimon_core.errors import PaimonError
from paimon_sql.server.serve import serve, stop_driver
from paimon_sql.server.settings import ServerSettings
from paimon_sql.shell.arguments import WholeWords, add_catalog_options, add_submit_options, hand_to_spark_submit
from paimon_sql.shell.errors import describe
from paimon_sql.shell.serving import end_after, server_session

_PROGRAM = "pyspark.pipelines.cli"
_LISTENS = "Spark Connect:"  # the line that a server writes once clients can connect
_PORT = re.compile(r":(\d+)$")
_OTHER_PORTS = 100  # to try if another program takes the free port before the server does
_GRACE = 30.0  # seconds for the driver to stop


def run_pipelines(words: Sequence[str]) -> int:
    """Run `init`, `dry-run` or `run` of Spark's pipelines. Return the exit status of Spark's program, or 1 after an
    error.
    """
    if importlib.util.find_spec("pyspark.pipelines") is None:
        sys.stderr.write("error: pipelines need Spark 4.1: install a newer PySpark\n")
        return 1
    program = [sys.executable, "-m", _PROGRAM]
    if words[:1] == ["init"]:  # it needs no catalog, and has an option --name of its own
        return subprocess.run([*program, *words], check=False).returncode
    arguments, given = _parser().parse_known_args(words)
    program += [arguments.command, *given]
    logging.disable()  # PySpark logs every refused statement with its text
    settings = ServerSettings(connect=_free_port(), other_ports=_OTHER_PORTS, token=secrets.token_urlsafe(32), drain=10)
    try:
        hand_to_spark_submit(arguments, os.environ)
        return _run(arguments, settings, program)
    except (PaimonError, OSError) as error:
        sys.stderr.write(f"error: {describe(error)}\n")
        return 1


def _run(arguments: argparse.Namespace, settings: ServerSettings, program: list[str]) -> int:
    client = _Client(program, settings)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: client.stop())
    session = server_session(arguments, settings)
    try:
        serve(session, settings, client.ended, client.start_once)
        return client.status
    finally:
        client.stop()
        end_after(_GRACE)
        stop_driver(session)


class _Client:
    """Spark's program for pipelines: a process that starts once the server listens. `ended` is set at its end."""

    def __init__(self, program: list[str], settings: ServerSettings) -> None:
        self.program, self.settings = program, settings
        self.ended, self.status = threading.Event(), 1
        self._process: subprocess.Popen[bytes] | None = None

    def start_once(self, line: str) -> None:
        """Start the program if this is the server's line that it listens."""
        if not line.startswith(_LISTENS) or self._process is not None or self.ended.is_set():
            return
        port = _PORT.search(line)
        own = {"SPARK_REMOTE": f"sc://localhost:{port[1] if port else ''}", "SPARK_CONNECT_MODE_ENABLED": "1"}
        own["SPARK_CONNECT_AUTHENTICATE_TOKEN"] = self.settings.token
        self._process = subprocess.Popen(self.program, env={**os.environ, **own})
        threading.Thread(target=self._wait, args=(self._process,), daemon=True).start()

    def stop(self) -> None:
        """End the program, if it still runs."""
        if self._process is None:
            self.ended.set()
        elif self._process.poll() is None:
            self._process.terminate()

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        self.status = process.wait()
        self.ended.set()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="paimon-sql pipelines",
        description="Runs Spark's declarative pipelines on Paimon's catalogs. Further options are options of Spark's "
        "spark-pipelines: --spec FILE, --refresh TABLES, --full-refresh TABLES, --full-refresh-all.",
        allow_abbrev=False,
        formatter_class=WholeWords,
    )
    made.add_argument(
        "command", choices=("run", "dry-run", "init"), help="run the pipeline, check it, or make a project"
    )
    add_catalog_options(made)
    add_submit_options(made)
    return made
