"""The snapshots that a stream reads one after the other, and the rows to read of each.

The changes of a snapshot are the files that it appended, or its changelog if the table has a changelog producer. An
expired snapshot may have left its changelog. Compactions change no rows. Snapshots that replace rows (INSERT OVERWRITE,
a rescale) are skipped, too, unless options require their changes. Rows of the postponed bucket are newer than rows with
a bucket.

The columns of a stream are the table's columns when the query started. New nullable columns appear after a restart, and
renamed columns keep their old names until then, because files are read by column ids. A change that would make the
query read wrong values stops it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidSchemaError, SnapshotNotFoundError
from paimon_core.lazy import cached_property
from paimon_core.lsm.compaction import last_level
from paimon_core.options import (
    BUCKET,
    CHANGELOG_PRODUCER,
    POSTPONE_MERGE_ON_READ,
    POSTPONED,
    SCAN_BOUNDED_WATERMARK,
    SCAN_BUCKET,
    SPLIT_OPEN_FILE_COST,
    SPLIT_TARGET_SIZE,
    STREAMING_READ_APPEND_OVERWRITE,
    STREAMING_READ_DELAY,
    STREAMING_READ_OVERWRITE,
    TableOptions,
)
from paimon_core.scan.changes.increment import Increment, IncrementMode
from paimon_core.scan.changes.plan import plan_increment
from paimon_core.scan.plan import plan_scan
from paimon_core.scan.streams.position import Position
from paimon_core.scan.time_travel import files_since
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.snapshot import CommitKind, Snapshot
from paimon_core.spec.split import DataSplit, SplitKind
from paimon_core.store.changelogs import changelog_ids, find_changelog
from paimon_core.store.data.postponed_files import arrival_order
from paimon_core.store.manifests import data_manifests, live_columns
from paimon_core.store.schemas import read_schema
from paimon_core.store.snapshots import earliest_snapshot, find_snapshot
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import readable_tags


@dataclass(frozen=True, slots=True)
class Step:
    """The rows to read of one snapshot: all its rows if `scan`, else its changes.

    `splits` are as small as possible. Their order never changes: by the path of the partition, then by bucket.
    """

    snapshot: Snapshot
    scan: bool
    splits: tuple[DataSplit, ...]
    skips_overwrite: bool = False


@dataclass(frozen=True)
class History:
    """The history of a table for streams with these options."""

    store: TableStore

    @cached_property
    def mode(self) -> IncrementMode:
        made = self.store.has_primary_key and self.store.options[CHANGELOG_PRODUCER] != "none"
        return IncrementMode.CHANGELOG if made else IncrementMode.DELTA

    @cached_property
    def reads_overwrites(self) -> bool:
        options = self.store.options
        of_append = not self.store.has_primary_key and options[STREAMING_READ_APPEND_OVERWRITE]
        return options[STREAMING_READ_OVERWRITE] or of_append

    @cached_property
    def _finest(self) -> TableStore:
        """The table with splits that are as small as possible."""
        more = {SPLIT_TARGET_SIZE.key: "1 b", SPLIT_OPEN_FILE_COST.key: "0 b"}
        options = self.store.options
        return replace(self.store, options=TableOptions({**options.values, **more}))

    # -- snapshots ----------------------------------------------------------------------------------------------------
    def version(self, snapshot_id: int) -> Snapshot:
        """Return a snapshot with all its rows, possibly a tag's snapshot. Raises `SnapshotNotFoundError`."""
        found = find_snapshot(self.store, snapshot_id)
        tagged = () if found is not None else (t.snapshot for t in readable_tags(self.store))
        found = found or next((s for s in tagged if s.id == snapshot_id), None)
        if found is None:
            raise SnapshotNotFoundError(
                f"Snapshot {snapshot_id} of table {self.store.name} expired before the stream had read all its rows. "
                "Start the query with a new checkpoint, and with 'consumer-id', which keeps snapshots until they are "
                "read; or keep them longer by 'snapshot.time-retained' and 'snapshot.num-retained.min'."
            )
        return found

    def changes(self, snapshot_id: int) -> Snapshot | None:
        """Return the snapshot with its changes: the snapshot itself or its changelog.

        Return None if the changes do not exist.
        """
        found = find_snapshot(self.store, snapshot_id)
        if found is not None:
            return found
        kept = find_changelog(self.store, snapshot_id)  # written before its snapshot is deleted
        usable = kept is not None and (self.mode is IncrementMode.CHANGELOG or kept.changelog_manifest_list is None)
        return kept if usable else None

    def first_changes(self) -> int:
        """Return the number of the first snapshot with changes, or 1 if there is no snapshot yet."""
        earliest = earliest_snapshot(self.store)
        if earliest is None:
            return 1
        first = earliest.id
        for kept in reversed(changelog_ids(self.store)):
            if kept >= first:
                continue
            if kept != first - 1 or self.changes(kept) is None:
                break
            first = kept
        return first

    def first_since(self, millis: int, latest: int) -> int:
        """Return the first snapshot committed at a moment (epoch milliseconds) or later, or the number after `latest`
        if there is none."""
        low, high = self.first_changes(), latest + 1
        while low < high:  # commit times ascend with snapshot ids
            middle = (low + high) // 2
            snapshot = self.changes(middle)
            if snapshot is None or snapshot.time_millis < millis:  # None: it expired just now
                low = middle + 1
            else:
                high = middle
        return low

    # -- what to read -------------------------------------------------------------------------------------------------
    def steps(self, start: Position, until: int, now_millis: float) -> Iterator[Step]:
        """Yield the steps from a position up to and including snapshot `until`, which exists.

        They end before a snapshot that `scan.bounded.watermark` or `streaming.read.snapshot.delay` excludes. Raises
        `SnapshotNotFoundError` if the next changes expired, `InvalidSchemaError` for a change of the columns.
        """
        number, scan = start.next_snapshot, start.scan and not start.is_complete
        if scan:
            yield self.rows(number)
            number += 1
        while number <= until:
            snapshot = self.changes(number)
            if snapshot is None:
                raise self._expired(number)
            if self._is_past_end(snapshot, now_millis):
                return
            yield self.step(snapshot)
            number += 1

    def step(self, snapshot: Snapshot) -> Step:
        """Return the step that reads the changes of a snapshot."""
        check_followed(self.store, snapshot)
        is_overwrite = snapshot.commit_kind is CommitKind.OVERWRITE
        if is_overwrite and self.reads_overwrites:
            before = find_snapshot(self.store, snapshot.id - 1)
            if before is None and snapshot.id > 1:
                raise SnapshotNotFoundError(
                    f"Snapshot {snapshot.id} of table {self.store.name} replaced rows, and the snapshot before it, "
                    "which has the replaced rows, expired. To skip the snapshot, start the query without "
                    "'streaming-read-overwrite', or with a new checkpoint. 'consumer-id' keeps the snapshots that a "
                    "query needs."
                )
            whole = Increment(mode=IncrementMode.DIFF, start=before, end=snapshot)
            return Step(snapshot, False, self._sorted(snapshot, plan_increment(self._finest, whole).splits))
        has_changelog = self.mode is IncrementMode.CHANGELOG and snapshot.changelog_manifest_list is not None
        appends = self.mode is IncrementMode.DELTA and snapshot.commit_kind is CommitKind.APPEND
        if not (has_changelog or appends):
            return Step(snapshot, False, (), skips_overwrite=is_overwrite)
        single = Increment(mode=self.mode, end=snapshot, snapshots=(snapshot,))
        splits = list(plan_increment(self._finest, single).splits)
        if self._reads_postponed:
            postponed = replace(self._finest, options=self._finest.options.merged({SCAN_BUCKET.key: str(POSTPONED)}))
            splits += plan_increment(postponed, single).splits
        return Step(snapshot, False, self._sorted(snapshot, splits))

    def rows(self, snapshot_id: int) -> Step:
        """Return the step that reads all rows of a snapshot, except rows that a later changelog has."""
        snapshot, store = self.version(snapshot_id), self._finest
        check_followed(store, snapshot)
        producer = store.options[CHANGELOG_PRODUCER] if store.has_primary_key else "none"
        level = last_level(store.options) if producer == "full-compaction" else None
        since = files_since(store)
        plan = plan_scan(store, snapshot, level=level, since=since, compacted=producer == "lookup")
        postponed = postponed_splits(store, snapshot) if self._reads_postponed else []
        splits = (*self._sorted(snapshot, plan.splits), *(_of(snapshot, s) for s in postponed))
        return Step(snapshot, True, splits)

    @property
    def _reads_postponed(self) -> bool:
        """Return whether rows without a bucket are read.

        Without a changelog, the stream would not see them when they get a bucket."""
        store = self.store
        return store.has_primary_key and store.options[BUCKET] == POSTPONED and self.mode is IncrementMode.DELTA

    def _is_past_end(self, snapshot: Snapshot, now_millis: float) -> bool:
        bound, delay = self.store.options[SCAN_BOUNDED_WATERMARK], self.store.options[STREAMING_READ_DELAY]
        if bound is not None and snapshot.watermark is not None and snapshot.watermark > bound:
            return True
        return delay is not None and snapshot.time_millis > now_millis - delay

    def _sorted(self, snapshot: Snapshot, splits: Iterable[DataSplit]) -> tuple[DataSplit, ...]:
        found = sorted(splits, key=lambda s: (s.bucket_dir.rpartition("/")[0], s.bucket))
        return tuple(_of(snapshot, s) for s in found)

    def _expired(self, snapshot_id: int) -> SnapshotNotFoundError:
        return SnapshotNotFoundError(
            f"The stream cannot go on at snapshot {snapshot_id} of table {self.store.name}, which expired before the "
            f"stream read it: the first snapshot kept is {self.first_changes()}, so changes between them are lost. "
            "Start the query with a new checkpoint: it reads all rows first; 'scan.snapshot-id' sets another start. "
            "'consumer-id' keeps snapshots until they are read; 'snapshot.time-retained' and "
            "'snapshot.num-retained.min' keep them longer."
        )


