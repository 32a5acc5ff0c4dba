"""Writing primary-key tables: rows become sorted level-0 files that contain each key once.

Rows come in any order, as Arrow batches, and may exceed the memory. They pass four stages:

1. `FileRows` gives each row its key columns, row kind and sequence number (numbers count up: they are the age of rows
   of a key).
2. `WriteBuffer` collects batches up to `write-buffer-size`. It keeps the keys as words beside them, numpy arrays that
   compare as the keys do (`lsm/keys.py`), so one `argsort` sorts a full buffer.
3. A full buffer is merged: the merge engine makes one row of all rows of a key. The result is a sorted run. If more
   rows follow, it is spilled to the local disk (`SpilledRuns`): so a task writes a file per bucket, not one per buffer.
4. At the end, the runs are merged as a read merges files, from old to young. Each merged batch is divided by partition
   and bucket among `BucketWriters`.

The buffer is ordered by partition, then key. So at stage 4 one partition follows the other, and its files end with it.
With `changelog-producer` = `input`, all rows of a buffer, sorted but not merged, also go to changelog files. If keys
may move between partitions (`CrossPartition`), each buffer is written at once: the partitions of its keys are looked up
in the table and in the rows that this task wrote before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

import pyarrow as pa

from paimon_core.arrow.binary_rows import row_bytes
from paimon_core.lsm.keys import bounded
from paimon_core.lsm.merge import merge_rows, merge_runs, sorted_rows
from paimon_core.options import BUCKET, DYNAMIC, WRITE_BUFFER_SIZE
from paimon_core.spec.message import CommitMessage
from paimon_core.store.data.bucket_files import merge_spec
from paimon_core.store.snapshots import latest_snapshot
from paimon_core.store.table_store import TableStore
from paimon_core.write.bucket_writers import BucketWriters
from paimon_core.write.buckets.bucketing import BucketFunction, partition_codes, split_by
from paimon_core.write.buckets.cross_partition import CrossPartition, in_first_partitions, merges_where_it_is
from paimon_core.write.buckets.dynamic import AssignmentBase, DynamicBuckets
from paimon_core.write.files.changelog_files import changelog_store, takes_input
from paimon_core.write.files.data_files import FileRole
from paimon_core.write.rows.changed_keys import ChangedKeys
from paimon_core.write.rows.spilled_runs import SpilledRuns
from paimon_core.write.rows.stored import FileRows
from paimon_core.write.rows.write_buffer import WriteBuffer


class KeyValueWriter:
    """The `TableWriter` of primary-key tables.

    Rows are kept in a buffer of `write-buffer-size`. A full buffer is sorted, merged and spilled to the local disk, and
    at the end all spilled runs are merged into files. If the options do not allow more spilling, all runs are merged
    and written at once, and later rows go to new files.

    Sequence numbers count rows in order of arrival: the last row of a key wins. `once`: a row must not be changed
    twice, as in a MERGE. `base` is the base for assigning dynamic buckets; without it, buckets fill less evenly.
    `FileRows` explains `counted`, and a `sequence_start` of None. BLOBs of `counted` rows are descriptors, which stay.
    """

    def __init__(
        self,
        store: TableStore,
        sequence_start: int | None,
        once: bool = False,
        base: AssignmentBase | None = None,
        *,
        counted: bool = False,
    ):
        self._schema = schema = store.schema
        self._order = tuple(dict.fromkeys(schema.partition_keys + schema.trimmed_primary_keys))
        if schema.cross_partition_update:
            self._order = schema.primary_keys
        self._spec = merge_spec(store, drop_delete=False)
        self._rows = FileRows(store, self._spec.engine, sequence_start, counted=counted)
        buckets = store.options[BUCKET]
        self._merges_where_it_is = merges_where_it_is(store)
        self._dynamic: DynamicBuckets | CrossPartition | None = None
        if buckets == DYNAMIC:
            assign = CrossPartition if schema.cross_partition_update else DynamicBuckets
            self._dynamic = assign(store, base or AssignmentBase(latest_snapshot(store)))
        else:
            self._fixed = BucketFunction.of(store)
        self._writers = BucketWriters(store, FileRole(stored=counted), buckets)
        self._changelog = BucketWriters(changelog_store(store), FileRole(), buckets) if takes_input(store) else None
        self._buffer = WriteBuffer(self._order, store.options[WRITE_BUFFER_SIZE])
        self._spilled = SpilledRuns(store.options)
        self._changed = ChangedKeys(self._order, store.options) if once else None

    def write(self, batch: pa.RecordBatch) -> None:
        for rows in bounded(iter([self._rows(batch)]), self._order):
            if not self._buffer.offer(rows):
                self._make_room()
                self._buffer.offer(rows)

    def finish(self) -> list[CommitMessage]:
        self._flush(self._sorted(more=False))
        messages = self._writers.finish()
        if self._changelog is not None:
            changes = {m.key: m.new_files for m in self._changelog.finish()}
            messages = [replace(m, new_changelog=changes.get(m.key, ())) for m in messages]
        return messages if self._dynamic is None else self._dynamic.finish(messages)

    def abort(self) -> None:
        self._buffer.drain()
        self._spilled.clear()
        if self._changed is not None:
            self._changed.clear()
        self._writers.abort()
        if self._changelog is not None:
            self._changelog.abort()

    def _routed(self, rows: pa.RecordBatch) -> Iterator[tuple[bytes, int, pa.RecordBatch]]:
        """Yield a partition, a bucket and the rows for it, one partition after the other."""
        if isinstance(self._dynamic, CrossPartition):
            yield from self._dynamic(rows)
            return
        for _, part in split_by(rows, partition_codes(rows, self._schema.partition_keys)):
            partition = row_bytes(part, 0, self._schema.partition_fields)
            buckets = self._fixed(part) if self._dynamic is None else self._dynamic(partition, part)
            for bucket, share in split_by(part, buckets):
                yield partition, bucket, share

    def _make_room(self) -> None:
        rows = self._sorted(more=True)
        # the partitions of keys are looked up once per buffer
        if rows is None or isinstance(self._dynamic, CrossPartition) or not self._spilled.has_room():
            self._flush(rows)
        else:
            self._spilled.add(rows)

    def _sorted(self, *, more: bool) -> pa.RecordBatch | None:
        """Return the rows of the buffer, merged to one per key, in key order. All rows go to the changelog. `more`:
        other buffers follow."""
        drained = self._buffer.drain()
        if drained is None:
            return None
        rows, key = drained
        if self._changed is not None:
            self._changed.add(rows, key, more=more)
        if self._merges_where_it_is:
            rows = in_first_partitions(rows, key, self._schema.partition_keys)
        if self._changelog is not None and not isinstance(self._dynamic, CrossPartition):
            self._divide([sorted_rows(rows, key, self._spec)], [self._changelog])
        return merge_rows(rows, key, self._spec)

    def _flush(self, rows: pa.RecordBatch | None) -> None:
        """Write the spilled runs, then these rows, and end the files."""
        runs = self._spilled.runs() if rows is None else [*self._spilled.runs(), iter([rows])]
        merged = merge_runs(runs, replace(self._spec, key_names=self._order)) if len(runs) > 1 else chain(*runs)
        changes = self._changelog if isinstance(self._dynamic, CrossPartition) else None
        self._divide(merged, [self._writers] if changes is None else [self._writers, changes])
        self._spilled.clear()

    def _divide(self, batches: Iterable[pa.RecordBatch], writers: Sequence[BucketWriters]) -> None:
        before: bytes | None = None
        for partition, bucket, share in chain.from_iterable(map(self._routed, batches)):
            for writer in writers:
                if partition != before:
                    writer.roll()
                writer.write(partition, bucket, share)
            before = partition
        for writer in writers:
            writer.roll()
