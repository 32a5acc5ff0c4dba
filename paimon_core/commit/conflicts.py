"""Whether a change still fits the live files it is put on: pure decisions, each a sentence or None.

1. A change deletes only files that are live, and adds only files that are not.
2. All files of a partition are of the same number of buckets.
3. Above level 0 the files of a bucket's level share no keys.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from paimon_core.lsm.runs import key_range, share_keys
from paimon_core.spec.manifest import FileIdentifier, FileKind, ManifestEntry
from paimon_core.spec.types import DataType

Live = Mapping[FileIdentifier, ManifestEntry]


def find_conflict(live: Live, delta: Sequence[ManifestEntry], key_types: Sequence[DataType]) -> str | None:
    """What makes `delta` impossible on top of `live` (its partitions' files), None where nothing does.

    `key_types` are those of the trimmed primary key; empty for append tables.
    """
    after = dict(live)
    problem = _apply(after, delta)
    if problem is None:
        problem = _changed_buckets(after.values())
    if problem is None and key_types and any(e.file.level > 0 for e in delta if e.kind is FileKind.ADD):
        problem = _overlap(after.values(), delta, key_types)
    return problem


def _apply(after: dict[FileIdentifier, ManifestEntry], delta: Sequence[ManifestEntry]) -> str | None:
    deleted = set()
    for entry in delta:
        name, known = entry.file.file_name, entry.identifier in after
        if entry.kind is FileKind.DELETE:
            if not known:
                return f"file {name} of bucket {entry.bucket}, which this commit replaces, is no longer live"
            del after[entry.identifier]
            deleted.add(entry.identifier)
        elif known or entry.identifier in deleted:
            return f"file {name} of bucket {entry.bucket}, which this commit adds, is there already"
        else:
            after[entry.identifier] = entry
    return None


def _changed_buckets(entries: Iterable[ManifestEntry]) -> str | None:
    totals: dict[bytes, int] = {}
    for entry in entries:
        total = totals.setdefault(entry.partition, entry.total_buckets)
        if entry.total_buckets > 0 and total > 0 and total != entry.total_buckets:
            return (
                f"it writes a partition with a new bucket num {entry.total_buckets}, but the previous bucket num is "
                f"{total}; after a change of 'bucket' a partition is to be overwritten, or CALL sys.rescale run on it, "
                "before rows are added"
            )
    return None


def _overlap(
    entries: Iterable[ManifestEntry], delta: Sequence[ManifestEntry], key_types: Sequence[DataType]
) -> str | None:
    changed = {(e.partition, e.bucket, e.file.level) for e in delta if e.kind is FileKind.ADD and e.file.level > 0}
    levels = defaultdict(list)
    for entry in entries:
        place = entry.partition, entry.bucket, entry.file.level
        if place in changed:
            levels[place].append(key_range(entry.file, key_types))
    for (_, bucket, level), ranges in levels.items():
        both = share_keys(ranges)
        if both is not None:
            names = " and ".join(r.file.file_name for r in both)
            return f"files {names} share keys on level {level} of bucket {bucket}"
    return None
