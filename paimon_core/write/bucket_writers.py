"""The writers of all buckets that a task writes, with limits on open files and memory."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import field

import pyarrow as pa

from paimon_core.dataclass import dataclass
from paimon_core.spec.manifest import BucketKey
from paimon_core.spec.message import CommitMessage
from paimon_core.store.partition_times import check_partition_time
from paimon_core.store.table_store import TableStore
from paimon_core.write.files.data_files import DataFileWriter, FileRole

MAX_OPEN_WRITERS = 64
MAX_BUFFERED_BYTES = 256 * 2**20


@dataclass(slots=True)
class BucketWriters:
    """The writers of a task. At most `MAX_OPEN_WRITERS` of them (or one per bucket) have an open file, and they buffer
    at most `MAX_BUFFERED_BYTES` together."""

    store: TableStore
    role: FileRole
    total_buckets: int
    _writers: dict[BucketKey, DataFileWriter] = field(default_factory=dict)
    _open: OrderedDict[BucketKey, DataFileWriter] = field(default_factory=OrderedDict)

    def write(self, partition: bytes, bucket: int, batch: pa.RecordBatch) -> None:
        """Pass rows to the bucket's writer."""
        self.writer(partition, bucket).write(batch)
        while sum(w.buffered for w in self._open.values()) > MAX_BUFFERED_BYTES:
            max(self._open.values(), key=lambda w: w.buffered).flush()

    def writer(self, partition: bytes, bucket: int) -> DataFileWriter:
        """Return the bucket's writer, a new one if needed. If too many files are open, close another one."""
        key = (partition, bucket)
        if key not in self._writers:
            check_partition_time(self.store, partition)
            self._writers[key] = DataFileWriter(self.store, self.store.bucket_dir(partition, bucket), self.role)
        self._open[key] = self._writers[key]
        self._open.move_to_end(key)
        if len(self._open) > max(MAX_OPEN_WRITERS, self.total_buckets):
            self._open.popitem(last=False)[1].roll()
        return self._writers[key]

    def roll(self) -> None:
        """End all open files."""
        while self._open:
            self._open.popitem()[1].roll()

    def finish(self) -> list[CommitMessage]:
        self.roll()
        return [
            CommitMessage(
                partition=partition,
                bucket=bucket,
                total_buckets=self.total_buckets,
                new_files=tuple(writer.finished),
            )
            for (partition, bucket), writer in self._writers.items()
            if writer.finished
        ]

    def abort(self) -> None:
        for writer in self._writers.values():
            writer.abort()
        self._writers.clear()
        self._open.clear()
