"""The rules that decide whether a change of index files fits the latest version.

1. A change deletes only index files that exist, and adds only files that do not.
2. A bucket has one hash index; a data file has one deletion vector.
3. Deletion vectors are added for live data files only, and are deleted with their data file.
4. An index of a level of a keyed bucket is added only if it covers the level's compacted files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from paimon_core.commit.attempt import Attempt, Conflict, Live
from paimon_core.spec.index_manifest import HASH_INDEX, IndexManifestEntry
from paimon_core.spec.level_sources import LevelSources
from paimon_core.spec.manifest import FileKind, ManifestEntry


def index_conflict(attempt: Attempt) -> Conflict | None:
    """Find index files that are deleted or added twice, or that mark rows of data files that no longer exist."""
    before, delta, entries = attempt.indexes, attempt.index_entries, attempt.entries
    if not before and not delta:
        return None
    after = attempt.indexes_after
    reason = (
        _apply(before, delta)
        or _repeated(after)
        or _without_data_file(delta, attempt.live, entries)
        or _without_vector(after, entries)
        or _of_other_files(delta, attempt.live, entries)
    )
    return None if reason is None else Conflict(reason)


def _apply(before: Iterable[IndexManifestEntry], delta: Iterable[IndexManifestEntry]) -> str | None:
    names = {e.file.file_name for e in before}
    for entry in delta:
        name = entry.file.file_name
        if (entry.kind is FileKind.DELETE) != (name in names):
            state = "is no longer there" if entry.kind is FileKind.DELETE else "is there already"
            return f"index file {name} of bucket {entry.bucket} {state}"
        names ^= {name}
    return None


def _repeated(after: Sequence[IndexManifestEntry]) -> str | None:
    hashed = Counter(e.bucket_and_type for e in after if e.file.index_type == HASH_INDEX)
    for (_, bucket, _), count in hashed.items():
        if count > 1:
            return f"bucket {bucket} would have {count} hash indexes"
    marked = Counter(v.data_file for e in after for v in e.file.dv_ranges or ())
    for name, count in marked.items():
        if count > 1:
            return f"another commit deleted rows of data file {name} meanwhile"
    return None


def _without_data_file(delta: Iterable[IndexManifestEntry], live: Live, entries: Iterable[ManifestEntry]) -> str | None:
    marked = [v.data_file for e in delta if e.kind is FileKind.ADD for v in e.file.dv_ranges or ()]
    if not marked:
        return None
    files = {(e.file.file_name, e.file.level) for e in live.values()}  # an upgrade is the same file on another level
    for entry in entries:
        (files.add if entry.kind is FileKind.ADD else files.discard)((entry.file.file_name, entry.file.level))
    names = {name for name, _ in files}
    missing = next((name for name in marked if name not in names), None)
    return None if missing is None else f"data file {missing} is no longer live, and this commit deletes rows of it"


def _without_vector(after: Iterable[IndexManifestEntry], entries: Iterable[ManifestEntry]) -> str | None:
    """Find a data file that this commit deletes although another commit gave it a deletion vector."""
    added = {e.file.file_name for e in entries if e.kind is FileKind.ADD}
    deleted = {e.file.file_name for e in entries if e.kind is FileKind.DELETE} - added
    marked = (v.data_file for e in after for v in e.file.dv_ranges or ())
    name = next((name for name in marked if name in deleted), None)
    return None if name is None else f"another commit deleted rows of data file {name}, which this commit replaces"


def _of_other_files(delta: Iterable[IndexManifestEntry], live: Live, entries: Iterable[ManifestEntry]) -> str | None:
    """Find a new index of a level that another commit changed while the index was made."""
    added = [(e, e.file.global_index) for e in delta if e.kind is FileKind.ADD]
    levels = [(e, LevelSources.decode(m.source_meta)) for e, m in added if m is not None and m.source_meta is not None]
    if not levels:
        return None
    after = {(e.partition, e.bucket, e.file.file_name, e.file.level): e.file for e in live.values()}
    for entry in entries:
        key = (entry.partition, entry.bucket, entry.file.file_name, entry.file.level)
        if entry.kind is FileKind.ADD:
            after[key] = entry.file
        else:
            after.pop(key, None)
    for index, sources in levels:
        own = [
            f for (partition, bucket, *_), f in after.items() if (partition, bucket) == (index.partition, index.bucket)
        ]
        if sources is not None and LevelSources.of(sources.level, own) != sources:
            return f"another commit changed level {sources.level} of bucket {index.bucket} while its index was made"
    return None
