"""The start of the process: reads what the driver has written, and finds the PySpark that fits the driver's Spark.

If something is missing, it prints one line to standard output, and the jar raises an error with this line. So no other
code may print there, and PySpark is imported only after it was found.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from paimon_core.dataclass import dataclass

PROTOCOL = "1"  # the lines below and the methods that the driver offers; the jar has the same number
_STDOUT, _STDERR = 1, 2


@dataclass(frozen=True, slots=True)
class Driver:
    """The driver to serve, as its lines on standard input describe it: its port, the secret of the channel, its Spark,
    and the folders of Spark's PySpark.
    """

    port: int
    secret: str
    spark: str
    python_path: tuple[str, ...]


def main() -> NoReturn:
    """Serve a driver until it ends. The driver's end closes standard input, however it comes."""
    report = os.fdopen(os.dup(_STDOUT), "w", encoding="utf-8")
    os.dup2(_STDERR, _STDOUT)  # the driver's output is not ours to write to
    _leave_terminal()
    try:
        driver = read_driver(sys.stdin.readline)
        sys.path[:0] = pyspark_path(driver, _installed_pyspark())
        serve = importlib.import_module("paimon_sql.door.serve").serve
        serve(driver)
    except Exception as error:
        _fail(report, error)
    while sys.stdin.buffer.read(1):
        pass
    os._exit(0)  # threads may still wait for a driver that has ended


def read_driver(read_line: Callable[[], str]) -> Driver:
    """Read the lines of a driver. Raises `RuntimeError` if a jar of another version has written them."""
    protocol = read_line().strip()
    if protocol != PROTOCOL:
        raise RuntimeError(
            f"the jar was made by another version of paimon-sql: it writes {protocol!r}, and this version reads "
            f"{PROTOCOL!r}. Make the jar again: paimon-sql jar --out paimon-sql-door.jar"
        )
    port, secret, spark, path = (read_line().rstrip("\n") for _ in range(4))
    return Driver(int(port), secret, spark, tuple(p for p in path.split(os.pathsep) if p))


def pyspark_path(driver: Driver, installed: str | None) -> Sequence[str]:
    """Return the folders from which PySpark must be imported: none if the installed one has the driver's version, else
    the archives of the driver's Spark. Raises `RuntimeError` if there are none."""
    if installed == driver.spark:
        return ()
    found = [path for path in driver.python_path if path.endswith(".zip") and os.path.exists(path)]
    if any("pyspark" in os.path.basename(path) for path in found):
        return found
    if installed is not None and installed.split(".")[:2] == driver.spark.split(".")[:2]:
        return ()
    have = "it has no PySpark" if installed is None else f"its PySpark is {installed}"
    raise RuntimeError(
        f"the driver runs Spark {driver.spark}, {have}, and Spark's folder python/lib has no pyspark.zip. Install the "
        f"version: {sys.executable} -m pip install pyspark=={driver.spark}"
    )


def _installed_pyspark() -> str | None:
    try:
        return importlib.metadata.version("pyspark")
    except importlib.metadata.PackageNotFoundError:
        return None


def _leave_terminal() -> None:
    """Ignore Ctrl-C, and leave the terminal: the driver decides when this process ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "setsid") and os.getpid() != os.getpgrp():
        os.setsid()


def _fail(report: object, error: Exception) -> NoReturn:
    """Report an error by one line, and end."""
    text = " ".join(f"{error or type(error).__name__}".split())
    if isinstance(error, ImportError):
        text = f"{text}. Install the package with its dependencies: {sys.executable} -m pip install paimon-sql"
    try:
        print(f"failed {text}", file=report, flush=True)  # type: ignore[call-overload]
    finally:  # the driver may have ended, and threads wait for it
        os._exit(1)
