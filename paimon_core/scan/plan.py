"""The plan of a scan: the files of a version to read, divided into splits, decided from metadata only.

Metadata is narrowed step by step. Each step works on columns that the step before kept:

    manifest list    manifests are skipped if their range of partitions cannot match the predicate
    manifests        read as Arrow columns (`manifests.entries`); an entry and a later one that deletes it cancel out,
                     so the rest are the live files. Only the few entries that pass the next step become objects
    entries          masks over all live files: partition, bucket, level, ranges of keys and of column statistics
    entry by entry   keys, statistics of older schemas, file indexes, ranges of row ids of global indexes, indexes of
                     levels of keyed buckets
    splits           files of a bucket that a task reads together, of about `source.split.target-size`

In tables with a primary key, files are pruned by their keys only, unless nothing of their bucket is merged: a newer row
that does not match may hide an older one that does. So values prune whole sections of overlapping runs. With data
evolution the columns of a row are in several files, and whole ranges of row ids are kept or dropped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields as dataclass_fields
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from paimon_core.dataclass import dataclass
from paimon_core.errors import UnsupportedFeatureError
from paimon_core.expressions.predicate import Predicate, columns, only_on
from paimon_core.formats.registry import FORMATS, format_name
from paimon_core.lazy import ImportedOnCall
from paimon_core.lsm.engines.registry import keeps_rows
from paimon_core.lsm.strategy import hides_level_0
from paimon_core.manifests.entries import EntryColumns, Rows
from paimon_core.options import (
    DATA_EVOLUTION,
    DELETION_VECTORS,
    KEY_INDEXES,
    MERGE_ENGINE,
    PK_CLUSTERING_OVERRIDE,
    SCAN_BUCKET,
    SPLIT_OPEN_FILE_COST,
    SPLIT_TARGET_SIZE,
)
from paimon_core.options.support import may_skip_files
from paimon_core.scan.postponed import partitions_with_postponed_rows, postponed_splits
from paimon_core.scan.pruning.files import FileFilter
from paimon_core.scan.pruning.generated import with_generated
from paimon_core.scan.splits import key_sections, pack_files, pack_ranges, pack_sections
from paimon_core.spec.manifest import BucketKey, DataFileMeta, ManifestEntry, created_millis
from paimon_core.spec.row_ranges import is_part, row_ranges
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.split import DataSplit, DeletionFile, SplitKind
from paimon_core.store.features import check_readable
from paimon_core.store.indexes.index_files import deletion_files
from paimon_core.store.manifests import data_manifests, in_partitions, live_columns
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.table_store import TableStore

if TYPE_CHECKING:
    from paimon_core.scan.counted import counted_groups
    from paimon_core.scan.pruning.by_global_index import rows_by_global_index
    from paimon_core.scan.pruning.by_level_index import files_without_matches
    from paimon_core.store.indexes.level_indexes import level_indexes
else:
    level_indexes = ImportedOnCall("paimon_core.store.indexes.level_indexes", "level_indexes")
    files_without_matches = ImportedOnCall("paimon_core.scan.pruning.by_level_index", "files_without_matches")
    rows_by_global_index = ImportedOnCall("paimon_core.scan.pruning.by_global_index", "rows_by_global_index")
    counted_groups = ImportedOnCall("paimon_core.scan.counted", "counted_groups")


@dataclass(frozen=True, slots=True)
class SkippedFiles:
    """The files that a plan does not read: by their partition, by their own statistics and keys, by their file indexes,
    by statistics or indexes of files that are read together with them, and because they are older than the scan's
    `since`.
    """

    partition: int = 0
    statistics: int = 0
    index: int = 0
    together: int = 0
    since: int = 0

    def __add__(self, other: SkippedFiles) -> SkippedFiles:
        sums = (getattr(self, f.name) + getattr(other, f.name) for f in dataclass_fields(self))
        return SkippedFiles(*sums)

    def describe(self) -> str:
        """Return the reasons that apply for EXPLAIN, "" without any."""
        reasons = {"partition": self.partition, "statistics": self.statistics, "file indexes": self.index}
        reasons["statistics or indexes of files that are read together"] = self.together
        reasons["their creation time (scan.creation-time-millis, scan.file-creation-time-millis)"] = self.since
        return ", ".join(f"{count} by {reason}" for reason, count in reasons.items() if count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The plan of a scan.

    `files_total` counts the files in the manifests that were read. `exact`: every row of the splits satisfies the
    predicate, and a reader skips no file, so that metadata may count rows."""

    table: str
    snapshot: Snapshot | None
    splits: tuple[DataSplit, ...]
    manifests_total: int = 0
    manifests_read: int = 0
    files_total: int = 0
    skipped: SkippedFiles = SkippedFiles()
    exact: bool = True

    @property
    def files_kept(self) -> int:
        return sum(len(s.files) + len(s.before) * (s.kind is SplitKind.POSTPONED) for s in self.splits)

    @property
    def reads_all(self) -> bool:
        """Return whether every file is read."""
        return self.manifests_read == self.manifests_total and self.files_kept == self.files_total

    @property
    def row_count(self) -> int | None:
        """The number of rows of the result, or None if metadata does not contain it."""
        counts = [s.result_count for s in self.splits] if self.exact else [None]
        known = [n for n in counts if n is not None]
        return sum(known) if len(known) == len(counts) else None

    @property
    def most_rows(self) -> int:
        """The largest number of rows that the result can have, by metadata. Files that share keys have fewer rows after
        the merge.
        """
        counts = ((s.result_count, s.row_count) for s in self.splits)
        return sum(rows if known is None else known for known, rows in counts)

    def describe(self, *, rows: bool = True) -> str:
        """Return one line for EXPLAIN. Without `rows`, it leaves out the number of rows, because the user may not see
        all rows.
        """
        version = "no snapshot" if self.snapshot is None else f"snapshot {self.snapshot.id}"
        merged = sum(s.needs_merge for s in self.splits)
        size, vectors = sum(s.size for s in self.splits), sum(len(s.deletions) for s in self.splits)
        return (
            f"{self.table}, {version}, manifests {self.manifests_read}/{self.manifests_total}, "
            f"files {self.files_kept}/{self.files_total} ({size} bytes), "
            f"splits {len(self.splits)} ({len(self.splits) - merged} raw, {merged} merge)"
            + (f", deletion vectors {vectors}" if vectors else "")
            + (f", skipped files: {skipped}" if (skipped := self.skipped.describe()) else "")
            + (f", rows expected: {'' if self.row_count is not None else 'at most '}{self.most_rows}" if rows else "")
        )


