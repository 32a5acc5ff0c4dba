"""Removing versions of a table, and deleting the files that no other version needs.

No file knows which versions need it; only manifests do. So who removes versions has to read what they need, and what
all the others need, while others commit, tag, branch, roll back and expire. `release` does it in this order:

1. Read which files the versions need that are to be removed.
2. Remove the versions: delete their snapshot files, tags or schemas. From now on nobody can tag them or branch off.
3. Read which of those files the remaining versions need (`remaining.py`).
4. Delete the others.

A process that is killed on the way leaves files that no version names, which `remove_orphan_files` finds, and never a
version without its files. Where the versions cannot be read, or change all the time, the files stay in the same way.
Two of these at work at the same time may both delete a file, which does no harm.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from paimon_core.errors import PaimonError
from paimon_core.jobs import DONE, Done, Job
from paimon_core.maintenance.references import NeededFiles, Versions
from paimon_core.maintenance.remaining import still_needed
from paimon_core.options import SNAPSHOT_CLEAN_EMPTY_DIRS
from paimon_core.spec.records import Column, Record
from paimon_core.store.external.files import deletable
from paimon_core.store.external.other_folders import FilePlaces
from paimon_core.store.table_store import TableStore

Delete = Callable[[TableStore, Collection[str]], None]
_LOG = logging.getLogger(__name__)
_CACHED = 20_000  # entries: others do not need what is read of removed versions
_EACH = 50  # files that a thread deletes at a time: handing one over costs as much as deleting it
_MANY, _THREADS = 20, 16  # many batches are deleted by several threads: remote storages answer late


def release(
    removed: Versions, remove: Callable[[], None], delete: Delete | None = None, *, oldest: bool = False
) -> None:
    """Call `remove`, which removes the versions `removed`, and delete the files that only they needed by `delete`
    (default: `delete_files`).

    `oldest`: they are the first of the branch's history. Raises `StorageError`, and what `remove` raises: no file is
    deleted then. Files that cannot be deleted stay as orphans.
    """
    known = removed.store.cache
    store = replace(removed.store, cache=known.another(_CACHED))
    removed = replace(removed, store=store)
    found = NeededFiles(tolerant=True)
    unneeded = set(found.of(removed))
    remove()
    needed = NeededFiles(among=pa.array([n.encode() for n in found.data_files], pa.binary()))
    try:
        unneeded.difference_update(still_needed(removed, needed, oldest=oldest))
    except PaimonError as error:
        _LOG.warning("Files of %s stay behind, remove_orphan_files finds them: %s", store.name, error)
        return
    places = FilePlaces(store)
    unneeded = {place for path in unneeded for place in places.every(path)}
    (delete or delete_files)(store, unneeded)
    known.forget(unneeded)
    if store.options[SNAPSHOT_CLEAN_EMPTY_DIRS]:
        _delete_empty_folders(store, unneeded)


def delete_files(store: TableStore, paths: Iterable[str]) -> None:
    """Delete files of the table, and those outside of it that may be deleted; what cannot be stays as an orphan.

    None is deleted that a symbolic link in the table's folder, or in an external path, leads to.
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
            _LOG.warning("File %s lies outside table %s and stays there.", path, store.name)
    batches = [(r, batch) for r, files in by_root.items() for batch in _batches(sorted(files))]
    if len(batches) < _MANY:
        for batch in batches:
            _delete(store, *batch)
        return
    with ThreadPoolExecutor(_THREADS) as pool:
        for _ in pool.map(partial(_delete, store), *zip(*batches, strict=True)):
            pass


@dataclass(frozen=True, slots=True)
class FileList:
    """Files that a task deletes."""

    paths: tuple[str, ...]

    @staticmethod
    def of(paths: Iterable[str]) -> FileList:
        return FileList(tuple(paths))


FILE_LIST = Record("file list", FileList.of, (Column("paths", "paths", {"type": "array", "items": "string"}),))


def delete_job(store: TableStore, paths: Iterable[str], each: int) -> Job[FileList, Done]:
    """Deletes files, `each` of them by one task; see `delete_files`."""
    known = sorted(paths)
    tasks = tuple(FileList.of(known[i : i + each]) for i in range(0, len(known), each))
    return Job(f"delete {len(known)} files of {store.name}", partial(_delete_listed, store), FILE_LIST, DONE, tasks)


def _delete_listed(store: TableStore, task: FileList) -> Done:
    delete_files(store, task.paths)
    return Done()


def _batches(paths: Sequence[str]) -> Iterator[Sequence[str]]:
    """Paths in groups, files of a folder together where the paths are sorted."""
    return (paths[i : i + _EACH] for i in range(0, len(paths), _EACH))


def _delete(store: TableStore, root: str, paths: Sequence[str]) -> None:
    """Delete files below `root`."""
    for path, error in store.io.delete_many_below(root, paths).items():
        _LOG.warning("File %s of table %s stays behind: %s", path, store.name, error)


def _delete_empty_folders(store: TableStore, deleted: Iterable[str]) -> None:
    """Delete the table's folders of buckets that files were deleted from, and of partitions, where they are empty."""
    level = {f for p in deleted if (f := p.rpartition("/")[0]).rpartition("/")[2].startswith("bucket-")}
    while level := {f for f in level if f.startswith(f"{store.root}/")}:
        level = {f.rpartition("/")[0] for f in level if store.io.delete_empty_dir_below(store.root, f)}
