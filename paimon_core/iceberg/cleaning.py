"""Remove unused files of Iceberg metadata: old versions, the manifests of expired snapshots, and the metadata of a
renamed table under its former name."""

from __future__ import annotations

import re
from contextlib import suppress

from paimon_core.iceberg.manifests import read_own_records
from paimon_core.iceberg.metadata import (
    HINT,
    folder_in_warehouse,
    identity_of,
    metadata_folder,
    read_metadata,
    version_of,
    version_path,
)
from paimon_core.io.file_io import FileStatus, delete_each_below
from paimon_core.io.load import normalize
from paimon_core.options import (
    HADOOP_CATALOG,
    ICEBERG_DELETE_AFTER_COMMIT,
    ICEBERG_PREVIOUS_VERSIONS,
    ICEBERG_STORAGE,
    is_in_iceberg_catalog,
)
from paimon_core.spec.paths import UUID
from paimon_core.store.schemas import schema_ids
from paimon_core.store.snapshots import find_snapshot, latest_snapshot
from paimon_core.store.table_store import TableStore

_REGISTERED = rf"rest-register-v\d+-{UUID}\.metadata\.json"  # a server has read this file and continues from it
_MANIFEST = re.compile(rf"{UUID}-m\d+\.avro|snap-\d+-{UUID}\.avro|{_REGISTERED}")
_YOUNG = 3_600_000  # milliseconds: another process may be about to use a manifest that is not used yet


def clean(store: TableStore, folder: str, latest: int) -> None:
    """Remove old versions before `latest` by the options, versions of a rolled-back history, and unused manifests.

    Files without Iceberg's names stay."""
    found = list(store.io.list(folder))
    versions = {n: f for f in found if (n := version_of(f.name)) is not None}
    gone = [n for n in versions if _is_old(store, n, latest) or (n > latest and _is_abandoned(store, folder, n))]
    delete_each_below(store.io, folder, [version_path(folder, n) for n in gone])
    if latest in versions:
        stale = {f.path for f in found if _is_stale(f, versions[latest])}
        _remove_manifests(store, folder, sorted(versions.keys() - set(gone)), stale)


def clean_former(store: TableStore, root: str) -> None:
    """Remove a renamed table's metadata for its former folder `root` from an Iceberg Hadoop catalog.

    The metadata stays if its latest version is not the renamed table's, or if there is a table in `root` again: then it
    belongs to another table. Names that are not Iceberg's are left alone.
    """
    folder, latest = folder_in_warehouse(root), latest_snapshot(store)
    if store.options[ICEBERG_STORAGE] != HADOOP_CATALOG or folder is None or latest is None:
        return
    here = metadata_folder(store)
    if folder == here or read_metadata(store.io, version_path(here, latest.id)) is None or schema_ids(store.io, root):
        return
    found = list(store.io.list(folder))
    versions = sorted((n for f in found if (n := version_of(f.name)) is not None), reverse=True)
    if not versions or not _is_of(store, folder, root, versions[0]):
        return
    manifests = [f.path for f in found if _MANIFEST.fullmatch(f.name)]
    named = [f"{folder}/{HINT}", *(version_path(folder, n) for n in versions), *manifests]
    top = folder.removesuffix("/metadata")
    delete_each_below(store.io, top, named)
    with suppress(OSError):  # the files are deleted
        if store.io.delete_empty_dir_below(top, folder):  # otherwise readers would list a namespace
            store.io.delete_empty_dir_below(top.rpartition("/")[0], top)


def _is_of(store: TableStore, folder: str, root: str, version: int) -> bool:
    """Return whether a version was written for this table, when its folder was `root`."""
    metadata, snapshot = read_metadata(store.io, version_path(folder, version)), find_snapshot(store, version)
    if metadata is None or snapshot is None or metadata.current.identity != identity_of(snapshot):
        return False
    location = metadata.node.get("location")
    return isinstance(location, str) and normalize(location) == root


def _is_old(store: TableStore, version: int, latest: int) -> bool:
    if not store.options[ICEBERG_DELETE_AFTER_COMMIT]:
        return False
    least = 1 if is_in_iceberg_catalog(store.options) else 0  # a reader may have read the catalog a moment ago
    return version < latest - max(least, store.options[ICEBERG_PREVIOUS_VERSIONS])


def _is_abandoned(store: TableStore, folder: str, version: int) -> bool:
    snapshot = find_snapshot(store, version)
    if snapshot is None:
        return True
    metadata = read_metadata(store.io, version_path(folder, version))
    return metadata is not None and metadata.current.identity != identity_of(snapshot)


def _is_stale(file: FileStatus, latest: FileStatus) -> bool:
    """Return whether a manifest existed long before the latest version, by the clock of the storage."""
    return bool(_MANIFEST.fullmatch(file.name)) and file.modified < latest.modified - _YOUNG


def _remove_manifests(store: TableStore, folder: str, versions: list[int], stale: set[str]) -> None:
    """Remove stale manifests that are in no version, if a list is among them. Remove none if a list cannot be read."""
    lists = {path for path in stale if path.rpartition("/")[2].startswith("snap-")}
    if not lists:
        return
    kept = (read_metadata(store.io, version_path(folder, version)) for version in versions)
    named = {normalize(s.manifest_list) for metadata in kept if metadata is not None for s in metadata.snapshots}
    if lists <= named:
        return
    manifests = {normalize(m["manifest_path"]) for path in named for m in read_own_records(store.io, folder, path)}
    delete_each_below(store.io, folder, sorted(stale - named - manifests))