def _of(snapshot: Snapshot, split: DataSplit) -> DataSplit:
    return replace(split, snapshot_id=snapshot.id, commit_millis=snapshot.time_millis)


def postponed_splits(store: TableStore, snapshot: Snapshot) -> list[DataSplit]:
    """Return a split per file without a bucket in a version, by partition.

    Return no splits if scans read such rows anyway.
    """
    if store.options[POSTPONE_MERGE_ON_READ]:
        return []
    found: dict[bytes, list[DataFileMeta]] = defaultdict(list)
    for manifest, rows in live_columns(store, data_manifests(store, snapshot)):
        for entry in manifest.entries(rows[manifest.buckets[rows] == POSTPONED]):
            found[entry.partition].append(entry.file)
    folders = sorted((store.bucket_dir(p, POSTPONED), p) for p in found)
    return [
        DataSplit(
            partition=partition,
            bucket=POSTPONED,
            bucket_dir=folder,
            files=(file,),
            needs_merge=file.delete_row_count != 0,
            kind=SplitKind.CHANGES,
        )
        for folder, partition in folders
        for file in arrival_order(found[partition])
    ]


def check_followed(store: TableStore, snapshot: Snapshot) -> None:
    """Raise `InvalidSchemaError` naming the change, if the stream's columns cannot represent the rows of a snapshot."""
    if snapshot.schema_id <= store.schema.id:
        return
    change = unfollowed(store.schema, read_schema(store, snapshot.schema_id))
    if change is not None:
        raise InvalidSchemaError(
            f"The stream cannot go on at snapshot {snapshot.id} of table {store.name}: since the query started, "
            f"{change}. Start the query again, with the same checkpoint: it reads the columns as they are now."
        )


def unfollowed(read: TableSchema, now: TableSchema) -> str | None:
    """Return the change between two schemas that requires a restart of the stream, in words, or None."""
    by_id = {f.id: f for f in now.fields}
    for field in read.fields:
        other = by_id.get(field.id)
        if other is None:
            return f"column {field.name!r} was dropped"
        if other.type.with_nullable(True) != field.type.with_nullable(True):
            return f"column {field.name!r} became {other.type.sql()} instead of {field.type.sql()}"
        if other.type.nullable and not field.type.nullable:
            return f"column {field.name!r} may be NULL"
    if read.primary_keys and not now.primary_keys:
        return "the primary key was dropped"
    return None
