"""A server that reports the objects and files that it holds: `python -m tests.support.held_by_server OPTIONS OF
paimon-sql serve`.

To ask, a client makes the file `ask` in the server's folder. The server then writes its answer to the file `held`.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import time
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

from paimon_sql.shell.main import main
from tests.support.long_session import held

RUN = ("-m", "tests.support.held_by_server")
# counts that may grow later: of things that exist once or per thread, independent of the number of sessions
ROOM = {
    "threads": 4,
    "handles": 6,
    "jvm_threads": 12,
    "jvm_handles": 12,
    "workers": 2,
    "proxies": 8,
    "bindings": 60,
    "objects": 20_000,
    "temporary_files": 8,
}
_ASK, _HELD, _TEMPORARY = "ask", "held", "temporary"
_POLL = 0.1  # seconds


def ask(folder: Path, seconds: float = 300) -> dict[str, int]:
    """Return what the server of a folder holds, by name, after it has collected unneeded references."""
    (folder / _HELD).unlink(missing_ok=True)
    (folder / _ASK).touch()
    until = time.monotonic() + seconds
    while not (folder / _HELD).exists():
        assert time.monotonic() < until, "the server does not answer"
        time.sleep(_POLL)
    return dict(json.loads((folder / _HELD).read_text()))


def more(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """Return the counts that have grown more than they may between two answers."""
    return {n: after[n] - before[n] for n, room in ROOM.items() if n in before and after[n] - before[n] > room}


def environment(folder: Path) -> dict[str, str]:
    """Return variables with which a server's temporary files are below its folder."""
    temporary = folder / _TEMPORARY
    temporary.mkdir()
    java = f"-Djava.io.tmpdir={temporary}"
    root = str(Path(__file__).parents[2])
    return {"TMPDIR": str(temporary), "SPARK_LOCAL_DIRS": str(temporary), "JAVA_TOOL_OPTIONS": java, "PYTHONPATH": root}


def _answer(folder: Path) -> None:
    while True:
        time.sleep(_POLL)
        if (folder / _ASK).exists():
            (folder / _ASK).unlink()
            (folder / "answer").write_text(json.dumps(_found(folder)))
            (folder / "answer").rename(folder / _HELD)


def _found(folder: Path) -> dict[str, int]:
    temporary = sum(len(files) + len(folders) for _, folders, files in os.walk(folder / _TEMPORARY))
    if SparkContext._active_spark_context is not None:
        spark = SparkSession._instantiatedSession
        return {**vars(held(spark)), "temporary_files": temporary}
    gc.collect()
    threads, handles = threading.active_count(), len(os.listdir("/proc/self/fd"))
    return {"threads": threads, "handles": handles, "objects": len(gc.get_objects()), "temporary_files": temporary}


if __name__ == "__main__":
    threading.Thread(target=_answer, args=(Path.cwd(),), daemon=True).start()
    sys.exit(main(["serve", *sys.argv[1:]]))
