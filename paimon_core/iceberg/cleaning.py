"""Remove what no metadata of Iceberg names any longer: old versions, and the manifests of snapshots that expired."""

from __future__ import annotations

import re

from paimon_core.iceberg.manifests import read_own_records
from paimon_core.iceberg.metadata import identity_of, read_metadata, version_of, version_path
from paimon_core.io.file_io import FileStatus, delete_each_below
from paimon_core.io.load import normalize
from paimon_core.options import ICEBERG_DELETE_AFTER_COMMIT, ICEBERG_PREVIOUS_VERSIONS, is_in_iceberg_catalog
from paimon_core.spec.paths import UUID
from paimon_core.store.snapshots import find_snapshot
from paimon_core.store.table_store import TableStore

_REGISTERED = rf"rest-register-v\d+-{UUID}\.metadata\.json"  # which a server has read, and goes on from
_MANIFEST = re.compile(rf"{UUID}-m\d+\.avro|snap-\d+-{UUID}\.avro|{_REGISTERED}")
_YOUNG = 3_600_000  # milliseconds: another process may be about to name a manifest that nothing names


def clean(store: TableStore, folder: str, latest: int) -> None:
    """Remove versions before `latest` as the options say, versions of a history that was rolled back, and manifests
    that no version left names. Names that are not Iceberg's are left alone."""
    found = list(store.io.list(folder))
    versions = {n: f for f in found if (n := version_of(f.name)) is not None}
    gone = [n for n in versions if _is_old(store, n, latest) or (n > latest and _is_abandoned(store, folder, n))]
    delete_each_below(store.io, folder, [version_path(folder, n) for n in gone])
    if latest in versions:
        stale = {f.path for f in found if _is_stale(f, versions[latest])}
        _remove_manifests(store, folder, sorted(versions.keys() - set(gone)), stale)


def _is_old(store: TableStore, version: int, latest: int) -> bool:
    if not store.options[ICEBERG_DELETE_AFTER_COMMIT]:
        return False
    least = 1 if is_in_iceberg_catalog(store.options) else 0  # a reader may have asked the catalog a moment ago
    return version < latest - max(least, store.options[ICEBERG_PREVIOUS_VERSIONS])


def _is_abandoned(store: TableStore, folder: str, version: int) -> bool:
    snapshot = find_snapshot(store, version)
    if snapshot is None:
        return True
    metadata = read_metadata(store.io, version_path(folder, version))
    return metadata is not None and metadata.current.identity != identity_of(snapshot)


def _is_stale(file: FileStatus, latest: FileStatus) -> bool:
    """Whether a manifest was there long before the latest version, by the clock of the storage."""
    return bool(_MANIFEST.fullmatch(file.name)) and file.modified < latest.modified - _YOUNG


def _remove_manifests(store: TableStore, folder: str, versions: list[int], stale: set[str]) -> None:
    """Remove stale manifests that no version names, once a list is among them; none where one cannot be read."""
    lists = {path for path in stale if path.rpartition("/")[2].startswith("snap-")}
    if not lists:
        return
    kept = (read_metadata(store.io, version_path(folder, version)) for version in versions)
    named = {normalize(s.manifest_list) for metadata in kept if metadata is not None for s in metadata.snapshots}
    if lists <= named:
        return
    manifests = {normalize(m["manifest_path"]) for path in named for m in read_own_records(store.io, folder, path)}
    delete_each_below(store.io, folder, sorted(stale - named - manifests))
