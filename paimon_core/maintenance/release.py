"""Remove versions of a table, and delete the files that are in no other version.

A file does not show which versions need it; only manifests do. So removing versions requires reading the files that
they and all other versions need, while other processes commit, tag, branch, roll back and expire. `release` does it in
this order:

1. Read which files the versions to be removed need. On a remote storage, this runs beside the next step.
2. Remove the versions: delete their snapshot files, tags or schemas. From now on they cannot be tagged or branched.
3. Read which of those files the remaining versions need (`remaining.py`).
4. Delete the others.

If the process is killed on the way, some files remain that no version names, and `remove_orphan_files` finds them. No
version is left without its files. If the versions cannot be read, or keep changing, the files remain in the same way.
Two processes that do this at the same time may both delete a file, which does no harm.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar

import pyarrow as pa

from paimon_core.dataclass import dataclass
from paimon_core.errors import PaimonError, UnreadableFileError
from paimon_core.io.file_io import FileIO
from paimon_core.io.side_by_side import both, outcome_of
from paimon_core.jobs import DONE, Done, Job, Measure
from paimon_core.maintenance.references import NeededFiles, Versions, load, reading_versions
from paimon_core.maintenance.remaining import still_needed
from paimon_core.options import SNAPSHOT_CLEAN_EMPTY_DIRS
from paimon_core.progress import Phase, phase
from paimon_core.spec.manifest import SIDECAR
from paimon_core.spec.records import Column, Record
from paimon_core.store.external.files import deletable
from paimon_core.store.external.other_folders import FilePlaces
from paimon_core.store.snapshots import existing_snapshots
from paimon_core.store.table_store import TableStore

T = TypeVar("T")
Delete = Callable[[TableStore, Collection[str]], None]
_LOG = logging.getLogger(__name__)
_PART = 1000  # files that are deleted between two reports of progress, times the parallel requests of the storage
_CACHED = 20_000  # few entries: other callers do not need the manifests of removed versions


def release(
    removed: Versions,
    remove: Callable[[], None],
    delete: Delete | None = None,
    *,
    oldest: bool = False,
    near: Sequence[int] = (),
) -> None:
    """Call `remove`, which removes the versions `removed`. Then delete the files that only these versions needed, by
    `delete`.

    The default of `delete` is `delete_files`. `oldest`: the versions are the first of the branch's history. `near` are
    the numbers of neighbouring snapshots that will probably remain: on a remote storage, their manifests are read
    meanwhile. Raises `StorageError`, and the errors of `remove`; then no file is deleted. Files that cannot be deleted
    stay as orphans.
    """
    known = removed.store.cache
    store = replace(removed.store, cache=known.another(_CACHED))
    removed = replace(removed, store=store)
    found = NeededFiles(tolerant=True)

    def needed_before() -> set[str]:
        with reading_versions(store.name, [removed]):
            paths = set(found.of(removed))
        with suppress(UnreadableFileError):  # the later read raises the error
            load(store, existing_snapshots(store, near) if store.io.requests_at_once > 1 else ())
        return paths

    read = _beside(store.io, needed_before, remove)
    try:
        unneeded = read()
        needed = NeededFiles(among=pa.array([n.encode() for n in found.data_files], pa.binary()))
        with phase(f"read what other versions of {store.name} need", "snapshots"):
            unneeded.difference_update(still_needed(removed, needed, oldest=oldest))
    except PaimonError as error:
        _LOG.warning(
            "Files of %s were not deleted (remove_orphan_files deletes them): %s",
            store.name,
            error,
            extra=store.log_fields(),
        )
        return
    # a list that an older writer has written again does not name the sidecars of its manifests
    kept = {p for p in unneeded if p.endswith(SIDECAR) and p.removesuffix(SIDECAR) not in unneeded}
    places = FilePlaces(store)
    unneeded = {place for path in unneeded - kept for place in places.every(path)}
    (delete or delete_files)(store, unneeded)
    known.forget(unneeded)
    if store.options[SNAPSHOT_CLEAN_EMPTY_DIRS]:
        _delete_empty_folders(store, unneeded)


def _beside(io: FileIO, read: Callable[[], T], remove: Callable[[], None]) -> Callable[[], T]:
    """Read the files that the removed versions need, and remove the versions; on a remote storage both at the same
    time. Return the outcome of `read`.

    Raises the errors of `remove`, and on a local disk the errors of `read` before it."""
    if io.requests_at_once < 2:
        needed = read()
        remove()
        return lambda: needed
    outcome, removal = both(io, partial(outcome_of, read), partial(outcome_of, remove))
    removal()
    return outcome


def delete_files(store: TableStore, paths: Iterable[str]) -> None:
    """Delete files of the table, and files outside of it that the table may delete.

    A file that cannot be deleted stays as an orphan. Files behind a symbolic link in the table's folder, or in an
    external path, are never deleted.
    """
    root, below = store.root, f"{store.root}/"
    ours, outside = list[str](), list[str]()
    for path in paths:
        (ours if path.startswith(below) else outside).append(path)
    by_root = {root: ours}
    taken = {path: external for external, path in deletable(store, outside)}
    for path in outside:
        if path in taken:
            by_root.setdefault(taken[path], []).append(path)
        else:
            _LOG.warning(
                "File %s is outside of table %s and is not deleted.", path, store.name, extra=store.log_fields()
            )
    with phase(f"delete files of {store.name}", "files", sum(map(len, by_root.values()))) as shown:
        for top, files in by_root.items():
            if files:  # sorted: the files of a folder come one after the other
                _delete(store, top, sorted(files), shown)


@dataclass(frozen=True, slots=True)
class FileList:
    """The files that one task deletes."""

    paths: tuple[str, ...]

    @staticmethod
    def of(paths: Iterable[str]) -> FileList:
        return FileList(tuple(paths))


FILE_LIST = Record("file list", FileList.of, (Column("paths", "paths", {"type": "array", "items": "string"}),))


def delete_job(store: TableStore, paths: Iterable[str], each: int) -> Job[FileList, Done]:
    """Return the job that deletes files, `each` of them in one task; see `delete_files`."""
    known = sorted(paths)
    tasks = tuple(FileList.of(known[i : i + each]) for i in range(0, len(known), each))
    name, run = f"delete {len(known)} files of {store.name}", partial(_delete_listed, store)
    return Job(name, run, FILE_LIST, DONE, tasks, measure=Measure("files", _files))


def _files(task: FileList) -> int:
    return len(task.paths)


def _delete_listed(store: TableStore, task: FileList) -> Done:
    delete_files(store, task.paths)
    return Done()


def _delete(store: TableStore, root: str, paths: Sequence[str], shown: Phase) -> None:
    """Delete files below `root`, a part at a time: each part has as many requests as a storage answers at once."""
    each = _PART * store.io.requests_at_once
    for start in range(0, len(paths), each):
        part = paths[start : start + each]
        for path, error in store.io.delete_many_below(root, part).items():
            said = "File %s of table %s could not be deleted: %s"
            _LOG.warning(said, path, store.name, error, extra=store.log_fields())
        shown.add(len(part))


def _delete_empty_folders(store: TableStore, deleted: Iterable[str]) -> None:
    """Delete the bucket folders from which files were deleted, and the partition folders above them, if they are
    empty.
    """
    level = {f for p in deleted if (f := p.rpartition("/")[0]).rpartition("/")[2].startswith("bucket-")}
    while level := {f for f in level if f.startswith(f"{store.root}/")}:
        level = {f.rpartition("/")[0] for f in level if _is_deleted(store, f)}


def _is_deleted(store: TableStore, folder: str) -> bool:
    try:
        return bool(store.io.delete_empty_dir_below(store.root, folder))
    except OSError as error:
        _LOG.warning("Folder %s of table %s stays: %s", folder, store.name, error, extra=store.log_fields())
        return False
