"""Copy files, or give them a second path, within a storage or from one storage to another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from paimon_core.dataclass import dataclass
from paimon_core.errors import StorageError
from paimon_core.io.file_io import FileIO, storage_errors
from paimon_core.io.local import LocalFileIO
from paimon_core.jobs import DONE, Done, Job, Measure
from paimon_core.progress import phase
from paimon_core.spec.records import Column, Record

Pairs = Sequence[tuple[str, str]]  # the path and the new path of each file
Copy = Callable[[FileIO, FileIO, Pairs], None]
_CHUNK = 8 * 2**20  # bytes
_THREADS = 8


def copy_file(source: FileIO, target: FileIO, path: str, target_path: str) -> None:
    """Copy a file, and make it durable. Raises `StorageError`, `FileNotFoundError`."""
    with (
        storage_errors("copy", path),
        source.open_input(path) as reader,
        target.open_output(target_path) as writer,
    ):
        while chunk := reader.read(_CHUNK):
            writer.write(chunk)
    target.sync(target_path)
    _check_same_size(source, target, path, target_path)


def take_files(source: FileIO, target: FileIO, pairs: Pairs, copy: Copy) -> None:
    """Give files that never change a second path, so that their first path can be deleted.

    On a local disk this is a hard link, within another storage a copy by the storage itself, else a call of `copy`.
    Raises the same errors as `copy_file`; some files then have their second path.
    """
    if source == target:
        for_each("link or copy", pairs, lambda pair: _take_file(source, *pair))
    else:
        copy(source, target, pairs)


def _take_file(io: FileIO, path: str, target_path: str) -> None:
    io.make_dirs(target_path.rpartition("/")[0])
    if not (isinstance(io, LocalFileIO) and io.link(path, target_path)):
        io.copy_file(path, target_path)
    io.sync(target_path)
    _check_same_size(io, io, path, target_path)


def _check_same_size(source: FileIO, target: FileIO, path: str, target_path: str) -> None:
    if target.status(target_path).size != source.status(path).size:
        raise StorageError(f"{path} changed while it was copied: run the statement again.")


def copy_files(source: FileIO, target: FileIO, pairs: Pairs) -> None:
    """Copy files, some at a time. Raises the same errors as `copy_file`; some files are then copied."""
    for_each("copy", pairs, lambda pair: copy_file(source, target, *pair))


def for_each(work: str, pairs: Pairs, act: Callable[[tuple[str, str]], None]) -> None:
    """Call `act` for each pair, several at a time. If a call fails, this raises after all running calls have ended."""
    with ThreadPoolExecutor(_THREADS) as pool, phase(f"{work} {len(pairs)} files", "files", len(pairs)) as shown:
        for _ in pool.map(act, pairs):
            shown.add()


@dataclass(frozen=True, slots=True)
class FileCopy:
    """A file, and its new path."""

    path: str
    target: str


@dataclass(frozen=True, slots=True)
class FileCopies:
    """The files that one task copies."""

    files: tuple[FileCopy, ...]

    @staticmethod
    def of(pairs: Pairs) -> FileCopies:
        return FileCopies(tuple(FileCopy(*pair) for pair in pairs))

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return [(f.path, f.target) for f in self.files]


FILE_COPY = Record("file copy", FileCopy, (Column("path", "path", "string"), Column("target", "target", "string")))
FILE_COPIES = Record("file copies", FileCopies, (Column("files", "files", record=FILE_COPY, repeated=True),))


def copy_job(source: FileIO, target: FileIO, pairs: Pairs, each: int) -> Job[FileCopies, Done]:
    """Return the job that copies files, `each` of them in one task."""
    tasks = tuple(FileCopies.of(pairs[i : i + each]) for i in range(0, len(pairs), each))
    name, run = f"copy {len(pairs)} files", partial(_copy, source, target)
    return Job(name, run, FILE_COPIES, DONE, tasks, measure=Measure("files", _files))


def _files(task: FileCopies) -> int:
    return len(task.files)


def _copy(source: FileIO, target: FileIO, task: FileCopies) -> Done:
    copy_files(source, target, task.pairs)
    return Done()
