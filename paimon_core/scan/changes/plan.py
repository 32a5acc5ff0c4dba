"""The plan of an incremental query: files of changes, or the files in which two versions differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import compress

import numpy as np

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.expressions.predicate import Predicate, columns, only_on
from paimon_core.lsm.runs import sections
from paimon_core.lsm.strategy import newest_wins
from paimon_core.options import BUCKET, DATA_EVOLUTION, DYNAMIC, SPLIT_OPEN_FILE_COST, SPLIT_TARGET_SIZE
from paimon_core.scan.changes.increment import Increment, IncrementMode
from paimon_core.scan.plan import Plan, are_read, check_form, skips_level_0
from paimon_core.scan.pruning.files import FileFilter
from paimon_core.scan.splits import pack_files, pack_ranges
from paimon_core.spec.manifest import BucketKey, DataFileMeta, FileIdentifier, FileKind, ManifestEntry
from paimon_core.spec.paths import data_file_path
from paimon_core.spec.row_ranges import is_part, row_ranges
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.split import DataSplit, DeletionFile, SplitKind
from paimon_core.store.data.counted_rows import is_counted_once
from paimon_core.store.features import check_readable
from paimon_core.store.indexes.index_files import deletion_files
from paimon_core.store.manifests import live_files, read_entries, read_manifest_list
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.table_store import TableStore

_FileKey = tuple[bytes, int, int, str]  # partition, bucket, level, name


def plan_increment(store: TableStore, increment: Increment, predicate: Predicate | None = None) -> Plan:
    """Plan reading changes. `predicate` only prunes: the caller must still apply it to the rows.

    Raises `UnsupportedFeatureError`, `CorruptFileError`.
    """
    check_readable(store)
    if store.options[DATA_EVOLUTION] and increment.mode is IncrementMode.DIFF:
        raise UnsupportedFeatureError(
            f"Versions of table {store.name} cannot be compared: with '{DATA_EVOLUTION.key}' = 'true', files hold "
            "single columns. Read each version itself, or the rows written between snapshots."
        )
    keys = store.schema.partition_keys
    partitions = PartitionFilter(
        store.schema.partition_fields, predicate=None if predicate is None else only_on(predicate, keys)
    )
    if increment.mode is IncrementMode.DIFF:
        splits = tuple(_compared(store, increment, partitions))
    else:
        files = None if predicate is None else FileFilter(store, predicate)
        splits = tuple(_changes(store, increment, partitions, files))
    for file in (f for s in splits for f in (*s.files, *s.before)):
        if not is_part(file):
            check_form(store, file)
    return Plan(
        table=store.name,
        snapshot=increment.end,
        splits=splits,
        files_total=sum(len(s.files) for s in splits),
        exact=predicate is None or columns(predicate) <= frozenset(keys),
    )


def _changes(
    store: TableStore, increment: Increment, partitions: PartitionFilter, files: FileFilter | None
) -> Iterator[DataSplit]:
    """Yield files with the changes of each snapshot: its delta, or its changelog."""
    groups: dict[BucketKey, list[DataFileMeta]] = defaultdict(list)
    evolves = store.options[DATA_EVOLUTION]
    for snapshot in increment.snapshots:
        is_delta = increment.mode is IncrementMode.DELTA
        name = snapshot.delta_manifest_list if is_delta else snapshot.changelog_manifest_list
        if name is None:
            continue
        manifests = [m for m in read_manifest_list(store, name) if partitions.may_hold(m)]
        for entry in added_files(store, read_entries(store, manifests), partitions):
            if evolves or files is None or files.may_match(entry):
                groups[entry.partition, entry.bucket].append(entry.file)
    target, open_cost = store.options[SPLIT_TARGET_SIZE], store.options[SPLIT_OPEN_FILE_COST]
    for (partition, bucket), found in groups.items():
        ranges = row_ranges(found) if evolves else ()  # only the written columns of a row
        kept = [r for r in ranges if files is None or files.range_may_match(r, partition)]
        packed = pack_ranges(kept, target, open_cost) if evolves else pack_files(found, target, open_cost)
        for group, _ in packed:
            yield DataSplit(
                partition=partition,
                bucket=bucket,
                bucket_dir=store.bucket_dir(partition, bucket),
                files=group,
                needs_merge=_needs_reader(store, group),
                kind=SplitKind.CHANGES,
            )


def _needs_reader(store: TableStore, files: Iterable[DataFileMeta]) -> bool:
    """Return whether files contain more than the rows that they add: deletes, or counts of equal rows."""
    if not store.has_primary_key:
        return not all(is_counted_once(store.schema, f) for f in files)
    return any(f.delete_row_count != 0 for f in files)


def added_files(
    store: TableStore, entries: Iterable[ManifestEntry], partitions: PartitionFilter
) -> Iterator[ManifestEntry]:
    """Yield the entries that add files to the buckets that a scan reads."""
    added = [e for e in entries if e.kind is FileKind.ADD and partitions.holds(e.partition)]
    return compress(added, are_read(store, np.array([e.bucket for e in added], dtype=np.int32)))


def _compared(store: TableStore, increment: Increment, partitions: PartitionFilter) -> Iterator[DataSplit]:
    """Yield splits with files of the later version and files of the earlier version that have the same keys.

    If keys have moved between buckets, a split has files of several buckets, with their paths."""
    versions = increment.start, increment.end
    old, new = (live_files(store, v, partitions) for v in versions)
    old_vectors, new_vectors = (_vectors(store, v) for v in versions)
    # If the newest row of a key replaces older rows, older files that both versions have make no difference.
    whole_rows = not store.has_primary_key or newest_wins(store.options)
    same = {i[:4] for i in old} & {i[:4] for i in new} if whole_rows else set()
    common = {i for i in same if old_vectors[i[:2]].get(i[3]) == new_vectors[i[:2]].get(i[3])}
    if store.has_primary_key:
        common = _older(common, old | new)
    moved = _moved(store, old, new) if store.has_primary_key else frozenset[bytes]()
    buckets: dict[BucketKey, tuple[list[DataFileMeta], list[DataFileMeta]]] = defaultdict(lambda: ([], []))
    for side, entries in enumerate((old, new)):
        read = are_read(store, np.array([e.bucket for e in entries.values()], dtype=np.int32))
        for identifier, entry in compress(entries.items(), read):
            hidden = entry.file.level == 0 and skips_level_0(store)
            if identifier[:4] in common or hidden:
                continue
            if entry.partition in moved:
                folder = store.bucket_dir(entry.partition, entry.bucket)
                whole = replace(entry.file, external_path=data_file_path(folder, entry.file))
                buckets[entry.partition, 0][side].append(whole)
            else:
                buckets[entry.partition, entry.bucket][side].append(entry.file)
    for vectors in (old_vectors, new_vectors):
        for partition, number in [b for b in vectors if b[0] in moved and b[1]]:
            vectors[partition, 0] |= vectors[partition, number]
    for bucket, (before, after) in buckets.items():
        for earlier, later in _by_keys(store, before, after):
            yield DataSplit(
                partition=bucket[0],
                bucket=bucket[1],
                bucket_dir=store.bucket_dir(*bucket),
                files=tuple(later),
                needs_merge=True,
                deletions=_of(later, new_vectors[bucket]),
                kind=SplitKind.DIFFERENCE,
                before=tuple(earlier),
                before_deletions=_of(earlier, old_vectors[bucket]),
            )


def _moved(
    store: TableStore, old: Mapping[FileIdentifier, ManifestEntry], new: Mapping[FileIdentifier, ManifestEntry]
) -> frozenset[bytes]:
    """Return the partitions in which a key may be in different buckets in the two versions. Their buckets are compared
    together.

    A rescale changes the number of buckets; an overwrite assigns dynamic buckets again.
    """
    numbers: dict[bytes, set[int]] = defaultdict(set)
    for entry in (*old.values(), *new.values()):
        numbers[entry.partition].add(entry.total_buckets)
    both = {old[i].partition for i in old.keys() & new.keys()}
    is_dynamic = store.options[BUCKET] == DYNAMIC
    return frozenset(p for p, found in numbers.items() if len(found) > 1 or (is_dynamic and p not in both))


def _older(common: set[_FileKey], files: Mapping[FileIdentifier, ManifestEntry]) -> set[_FileKey]:
    """Return the common files in which every row is older than all rows that differ between the versions.

    Other common files must stay, because they may decide which row of a key wins: concurrent writers use the same
    sequence numbers, and then levels decide.
    """
    oldest: dict[BucketKey, int] = {}
    for identifier, entry in files.items():
        if identifier[:4] not in common:
            key = identifier[:2]
            oldest[key] = min(oldest.get(key, entry.file.min_sequence_number), entry.file.min_sequence_number)
    return {
        i[:4]
        for i, e in files.items()
        if i[:4] in common and e.file.max_sequence_number < oldest.get(i[:2], e.file.max_sequence_number + 1)
    }


def _vectors(store: TableStore, snapshot: Snapshot | None) -> defaultdict[BucketKey, dict[str, DeletionFile]]:
    return defaultdict(dict) if snapshot is None else deletion_files(store, snapshot)


def _of(files: list[DataFileMeta], vectors: dict[str, DeletionFile]) -> tuple[DeletionFile, ...]:
    return tuple(vectors[f.file_name] for f in files if f.file_name in vectors)


def _by_keys(
    store: TableStore, before: list[DataFileMeta], after: list[DataFileMeta]
) -> Iterator[tuple[list[DataFileMeta], list[DataFileMeta]]]:
    """Divide the files of both versions into parts, so that each key is in one part."""
    if not store.has_primary_key:
        yield before, after
        return
    known = {(f.file_name, f.level): f for f in (*before, *after)}
    parts = sections(known.values(), store.schema.types(store.schema.trimmed_primary_keys))
    target, members, size = store.options[SPLIT_TARGET_SIZE], set[tuple[str, int]](), 0
    for number, section in enumerate(parts):
        files = [f for run in section for f in run.files]
        members |= {(f.file_name, f.level) for f in files}
        size += sum(f.file_size for f in files)
        if size >= target or number == len(parts) - 1:
            yield _members(before, members), _members(after, members)
            members, size = set(), 0


def _members(files: list[DataFileMeta], members: set[tuple[str, int]]) -> list[DataFileMeta]:
    return [f for f in files if (f.file_name, f.level) in members]
