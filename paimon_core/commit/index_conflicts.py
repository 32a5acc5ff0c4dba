"""Whether a change of index files fits the version it is put on: pure decisions, each a sentence or None.

1. A change deletes only index files that are there, and adds only files that are not.
2. A bucket has one hash index; a data file has one deletion vector.
3. Deletion vectors are added for live data files only, and go with their data file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from paimon_core.spec.index_manifest import HASH_INDEX, IndexManifestEntry
from paimon_core.spec.manifest import FileIdentifier, FileKind, ManifestEntry
from paimon_core.store.partitions import PartitionFilter


def index_after(before: Iterable[IndexManifestEntry], delta: Sequence[IndexManifestEntry]) -> list[IndexManifestEntry]:
    """The index files of the version after: what is deleted goes, what is added comes last."""
    deleted = {e.file.file_name for e in delta if e.kind is FileKind.DELETE}
    kept = [e for e in before if e.file.file_name not in deleted]
    return kept + [e for e in delta if e.kind is FileKind.ADD]


def hash_files(entries: Iterable[IndexManifestEntry], partitions: PartitionFilter) -> frozenset[str]:
    """The names of the hash indexes of some partitions."""
    hashes = (e for e in entries if e.file.index_type == HASH_INDEX)
    return frozenset(e.file.file_name for e in hashes if partitions.holds(e.partition))


def find_index_conflict(
    before: Sequence[IndexManifestEntry],
    delta: Sequence[IndexManifestEntry],
    live: Mapping[FileIdentifier, ManifestEntry],
    entries: Sequence[ManifestEntry],
) -> str | None:
    """What makes `delta` impossible on top of `before`, together with the data files `entries` on top of `live`."""
    if not before and not delta:
        return None
    after = index_after(before, delta)
    problem = _apply(before, delta) or _repeated(after)
    return problem or _without_file(delta, live, entries) or _left_behind(after, entries)


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
    hashed = Counter(e.place for e in after if e.file.index_type == HASH_INDEX)
    for (_, bucket, _), count in hashed.items():
        if count > 1:
            return f"bucket {bucket} would have {count} hash indexes"
    marked = Counter(v.data_file for e in after for v in e.file.dv_ranges or ())
    for name, count in marked.items():
        if count > 1:
            return f"rows of data file {name} were deleted by another commit meanwhile"
    return None


def _without_file(
    delta: Iterable[IndexManifestEntry], live: Mapping[FileIdentifier, ManifestEntry], entries: Iterable[ManifestEntry]
) -> str | None:
    added = [v.data_file for e in delta if e.kind is FileKind.ADD for v in e.file.dv_ranges or ()]
    if not added:
        return None
    names = {(e.file.file_name, e.file.level) for e in live.values()}
    for entry in entries:
        (names.add if entry.kind is FileKind.ADD else names.discard)((entry.file.file_name, entry.file.level))
    known = {name for name, _ in names}
    gone = next((name for name in added if name not in known), None)
    return None if gone is None else f"data file {gone}, of which this commit deletes rows, is no longer live"


def _left_behind(after: Iterable[IndexManifestEntry], entries: Iterable[ManifestEntry]) -> str | None:
    added = {e.file.file_name for e in entries if e.kind is FileKind.ADD}
    removed = {e.file.file_name for e in entries if e.kind is FileKind.DELETE} - added
    marked = (v.data_file for e in after for v in e.file.dv_ranges or ())
    left = next((name for name in marked if name in removed), None)
    return None if left is None else f"rows of data file {left}, which this commit replaces, were deleted meanwhile"
