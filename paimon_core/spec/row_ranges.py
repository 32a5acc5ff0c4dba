"""Row ranges: with data evolution, several files have columns of the same rows.

A file of n rows with `_FIRST_ROW_ID` f has rows f to f + n - 1. Files of the same rows are a range: each has the
columns in its `_WRITE_COLS`, and if several files have a column, the newest file counts. Deleted rows are marked at the
oldest file, the anchor. A `.blob` file has one column, of rows within a range; a `.vector.FORMAT` file has VECTOR
columns of such rows.
Source: documentation, "Data Evolution".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from paimon_core.dataclass import dataclass
from paimon_core.errors import UnfamiliarFormError
from paimon_core.spec.manifest import DataFileMeta

_BLOB, _VECTOR = ".blob", ".vector."


@dataclass(frozen=True, slots=True)
class RowRange:
    """The rows `first` to `first + count - 1`.

    `files` have all these rows, newest first. `parts` have some of them: BLOB and VECTOR columns in files of their own.
    """

    first: int
    count: int
    files: tuple[DataFileMeta, ...]
    parts: tuple[DataFileMeta, ...] = ()

    @property
    def anchor(self) -> DataFileMeta:
        """The file to which marks of deleted rows refer."""
        return self.files[-1]

    @property
    def all_files(self) -> tuple[DataFileMeta, ...]:
        return self.files + self.parts

    @property
    def is_plain(self) -> bool:
        """Return whether one file has all columns of the rows."""
        return len(self.files) == 1 and not self.parts


def row_ranges(files: Iterable[DataFileMeta]) -> list[RowRange]:
    """Return the ranges of a bucket's files, in the order of their rows. Raises `CorruptFileError`."""
    ranges: list[RowRange] = []
    group: list[DataFileMeta] = []
    end = -1
    for file in sorted(files, key=first_row):
        if group and first_row(file) >= end:
            ranges.append(_range_of(group))
            group = []
        group.append(file)
        end = max(end, first_row(file) + file.row_count)
    return [*ranges, _range_of(group)] if group else ranges


def first_row(file: DataFileMeta) -> int:
    """Return the id of a file's first row. Raises `UnfamiliarFormError` if metadata does not have it."""
    if file.first_row_id is None:
        raise UnfamiliarFormError(
            file.file_name,
            "its metadata has no first row id, which 'data-evolution.enabled' = 'true' needs",
            "if the file is older than this option, set it to 'false' again: no engine reads the table with it",
        )
    return file.first_row_id


def is_blob(file: DataFileMeta) -> bool:
    return file.file_name.endswith(_BLOB)


def is_part(file: DataFileMeta) -> bool:
    """Return whether a file has columns of some rows of a range: a `.blob` file, or a `.vector.FORMAT` file."""
    return is_blob(file) or _VECTOR in file.file_name


def _range_of(group: Sequence[DataFileMeta]) -> RowRange:
    whole = sorted(
        (f for f in group if not is_part(f)), key=lambda f: (f.max_sequence_number, f.file_name), reverse=True
    )
    parts = tuple(f for f in group if is_part(f))
    if not whole:
        raise UnfamiliarFormError(parts[0].file_name, "no data file has the other columns of its rows")
    first, count = first_row(whole[0]), whole[0].row_count
    inside = all(first <= first_row(f) and first_row(f) + f.row_count <= first + count for f in parts)
    if not inside or any((f.first_row_id, f.row_count) != (first, count) for f in whole):
        names = ", ".join(f"{f.file_name} (rows {f.first_row_id} to {first_row(f) + f.row_count - 1})" for f in group)
        raise UnfamiliarFormError(whole[0].file_name, f"row ranges overlap in part: {names}")
    return RowRange(first, count, tuple(whole), parts)
