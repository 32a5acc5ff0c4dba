"""Delete rows of append tables by deletion vectors: positions of rows in, commit messages with new index files out.

A commit merges new vectors with the vectors of the version before, and replaces their index files. With fixed buckets,
a bucket has one index file. Without fixed buckets, an index file ends at `deletion-vector.index-file.target-size`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidDataError, UnsupportedFeatureError
from paimon_core.indexes.deletion_vector import Positions, encode_vectors
from paimon_core.io.failure import on_failure
from paimon_core.options import BUCKET, DELETION_VECTOR_BITMAP64, DELETION_VECTOR_FILE_SIZE, DELETION_VECTORS
from paimon_core.spec.index_manifest import DELETION_VECTORS_INDEX, IndexFileMeta, IndexManifestEntry
from paimon_core.spec.manifest import BucketKey
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.indexes.index_files import (
    delete_index_files,
    delete_new_indexes,
    index_entries,
    index_path,
    new_index_name,
    read_vectors,
    write_index_file,
)
from paimon_core.store.table_store import TableStore

_NO_BOUND = 2**62


@dataclass(frozen=True, slots=True)
class IndexChange:
    """Index files that a commit adds to a bucket, and index files that it deletes."""

    new: tuple[IndexFileMeta, ...] = ()
    deleted: tuple[IndexFileMeta, ...] = ()


def delete_rows(
    store: TableStore, snapshot: Snapshot | None, deletions: Mapping[BucketKey, Mapping[str, Positions]]
) -> list[CommitMessage]:
    """Return messages that delete rows of an append table.

    `deletions` has, per bucket and data file, ascending positions of rows in the file on disk, from 0. Already deleted
    rows may be among them. `snapshot` is the version that was read.

    Raises `UnsupportedFeatureError` if the table has no deletion vectors, `CorruptFileError`, `StorageError`; then no
    new file is kept. `abort` deletes the files of returned messages.
    """
    if store.has_primary_key or not store.options[DELETION_VECTORS]:
        raise UnsupportedFeatureError(
            f"Table {store.name} cannot mark rows as deleted: it needs '{DELETION_VECTORS.key}' = 'true', and no "
            "primary key."
        )
    known = index_entries(store, snapshot)
    messages: list[CommitMessage] = []
    with on_failure(lambda: delete_new_indexes(store, messages)):
        for bucket, vectors in deletions.items():
            change = changed_vectors(store, bucket, vectors_of(known, bucket), vectors)
            if change.new or change.deleted:
                messages.append(_message(store, bucket, change))
    return messages


def vectors_of(entries: Iterable[IndexManifestEntry], bucket: BucketKey) -> list[IndexFileMeta]:
    """Return the index files of a bucket that have deletion vectors."""
    own = (e.file for e in entries if (e.partition, e.bucket) == bucket)
    return [f for f in own if f.index_type == DELETION_VECTORS_INDEX]


def changed_vectors(
    store: TableStore,
    bucket: BucketKey,
    files: Sequence[IndexFileMeta],
    added: Mapping[str, Positions],
    removed: frozenset[str] = frozenset(),
) -> IndexChange:
    """Write the deletion vectors of a bucket.

    `files` are the bucket's index files. Add the positions `added` to their vectors, and leave out the vectors of the
    data files `removed`. Unchanged index files are not written again."""
    vectors = {name: _ascending(name, positions) for name, positions in added.items() if len(positions)}
    changing = vectors.keys() | removed
    single = store.options[BUCKET] > 0 or store.has_primary_key  # readers expect one index file in such a bucket
    touched = [f for f in files if (single and vectors) or any(v.data_file in changing for v in f.dv_ranges or ())]
    kept: dict[str, Positions] = {}
    for file in touched:
        path = index_path(store, *bucket, file)
        stay = [v for v in file.dv_ranges or () if v.data_file not in removed]
        kept |= read_vectors(store, path, stay)
    for name, positions in vectors.items():
        kept[name] = np.union1d(kept[name], positions) if name in kept else positions
    return IndexChange(_write(store, bucket, kept, single=single), tuple(touched))


def _write(
    store: TableStore, bucket: BucketKey, vectors: Mapping[str, Positions], *, single: bool
) -> tuple[IndexFileMeta, ...]:
    target = _NO_BOUND if single else store.options[DELETION_VECTOR_FILE_SIZE]
    written: list[IndexFileMeta] = []
    with on_failure(lambda: delete_index_files(store, *bucket, written)):
        for data, metas in encode_vectors(
            vectors, bitmap64=store.options[DELETION_VECTOR_BITMAP64], target_size=target
        ):
            file = IndexFileMeta(
                index_type=DELETION_VECTORS_INDEX,
                file_name=new_index_name(),
                file_size=len(data),
                row_count=len(metas),
                dv_ranges=metas,
            )
            written.append(write_index_file(store, bucket, file, data))
    return tuple(written)


def _ascending(name: str, positions: Positions) -> Positions:
    found = np.asarray(positions, dtype=np.int64)
    if found[0] < 0 or (found[1:] <= found[:-1]).any():
        raise InvalidDataError(f"The positions of deleted rows of {name} are invalid: they must ascend from 0 on.")
    return found


def _message(store: TableStore, bucket: BucketKey, change: IndexChange) -> CommitMessage:
    return CommitMessage(
        partition=bucket[0],
        bucket=bucket[1],
        total_buckets=store.options[BUCKET],
        new_index_files=change.new,
        deleted_index_files=change.deleted,
    )
