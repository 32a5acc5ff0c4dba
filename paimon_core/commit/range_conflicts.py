"""Conflicts of files with data evolution: a new file that has only some columns must fit the live files.

1. It has exactly the rows of a live range, as all files of the range have. A `.blob` or `.vector.FORMAT` file may have
   a part of these rows.
2. No other commit has written one of its columns since the version that the writer read.

A commit that removes rows, because it writes them anew with other ids, removes all files of their row range.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from paimon_core.commit.attempt import Attempt, Conflict
from paimon_core.options import DATA_EVOLUTION
from paimon_core.spec.manifest import DataFileMeta, FileKind, FileSource, ManifestEntry
from paimon_core.spec.row_ranges import is_part
from paimon_core.store.indexes.global_indexes import joined, without

Bounds = tuple[int, int]  # the first row id, and the first one after the range


def range_conflict(attempt: Attempt) -> Conflict | None:
    """Find row ranges that another commit has changed since this writer read their rows: it compacted them, or wrote
    the same columns.

    `rows_base` of the change is the snapshot in which the writer read the rows (0 for an empty table), or None if the
    change writes no columns.
    """
    base, entries = attempt.change.rows_base, attempt.entries
    if not attempt.store.options[DATA_EVOLUTION]:
        return None
    added = [e for e in entries if e.kind is FileKind.ADD and e.file.first_row_id is not None]
    removed = removed_rows(entries)
    if not added and not removed:
        return None
    deleted = {e.identifier for e in entries if e.kind is FileKind.DELETE}
    kept = _by_partition(e for i, e in attempt.live.items() if i not in deleted and e.file.first_row_id is not None)
    for partition, spans in removed.items():
        reason = _left_behind(kept.get(partition, []), spans)
        if reason is not None:
            return Conflict(reason)
    for partition, new in _by_partition(added).items():
        (files, parts), (new_files, new_parts) = _without_parts(kept.get(partition, [])), _without_parts(new)
        reason = (
            _overlap([*files, *new_files])
            or _overwritten(files, new_files, base)
            or _missing_rows([*files, *new_files], new_parts)
            or _overwritten_parts(parts, new_parts, base)
        )
        if reason is not None:
            return Conflict(reason)
    return None


def removed_rows(entries: Iterable[ManifestEntry]) -> dict[bytes, list[Bounds]]:
    """Return the rows with ids that entries remove from each partition, as ordered spans."""
    whole = [e for e in entries if e.file.first_row_id is not None and not is_part(e.file)]
    gone, there = (_by_partition(e for e in whole if e.kind is kind) for kind in (FileKind.DELETE, FileKind.ADD))
    spans = {p: without(joined(map(_bounds, of)), joined(map(_bounds, there.get(p, ())))) for p, of in gone.items()}
    return {partition: of for partition, of in spans.items() if of}


def _left_behind(kept: Iterable[DataFileMeta], spans: Sequence[Bounds]) -> str | None:
    for file in kept:
        first, end = _bounds(file)
        if any(first < high and low < end for low, high in spans):
            return (
                f"file {file.file_name} has values of rows {first} to {end - 1}, which this commit writes anew: "
                "another commit has written them meanwhile"
            )
    return None


def _without_parts(files: Sequence[DataFileMeta]) -> tuple[list[DataFileMeta], list[DataFileMeta]]:
    """Return the files of whole row ranges, and separately the files of BLOB and VECTOR columns alone."""
    return [f for f in files if not is_part(f)], [f for f in files if is_part(f)]


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
                f"files {last.file_name} and {file.file_name} share only some of their rows, because rows were "
                "compacted while others were updated"
            )
        last = file
    return None


def _overwritten(live: Iterable[DataFileMeta], new: Iterable[DataFileMeta], base: int | None) -> str | None:
    if base is None:  # files of another table
        return None
    ranges: dict[Bounds, list[DataFileMeta]] = defaultdict(list)
    for file in live:
        ranges[_bounds(file)].append(file)
    for file in new:
        if file.file_source != FileSource.APPEND:
            continue
        first, end = _bounds(file)
        if (first, end) not in ranges:
            return f"rows {first} to {end - 1}, which this commit updates, are no longer a row range of the table"
        for other in ranges[first, end]:
            if other.max_sequence_number > base and _share_columns(file, other):
                return f"another commit has written the same columns of rows {first} to {end - 1} since they were read"
    return None


def _missing_rows(files: Iterable[DataFileMeta], parts: Iterable[DataFileMeta]) -> str | None:
    ranges = {_bounds(f) for f in files}
    for first, end in map(_bounds, parts):
        if not any(low <= first and end <= high for low, high in ranges):
            return f"rows {first} to {end - 1}, which this commit adds values to, are no longer within a row range"
    return None


def _overwritten_parts(live: Iterable[DataFileMeta], new: Sequence[DataFileMeta], base: int | None) -> str | None:
    for other in live:
        for file in new if base is not None and other.max_sequence_number > base else ():
            (first, end), (low, high) = _bounds(file), _bounds(other)
            if first < high and low < end and _share_columns(file, other):
                return f"another commit has written the same columns of rows {first} to {end - 1} since they were read"
    return None


def _share_columns(one: DataFileMeta, other: DataFileMeta) -> bool:
    if one.write_cols is None or other.write_cols is None or one.schema_id != other.schema_id:
        return True  # names of different schemas may mean the same column
    return not set(one.write_cols).isdisjoint(other.write_cols)


def _bounds(file: DataFileMeta) -> Bounds:
    first = file.first_row_id or 0
    return first, first + file.row_count
