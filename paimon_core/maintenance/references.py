"""The files that a version of a table needs. Files that no remaining version needs may be deleted.

A version is a snapshot, a tag or a long-lived changelog, of any branch. If versions follow one another, only the
additions of each version are read. Manifests show whether one version follows another. Numbers do not show it: after a
rollback they are used again, and a tag may belong to the history that was cut off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.dataclass import dataclass
from paimon_core.errors import UnreadableFileError
from paimon_core.io.side_by_side import side_by_side, together
from paimon_core.manifests.entries import EntryColumns, FileLocation, Rows
from paimon_core.progress import Phase, advance, phase
from paimon_core.spec.paths import paths_of
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.branches import branch_names, branch_schema
from paimon_core.store.changelogs import list_changelogs
from paimon_core.store.indexes.index_files import index_entries, index_path
from paimon_core.store.manifests import data_manifests, live_columns, read_columns, read_manifest_list
from paimon_core.store.snapshots import existing_snapshots, snapshot_ids
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import KeptByTags, kept_by_tags

T = TypeVar("T")
_SNAPSHOTS = "snapshots"


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of one branch: its snapshots, including snapshots that only tags keep, and its long-lived
    changelogs.
    """

    store: TableStore
    snapshots: tuple[Snapshot, ...] = ()
    changelogs: tuple[Snapshot, ...] = ()
    unknown_tags: tuple[str, ...] = ()  # tags with unknown snapshots

    @property
    def changelog_lists(self) -> Iterator[str]:
        """Yield the manifest lists of changelogs."""
        for snapshot in distinct(self.snapshots):
            if snapshot.changelog_manifest_list is not None:
                yield snapshot.changelog_manifest_list
        for changelog in self.changelogs:
            if changelog.changelog_manifest_list is not None:
                yield changelog.changelog_manifest_list
            elif self.store.io.exists(self.store.paths.manifest(changelog.delta_manifest_list)):
                yield changelog.delta_manifest_list  # Java deletes it if a table has a changelog producer


def distinct(snapshots: Iterable[Snapshot]) -> list[Snapshot]:
    """Sort snapshots by number, each once. Several tags may keep the same snapshot."""
    return sorted({s.delta_manifest_list: s for s in snapshots}.values(), key=lambda s: s.id)


def in_chains(store: TableStore, snapshots: Iterable[Snapshot]) -> Iterator[tuple[Snapshot, bool]]:
    """Yield snapshots by number, each once, and whether it only adds files to the files of the snapshot before."""
    previous: list[str] | None = None
    for snapshot in _fetched_ahead(store, distinct(snapshots)):
        base = _manifests(store, snapshot.base_manifest_list)
        yield snapshot, base is not None and base == previous
        added = _manifests(store, snapshot.delta_manifest_list)
        previous = None if base is None or added is None else base + added


def load(store: TableStore, snapshots: Iterable[Snapshot]) -> None:
    """Read the manifests of snapshots into the cache, for a later read on a remote storage."""
    for _ in _fetched_ahead(store, distinct(snapshots)):
        pass


def _fetched_ahead(store: TableStore, snapshots: Sequence[Snapshot]) -> Iterator[Snapshot]:
    """Yield snapshots, and load some of them ahead: the cache then has their lists and the manifests of their
    changes.
    """
    at_once, before = store.io.requests_at_once, None
    for start in range(0, len(snapshots), at_once):
        some = snapshots[start : start + at_once]
        if at_once > 1:
            delta = [s.delta_manifest_list for s in some]
            base = [s.base_manifest_list for s in some]
            side_by_side(store.io, partial(_manifests, store), (*base, *delta))
            added = [n for name in delta for n in _manifests(store, name) or ()]
            whole, before = _read_whole(store, some, before)
            whole = [n for n in dict.fromkeys(whole) if store.cache.find(store.paths.manifest(n)) is None]
            few = whole if len(whole) <= at_once else ()  # more would displace one another in the cache
            side_by_side(store.io, partial(_fetch, store), dict.fromkeys((*added, *few)))
        yield from some


def _read_whole(
    store: TableStore, snapshots: Sequence[Snapshot], before: list[str] | None
) -> tuple[list[str], list[str] | None]:
    """Return the base manifests of snapshots that do not follow the manifests `before`, and the manifests of the last
    snapshot."""
    whole: list[str] = []
    for snapshot in snapshots:
        base = _manifests(store, snapshot.base_manifest_list)
        added = _manifests(store, snapshot.delta_manifest_list)
        whole += () if base is None or base == before else base
        before = None if base is None or added is None else base + added
    return whole, before


def _fetch(store: TableStore, manifest: str) -> None:
    with suppress(UnreadableFileError):  # a later read raises the error
        read_columns(store, manifest)


def _manifests(store: TableStore, name: str) -> list[str] | None:
    """Return the manifests of a list, or None if the list cannot be read.

    A later read of its manifests raises the error.
    """
    try:
        return [m.file_name for m in read_manifest_list(store, name)]
    except UnreadableFileError:
        return None


def _every_snapshot(store: TableStore) -> list[Snapshot]:
    """Return the snapshots of all files, including files that a killed expiry left."""
    return existing_snapshots(store, snapshot_ids(store))


def _all_kinds(store: TableStore) -> tuple[list[Snapshot], KeptByTags, list[Snapshot]]:
    """Read the snapshots, the tags and the long-lived changelogs of a branch, in parallel."""
    reads: tuple[Callable[[TableStore], Any], ...] = (_every_snapshot, kept_by_tags, list_changelogs)
    every, tags, changelogs = together(store.io, [partial(read, store) for read in reads])
    return every, tags, changelogs


