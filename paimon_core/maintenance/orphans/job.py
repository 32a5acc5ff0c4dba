"""The search for orphans as a job, for tables whose files are too many to be named in one process.

Tasks list folders, and tasks read manifests; who runs them subtracts the files needed from the files found. A file is
needed where its weights have a positive sum in any chain of versions: 1 where a manifest adds it, -1 where one deletes
it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import Protocol

import numpy as np
import pyarrow as pa

from paimon_core.maintenance.orphans.file_kinds import FolderKind
from paimon_core.maintenance.orphans.search import Folder, files_in, folders
from paimon_core.maintenance.references import NeededFiles, branch_stores, in_chains, versions_of
from paimon_core.maintenance.release import delete_files
from paimon_core.manifests.entries import FileLocation
from paimon_core.store.manifests import data_manifests, read_columns, read_manifest_list
from paimon_core.store.snapshots import latest_snapshot
from paimon_core.store.table_store import TableStore

FOUND = pa.schema([("path", pa.string()), ("size", pa.int64())])
NEEDED = pa.schema([("chain", pa.int64()), ("name", pa.string()), ("weight", pa.int64())])
_TOGETHER = 10_000  # paths of a task


class Found(Protocol):
    """Files that were found and that no version needs; they are the same however often they are asked for."""

    @property
    def count(self) -> int: ...

    @property
    def size(self) -> int: ...

    def delete(self) -> None:
        """Delete them; what cannot be deleted stays."""


class _Taken(IntEnum):
    """Which entries of a manifest are read."""

    PATHS = 0  # it is no manifest, but the paths themselves
    ADDED = 1
    ALL = 2
    LIVE = 3  # what is added, less what is taken away


@dataclass(frozen=True, slots=True)
class OrphanSearch:
    """The files of a table last modified before `older_than` (epoch milliseconds). Picklable."""

    store: TableStore
    older_than: int

    def folders(self) -> list[str]:
        """The folders to be listed, one task each."""
        return [json.dumps([f.path, f.kind]) for f in folders(self.store)]

    def found_in(self, folder: str) -> pa.RecordBatch:
        """The old files of a folder, as `FOUND`."""
        path, kind = json.loads(folder)
        files = [f for f in files_in(self.store, Folder(path, FolderKind(kind))) if f.modified < self.older_than]
        return pa.record_batch([[f.path for f in files], [f.size for f in files]], schema=FOUND)

    def sources(self) -> Iterator[str]:
        """What names the files that versions need, one task each. Raises `CorruptFileError`."""
        chain, needed, metadata = 0, NeededFiles(), set[str]()
        for branch in branch_stores(self.store):
            versions = versions_of(branch)
            for snapshot, in_order in in_chains(branch, versions.snapshots):
                metadata |= set(needed.metadata(branch, snapshot))
                chain += not in_order
                if in_order:
                    parts, taken = read_manifest_list(branch, snapshot.delta_manifest_list), _Taken.ADDED
                else:
                    parts, taken = data_manifests(branch, snapshot), _Taken.LIVE
                for manifest in parts:
                    yield json.dumps([taken, 0 if in_order else chain, manifest.file_name])
            for name in versions.changelog_lists:
                metadata |= set(needed.listed(branch, name))
                for manifest in read_manifest_list(branch, name):
                    yield json.dumps([_Taken.ALL, 0, manifest.file_name])
        paths = sorted(metadata)
        for i in range(0, len(paths), _TOGETHER):
            yield json.dumps([_Taken.PATHS, 0, paths[i : i + _TOGETHER]])

    def needed_by(self, source: str) -> pa.RecordBatch:
        """The files that a source names, as `NEEDED`. Raises `CorruptFileError`."""
        taken, chain, content = json.loads(source)
        paths, weights = (content, [1] * len(content)) if taken == _Taken.PATHS else self._weights(content, taken)
        names = [path.rpartition("/")[2] for path in paths]
        return pa.record_batch([[chain] * len(paths), names, weights], schema=NEEDED)

    def _weights(self, manifest: str, taken: int) -> tuple[list[str], list[int]]:
        columns, paths, weights = read_columns(self.store, manifest), list[str](), list[int]()
        rows = {1: np.arange(len(columns))} if taken == _Taken.ALL else {1: np.flatnonzero(columns.added)}
        if taken == _Taken.LIVE:
            rows[-1] = np.flatnonzero(~columns.added)
        needed = NeededFiles()
        for weight, which in rows.items():
            read: Callable[[], list[FileLocation]] = partial(columns.locations, which)
            found = list(needed.paths(self.store, read))
            paths += found
            weights += [weight] * len(found)
        return paths, weights

    def delete(self, paths: Sequence[str]) -> int:
        """Delete files; how many there were."""
        delete_files(self.store, paths)
        return len(paths)


def known_files(store: TableStore) -> int:
    """About how many files the latest version has, read from its manifest lists."""
    latest = latest_snapshot(store)
    return sum(m.num_added_files for m in data_manifests(store, latest)) if latest is not None else 0
