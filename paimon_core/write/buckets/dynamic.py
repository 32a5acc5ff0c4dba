"""Dynamic buckets: a key goes to the bucket that already has its hash, a new key to a bucket that is not full yet.

Keys belong to assigners by their hash, and assigner A of N owns the buckets A, A + N, A + 2N, … of a partition. A
single task fills bucket after bucket up to `dynamic-bucket.target-row-num`. Parallel tasks may have keys of the same
hash, so they must choose alike: by the hash and by the committed buckets, which are the same for all tasks. One commit
may then fill a bucket beyond the target.

Each task reports the hashes that it added; the commit writes one index file per bucket of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.binary_rows import hash_rows
from paimon_core.dataclass import dataclass
from paimon_core.errors import CorruptFileError, InvalidDataError
from paimon_core.io.failure import on_failure
from paimon_core.options import (
    DYNAMIC_BUCKET_ASSIGNERS,
    DYNAMIC_BUCKET_INITIAL,
    DYNAMIC_BUCKET_MAX,
    DYNAMIC_BUCKET_TARGET_ROWS,
)
from paimon_core.spec.hashing.murmur import murmur3_row
from paimon_core.spec.index_manifest import HASH_INDEX, IndexFileMeta
from paimon_core.spec.manifest import BucketKey
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.indexes.index_files import (
    delete_new_indexes,
    index_entries,
    index_path,
    new_index_name,
    read_index_file,
    write_index_file,
)
from paimon_core.store.named_files import files_of
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.table_store import TableStore

_STORED = np.dtype(">i4")
_MOST_BUCKETS = 2**15 - 1
_ARITY_BYTES = 4
Hashes = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class AssignmentBase:
    """The common base of all tasks of a write.

    `snapshot` is the version with the valid hash indexes. A new table and an overwrite have None, because no key keeps
    an old bucket. But if a key can be in any partition, an overwrite of some partitions has a `snapshot`, for the keys
    of the other partitions.

    `tasks` is the number of tasks, 0 if unknown. `replaced` are the partitions that an overwrite replaces; None means
    every partition that gets rows.
    """

    snapshot: Snapshot | None
    tasks: int = 0
    overwrites: bool = False
    replaced: PartitionFilter | None = None


@dataclass(frozen=True, slots=True)
class Assigners:
    """The assigners of keys to buckets in a partition: `count` of them. The partition decides which of the `channels`
    is the first.
    """

    count: int
    channels: int
    most_buckets: int

    @staticmethod
    def of(store: TableStore, tasks: int) -> Assigners:
        most = store.options[DYNAMIC_BUCKET_MAX]
        channels = store.options[DYNAMIC_BUCKET_ASSIGNERS] or max(tasks, 1)
        if most > 0:
            channels = min(channels, most)
        count = min(store.options[DYNAMIC_BUCKET_INITIAL] or channels, channels)
        return Assigners(count, channels, min(most, _MOST_BUCKETS) if most > 0 else _MOST_BUCKETS)

    def slots(self, partition: bytes, hashes: Hashes) -> NDArray[np.int64]:
        """Return the first bucket of each hash's assigner, shape (hashes,)."""
        start = abs(int(np.fmod(murmur3_row(partition[_ARITY_BYTES:]), self.channels)))
        own = np.abs(np.fmod(hashes.astype(np.int64), self.count))
        return (start + own) % self.channels % self.count


@dataclass(slots=True)
class PartitionBuckets:
    """The keys of a partition. `hashes` are in ascending order, and `buckets` has the bucket of each hash; shapes
    (keys,).
    """

    hashes: Hashes
    buckets: NDArray[np.int32]
    counts: dict[int, int]
    added: dict[int, list[Hashes]] = field(default_factory=dict)

    def find(self, hashes: Hashes) -> NDArray[np.int32]:
        """Return the bucket of each hash, -1 for a new hash; shape (hashes,)."""
        if not len(self.hashes):
            return np.full(len(hashes), -1, dtype=np.int32)
        indices = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        return np.where(self.hashes[indices] == hashes, self.buckets[indices], np.int32(-1))

    def add(self, hashes: Hashes, buckets: NDArray[np.int32]) -> None:
        """Add new hashes, in any order, with their buckets."""
        for bucket in np.unique(buckets).tolist():
            self.added.setdefault(bucket, []).append(hashes[buckets == bucket])
        every, where = np.concatenate([self.hashes, hashes]), np.concatenate([self.buckets, buckets])
        order = np.argsort(every, kind="stable")
        self.hashes, self.buckets = every[order], where[order]


