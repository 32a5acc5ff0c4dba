"""The process from which Spark forks its Python workers. It has already imported the modules that they need: an import
takes a second, which each worker would otherwise spend.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any
from zipimport import zipimporter

import pyspark.worker  # noqa: F401  what a worker runs
from pyspark.daemon import manager

from paimon_sql.spark.workers.worker import keep_imports


def only_if_changed(read: Callable[[zipimporter], None]) -> Callable[[zipimporter], None]:
    """Wrap `read` so that it skips an archive on Python's path that has not changed since the last call."""
    known: dict[tuple[str, str], tuple[int, int, int] | None] = {}

    def read_if_changed(importer: zipimporter) -> None:
        place, version = (importer.archive, importer.prefix), _version_of(importer.archive)
        if version is None or known.get(place) != version:
            read(importer)
            known[place] = version

    return read_if_changed


def _version_of(path: str) -> tuple[int, int, int] | None:
    """Return the version of a file, which differs for another file of the same name; None for a missing file."""
    try:
        file = os.stat(path)
    except OSError:
        return None
    return file.st_ino, file.st_size, file.st_mtime_ns


def main() -> None:
    """Fork workers until Spark ends this process."""
    # before 4.2, PySpark reads its own archives again in each task, which takes longer than most tasks
    archives: Any = zipimporter
    archives.invalidate_caches = only_if_changed(archives.invalidate_caches)
    importlib.invalidate_caches()
    keep_imports()
    manager()


if __name__ == "__main__":
    main()
