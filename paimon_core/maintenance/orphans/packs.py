"""Packs of BLOBs (`*.managed.blob`) that no version needs.

Versions do not name packs: the `.blobref` file of a data file names the packs that its rows need. So the needed packs
are known only if each of these files can be read. If one is missing or damaged, no pack is deleted, unless its data
file is missing, too: expiry deletes both. The needed packs are looked up twice, and no pack is deleted if the answers
differ: a compaction may have copied descriptors meanwhile.

A writer may still commit young packs, so they stay. A long write checks its packs before it publishes
(`commit/written_files.py`). Packs are compared by name, because every name is unique and paths have several spellings.
Source: `ManagedBlobOrphanFilesClean`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from functools import partial

import numpy as np

from paimon_core.errors import UnreadableFileError
from paimon_core.io.file_io import FileIO, FileStatus
from paimon_core.io.side_by_side import batched_side_by_side, missing_paths
from paimon_core.maintenance.branches import delete_branch
from paimon_core.maintenance.orphans.file_kinds import FolderKind
from paimon_core.maintenance.orphans.search import Orphans, SearchedFolder, folders, in_peace, remove_orphans
from paimon_core.maintenance.references import branch_stores, versions_of
from paimon_core.maintenance.release import delete_files
from paimon_core.maintenance.snapshot_expiry import Retention, expire_changelogs, expire_snapshots
from paimon_core.maintenance.tags import delete_tags
from paimon_core.options import TableOptions
from paimon_core.progress import phase
from paimon_core.spec.paths import UUID, paths_of
from paimon_core.store.blob.references import PACK, REFERENCES, read_references
from paimon_core.store.branches import branch_names
from paimon_core.store.consumers import consumer_files, delete_consumer
from paimon_core.store.features import packed_columns
from paimon_core.store.manifests import read_columns, read_manifest_list
from paimon_core.store.schemas import list_schemas
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import tag_names

_LOG = logging.getLogger(__name__)
_PACK = re.compile(rf".*{UUID}-\d+{re.escape(PACK)}", re.DOTALL)


class _UnsafeError(Exception):
    """It is not known which packs are needed. The text is the reason."""


def find_orphan_packs(store: TableStore, older_than: int) -> Orphans:
    """Return the packs that no version needs, last modified before `older_than` (epoch milliseconds).

    Returns none, and logs why, if it is unknown which packs are needed. Raises `UnreadableFileError` if a snapshot or a
    manifest cannot be read, and `CommitConflictError` if other processes keep creating and removing versions.
    """
    if not any(_packed_schemas(branch) for branch in branch_stores(store)):
        return Orphans((), 0)
    old = _old_packs(store, older_than)
    if not old:
        return Orphans((), 0)
    try:
        needed = in_peace(store, lambda: _looked_up_twice(store))
    except _UnsafeError as reason:
        _LOG.warning("No BLOB of table %s is deleted: %s", store.name, reason, extra=store.log_fields())
        return Orphans((), 0)
    lost = [file for file in old if file.name not in needed]
    return Orphans(tuple(sorted(f.path for f in lost)), sum(f.size for f in lost))


def remove_orphan_packs(store: TableStore, older_than: int) -> Orphans:
    """Delete the packs that no version needs, and return them. Raises the same errors as `find_orphan_packs`."""
    orphans = find_orphan_packs(store, older_than)
    delete_files(store, orphans.paths)
    return orphans


def _packed_schemas(store: TableStore) -> set[int]:
    """Return the ids of the schemas with BLOB columns in packs."""
    return {s.id for s in list_schemas(store) if packed_columns(s, TableOptions(s.options))}


def _old_packs(store: TableStore, older_than: int) -> list[FileStatus]:
    def listed(folder: SearchedFolder) -> list[FileStatus]:
        files = (f for f in store.io.list(folder.path) if not f.is_dir and not f.is_link)
        return [f for f in files if f.modified < older_than and _PACK.fullmatch(f.name)]

    data, old = (f for f in folders(store) if f.kind is FolderKind.DATA), list[FileStatus]()
    with phase(f"list the folders of {store.name}", "folders") as shown:
        for found in batched_side_by_side(store.io, listed, data):
            old += found
            shown.add()
    return old


def _looked_up_twice(store: TableStore) -> set[str] | None:
    """Return the names of the packs that versions need, None if they changed between the two look-ups."""
    needed = _needed_packs(store)
    return needed if _needed_packs(store) == needed else None


def _needed_packs(store: TableStore) -> set[str]:
    """Return the names of the packs that versions need. Raises `_UnsafeError`."""
    needed, found = set[str](), dict[str, str]()
    for branch in branch_stores(store):
        for data_file, references in _data_files(branch):
            found[data_file] = references
    named = sorted(filter(None, found.values()))
    with phase(f"read the references of {store.name}", "files", len(named)) as shown:
        for path, packs in batched_side_by_side(store.io, partial(_read, store.io), named):
            if packs is None:
                found[path.removesuffix(REFERENCES)] = ""
            else:
                needed.update(pack.rpartition("/")[2] for pack in packs)
            shown.add()
    without = sorted(data_file for data_file, references in found.items() if not references)
    gone = set(missing_paths(store.io, without))
    for path in (p for p in without if p not in gone):
        raise _UnsafeError(f"{path} has no file {REFERENCES}, so it is not known which BLOBs its rows need")
    return needed


def _data_files(store: TableStore) -> Iterator[tuple[str, str]]:
    """Yield the data files of a branch's versions, and of manifests that several versions share. Each is the path of
    the data file and of its `.blobref` file. The second path is "" if metadata does not name such a file although the
    data file may have BLOBs.
    """
    versions = versions_of(store)
    if versions.unknown_tags:
        raise _UnsafeError(f"tag {versions.unknown_tags[0]} cannot be read")
    plain = {s.id for s in list_schemas(store)} - _packed_schemas(store)
    lists = {name for s in versions.snapshots for name in (s.base_manifest_list, s.delta_manifest_list)}
    lists.update(versions.changelog_lists)
    for name in sorted({m.file_name for manifests in sorted(lists) for m in read_manifest_list(store, manifests)}):
        columns = read_columns(store, name)
        rows = np.flatnonzero(columns.added)
        for location, schema_id in zip(columns.locations(rows), columns.schema_ids[rows].tolist(), strict=True):
            partition, bucket, file_name, external, extra = location
            path, *others = paths_of(store.bucket_dir(partition, bucket), file_name, external, extra)
            references = [other for other in others if other.endswith(REFERENCES)]
            if references:
                yield path, references[0]
            elif schema_id not in plain:
                yield path, ""


def _read(io: FileIO, path: str) -> tuple[str, frozenset[str] | None]:
    try:
        return path, read_references(io, path)
    except FileNotFoundError:
        return path, None
    except UnreadableFileError as error:
        raise _UnsafeError(str(error)) from error


def purge(store: TableStore, now: int) -> None:
    """Delete branches, tags, consumers, changelogs, all snapshots except the latest, and then all orphans, also
    packs of BLOBs.

    `now` is in epoch milliseconds: older files are deleted, even files of active writers.
    """
    for name in branch_names(store):
        delete_branch(store, name)
    delete_tags(store, tag_names(store))
    for consumer_id in consumer_files(store):
        delete_consumer(store, consumer_id)
    last_only = Retention(least=1, most=1, older_than=now + 1, limit=2**31 - 1)
    expire_snapshots(store, last_only, now)
    expire_changelogs(store, last_only)
    remove_orphans(store, now)
    remove_orphan_packs(store, now)
