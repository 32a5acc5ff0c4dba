"""Merge the present hash index of a bucket with the hashes that several tasks added, so that a commit has one index per
bucket."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from paimon_core.dataclass import dataclass
from paimon_core.io.failure import on_failure
from paimon_core.spec.index_manifest import HASH_INDEX, IndexFileMeta
from paimon_core.spec.manifest import BucketKey
from paimon_core.spec.message import CommitMessage, index_base_of
from paimon_core.store.indexes.index_files import delete_index_files, index_entries
from paimon_core.store.snapshots import find_snapshot
from paimon_core.store.table_store import TableStore
from paimon_core.write.buckets.dynamic import read_hashes, write_hashes


@dataclass(frozen=True, slots=True)
class MergedIndexes:
    """The messages to commit, and the index files of the merge. `merged` are the new files, `parts` are the tasks'
    files, which they replace.
    """

    messages: Sequence[CommitMessage]
    merged: Mapping[BucketKey, Sequence[IndexFileMeta]] = field(default_factory=dict)
    parts: Mapping[BucketKey, Sequence[IndexFileMeta]] = field(default_factory=dict)


def merge_hash_indexes(store: TableStore, messages: Sequence[CommitMessage]) -> MergedIndexes:
    """Return the messages with one new hash index per bucket, which replaces the bucket's index in the base version.

    Raises `CorruptFileError`, `StorageError`. In this case all new files are deleted, except the files that the
    messages name.
    """
    parts: dict[BucketKey, list[IndexFileMeta]] = defaultdict(list)
    for message in messages:
        parts[message.key] += _hash_files(message)
    if not any(parts.values()):
        return MergedIndexes(messages)
    base = index_base_of(messages)
    known = index_entries(store, find_snapshot(store, base) if base else None)
    before = {(e.partition, e.bucket): e.file for e in known if e.file.index_type == HASH_INDEX}
    merged: dict[BucketKey, IndexFileMeta] = {}
    with on_failure(lambda: delete_hash_indexes(store, {bucket: [file] for bucket, file in merged.items()})):
        for bucket, files in parts.items():
            every = [*files, *([before[bucket]] if bucket in before else [])]
            if files and len(every) > 1:
                hashes = np.unique(np.concatenate([read_hashes(store, bucket, f) for f in every]))
                merged[bucket] = write_hashes(store, bucket, hashes)
    with_merged = _with_merged(messages, merged, before)
    return MergedIndexes(with_merged, {p: [f] for p, f in merged.items()}, {p: parts[p] for p in merged})


def delete_hash_indexes(store: TableStore, files: Mapping[BucketKey, Sequence[IndexFileMeta]]) -> None:
    """Delete index files that are not in any snapshot."""
    for bucket, unused in files.items():
        delete_index_files(store, *bucket, unused)


def _with_merged(
    messages: Iterable[CommitMessage],
    merged: Mapping[BucketKey, IndexFileMeta],
    before: Mapping[BucketKey, IndexFileMeta],
) -> list[CommitMessage]:
    unused, result = dict(merged), list[CommitMessage]()
    for message in messages:
        bucket = message.key
        if bucket not in merged:
            result.append(message)
            continue
        others = tuple(f for f in message.new_index_files if f.index_type != HASH_INDEX)
        file = unused.pop(bucket, None)  # the first message of a bucket brings the file
        added = () if file is None else (file,)
        replaced = (before[bucket],) if file is not None and bucket in before else ()
        result.append(
            replace(
                message,
                new_index_files=others + added,
                deleted_index_files=message.deleted_index_files + replaced,
            )
        )
    return result


def _hash_files(message: CommitMessage) -> list[IndexFileMeta]:
    return [f for f in message.new_index_files if f.index_type == HASH_INDEX]
