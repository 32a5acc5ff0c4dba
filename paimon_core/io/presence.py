"""Which of many files are not there."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from paimon_core.io.file_io import FileIO

_THREADS = 16


def absent(io: FileIO, paths: Sequence[str]) -> list[str]:
    """The paths at which nothing is, looked up side by side. Raises `StorageError`."""
    with ThreadPoolExecutor(_THREADS) as pool:
        return [path for path, there in zip(paths, pool.map(io.exists, paths), strict=True) if not there]
