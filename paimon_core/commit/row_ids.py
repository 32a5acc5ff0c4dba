"""Row tracking: a commit numbers the rows of its new files, and gives them its snapshot id as their version."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from paimon_core.arrow.types import ROW_ID
from paimon_core.spec.manifest import TO_BE_NUMBERED, DataFileMeta, FileKind, FileSource, ManifestEntry
from paimon_core.spec.row_ranges import first_row, is_part


def number_rows(
    entries: Iterable[ManifestEntry], snapshot_id: int, next_row_id: int
) -> tuple[list[ManifestEntry], int]:
    """Give ids to the new rows of a snapshot's entries, from `next_row_id` up. Return the entries, and the next unused
    id.

    If rows were in the table before, their file stores the ids in a column, or its metadata has the first id. Files of
    another table come with their ids, and these are not used again. A `.blob` or `.vector.FORMAT` file gets the ids of
    the data file before it; several such files of the same columns share these ids in order.
    """
    entries = list(entries)
    known = [e.file for e in entries if e.kind is FileKind.ADD and e.file.first_row_id is not None]
    next_row_id = max([next_row_id, *(first_row(f) + f.row_count for f in known)])
    numbered = []
    part_ids: dict[tuple[str, ...] | None, int] = {}
    first = next_row_id
    for entry in entries:
        file = entry.file
        if entry.kind is FileKind.ADD:
            file = _versioned(file, snapshot_id)
            if _is_new(file) and is_part(file):
                start = part_ids.get(file.write_cols, first)
                file, part_ids[file.write_cols] = replace(file, first_row_id=start), start + file.row_count
            elif _is_new(file):
                first, part_ids = next_row_id, {}
                file, next_row_id = replace(file, first_row_id=next_row_id), next_row_id + file.row_count
        numbered.append(replace(entry, file=file))
    return numbered, next_row_id


def grouped(entries: Iterable[ManifestEntry]) -> list[ManifestEntry]:
    """Group the entries by partition, in the order of each partition's first entry, so that neighbouring rows can be
    compacted."""
    partitions: dict[bytes, list[ManifestEntry]] = defaultdict(list)
    for entry in entries:
        partitions[entry.partition].append(entry)
    return [e for group in partitions.values() for e in group]


def _is_new(file: DataFileMeta) -> bool:
    has_ids = file.first_row_id is not None or (file.write_cols is not None and ROW_ID in file.write_cols)
    return not has_ids and file.file_source == FileSource.APPEND


def _versioned(file: DataFileMeta, snapshot_id: int) -> DataFileMeta:
    """Set the snapshot number as the version of rows that are new or changed in this snapshot."""
    low, high = file.min_sequence_number, file.max_sequence_number
    if low == TO_BE_NUMBERED:
        return replace(file, min_sequence_number=snapshot_id, max_sequence_number=snapshot_id)
    return replace(file, max_sequence_number=snapshot_id) if high == TO_BE_NUMBERED else file
