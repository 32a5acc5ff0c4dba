"""Which files a version of a table needs: what may be deleted is what no version left needs.

A version is a snapshot, a tag or a long-lived changelog, of any branch. Snapshots and tags of one branch are a chain,
each made from the one before: what two of them need, every one between them needs, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeVar

from paimon_core.errors import CorruptFileError
from paimon_core.spec.manifest import FileKind, ManifestEntry
from paimon_core.spec.paths import data_file_paths
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.branches import branch_names, branch_schema
from paimon_core.store.changelogs import list_changelogs
from paimon_core.store.index_files import index_entries, index_path
from paimon_core.store.manifests import live_files, read_entries, read_manifest_list
from paimon_core.store.snapshots import list_snapshots
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import list_tags

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Versions:
    """Versions of one branch: its snapshots, with those that only tags keep, and its long-lived changelogs."""

    store: TableStore
    snapshots: tuple[Snapshot, ...] = ()
    changelogs: tuple[Snapshot, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """What tells these versions from others, also from one that takes the number of another again."""
        return frozenset(
            [f"{self.store.branch}/snapshot/{s.delta_manifest_list}" for s in self.snapshots]
            + [f"{self.store.branch}/changelog/{s.delta_manifest_list}" for s in self.changelogs]
        )


def versions_of(store: TableStore) -> Versions:
    """What a branch keeps now."""
    tagged = (t.snapshot for t in list_tags(store))
    return Versions(store, (*list_snapshots(store), *tagged), tuple(list_changelogs(store)))


def branch_stores(store: TableStore) -> list[TableStore]:
    """The stores of all branches, main first; a branch that is being made may still have the table's schema."""
    names = ["", *branch_names(store)]
    return [replace(store, branch=name, schema=branch_schema(store, name) or store.schema) for name in names]


@dataclass(frozen=True, slots=True)
class NeededFiles:
    """The paths of the files that versions need. Where `tolerant`, manifests may be missing: of versions that go,
    whose files another clean-up has deleted before."""

    tolerant: bool = False
    _folders: dict[tuple[bytes, int], str] = field(default_factory=dict)

    def of(self, versions: Versions) -> Iterator[str]:
        """All of them; a path may come several times. Raises `CorruptFileError`."""
        store, previous = versions.store, None
        for snapshot in sorted(versions.snapshots, key=lambda s: s.id):
            if previous is not None and snapshot.delta_manifest_list == previous.delta_manifest_list:
                continue
            in_order = previous is not None and snapshot.id == previous.id + 1
            yield from self._metadata(store, snapshot)
            yield from self._paths(store, self._added(store, snapshot) if in_order else self._live(store, snapshot))
            yield from self._changelog(store, snapshot.changelog_manifest_list)
            previous = snapshot
        for changelog in versions.changelogs:
            yield from self._changelog(store, changelog.changelog_manifest_list or changelog.delta_manifest_list)

    def _metadata(self, store: TableStore, snapshot: Snapshot) -> Iterator[str]:
        for name in (snapshot.base_manifest_list, snapshot.delta_manifest_list):
            yield from self._list(store, name)
        if snapshot.index_manifest is not None:
            yield store.paths.manifest(snapshot.index_manifest)
            for entry in self._try(lambda: index_entries(store, snapshot)):
                yield index_path(store, entry.partition, entry.bucket, entry.file)
        if snapshot.statistics is not None:
            yield store.paths.statistics(snapshot.statistics)

    def _list(self, store: TableStore, name: str) -> Iterator[str]:
        yield store.paths.manifest(name)
        for manifest in self._try(lambda: read_manifest_list(store, name)):
            yield store.paths.manifest(manifest.file_name)

    def _live(self, store: TableStore, snapshot: Snapshot) -> Iterable[ManifestEntry]:
        return self._try(lambda: live_files(store, snapshot).values())

    def _added(self, store: TableStore, snapshot: Snapshot) -> Iterable[ManifestEntry]:
        delta = self._try(lambda: tuple(read_entries(store, read_manifest_list(store, snapshot.delta_manifest_list))))
        return (e for e in delta if e.kind is FileKind.ADD)

    def _changelog(self, store: TableStore, name: str | None) -> Iterator[str]:
        if name is not None:
            yield from self._list(store, name)
            entries = self._try(lambda: tuple(read_entries(store, read_manifest_list(store, name))))
            yield from self._paths(store, entries)

    def _paths(self, store: TableStore, entries: Iterable[ManifestEntry]) -> Iterator[str]:
        for entry in entries:
            bucket = entry.partition, entry.bucket
            if bucket not in self._folders:
                self._folders[bucket] = store.bucket_dir(*bucket)
            yield from data_file_paths(self._folders[bucket], entry.file)

    def _try(self, read: Callable[[], Iterable[T]]) -> Iterable[T]:
        try:
            return read()
        except CorruptFileError:
            if not self.tolerant:
                raise
            return ()
