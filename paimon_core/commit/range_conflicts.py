"""Whether files with data evolution still fit the live ones: a pure decision, a sentence or None.

1. A file of columns has the rows of a live range, and a range's files have exactly the same rows.
2. Nobody else has written one of its columns since the version its rows were read in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from paimon_core.spec.manifest import DataFileMeta, FileIdentifier, FileKind, FileSource, ManifestEntry
from paimon_core.spec.row_ranges import is_blob

Bounds = tuple[int, int]


def find_range_conflict(
    live: Mapping[FileIdentifier, ManifestEntry], delta: Sequence[ManifestEntry], base: int | None
) -> str | None:
    """What makes `delta` impossible on top of `live` (its partitions' files); `base` is the snapshot (0: none) in
    which the rows of its columns were read, None where it writes none."""
    added = [e for e in delta if e.kind is FileKind.ADD and e.file.first_row_id is not None and not is_blob(e.file)]
    if not added:
        return None
    gone = {e.identifier for e in delta if e.kind is FileKind.DELETE}
    kept: dict[bytes, list[DataFileMeta]] = defaultdict(list)
    for identifier, entry in live.items():
        if identifier not in gone and entry.file.first_row_id is not None and not is_blob(entry.file):
            kept[entry.partition].append(entry.file)
    for partition, new in _by_partition(added).items():
        problem = _overlap([*kept[partition], *new]) or _overwritten(kept[partition], new, base)
        if problem is not None:
            return problem
    return None


def _by_partition(entries: Iterable[ManifestEntry]) -> dict[bytes, list[DataFileMeta]]:
    found: dict[bytes, list[DataFileMeta]] = defaultdict(list)
    for entry in entries:
        found[entry.partition].append(entry.file)
    return found


def _overlap(files: Iterable[DataFileMeta]) -> str | None:
    last: DataFileMeta | None = None
    for file in sorted(files, key=_bounds):
        if last is not None and _bounds(file) != _bounds(last) and _bounds(file)[0] < _bounds(last)[1]:
            return (
                f"files {last.file_name} and {file.file_name} share rows in part, since rows were compacted while "
                "others were updated"
            )
        last = file
    return None


def _overwritten(live: Iterable[DataFileMeta], new: Iterable[DataFileMeta], base: int | None) -> str | None:
    ranges: dict[Bounds, list[DataFileMeta]] = defaultdict(list)
    for file in live:
        ranges[_bounds(file)].append(file)
    for file in new:
        if file.file_source != FileSource.APPEND:
            continue
        first, end = _bounds(file)
        if (first, end) not in ranges:
            return f"rows {first} to {end - 1}, of which it writes columns, are no longer there"
        for other in ranges[first, end]:
            if other.max_sequence_number > (base or 0) and _share_columns(file, other):
                return f"another commit has written the same columns of rows {first} to {end - 1} since they were read"
    return None


def _share_columns(one: DataFileMeta, other: DataFileMeta) -> bool:
    if one.write_cols is None or other.write_cols is None or one.schema_id != other.schema_id:
        return True  # names of different schemas may mean the same column
    return not set(one.write_cols).isdisjoint(other.write_cols)


def _bounds(file: DataFileMeta) -> Bounds:
    first = file.first_row_id or 0
    return first, first + file.row_count
