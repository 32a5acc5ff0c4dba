"""Spark's own programs, `spark-sql` and `spark-shell`, with the jar of this package.

PAIMON_SQL_DOOR_JAR is a jar that another Spark has made; without it, the Spark of the tests makes one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import pyspark

from tests.support.quick_jvm import ARCHIVED

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
SPARK_HOME = Path(pyspark.__file__).parent
JAR = "paimon-sql-door.jar"
PATIENCE = 1800  # seconds
_MADE_BEFORE = os.environ.get("PAIMON_SQL_DOOR_JAR") and Path(os.environ["PAIMON_SQL_DOOR_JAR"]).absolute()
_PYTHON = """#!/bin/sh
echo $$ >> "$0.ids"
{first}
exec {python} "$@"
"""
# what a `NotedPython` does first: report a missing package the first time; wait for the test
LACKS_THE_PACKAGE_AT_FIRST = 'if [ "$(wc -l < "$0.ids")" -eq 1 ]; then echo package paimon_sql; exit 1; fi'
WAITS = 'while [ ! -e "$0.go" ]; do sleep 0.1; done'
_SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": ARCHIVED,
    "spark.ui.enabled": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.shuffle.partitions": "2",
}
_COMPILES = """
import sys
from pathlib import Path
from paimon_sql.java import find_java
from paimon_sql.shell.jars import jar_of
from paimon_sql.spark.jvm.gateway import compiled_in_turn
find_java()
Path(sys.argv[1]).write_bytes(jar_of(compiled_in_turn([sys.stdin.read()])))
"""


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a program: its exit status, and what it wrote."""

    status: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class NotedPython:
    """A command that notes its process id, and is Python from then on."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    def ids(self) -> list[int]:
        """Return the ids of the processes that have begun, the first one first."""
        noted = Path(f"{self.path}.ids")
        return [int(line) for line in noted.read_text().split()] if noted.exists() else []

    def go_on(self) -> None:
        """End the wait of `WAITS`."""
        Path(f"{self.path}.go").touch()


@dataclass(frozen=True, slots=True)
class Programs:
    """A folder with the jar, in which programs of the JVM run."""

    folder: Path

    def run(self, command: str, given: str = "", environment: Mapping[str, str] | None = None) -> Ended:
        """Run a line of a shell with Spark's commands and `paimon-sql` on its path."""
        done = subprocess.run(
            ["bash", "-c", command],
            input=given,
            env=self._environment(environment or {}),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def compiled(self, jar: str, source: str) -> None:
        """Put the classes of a Java source into a jar of the folder; Janino compiles them."""
        (self.folder / "compile.py").write_text(_COMPILES, encoding="utf-8")
        made = self.run(f"{sys.executable} compile.py {jar}", source, {"PYTHONPATH": str(ROOT)})
        assert made.status == 0, made.err

    def noted_python(self, name: str, first: str = ":") -> NotedPython:
        """Make a command of the name in the folder."""
        path = self.folder / name
        path.write_text(_PYTHON.format(first=first, python=sys.executable))
        path.chmod(0o755)
        return NotedPython(path)

    @contextmanager
    def started(self, command: str, environment: Mapping[str, str] | None = None) -> Iterator[psutil.Process]:
        """Run a command beside the block, and end it by SIGTERM; its output goes to the file `log`."""
        with (self.folder / "log").open("w") as log:
            words = ["bash", "-c", f"exec {command}"]
            given = self._environment(environment or {})
            process = psutil.Popen(words, env=given, cwd=self.folder, stdout=log, stderr=log)
            try:
                yield process
            finally:
                with suppress(psutil.NoSuchProcess):  # the block has ended it
                    process.terminate()
                process.wait(PATIENCE)

    @contextmanager
    def talking(self, command: str) -> Iterator[subprocess.Popen[str]]:
        """Run a command beside the block, which writes to its input and reads its errors. It ends with its input."""
        pipe, none = subprocess.PIPE, subprocess.DEVNULL
        words, given = ["bash", "-c", f"exec {command}"], self._environment({})
        with subprocess.Popen(
            words, env=given, cwd=self.folder, stdin=pipe, stdout=none, stderr=pipe, text=True
        ) as process:
            try:
                yield process
            finally:
                process.communicate(timeout=PATIENCE)

    def _environment(self, given: Mapping[str, str]) -> dict[str, str]:
        return {
            **{key: value for key, value in os.environ.items() if not key.startswith("PYSPARK_")},
            "PATH": f"{BIN}{os.pathsep}{SPARK_HOME}/bin{os.pathsep}{os.environ['PATH']}",
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_CONF_DIR": str(self.folder / "conf"),
            **given,
        }


def programs_in(folder: Path, settings: Mapping[str, str] | None = None) -> Programs:
    """Make a folder with Spark's settings of the tests, and no jar yet."""
    (folder / "conf").mkdir(parents=True)
    lines = [f"{key} {value}\n" for key, value in {**_SETTINGS, **(settings or {})}.items()]
    (folder / "conf" / "spark-defaults.conf").write_text("".join(lines), encoding="utf-8")
    return Programs(folder)


def programs_with_jar(folder: Path, settings: Mapping[str, str] | None = None) -> Programs:
    """Make such a folder with the jar."""
    made = programs_in(folder, settings)
    (folder / JAR).write_bytes(_jar())
    return made


@lru_cache(1)
def _jar() -> bytes:
    if _MADE_BEFORE:
        return _MADE_BEFORE.read_bytes()
    with TemporaryDirectory() as folder:
        ended = programs_in(Path(folder)).run(f"paimon-sql jar --out {JAR}")
        assert ended.status == 0, ended.err
        return (Path(folder) / JAR).read_bytes()
