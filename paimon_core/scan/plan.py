"""The plan of a scan: which files of a version are read, in which splits, decided from metadata alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.expressions.predicate import Predicate, columns, only_on
from paimon_core.formats.registry import FORMATS, format_name
from paimon_core.options import SPLIT_OPEN_FILE_COST, SPLIT_TARGET_SIZE
from paimon_core.scan.pruning import FileFilter
from paimon_core.scan.splits import key_sections, pack_files, pack_sections
from paimon_core.spec.manifest import DataFileMeta, FileKind, ManifestEntry, live_entries
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.split import DataSplit
from paimon_core.store.features import check_readable
from paimon_core.store.manifests import data_manifests, read_entries
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.table_store import TableStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a scan reads. `files_total` counts the files of the manifests read; `exact` says that every row of the
    splits satisfies the predicate."""

    table: str
    snapshot: Snapshot | None
    splits: tuple[DataSplit, ...]
    manifests_total: int = 0
    manifests_read: int = 0
    files_total: int = 0
    exact: bool = True

    @property
    def files_kept(self) -> int:
        return sum(len(s.files) for s in self.splits)

    @property
    def row_count(self) -> int | None:
        """The rows of the result where metadata tells, else None."""
        if not self.exact or any(s.needs_merge for s in self.splits):
            return None
        return sum(s.row_count for s in self.splits)

    def describe(self) -> str:
        """One line for EXPLAIN."""
        version = "no snapshot" if self.snapshot is None else f"snapshot {self.snapshot.id}"
        merged = sum(s.needs_merge for s in self.splits)
        size = sum(s.size for s in self.splits)
        return (
            f"{self.table}, {version}, manifests {self.manifests_read}/{self.manifests_total}, "
            f"files {self.files_kept}/{self.files_total} ({size} bytes), "
            f"splits {len(self.splits)} ({len(self.splits) - merged} raw, {merged} merge)"
        )


def plan_scan(store: TableStore, snapshot: Snapshot | None, predicate: Predicate | None = None) -> Plan:
    """Plan reading a version; `predicate` prunes, and is still to be applied to the rows.

    Its columns are those of the store's schema. Raises `UnsupportedFeatureError`, `CorruptFileError`.
    """
    check_readable(store, snapshot)
    if snapshot is None:
        return Plan(table=store.name, snapshot=None, splits=())
    partition_keys = store.schema.partition_keys
    partitions = PartitionFilter(
        store.schema.partition_fields, predicate=None if predicate is None else only_on(predicate, partition_keys)
    )
    manifests = data_manifests(store, snapshot)
    read = [m for m in manifests if partitions.may_hold(m)]
    files = FileFilter(store, predicate) if predicate is not None else None
    buckets, total = _buckets(store, read_entries(store, read), partitions, files)
    return Plan(
        table=store.name,
        snapshot=snapshot,
        splits=tuple(s for entries in buckets for s in _splits(store, entries, files)),
        manifests_total=len(manifests),
        manifests_read=len(read),
        files_total=total,
        exact=predicate is None or columns(predicate) <= frozenset(partition_keys),
    )


def _buckets(
    store: TableStore, entries: Iterable[ManifestEntry], partitions: PartitionFilter, files: FileFilter | None
) -> tuple[list[list[ManifestEntry]], int]:
    """The live files that are not pruned one by one, per bucket, and how many there were."""
    live = [e for e in live_entries(entries).values() if e.kind is FileKind.ADD and e.bucket >= 0]
    groups: dict[tuple[bytes, int], list[ManifestEntry]] = defaultdict(list)
    for entry in live:
        if partitions.holds(entry.partition) and _keeps(store, entry, files):
            _check_format(store, entry.file)
            groups[entry.partition, entry.bucket].append(entry)
    return list(groups.values()), len(live)


def _keeps(store: TableStore, entry: ManifestEntry, files: FileFilter | None) -> bool:
    if files is None:
        return True
    alone = files.keys_may_match if store.has_primary_key else files.may_match
    return files.bucket_may_match(entry) and alone(entry)


def _splits(store: TableStore, entries: list[ManifestEntry], files: FileFilter | None) -> Iterator[DataSplit]:
    """The splits of one bucket."""
    first = entries[0]
    target, open_cost = store.options[SPLIT_TARGET_SIZE], store.options[SPLIT_OPEN_FILE_COST]
    if store.has_primary_key:
        by_name = {e.file.file_name: e for e in entries}
        parts = key_sections((e.file for e in entries), store.schema.types(store.schema.trimmed_primary_keys))
        if files is not None:
            # an older version of a row must not surface: a section is left out as a whole or not at all
            parts = [p for p in parts if any(files.may_match(by_name[f.file_name]) for f in p.files)]
        packed = pack_sections(parts, target, open_cost)
    else:
        packed = pack_files([e.file for e in entries], target, open_cost)
    bucket_dir = store.bucket_dir(first.partition, first.bucket)
    for group, needs_merge in packed:
        yield DataSplit(
            partition=first.partition,
            bucket=first.bucket,
            bucket_dir=bucket_dir,
            files=group,
            needs_merge=needs_merge,
        )


def _check_format(store: TableStore, file: DataFileMeta) -> None:
    name = format_name(file.file_name)
    if name not in FORMATS:
        raise UnsupportedFeatureError(
            f"Table {store.name} has the {name} file {file.file_name}; this version reads {', '.join(FORMATS)}."
        )
