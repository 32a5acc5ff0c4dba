"""Add two facts to errors about a file: the table's name, and the commit that wrote the file.

Metadata and data files do not contain the name of their writer, except for the footers of Parquet and ORC files. The
snapshots do: each names its files directly, or by its manifests. The search reads them only after an error, and ends
after some snapshots.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import numpy as np
import pyarrow as pa

from paimon_core.errors import MetadataMissingError, PaimonError, UnreadableFileError
from paimon_core.io.file_io import MOST_METADATA, FileIO
from paimon_core.manifests.entries import decode_entries
from paimon_core.manifests.record_files import decode_file
from paimon_core.spec.index_manifest import ENTRY_VERSION, INDEX_MANIFEST_ENTRY
from paimon_core.spec.manifest import LIST_VERSION, MANIFEST_FILE_META
from paimon_core.spec.paths import TablePaths, parse_snapshot_id
from paimon_core.spec.snapshot import Snapshot, decode_snapshot
from paimon_core.store.table_store import TableStore

_MOST = 30  # snapshots that a search reads
_FAILURES = (PaimonError, OSError, ValueError, LookupError, TypeError, OverflowError, pa.ArrowException)


@contextmanager
def files_of(store: TableStore) -> Iterator[None]:
    """Add the file's commit to an `UnreadableFileError`, and the table's name if it has only the file's name."""
    try:
        yield
    except UnreadableFileError as e:
        named = _with_commit(e, store.io, store.paths)
        path = "" if "/" in e.path else f"{e.path} of table {store.name}"
        if named is e and not path:
            raise
        raise named.changed(path=path) from (e.__cause__ or e)


@contextmanager
def files_at(io: FileIO, paths: TablePaths) -> Iterator[None]:
    """Add the file's commit to an `UnreadableFileError` about a file of the table at these paths."""
    try:
        yield
    except UnreadableFileError as e:
        named = _with_commit(e, io, paths)
        if named is e:
            raise
        raise named from (e.__cause__ or e)


def _with_commit(error: UnreadableFileError, io: FileIO, paths: TablePaths) -> UnreadableFileError:
    if "commit" in error.writer or isinstance(error, MetadataMissingError):
        return error
    commit = ""
    with suppress(*_FAILURES):
        commit = commit_of(io, paths, error.path.rpartition("/")[2].partition(" ")[0])
    return error.changed(writer=", ".join(filter(None, (error.writer, commit)))) if commit else error


def commit_of(io: FileIO, paths: TablePaths, name: str) -> str:
    """Return a text about the commit that wrote the file `name`. If the commit is unknown, the text is about the latest
    commit.

    Return "" if the table does not have a readable snapshot.
    """
    latest: Snapshot | None = None
    oldest: Snapshot | None = None  # the oldest snapshot that names the file
    for snapshot in _snapshots(io, paths):
        latest = latest or snapshot
        if name in _own(io, paths, snapshot):
            return snapshot.writer
        if name in _named(io, paths, snapshot):
            oldest = snapshot
        elif oldest is not None:
            return oldest.writer
    if oldest is not None:
        return oldest.writer if oldest.id == 1 else f"{oldest.writer}, or an older commit"
    for snapshot in _snapshots(io, paths):
        if name in _added(io, paths, snapshot):
            return snapshot.writer
    return f"an unknown commit; the latest is {latest.writer}" if latest else ""


def _snapshots(io: FileIO, paths: TablePaths) -> Iterator[Snapshot]:
    """Yield readable snapshots, newest first."""
    found = (parse_snapshot_id(f.name) for f in io.list(paths.snapshot_dir))
    for number in sorted((n for n in found if n is not None), reverse=True)[:_MOST]:
        path = paths.snapshot(number)
        try:
            yield decode_snapshot(path, io.read_bytes(path))
        except _FAILURES:
            continue


def _own(io: FileIO, paths: TablePaths, snapshot: Snapshot) -> set[str]:
    """Return the names of the lists and manifests that only this snapshot's commit can have written."""
    lists = [name for name in (snapshot.delta_manifest_list, snapshot.changelog_manifest_list) if name]
    return {*lists, *(manifest for name in lists for manifest in _listed(io, paths, name))}


def _named(io: FileIO, paths: TablePaths, snapshot: Snapshot) -> set[str | None]:
    """Return the names of the files that this snapshot's commit, or an earlier one, has written."""
    base = snapshot.base_manifest_list
    names = {base, snapshot.index_manifest, snapshot.statistics, *_listed(io, paths, base)}
    if snapshot.index_manifest is not None:
        with suppress(*_FAILURES):
            path = paths.manifest(snapshot.index_manifest)
            found = decode_file(INDEX_MANIFEST_ENTRY, ENTRY_VERSION, path, io.read_bytes(path, MOST_METADATA))
            names.update(entry.file.file_name for entry in found)
    return names


def _added(io: FileIO, paths: TablePaths, snapshot: Snapshot) -> set[str]:
    """Return the names of the data files that a snapshot's commit added, and of the files beside them."""
    names = set[str]()
    for listed in filter(None, (snapshot.delta_manifest_list, snapshot.changelog_manifest_list)):
        for manifest in _listed(io, paths, listed):
            with suppress(*_FAILURES):
                path = paths.manifest(manifest)
                columns = decode_entries(path, io.read_bytes(path, MOST_METADATA))
                added = columns.entries(np.flatnonzero(columns.added))
                names.update(name for entry in added for name in (entry.file.file_name, *entry.file.extra_files))
    return names


def _listed(io: FileIO, paths: TablePaths, name: str) -> list[str]:
    """Return the names of the manifests in a list. An unreadable list has none."""
    with suppress(*_FAILURES):
        path = paths.manifest(name)
        found = decode_file(MANIFEST_FILE_META, LIST_VERSION, path, io.read_bytes(path, MOST_METADATA))
        return [manifest.file_name for manifest in found]
    return []
