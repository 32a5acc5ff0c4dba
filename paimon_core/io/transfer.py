"""Files copied and moved, within a storage and from one to another."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from paimon_core.errors import StorageError
from paimon_core.io.file_io import FileIO, storage_errors

Pairs = Sequence[tuple[str, str]]  # where each file is, and where it goes
Copy = Callable[[FileIO, FileIO, Pairs], None]
_CHUNK = 8 * 2**20  # bytes
_THREADS = 8


def copy_file(source: FileIO, target: FileIO, path: str, place: str) -> None:
    """Copy a file, and make it durable. Raises `StorageError`, `FileNotFoundError`."""
    target.make_dirs(place.rpartition("/")[0])
    with (
        storage_errors("copy", path),
        source.open_input(path) as reader,
        target.arrow().open_output_stream(target.arrow_path(place), compression=None) as writer,
    ):
        while chunk := reader.read(_CHUNK):
            writer.write(chunk)
    target.sync(place)
    if target.status(place).size != source.status(path).size:
        raise StorageError(f"{path} changed while it was copied: run the statement again.")


def move_file(source: FileIO, target: FileIO, path: str, place: str) -> None:
    """Move a file. Raises `StorageError`, `FileNotFoundError`."""
    if source == target:
        target.make_dirs(place.rpartition("/")[0])
        with storage_errors(f"rename {path} to", place):
            source.arrow().move(source.arrow_path(path), target.arrow_path(place))
        target.sync(place)
        return
    copy_file(source, target, path, place)
    source.delete(path)


def copy_files(source: FileIO, target: FileIO, pairs: Pairs) -> None:
    """Copy files, some at a time. Raises as `copy_file`; some are copied by then."""
    for_each(pairs, lambda pair: copy_file(source, target, *pair))


def for_each(pairs: Pairs, act: Callable[[tuple[str, str]], None]) -> None:
    """Do something with each, some at a time; where one fails, none is at work any more."""
    with ThreadPoolExecutor(_THREADS) as pool:
        for _ in pool.map(act, pairs):
            pass


@dataclass(frozen=True, slots=True)
class CopyTask:
    """Copies the files that a text lists; how many there were."""

    source: FileIO
    target: FileIO

    def __call__(self, pairs: str) -> str:
        wanted = [(path, place) for path, place in json.loads(pairs)]
        copy_files(self.source, self.target, wanted)
        return str(len(wanted))
