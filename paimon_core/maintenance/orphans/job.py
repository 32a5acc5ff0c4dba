"""The search for orphans as a job, for tables with too many files for one process.

Some tasks list folders, others read manifests; the caller removes the needed files from the listed ones. A file is
needed if its weights have a positive sum in any chain of versions. A manifest that adds it counts 1, a manifest that
deletes it counts -1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from functools import partial
from typing import Protocol

import numpy as np
import pyarrow as pa

from paimon_core.dataclass import dataclass
from paimon_core.maintenance.orphans.file_kinds import FolderKind, names_kept_with
from paimon_core.maintenance.orphans.search import SearchedFolder, folders, old_files
from paimon_core.maintenance.orphans.unknown_tags import manifests_on_disk, metadata_on_disk
from paimon_core.maintenance.references import NeededFiles, branch_stores, in_chains, versions_of
from paimon_core.maintenance.release import delete_files
from paimon_core.manifests.entries import FileLocation
from paimon_core.spec.records import Column, Record
from paimon_core.store.manifests import data_manifests, read_columns, read_manifest_list
from paimon_core.store.snapshots import latest_snapshot
from paimon_core.store.table_store import TableStore

FOUND = pa.schema([("path", pa.string()), ("size", pa.int64())])
NEEDED = pa.schema([("chain", pa.int64()), ("name", pa.string()), ("weight", pa.int64())])
_TOGETHER = 10_000  # paths per task


class FoundFiles(Protocol):
    """Listed files that are not in any version. Every iteration over them yields the same files."""

    @property
    def count(self) -> int: ...

    @property
    def size(self) -> int: ...

    def delete(self) -> None:
        """Delete the files. A file that cannot be deleted stays."""


class Entries(StrEnum):
    """The entries of a manifest to be counted."""

    NONE = "none"  # `names` are names of needed files
    ADDED = "added"
    ALL = "all"
    LIVE = "live"  # added files without deleted files


@dataclass(frozen=True, slots=True)
class NeededNames:
    """A manifest, or names of needed files. Weights are added up for each `chain`."""

    entries: Entries
    chain: int
    names: tuple[str, ...]


def _folder(*, path: str, kind: str) -> SearchedFolder:
    return SearchedFolder(path, FolderKind(kind))


def _source(*, entries: str, chain: int, names: Sequence[str]) -> NeededNames:
    return NeededNames(Entries(entries), chain, tuple(names))


FOLDER = Record("folder", _folder, (Column("path", "path", "string"), Column("kind", "kind", "string")))
SOURCE = Record(
    "source of needed files",
    _source,
    (
        Column("entries", "entries", "string"),
        Column("chain", "chain", "long"),
        Column("names", "names", {"type": "array", "items": "string"}),
    ),
)


@dataclass(frozen=True, slots=True)
class OrphanSearch:
    """The search for old files of a table: files last modified before `older_than` (epoch milliseconds). Picklable."""

    store: TableStore
    older_than: int

    def folders(self) -> Iterator[SearchedFolder]:
        """Yield the folders to list, one per task."""
        return folders(self.store)

    def found_in(self, folder: SearchedFolder) -> pa.RecordBatch:
        """Return the old files of a folder, as `FOUND`."""
        files = list(old_files(self.store, folder, self.older_than))
        return pa.record_batch([[f.path for f in files], [f.size for f in files]], schema=FOUND)

    def sources(self) -> Iterator[NeededNames]:
        """Yield the sources that name the files of versions, one per task. Raises `CorruptFileError`."""
        chain, needed, metadata, unknown = 0, NeededFiles(), set[str](), list[str]()
        for branch in branch_stores(self.store):
            versions = versions_of(branch)
            for snapshot, in_order in in_chains(branch, versions.snapshots):
                metadata |= set(needed.metadata(branch, snapshot))
                chain += not in_order
                if in_order:
                    parts, taken = read_manifest_list(branch, snapshot.delta_manifest_list), Entries.ADDED
                else:
                    parts, taken = data_manifests(branch, snapshot), Entries.LIVE
                for manifest in parts:
                    yield NeededNames(taken, 0 if in_order else chain, (manifest.file_name,))
            for name in versions.changelog_lists:
                metadata |= set(needed.listed(branch, name))
                for manifest in read_manifest_list(branch, name):
                    yield NeededNames(Entries.ALL, 0, (manifest.file_name,))
            unknown += versions.unknown_tags
        if unknown:
            metadata |= set(metadata_on_disk(self.store))
            for name in manifests_on_disk(self.store):
                yield NeededNames(Entries.ALL, 0, (name,))
        paths = sorted(metadata)
        for i in range(0, len(paths), _TOGETHER):
            yield NeededNames(Entries.NONE, 0, tuple(paths[i : i + _TOGETHER]))

    def needed_by(self, source: NeededNames) -> pa.RecordBatch:
        """Return the files that a source names, as `NEEDED`. Raises `CorruptFileError`."""
        if source.entries is Entries.NONE:
            paths = [name for path in source.names for name in names_kept_with(path.rpartition("/")[2])]
            weights = [1] * len(paths)
        else:
            (manifest,) = source.names
            paths, weights = self._weights(manifest, source.entries)
        names = [path.rpartition("/")[2] for path in paths]
        return pa.record_batch([[source.chain] * len(paths), names, weights], schema=NEEDED)

    def _weights(self, manifest: str, entries: Entries) -> tuple[list[str], list[int]]:
        columns, paths, weights = read_columns(self.store, manifest), list[str](), list[int]()
        rows = {1: np.arange(len(columns))} if entries is Entries.ALL else {1: np.flatnonzero(columns.added)}
        if entries is Entries.LIVE:
            rows[-1] = np.flatnonzero(~columns.added)
        needed = NeededFiles()
        for weight, which in rows.items():
            read: Callable[[], list[FileLocation]] = partial(columns.locations, which)
            found = list(needed.paths(self.store, read))
            paths += found
            weights += [weight] * len(found)
        return paths, weights

    def delete(self, paths: Sequence[str]) -> int:
        """Delete files. Return their number."""
        delete_files(self.store, paths)
        return len(paths)


def known_files(store: TableStore) -> int:
    """Return the approximate number of files in the latest version, from its manifest lists."""
    latest = latest_snapshot(store)
    return sum(m.num_added_files for m in data_manifests(store, latest)) if latest is not None else 0