def plan_scan(
    store: TableStore,
    snapshot: Snapshot | None,
    predicate: Predicate | None = None,
    *,
    level: int | None = None,
    since: int | None = None,
    compacted: bool = False,
) -> Plan:
    """Plan reading a version, or one level of it. `predicate` only prunes: the caller must still apply it to the rows.

    With `since` (epoch milliseconds), only files written at that time or later are read. With `compacted`, only files
    above level 0 are read. The columns are the columns of the store's schema. Raises `UnsupportedFeatureError`,
    `CorruptFileError`.
    """
    check_readable(store)
    if snapshot is None:
        return Plan(table=store.name, snapshot=None, splits=())
    partition_keys = store.schema.partition_keys
    given, predicate = predicate, with_generated(store, predicate)
    partitions = PartitionFilter(
        store.schema.partition_fields, predicate=None if predicate is None else only_on(predicate, partition_keys)
    )
    manifests = data_manifests(store, snapshot)
    read = [m for m in manifests if partitions.may_hold(m)]
    files, live = None, live_columns(store, read)
    if predicate is not None:
        has_row_ids = store.options[DATA_EVOLUTION]  # global indexes need them
        row_ids = rows_by_global_index(store, snapshot, predicate, partitions) if has_row_ids else None
        files = FileFilter(store, predicate, row_ids, _without(store, snapshot, predicate, partitions, live))
    candidates = (e for m, rows in live for e in m.entries(rows[in_partitions(m, partitions)[rows]]))
    postponed = {} if level is not None else partitions_with_postponed_rows(store, candidates)
    entries, total, skipped = _entries(
        store, live, partitions, files, _Levels(level, compacted or skips_level_0(store)), since
    )
    vectors = deletion_files(store, snapshot)
    by_bucket = {bucket: members for bucket, members in entries.items() if bucket[0] not in postponed}
    splits = [s for bucket, members in by_bucket.items() for s in _splits(store, members, files, vectors[bucket])]
    grouped = sum(map(len, by_bucket.values())) - sum(len(s.files) for s in splits)
    return Plan(
        table=store.name,
        snapshot=snapshot,
        skipped=replace(skipped, together=grouped),
        splits=(*splits, *postponed_splits(store, postponed, vectors)),
        manifests_total=len(manifests),
        manifests_read=len(read),
        files_total=total + (sum(int((m.buckets[rows] < 0).sum()) for m, rows in live) if postponed else 0),
        exact=(given is None or columns(given) <= frozenset(partition_keys)) and not may_skip_files(store.options),
    )


