"""Apache Paimon's Java connector for Spark as a process that runs SQL: the reference of the interop tests.

It is outside of the repository: in `shared/oracles` in a folder above it, or in the folder PAIMON_ORACLES.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.quick_jvm import QUICK_JVM

_ROOT = Path(__file__).parents[2]
_SCRIPT = "java_sql.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The result of a statement; rows as `tests.support.comparison.cells` makes them."""

    columns: list[str]
    types: list[str]
    rows: list[Any]


class JavaError(Exception):
    """A statement that failed, with Java's message."""


def find_oracles() -> Path | None:
    """Return the folder of the oracle; None if there is none."""
    given = os.environ.get("PAIMON_ORACLES")
    folders = [Path(given)] if given else [p / "shared" / "oracles" for p in (_ROOT, *_ROOT.parents)]
    return next((p for p in folders if (p / _SCRIPT).exists()), None)


def run_streams(warehouse: str, queries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Run streaming queries one after the other in another process, see `java_stream.py`. Raises `JavaError`."""
    runs = java_streams(warehouse, quick=True)
    try:
        return [runs.run(query) for query in queries]
    finally:
        runs.close()


def java_streams(warehouse: str, *, quick: bool = False) -> StreamRuns:
    """Return a process of the connector for streaming queries. If `quick`, its JVM is tuned for short statements."""
    oracles = find_oracles()
    assert oracles is not None
    script = Path(__file__).with_name("java_stream.py")
    env = _environment("1g", QUICK_JVM) if quick else _environment("4g")
    return StreamRuns([_python(oracles), str(script), str(oracles), warehouse], env)


@contextmanager
def both_sides(script: str, warehouse: str) -> Iterator[list[StreamRuns]]:
    """Start the process of a benchmark's own script with `--ours`, and the connector's if it is available."""
    sides = [StreamRuns([sys.executable, script, "--ours", warehouse])]
    sides += [java_streams(warehouse)] if find_oracles() is not None else []
    try:
        yield sides
    finally:
        for side in sides:
            side.close()


class StreamRuns:
    """A process that runs streaming queries one after the other: `java_stream.py`, or a script that calls
    its `serve`.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=env, text=True, encoding="utf-8")
        assert self._read() == {"ready": True}

    def run(self, query: dict[str, Any]) -> dict[str, Any]:
        """Run one query. Raises `JavaError` if it fails."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(query) + "\n")
        self._process.stdin.flush()
        answer = self._read()
        if "error" in answer:
            raise JavaError(answer["error"])
        return answer

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                answer: dict[str, Any] = json.loads(line)
                return answer
        raise JavaError("The process that runs streams ended.")


def _python(oracles: Path) -> str:
    """Return the Python that has the connector's Spark."""
    setup = subprocess.run(["bash", oracles / "java_setup.sh"], check=True, stdout=subprocess.PIPE, text=True)
    return setup.stdout.strip()


def _environment(memory: str, jvm: str = "") -> dict[str, str]:
    """Return the environment without settings of another Spark and another Python."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK_", "SPARK_", "PYTHON"))}
    return env | {"ORACLE_MEMORY": memory, "TZ": "UTC"} | ({"SPARK_SUBMIT_OPTS": jvm} if jvm else {})


class JavaOracle:
    """One Spark session with the catalog `paimon` on a warehouse. Starting takes about 10 s. `settings` are Spark's."""

    def __init__(self, oracles: Path, warehouse: str, settings: Mapping[str, str] | None = None) -> None:
        more = [part for k, v in (settings or {}).items() for part in ("--conf", f"{k}={v}")]
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
        self._process = subprocess.Popen(
            [_python(oracles), oracles / _SCRIPT, "--warehouse", warehouse, *more, "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=_environment("2g", QUICK_JVM),
            text=True,
            encoding="utf-8",
        )
        assert self._read() == {"ready": True}

    def sql(self, text: str) -> Answer:
        """Run one statement. Raises `JavaError`."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"sql": text}) + "\n")
        self._process.stdin.flush()
        answer = self._read()
        if "error" in answer:
            message = answer["error"].partition("\n\tat ")[0]
            raise JavaError(f"{text}\n{message}")
        return Answer(columns=answer["columns"], types=answer["types"], rows=answer["rows"])

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._log.close()

    def _read(self) -> Any:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        self._log.seek(0)
        raise JavaError(f"The oracle ended: {self._log.read().decode(errors='replace')[-2000:]}")


def make_accounts(warehouse: str, *arguments: str) -> None:
    """Create users by Java, see `java_accounts.py`."""
    oracles = find_oracles()
    assert oracles is not None
    script = str(Path(__file__).with_name("java_accounts.py"))
    command = [_python(oracles), script, str(oracles), warehouse, *arguments]
    subprocess.run(command, env=_environment("1g", QUICK_JVM), check=True, stdout=subprocess.DEVNULL)
