"""Orphans: files in the table's folders that no version needs, left by writers that died and by rollbacks.

A commit in flight names its files only when it is published: what is younger than an age is left alone, and the
versions are looked up again until none has come or gone while their files were read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from paimon_core.errors import CommitConflictError
from paimon_core.io.file_io import FileStatus, is_temporary
from paimon_core.maintenance.references import NeededFiles, branch_stores, versions_of
from paimon_core.maintenance.release import delete_files, owned_places
from paimon_core.store.table_store import TableStore

DEFAULT_AGE = 86_400_000  # milliseconds: a day
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Orphans:
    """Files that no version needs, and their bytes."""

    paths: tuple[str, ...]
    size: int


def find_orphans(store: TableStore, older_than: int) -> Orphans:
    """The orphans last modified before `older_than` (epoch milliseconds).

    Raises `CorruptFileError` where a version cannot be read whole: nothing can be told then; `CommitConflictError`
    where versions come and go all the time.
    """
    for _ in range(_ATTEMPTS):
        before = _names(store)
        old = {f.path: f.size for f in _files(store) if f.modified < older_than}
        needed = NeededFiles()
        for branch in branch_stores(store) if old else ():
            for path in needed.of(versions_of(branch)):
                old.pop(path, None)
        if _names(store) == before:
            return Orphans(tuple(sorted(old)), sum(old.values()))
    raise CommitConflictError(
        f"Snapshots or tags of table {store.name} changed each time its files were looked up; nothing was deleted. "
        "Run the statement again when fewer writers are at work."
    )


def remove_orphans(store: TableStore, older_than: int) -> Orphans:
    """Delete the orphans; those that were found. Raises as `find_orphans`."""
    orphans = find_orphans(store, older_than)
    delete_files(store, orphans.paths)
    return orphans


def _names(store: TableStore) -> frozenset[str]:
    return frozenset().union(*(versions_of(branch).names for branch in branch_stores(store)))


def _files(store: TableStore) -> Iterator[FileStatus]:
    """The files in folders where only versions' files belong, and what writers that died left beside metadata."""
    paths = store.paths
    for folder in (paths.manifest_dir, paths.index_dir, paths.statistics_dir):
        yield from (f for f in store.io.list(folder) if not f.is_dir)
    levels = len(store.schema.partition_keys)
    for root in (paths.data_root, *(p.rstrip("/") for p in owned_places(store)[1:])):
        yield from _data_files(store, root, levels)
    for branch in branch_stores(store):
        own = branch.paths
        for folder in (own.schema_dir, own.snapshot_dir, own.tag_dir, own.consumer_dir, own.changelog_dir):
            yield from (f for f in store.io.list(folder) if not f.is_dir and is_temporary(f.name))


def _data_files(store: TableStore, folder: str, levels: int) -> Iterator[FileStatus]:
    for child in store.io.list(folder):
        if not child.is_dir:
            continue
        if levels and "=" in child.name:
            yield from _data_files(store, child.path, levels - 1)
        elif not levels and child.name.startswith("bucket-"):
            yield from (f for f in store.io.list(child.path) if not f.is_dir)
