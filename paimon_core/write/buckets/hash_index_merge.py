"""One hash index per bucket of what several tasks added to it and what it had: what a commit takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from paimon_core.io.failure import on_failure
from paimon_core.spec.index_manifest import HASH_INDEX, IndexFileMeta
from paimon_core.spec.message import CommitMessage, index_base_of
from paimon_core.store.indexes.index_files import Bucket, delete_index_files, index_entries
from paimon_core.store.snapshots import find_snapshot
from paimon_core.store.table_store import TableStore
from paimon_core.write.buckets.dynamic import read_hashes, write_hashes


@dataclass(frozen=True, slots=True)
class MergedIndexes:
    """Messages to commit, and the index files that exist because of it: `merged` ones for the `parts` of tasks."""

    messages: Sequence[CommitMessage]
    merged: Mapping[Bucket, Sequence[IndexFileMeta]] = field(default_factory=dict)
    parts: Mapping[Bucket, Sequence[IndexFileMeta]] = field(default_factory=dict)


def merge_hash_indexes(store: TableStore, messages: Sequence[CommitMessage]) -> MergedIndexes:
    """The messages with one new hash index per bucket, which replaces the one it had in the version they build on.

    Raises `CorruptFileError`, `StorageError`; nothing is left behind then but what the messages name.
    """
    parts: dict[Bucket, list[IndexFileMeta]] = defaultdict(list)
    for message in messages:
        parts[message.partition, message.bucket] += _hash_files(message)
    if not any(parts.values()):
        return MergedIndexes(messages)
    base = index_base_of(messages)
    known = index_entries(store, find_snapshot(store, base) if base else None)
    before = {(e.partition, e.bucket): e.file for e in known if e.file.index_type == HASH_INDEX}
    merged: dict[Bucket, IndexFileMeta] = {}
    with on_failure(lambda: delete_hash_indexes(store, {place: [file] for place, file in merged.items()})):
        for place, files in parts.items():
            every = [*files, *([before[place]] if place in before else [])]
            if files and len(every) > 1:
                hashes = np.unique(np.concatenate([read_hashes(store, place, f) for f in every]))
                merged[place] = write_hashes(store, place, hashes)
    with_merged = _with_merged(messages, merged, before)
    return MergedIndexes(with_merged, {p: [f] for p, f in merged.items()}, {p: parts[p] for p in merged})


def delete_hash_indexes(store: TableStore, files: Mapping[Bucket, Sequence[IndexFileMeta]]) -> None:
    """Remove index files that no snapshot names."""
    for place, unused in files.items():
        delete_index_files(store, *place, unused)


def _with_merged(
    messages: Iterable[CommitMessage], merged: Mapping[Bucket, IndexFileMeta], before: Mapping[Bucket, IndexFileMeta]
) -> list[CommitMessage]:
    left, result = dict(merged), list[CommitMessage]()
    for message in messages:
        place = message.partition, message.bucket
        if place not in merged:
            result.append(message)
            continue
        others = tuple(f for f in message.new_index_files if f.index_type != HASH_INDEX)
        file = left.pop(place, None)  # the first message of a bucket brings the file
        added = () if file is None else (file,)
        gone = (before[place],) if file is not None and place in before else ()
        result.append(
            replace(
                message,
                new_index_files=others + added,
                deleted_index_files=message.deleted_index_files + gone,
            )
        )
    return result


def _hash_files(message: CommitMessage) -> list[IndexFileMeta]:
    return [f for f in message.new_index_files if f.index_type == HASH_INDEX]