def _without(
    store: TableStore,
    snapshot: Snapshot,
    predicate: Predicate,
    partitions: PartitionFilter,
    live: Sequence[tuple[EntryColumns, Rows]],
) -> frozenset[str]:
    """Return the names of files that indexes of levels leave out."""
    has_indexes = any(store.options[option] for option in KEY_INDEXES)
    if not has_indexes or not level_indexes(store).keys() & columns(predicate):
        return frozenset()
    return files_without_matches(store, snapshot, predicate, partitions, live)


@dataclass(frozen=True, slots=True)
class _Levels:
    """The levels to read: the level `only`, or all levels above 0."""

    only: int | None
    compacted: bool


def _written_at(file: DataFileMeta) -> int:
    """Return the time when a file was written, in epoch milliseconds, or 0 if unknown."""
    return created_millis(file) or 0


def _entries(
    store: TableStore,
    manifests: Iterable[tuple[EntryColumns, Rows]],
    partitions: PartitionFilter,
    files: FileFilter | None,
    levels: _Levels,
    since: int | None,
) -> tuple[dict[BucketKey, list[ManifestEntry]], int, SkippedFiles]:
    """Return the live files that pass the checks of single files, by bucket, the number of all live files, and the
    numbers of the others.
    """
    found, total, chosen, older = list[ManifestEntry](), 0, 0, 0
    evolves = store.options[DATA_EVOLUTION]
    one_by_one = None if evolves else files  # then rows of a range are in several files
    for manifest, live in manifests:
        seen = are_read(store, manifest.buckets[live])
        if levels.only is not None:
            seen &= manifest.levels[live] == levels.only
        if levels.compacted:
            seen &= manifest.levels[live] > 0
        total += int(seen.sum())
        rows = live[seen & in_partitions(manifest, partitions)[live]]
        chosen += len(rows)
        for entry in manifest.entries(rows if one_by_one is None else one_by_one.prune(manifest, rows)):
            if not _keeps(store, entry, one_by_one):
                continue
            if since is not None and _written_at(entry.file) < since:
                older += 1
            else:
                found.append(entry)
    groups: dict[BucketKey, list[ManifestEntry]] = defaultdict(list)
    for entry in found if one_by_one is None or store.has_primary_key else one_by_one.indexed(found):
        if not (evolves and is_part(entry.file)):
            check_form(store, entry.file)
        groups[entry.partition, entry.bucket].append(entry)
    left = sum(map(len, groups.values()))
    return groups, total, SkippedFiles(total - chosen, chosen - older - len(found), len(found) - left, since=older)


def _keeps(store: TableStore, entry: ManifestEntry, files: FileFilter | None) -> bool:
    if files is None:
        return True
    may_match = files.keys_may_match if store.has_primary_key else files.may_match
    return files.bucket_may_match(entry) and may_match(entry)


