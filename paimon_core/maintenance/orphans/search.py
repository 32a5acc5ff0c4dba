"""Orphans: files in the table's folders that are in no version. Writers that died left them, or rollbacks cut them off.

A commit in flight names its files only when it is published. So files younger than an age are never orphans, and
versions are listed again until no version was made, removed or moved while their files were read. Only files of kinds
that versions reference are orphans (`file_kinds.py`). Files are compared by name, because every name is unique. Paths
may differ, because the spelling of a folder may have changed.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TypeVar

from paimon_core.dataclass import dataclass
from paimon_core.errors import CommitConflictError, UnreadableFileError
from paimon_core.io.file_io import FileStatus
from paimon_core.io.side_by_side import batched_side_by_side, both, missing_paths, side_by_side
from paimon_core.maintenance.orphans.file_kinds import FolderKind, may_be_orphan, names_kept_with
from paimon_core.maintenance.orphans.unknown_tags import possibly_needed
from paimon_core.maintenance.references import (
    NeededFiles,
    Versions,
    branch_stores,
    reading_versions,
    version_places,
    versions_of,
)
from paimon_core.maintenance.release import delete_files
from paimon_core.progress import phase
from paimon_core.spec.manifest import ManifestEntry
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.paths import data_file_path
from paimon_core.store.external.files import searched_folders
from paimon_core.store.external.other_folders import is_elsewhere
from paimon_core.store.manifests import live_files
from paimon_core.store.snapshots import latest_snapshot
from paimon_core.store.streams import stream_users
from paimon_core.store.table_store import TableStore

T = TypeVar("T")
_LOG = logging.getLogger(__name__)
DEFAULT_AGE = 86_400_000  # milliseconds: a day
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Orphans:
    """Files that are not in any version, and their size in bytes."""

    paths: tuple[str, ...]
    size: int


def find_orphans(store: TableStore, older_than: int) -> Orphans:
    """Return the orphans that were last modified before `older_than` (epoch milliseconds).

    Raises `UnreadableFileError` if a snapshot or a manifest cannot be read, because its files are then unknown. Raises
    `CommitConflictError` if other processes keep creating and removing versions.
    """
    return in_peace(store, lambda: _look(store, older_than))


def in_peace(store: TableStore, look: Callable[[], T | None]) -> T:
    """Return the result of `look`, taken while no version was created, removed or moved. `look` returns None if what it
    looks for changed meanwhile.

    A version that moves, for example from a snapshot to a tag, could otherwise be missed in both places. Raises
    `CommitConflictError` if versions keep changing."""
    for _ in range(_ATTEMPTS):
        before = _places(store)
        found = look()
        if found is not None and _places(store) == before:
            return found
    raise CommitConflictError(
        f"Snapshots or tags of table {store.name} changed during each search for unneeded files. Nothing was deleted; "
        "run the statement again when fewer writers are at work."
    )


def remove_orphans(store: TableStore, older_than: int) -> Orphans:
    """Delete the orphans and return them. Raises the same errors as `find_orphans`."""
    orphans = find_orphans(store, older_than)
    delete_files(store, orphans.paths)
    return orphans


def _look(store: TableStore, older_than: int) -> Orphans:
    old = defaultdict[str, list[FileStatus]](list)

    def listed(folder: SearchedFolder) -> list[FileStatus]:
        return list(old_files(store, folder, older_than))

    with phase(f"list the folders of {store.name}", "folders") as shown:
        for files in batched_side_by_side(store.io, listed, folders(store)):
            for file in files:
                old[file.name].append(file)
            shown.add()
    needed = NeededFiles()
    versions = [versions_of(branch) for branch in branch_stores(store)] if old else []
    with reading_versions(store.name, versions):
        for path in chain.from_iterable(map(needed.of, versions)):
            for name in names_kept_with(path.rpartition("/")[2]):
                old.pop(name, None)
    orphans = {f.path: f.size for files in _without_unknown(store, versions, old).values() for f in files}
    return Orphans(tuple(sorted(orphans)), sum(orphans.values()))


def _without_unknown(
    store: TableStore, versions: Sequence[Versions], old: Mapping[str, list[FileStatus]]
) -> Mapping[str, list[FileStatus]]:
    """Leave out files that a tag may keep, if it is unknown which files the tag keeps.

    If a manifest cannot be read either, the tag may keep any file."""
    if not old or not any(found.unknown_tags for found in versions):
        return old
    try:
        kept = {path.rpartition("/")[2] for path in possibly_needed(store)}
    except UnreadableFileError as error:
        _LOG.warning(
            "No file of table %s is deleted: a tag and a manifest cannot be read, so any file may be in use: %s",
            store.name,
            error,
            extra=store.log_fields(),
        )
        return {}
    return {name: files for name, files in old.items() if name not in kept}


def _places(store: TableStore) -> frozenset[str]:
    return frozenset().union(*map(version_places, branch_stores(store)))


@dataclass(frozen=True, slots=True)
class SearchedFolder:
    """A folder of a table, and the kind of its contents."""

    path: str
    kind: FolderKind


def folders(store: TableStore) -> Iterator[SearchedFolder]:
    """The folders to search for orphans. Folders behind a symbolic link in the table are left out."""
    linked, metadata = both(store.io, partial(_linked, store), partial(_metadata_folders, store))
    for folder in chain(metadata, _data_folders(store)):
        if not f"{folder.path}/".startswith(linked):
            yield folder


def _linked(store: TableStore) -> tuple[str, ...]:
    """Return the beginnings of paths behind a symbolic link in the table."""
    return tuple(f"{f.path}/" for f in store.io.list(store.root) if f.is_link)


def _metadata_folders(store: TableStore) -> list[SearchedFolder]:
    paths = store.paths
    found = [
        SearchedFolder(paths.manifest_dir, FolderKind.MANIFESTS),
        SearchedFolder(paths.index_dir, FolderKind.INDEXES),
        SearchedFolder(paths.statistics_dir, FolderKind.STATISTICS),
        SearchedFolder(paths.turn_dir, FolderKind.METADATA),
    ]
    branches = branch_stores(store)
    for branch, users in zip(branches, side_by_side(store.io, stream_users, branches), strict=True):
        own = branch.paths
        streams = (own.stream(user) for user in users)
        for folder in (own.schema_dir, own.snapshot_dir, own.tag_dir, own.consumer_dir, own.changelog_dir, *streams):
            found.append(SearchedFolder(folder, FolderKind.METADATA))
    return found


def _data_folders(store: TableStore) -> Iterator[SearchedFolder]:
    levels = len(store.schema.partition_keys)
    for root in (store.paths.data_root, *searched_folders(store)):
        parents: Iterable[str] = (root,)
        for _ in range(levels):
            parents = _children(store, parents, _is_partition)
        for path in _children(store, parents, _is_bucket):
            yield SearchedFolder(path, FolderKind.DATA)


def old_files(store: TableStore, folder: SearchedFolder, older_than: int) -> Iterator[FileStatus]:
    """Yield the files of a folder, last modified before `older_than`, that are orphans if they are not in any
    version.
    """
    for file in store.io.list(folder.path):
        is_old_file = file.modified < older_than and not file.is_dir and not file.is_link
        if is_old_file and may_be_orphan(folder.kind, file.name):
            yield file


def _children(store: TableStore, parents: Iterable[str], is_wanted: Callable[[str], bool]) -> Iterator[str]:
    """Yield the wanted subfolders of some folders, by their names. Links are left out."""

    def listed(parent: str) -> list[FileStatus]:
        return [child for child in store.io.list(parent) if child.is_dir and not child.is_link]

    for children in batched_side_by_side(store.io, listed, parents):
        yield from (child.path for child in children if is_wanted(child.name))


def _is_partition(folder: str) -> bool:
    return "=" in folder


def _is_bucket(folder: str) -> bool:
    return folder.startswith("bucket-")


def missing_files(store: TableStore) -> dict[str, ManifestEntry]:
    """Return the files of the latest snapshot that are missing, by path."""
    entries = live_files(store, latest_snapshot(store)).values()
    paths = {data_file_path(store.bucket_dir(e.partition, e.bucket), e.file): e for e in entries}
    with phase(f"look for the files of {store.name}", "files", len(paths)):
        missing = missing_paths(store.io, list(paths))
    return {path: paths[path] for path in missing if not is_elsewhere(store, path)}


def drop_missing(entries: Iterable[ManifestEntry]) -> list[CommitMessage]:
    """Return messages to commit that remove these files from the table."""
    return [
        CommitMessage(partition=e.partition, bucket=e.bucket, total_buckets=e.total_buckets, compact_before=(e.file,))
        for e in entries
    ]