def versions_of(store: TableStore) -> Versions:
    """Return the current versions of a branch."""
    every, tags, changelogs = _all_kinds(store)
    return Versions(store, (*every, *tags.snapshots.values()), tuple(changelogs), tags.unknown)


def version_places(store: TableStore) -> frozenset[str]:
    """Return the current versions of a branch with their places.

    A snapshot that remains as a tag, or a renamed tag, gets another place. Unlike numbers and names, places are never
    used again."""
    every, tags, changelogs = _all_kinds(store)
    placed = [("snapshot", s) for s in every]
    placed += [(f"tag {name}", kept) for name, kept in tags.snapshots.items()]
    placed += [("changelog", c) for c in changelogs]
    places = {f"{store.branch}/{place}/{version.delta_manifest_list}" for place, version in placed}
    return frozenset(places | {f"{store.branch}/unknown tag {name}" for name in tags.unknown})


def branch_stores(store: TableStore) -> list[TableStore]:
    """Return the stores of all branches, main first.

    A branch that is being created may still have the table's schema.
    """
    names = ["", *branch_names(store)]
    return [replace(store, branch=name, schema=branch_schema(store, name) or store.schema) for name in names]


def reading_versions(table: str, versions: Sequence[Versions]) -> AbstractContextManager[Phase]:
    """Show during the block how many of some versions were read by `NeededFiles`."""
    count = sum(len(distinct(each.snapshots)) for each in versions)
    return phase(f"read the manifests of {table}", _SNAPSHOTS, count)


@dataclass(frozen=True, slots=True)
class NeededFiles:
    """The paths of the files that versions need.

    If `tolerant`, manifests may be missing: another clean-up may have deleted the manifests of versions that are being
    removed. `among` are the names of the data files to find, None for all files. `data_files` are the names of the data
    files that were found."""

    tolerant: bool = False
    among: pa.Array | None = None
    data_files: set[str] = field(default_factory=set)
    _folders: dict[tuple[bytes, int], str] = field(default_factory=dict)

    def of(self, versions: Versions) -> Iterator[str]:
        """Yield all paths of needed files. A path may occur several times. Raises `CorruptFileError`."""
        store = versions.store
        for snapshot, in_order in in_chains(store, versions.snapshots):
            yield from self.metadata(store, snapshot)
            yield from self.paths(store, partial(self._added if in_order else self._live, store, snapshot))
            advance(_SNAPSHOTS)
        for name in versions.changelog_lists:
            yield from self.listed(store, name)
            yield from self.paths(store, partial(self._all, store, name))

    def metadata(self, store: TableStore, snapshot: Snapshot) -> Iterator[str]:
        """Yield the paths of all files that a snapshot needs, except data files."""
        for name in (snapshot.base_manifest_list, snapshot.delta_manifest_list):
            yield from self.listed(store, name)
        if snapshot.index_manifest is not None:
            yield store.paths.manifest(snapshot.index_manifest)
            for entry in self._try(lambda: index_entries(store, snapshot)):
                yield index_path(store, entry.partition, entry.bucket, entry.file)
        if snapshot.statistics is not None:
            yield store.paths.statistics(snapshot.statistics)

    def listed(self, store: TableStore, name: str) -> Iterator[str]:
        """Yield the path of a manifest list, and of its manifests and their sidecars."""
        yield store.paths.manifest(name)
        for manifest in self._try(lambda: read_manifest_list(store, name)):
            yield store.paths.manifest(manifest.file_name)
            if manifest.sidecar is not None:
                yield store.paths.manifest(manifest.sidecar)

    def paths(self, store: TableStore, read: Callable[[], list[FileLocation]]) -> Iterator[str]:
        """Yield the paths of the data files that `read` returns, with their extra files."""
        for partition, bucket, name, external, extra in self._try(read):
            folder = self._folders.get((partition, bucket))
            if folder is None:
                folder = self._folders[partition, bucket] = store.bucket_dir(partition, bucket)
            self.data_files.add(name)
            yield from paths_of(folder, name, external, extra)

    def _try(self, read: Callable[[], Iterable[T]]) -> Iterable[T]:
        try:
            return read()
        except UnreadableFileError:
            if not self.tolerant:
                raise
            return ()

    def _live(self, store: TableStore, snapshot: Snapshot) -> list[FileLocation]:
        found = live_columns(store, data_manifests(store, snapshot))
        return [file for columns, rows in found for file in self._files(columns, rows)]

    def _added(self, store: TableStore, snapshot: Snapshot) -> list[FileLocation]:
        return self._listed(store, snapshot.delta_manifest_list, lambda columns: np.flatnonzero(columns.added))

    def _all(self, store: TableStore, name: str) -> list[FileLocation]:
        return self._listed(store, name, lambda columns: np.arange(len(columns)))

    def _listed(self, store: TableStore, name: str, rows: Callable[[EntryColumns], Rows]) -> list[FileLocation]:
        """Return the data files in some entries of the manifests of a list."""
        found = (read_columns(store, m.file_name) for m in read_manifest_list(store, name))
        return [file for columns in found for file in self._files(columns, rows(columns))]

    def _files(self, columns: EntryColumns, rows: Rows) -> list[FileLocation]:
        if self.among is not None:
            meant = pc.is_in(columns.names, value_set=self.among).to_numpy(zero_copy_only=False)
            rows = rows[meant[rows]]
        return columns.locations(rows)