def are_read(store: TableStore, buckets: NDArray[np.signedinteger[Any]]) -> NDArray[np.bool_]:
    """Return for each bucket whether a scan reads it: rows of buckets below 0 are not part of the table yet."""
    only = store.options[SCAN_BUCKET]
    return buckets >= 0 if only is None else buckets == only


def skips_level_0(store: TableStore) -> bool:
    """Return whether a batch scan reads only compacted rows."""
    return store.has_primary_key and hides_level_0(store.options)


def _splits(
    store: TableStore,
    entries: list[ManifestEntry],
    files: FileFilter | None,
    vectors: Mapping[str, DeletionFile],
) -> Iterator[DataSplit]:
    """The splits of one bucket."""
    first = entries[0]
    bucket_dir = store.bucket_dir(first.partition, first.bucket)
    for group, needs_merge in _groups(store, entries, files):
        yield DataSplit(
            partition=first.partition,
            bucket=first.bucket,
            total_buckets=first.total_buckets,
            bucket_dir=bucket_dir,
            files=group,
            needs_merge=needs_merge,
            deletions=tuple(vectors[f.file_name] for f in group if f.file_name in vectors),
            row_ids=b"" if files is None else files.ids_of(group),
        )


def _groups(
    store: TableStore, entries: list[ManifestEntry], files: FileFilter | None
) -> Iterator[tuple[tuple[DataFileMeta, ...], bool]]:
    """Yield the groups of a bucket's files that are read together, and whether each group needs a merge."""
    target, open_cost = store.options[SPLIT_TARGET_SIZE], store.options[SPLIT_OPEN_FILE_COST]
    if store.options[DATA_EVOLUTION]:
        ranges = row_ranges(e.file for e in entries)
        if files is not None:
            partition, bucket = entries[0].partition, entries[0].bucket
            ranges = [r for r in ranges if files.range_may_match(r, partition)]
            ranges = files.indexed_ranges(ranges, store.bucket_dir(partition, bucket))
        return pack_ranges(ranges, target, open_cost)
    if store.schema.counts_equal_rows:
        return counted_groups(store.schema, [e.file for e in entries], target, open_cost)
    if not store.has_primary_key:
        return pack_files([e.file for e in entries], target, open_cost)
    once = store.options[DELETION_VECTORS] or store.options[MERGE_ENGINE] == "first-row"
    if once and all(e.file.level > 0 and e.file.delete_row_count == 0 for e in entries):
        # A compaction leaves one row of each key that is not marked as deleted.
        matching = entries if files is None else files.matching(entries)
        return pack_files([e.file for e in matching], target, open_cost)
    if store.options[PK_CLUSTERING_OVERRIDE] and once and all(e.file.level > 0 for e in entries):
        packed = pack_files([e.file for e in entries], target, open_cost)
        return ((group, any(f.delete_row_count != 0 for f in group)) for group, _ in packed)
    if store.options[PK_CLUSTERING_OVERRIDE]:
        raise UnsupportedFeatureError(
            f"Table {store.name} cannot be read: with '{PK_CLUSTERING_OVERRIDE.key}' = 'true', all its rows must be "
            "compacted or marked by deletion vectors. Compact it with the engine that writes it."
        )
    parts = key_sections((e.file for e in entries), store.schema.types(store.schema.trimmed_primary_keys))
    if files is not None:
        # a section is kept or dropped as a whole, because an older version of a row must not appear. If the merge
        # engine makes one row of several, values of a file prune its section only if it is the only file there
        whole_rows = keeps_rows(store.options)
        names = {e.file.file_name for e in files.matching(entries)}
        parts = [p for p in parts if not (whole_rows or p.raw) or any(f.file_name in names for f in p.files)]
    return pack_sections(parts, target, open_cost)


def check_form(store: TableStore, file: DataFileMeta) -> None:
    """Raise `UnsupportedFeatureError` for a file of an unknown format."""
    name = format_name(file.file_name)
    if name not in FORMATS:
        raise UnsupportedFeatureError(
            f"Table {store.name} has the {name} file {file.file_name}; this version reads {', '.join(FORMATS)}."
        )
