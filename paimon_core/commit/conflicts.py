"""The rules that decide whether a change fits the latest version, or conflicts with it.

A commit is planned on one version and published on top of a later one. This needs no lock: the change fits if every
rule of `RULES` holds on the latest version. A rule is a function of one frozen `Attempt`; the first `Conflict` ends the
commit. So rules with errors that callers handle, or with the most helpful messages, come first. The rules of this
module read metadata only for chain tables, for keys that were looked up, for schemas that are newer than the writer's,
and for partitions by a wide DECIMAL. The rules of other modules read only schemas:

1. A full partition of a chain table is not dropped if changes start from it.
2. Keys are in the buckets and partitions in which the writer found them.
3. A change deletes only live files, and adds only files that are not live.
4. All files of a partition have the same number of buckets.
5. Above level 0 the files of a bucket's level share no keys.
6. A writer rewrites only files with columns that it knows.
7. A partition that expires by the time of its last change has got no files since.
8. A partition is not written in two forms.
9. New rows were checked against the CHECK constraints of the table.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterable, Sequence

from paimon_core.commit.attempt import Attempt, Conflict, Rule, author
from paimon_core.commit.global_indexes import global_index_conflict
from paimon_core.commit.index_conflicts import index_conflict
from paimon_core.commit.range_conflicts import range_conflict
from paimon_core.errors import BucketConflictError, UnsupportedFeatureError
from paimon_core.lsm.runs import key_range, share_keys
from paimon_core.options import SCAN_DELTA_BRANCH, SCAN_SNAPSHOT_BRANCH
from paimon_core.scan.chain import is_branch_of_chain, needed_partition
from paimon_core.spec.binary_row import decode_row, encode_row, row_of_slots
from paimon_core.spec.index_manifest import HASH_INDEX, IndexManifestEntry
from paimon_core.spec.manifest import FileIdentifier, FileKind, ManifestEntry
from paimon_core.spec.snapshot import CommitKind
from paimon_core.spec.types import DataType, DecimalType
from paimon_core.store.ddl.constraints import new_checks
from paimon_core.store.indexes.index_files import index_entries
from paimon_core.store.manifests import live_files
from paimon_core.store.partitions import PartitionFilter, only_partitions
from paimon_core.store.schemas import read_schema
from paimon_core.store.snapshots import find_snapshot, latest_snapshot
from paimon_core.store.table_store import TableStore


def find_conflict(attempt: Attempt) -> Conflict | None:
    """Return the conflict of the first rule that finds one, or None if the change fits. Raises `StorageError`,
    `CorruptFileError`."""
    return next((found for rule in RULES if (found := rule(attempt)) is not None), None)


def chain_conflict(attempt: Attempt) -> Conflict | None:
    """Find a full partition of a chain table that this change drops or overwrites, but later changes need."""
    store, entries = attempt.store, attempt.entries
    if attempt.change.kind is not CommitKind.OVERWRITE:
        return None
    overwrites = is_branch_of_chain(store, SCAN_DELTA_BRANCH)
    drops = is_branch_of_chain(store, SCAN_SNAPSHOT_BRANCH) and all(e.kind is FileKind.DELETE for e in entries)
    if not drops and not overwrites:
        return None
    needed = needed_partition(store, {e.partition for e in entries}, entries if overwrites else ())
    if needed is None:
        return None
    spec = ", ".join(f"{k}={v}" for k, v in store.partition_spec(needed).items())
    return Conflict(
        f"Snapshot partition cannot be dropped: the changes in branch '{store.options[SCAN_DELTA_BRANCH]}' build on "
        f"partition {spec} of branch '{store.options[SCAN_SNAPSHOT_BRANCH]}', and no earlier full partition exists. "
        "Create a later full partition by sys.compact_chain_table, or drop the changes.",
        UnsupportedFeatureError,
    )


def lookup_conflict(attempt: Attempt) -> Conflict | None:
    """Find keys that may have moved to another bucket or partition since the writer looked them up."""
    store, change, base = attempt.store, attempt.change, attempt.change.index_base
    if base is None:
        return None
    looked_up_in = find_snapshot(store, base) if base else None
    if base and looked_up_in is None:
        return Conflict(f"this commit looked up the buckets of its keys in snapshot {base}, which has expired")
    if store.schema.cross_partition_update:
        return _rows_since(store, base)
    if change.scope is None:
        return None
    if _hash_indexes(attempt.indexes, change.scope) == _hash_indexes(index_entries(store, looked_up_in), change.scope):
        return None
    return Conflict(
        f"Table {store.name}: another writer has given new keys their buckets since this one looked them up "
        f"({author(attempt.latest)}). Nothing was committed; run the statement again.",
        BucketConflictError,
    )


def _hash_indexes(entries: Iterable[IndexManifestEntry], partitions: PartitionFilter) -> frozenset[str]:
    hashes = (e for e in entries if e.file.index_type == HASH_INDEX)
    return frozenset(e.file.file_name for e in hashes if partitions.holds(e.partition))


def _rows_since(store: TableStore, base: int) -> Conflict | None:
    """Find rows written since a snapshot: their keys may now be in other partitions than this writer found them in."""
    newest = latest_snapshot(store)
    for number in range(base + 1, (newest.id if newest else 0) + 1):
        found = find_snapshot(store, number)
        if found is None or found.commit_kind is not CommitKind.COMPACT:
            return Conflict(f"snapshot {number} wrote rows since this writer looked up the partitions of its keys")
    return None


def file_conflict(attempt: Attempt) -> Conflict | None:
    """Find files that are deleted or added twice, different numbers of buckets in a partition, and keys twice on a
    level.
    """
    store, after = attempt.store, dict(attempt.live)
    reason = _apply(after, attempt.entries) or _other_bucket_number(after.values())
    if reason is None and store.has_primary_key:
        reason = _overlap(after.values(), attempt.entries, store.schema.types(store.schema.trimmed_primary_keys))
    return None if reason is None else Conflict(reason)


def _apply(after: dict[FileIdentifier, ManifestEntry], entries: Sequence[ManifestEntry]) -> str | None:
    deleted = set()
    for entry in entries:
        name, known = entry.file.file_name, entry.identifier in after
        if entry.kind is FileKind.DELETE:
            if not known:
                return f"file {name} of bucket {entry.bucket}, which this commit replaces, is no longer live"
            if after[entry.identifier].file.first_row_id != entry.file.first_row_id:
                return f"the rows of file {name}, which this commit replaces, have new ids"
            del after[entry.identifier]
            deleted.add(entry.identifier)
        elif known or entry.identifier in deleted:
            return f"file {name} of bucket {entry.bucket}, which this commit adds, already exists"
        else:
            after[entry.identifier] = entry
    return None


def _other_bucket_number(entries: Iterable[ManifestEntry]) -> str | None:
    totals: dict[bytes, int] = {}
    for entry in entries:
        total = totals.setdefault(entry.partition, entry.total_buckets)
        if entry.total_buckets > 0 and total > 0 and total != entry.total_buckets:
            return (
                f"it writes a partition with a new bucket num {entry.total_buckets}, but the previous bucket num is "
                f"{total}; after a change of 'bucket', overwrite the partition or CALL sys.rescale before you add rows"
            )
    return None


def _overlap(
    after: Iterable[ManifestEntry], entries: Sequence[ManifestEntry], key_types: Sequence[DataType]
) -> str | None:
    """Find two files with common keys, on a level above 0 to which the change adds files."""
    changed = {_level(e) for e in entries if e.kind is FileKind.ADD and e.file.level > 0}
    levels = defaultdict(list)
    for entry in after if changed else ():
        level = _level(entry)
        if level in changed:
            levels[level].append(key_range(entry.file, key_types))
    for (_, bucket, number), ranges in levels.items():
        both = share_keys(ranges)
        if both is not None:
            names = " and ".join(r.file.file_name for r in both)
            return f"files {names} share keys on level {number} of bucket {bucket}"
    return None


def _level(entry: ManifestEntry) -> tuple[bytes, int, int]:
    return entry.partition, entry.bucket, entry.file.level


def column_conflict(attempt: Attempt) -> Conflict | None:
    """Find files that have newer columns than the writer's schema, and are rewritten without the values of these
    columns.
    """
    store, changed = attempt.store, attempt.entries
    added = {e.file.file_name for e in changed if e.kind is FileKind.ADD}  # an upgrade rewrites nothing
    if attempt.change.replaces or not added:
        return None
    rewritten = [e.file for e in changed if e.kind is FileKind.DELETE and e.file.file_name not in added]
    for number in sorted({f.schema_id for f in rewritten if f.schema_id > store.schema.id}):
        if read_schema(store, number).fields != store.schema.fields:
            name = next(f.file_name for f in rewritten if f.schema_id == number)
            return Conflict(
                f"this commit rewrites file {name}, which has the columns of schema {number}, but it uses the columns "
                f"of schema {store.schema.id}"
            )
    return None


def age_conflict(attempt: Attempt) -> Conflict | None:
    """Find files that were added to a partition after it was found old enough to expire."""
    end = attempt.change.older_than
    if end is None:
        return None
    for entry in attempt.entries:
        written = entry.file.creation_time
        if entry.kind is FileKind.DELETE and written is not None and written.replace(tzinfo=None) >= end:
            return Conflict(f"file {entry.file.file_name} was written after its partition was found to have expired")
    return None


def form_conflict(attempt: Attempt) -> Conflict | None:
    """Find new files of a partition in which readers would overlook files of pypaimon 1.3.2.

    pypaimon 1.3.2 stores a wide DECIMAL of a partition in other bytes than all other writers (`spec/binary_row.py`).
    Filters compare values. But the merge of rows of one key, and a dynamic overwrite, compare the bytes.
    """
    store, change = attempt.store, attempt.change
    types = store.schema.types(store.schema.partition_keys)
    if not any(_is_wide(t) for t in types) or not (store.has_primary_key or change.replaces):
        return None
    added = {e.partition for e in attempt.entries if e.kind is FileKind.ADD}
    others = {other for partition in added if (other := _other_form(types, partition)) is not None}
    if not others:
        return None
    replaced = {e.identifier for e in attempt.entries if e.kind is FileKind.DELETE}
    there = live_files(store, attempt.latest, only_partitions(store.schema.partition_fields, others))
    kept = next((e for identifier, e in there.items() if identifier not in replaced), None)
    return None if kept is None else Conflict(_refusal(store, kept.partition), UnsupportedFeatureError)


def check_conflict(attempt: Attempt) -> Conflict | None:
    """Find CHECK constraints that were added after the writer loaded the schema: the new rows were not checked.

    ALTER TABLE … ADD CONSTRAINT commits an empty snapshot with the new schema. A writer with an older schema that
    commits later finds the constraint here. If it commits earlier, the ALTER TABLE reads and checks its rows.
    """
    store, latest = attempt.store, attempt.latest
    if latest is None or latest.schema_id <= store.schema.id or attempt.change.kind is CommitKind.COMPACT:
        return None
    if not any(e.kind is FileKind.ADD for e in attempt.entries):
        return None
    added = new_checks(store.schema.options, read_schema(store, latest.schema_id).options)
    if not added:
        return None
    return Conflict(f"constraint {added[0].name!r}, {added[0].sql}, was added while the rows were written")


def _refusal(store: TableStore, partition: bytes) -> str:
    spec = ", ".join(f"{name} = {value}" for name, value in store.partition_spec(partition).items())
    return (
        f"Partition {spec} of table {store.name} cannot be written: pypaimon 1.3 stored its DECIMAL in a form of its "
        "own, and the new rows would neither be merged with the rows there nor replace them. Nothing was committed. "
        "Copy the table by CREATE TABLE ... AS SELECT, and write the copy."
    )


def _is_wide(data_type: DataType) -> bool:
    return isinstance(data_type, DecimalType) and data_type.precision > DecimalType.MAX_COMPACT_PRECISION


def _other_form(types: Sequence[DataType], partition: bytes) -> bytes | None:
    """Return the bytes of pypaimon 1.3.2 for a partition, given its usual bytes. Return None if they are the same."""
    values = decode_row(types, partition)
    try:
        is_usual = encode_row(types, values) == partition
        return row_of_slots(types, values) if is_usual else None
    except struct.error:  # pypaimon 1.3.2 cannot store such a number
        return None


RULES: tuple[Rule, ...] = (
    chain_conflict,
    lookup_conflict,
    check_conflict,
    file_conflict,
    column_conflict,
    age_conflict,
    form_conflict,
    range_conflict,
    index_conflict,
    global_index_conflict,
)