class DynamicBuckets:
    """Assigns the rows of a task to their buckets."""

    def __init__(self, store: TableStore, base: AssignmentBase):
        self._store, self._base = store, base
        self._target = store.options[DYNAMIC_BUCKET_TARGET_ROWS]
        self._assigners = Assigners.of(store, base.tasks)
        self._partitions: dict[bytes, PartitionBuckets] = {}

    def __call__(self, partition: bytes, rows: pa.RecordBatch) -> NDArray[np.int32]:
        """Return the bucket number of each row; all rows are of one partition. Shape (rows,)."""
        fields = self._store.schema.key_fields
        hashes = hash_rows([rows.column(f.name) for f in fields], [f.type for f in fields])
        known = self._partitions.get(partition)
        if known is None:
            known = self._partitions[partition] = load_partition(self._store, self._base.snapshot, partition)
        buckets = known.find(hashes)
        if (buckets < 0).any():
            unique, first = np.unique(hashes[buckets < 0], return_index=True)
            fresh = unique[np.argsort(first)]  # in order of arrival
            known.add(fresh, self.new_buckets(partition, fresh, known.counts))
            buckets = known.find(hashes)
        return buckets

    def finish(self, messages: Iterable[CommitMessage]) -> list[CommitMessage]:
        """Return the messages, with index files of the hashes that are new in their buckets."""
        latest = self._base.snapshot
        base = None if self._base.overwrites else 0 if latest is None else latest.id
        finished: list[CommitMessage] = []
        with on_failure(lambda: delete_new_indexes(self._store, finished)):
            for message in messages:
                finished.append(replace(message, index_base=base, new_index_files=self._index_files(message)))
        return finished

    def _index_files(self, message: CommitMessage) -> tuple[IndexFileMeta, ...]:
        known = self._partitions.get(message.partition)
        added = known.added.get(message.bucket, []) if known else []
        return (write_hashes(self._store, message.key, np.concatenate(added)),) if added else ()

    def new_buckets(self, partition: bytes, hashes: Hashes, counts: dict[int, int]) -> NDArray[np.int32]:
        """Assign buckets of a partition to new hashes, and update `counts`, the number of keys per bucket."""
        slots = self._assigners.slots(partition, hashes)
        buckets = np.empty(len(hashes), dtype=np.int32)
        for slot in np.unique(slots).tolist():
            members = np.flatnonzero(slots == slot)
            buckets[members] = self._fill(slot, hashes[members], counts)
        return buckets

    def _fill(self, slot: int, hashes: Hashes, counts: dict[int, int]) -> NDArray[np.int32]:
        """Assign buckets of one assigner to new hashes. A single task fills one bucket after another. Each of several
        tasks puts all new hashes of the assigner into the same bucket.
        """
        step, most = self._assigners.count, self._assigners.most_buckets
        only_task = self._base.tasks == 1
        result = np.empty(len(hashes), dtype=np.int32)
        done = 0
        for bucket in range(slot, most, step):
            room = self._target - counts.get(bucket, 0)
            if room <= 0:
                continue
            taken = min(room, len(hashes) - done) if only_task else len(hashes)
            result[done : done + taken] = bucket
            done += taken
            if only_task:
                counts[bucket] = counts.get(bucket, 0) + taken
            if done == len(hashes):
                return result
        if self._store.options[DYNAMIC_BUCKET_MAX] <= 0:
            raise InvalidDataError(
                f"A partition of table {self._store.name} has no bucket left for new keys: it has {most} buckets of "
                f"{self._target} keys. Raise '{DYNAMIC_BUCKET_TARGET_ROWS.key}'."
            )
        # All buckets are full: the buckets with the highest allowed numbers share the rest.
        own = np.arange(slot, most, step, dtype=np.int32)
        result[done:] = own[np.abs(hashes[done:].astype(np.int64)) // step % len(own)]
        return result


def load_partition(store: TableStore, snapshot: Snapshot | None, partition: bytes) -> PartitionBuckets:
    """Return the keys of a partition in a version. Raises `CorruptFileError`, `StorageError`."""
    entries = [
        e for e in index_entries(store, snapshot) if e.partition == partition and e.file.index_type == HASH_INDEX
    ]
    parts = [(e.bucket, read_hashes(store, (partition, e.bucket), e.file)) for e in entries]
    if not parts:
        return PartitionBuckets(np.empty(0, np.int32), np.empty(0, np.int32), {})
    hashes = np.concatenate([h for _, h in parts])
    buckets = np.concatenate([np.full(len(h), bucket, dtype=np.int32) for bucket, h in parts])
    order = np.argsort(hashes, kind="stable")
    return PartitionBuckets(hashes[order], buckets[order], {bucket: len(h) for bucket, h in parts})


def read_hashes(store: TableStore, bucket: BucketKey, file: IndexFileMeta) -> Hashes:
    """Return the hashes of an index file. Raises `CorruptFileError`, `DataFileMissingError`, `StorageError`."""
    path = index_path(store, *bucket, file)
    data = read_index_file(store, path)
    with files_of(store):
        return decode_hashes(path, data, file.row_count)


def write_hashes(store: TableStore, bucket: BucketKey, hashes: Hashes) -> IndexFileMeta:
    """Write an index file of hashes. Each hash must occur once."""
    data = encode_hashes(hashes)
    file = IndexFileMeta(index_type=HASH_INDEX, file_name=new_index_name(), file_size=len(data), row_count=len(hashes))
    return write_index_file(store, bucket, file, data)


# a hash index, `index/index-UUID-N` of type HASH, has the hashes of the keys in a bucket: int32 big endian, in no
# order. The hash is murmur3 of the BinaryRow of the trimmed primary key. Source: specification, "Table Index"
def encode_hashes(hashes: NDArray[np.int32]) -> bytes:
    """Return the bytes of an index file, 4 per hash."""
    return hashes.astype(_STORED).tobytes()


def decode_hashes(path: str, data: bytes, count: int) -> NDArray[np.int32]:
    """Return the hashes of an index file.

    Its metadata counts `count` hashes; another number raises `CorruptFileError`.
    """
    if len(data) != count * _STORED.itemsize:
        raise CorruptFileError(path, f"it has {len(data)} bytes, but {count} hashes need 4 bytes each")
    return np.frombuffer(data, dtype=_STORED).astype(np.int32)
