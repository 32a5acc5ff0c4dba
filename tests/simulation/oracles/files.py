"""Every file that a version names is there, and what versions say of their files is true."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from paimon_core.maintenance.references import NeededFiles, distinct, versions_of
from paimon_core.options import ROW_TRACKING
from paimon_core.spec.manifest import ManifestEntry
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.indexes.index_files import deletion_files, index_entries
from paimon_core.store.manifests import live_files
from paimon_core.store.table_store import TableStore
from tests.simulation.statements import Session


def wrong_files(session: Session, store: TableStore) -> list[str]:
    """What is wrong with the files of all versions of a branch: snapshots, tags and long-lived changelogs."""
    disk, versions = session.observer.disk, versions_of(store)
    read = tuple(c for c in versions.changelogs if c.changelog_manifest_list is not None)
    versions = replace(
        versions, changelogs=read
    )  # of others there is nothing to read where a producer makes changelogs
    gone = {path for path in NeededFiles().of(versions) if not disk.is_file(path)}
    problems = [f"{path} is gone, and {store.name} has a version that needs it" for path in sorted(gone)]
    checks = (_dangling_vectors, _wrong_total, _wrong_ranges)
    for snapshot in distinct(versions.snapshots):
        live = list(live_files(store, snapshot).values())
        found = chain.from_iterable(check(store, snapshot, live) for check in checks)
        problems += [f"snapshot {snapshot.id} of {store.name}: {problem}" for problem in found]
    return problems


def _dangling_vectors(store: TableStore, snapshot: Snapshot, live: Sequence[ManifestEntry]) -> Iterator[str]:
    """No deletion vector is of a file that the version does not have, or marks more rows than the file has."""
    rows = {(e.partition, e.bucket, e.file.file_name): e.file.row_count for e in live}
    for bucket, vectors in deletion_files(store, snapshot).items():
        for name, deletion in vectors.items():
            marked, there = deletion.vector.cardinality, rows.get((*bucket, name))
            if there is None:
                yield f"a deletion vector is of {name}, which is not there"
            elif marked is not None and marked > there:
                yield f"{marked} rows of {name} are deleted, and it has {there}"


def _wrong_total(store: TableStore, snapshot: Snapshot, live: Sequence[ManifestEntry]) -> Iterator[str]:
    """The rows that the snapshot counts are those of its files."""
    total = sum(e.file.row_count for e in live)
    if snapshot.total_record_count != total:
        yield f"it counts {snapshot.total_record_count} rows, and its files have {total}"


def _wrong_ranges(store: TableStore, snapshot: Snapshot, live: Sequence[ManifestEntry]) -> Iterator[str]:
    """Row ids are below the next one, those that global indexes cover too. Rows that were rewritten have theirs in a
    column."""
    if not store.options[ROW_TRACKING] or snapshot.next_row_id is None:
        return
    for entry in live:
        first = entry.file.first_row_id
        if first is not None and first + entry.file.row_count > snapshot.next_row_id:
            yield f"{entry.file.file_name} begins at row id {first}, and the next one is {snapshot.next_row_id}"
    for index in index_entries(store, snapshot):
        covered = index.file.global_index
        if covered is not None and covered.row_range_end >= snapshot.next_row_id:
            yield f"{index.file.file_name} covers {covered.row_range_end}, and the next id is {snapshot.next_row_id}"
