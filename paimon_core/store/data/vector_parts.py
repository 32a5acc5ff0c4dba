"""VECTOR columns in files of their own (`vector.file.format`): which columns these are, and their rows in a range.

A `.vector.FORMAT` file has VECTOR columns of consecutive rows of a range. If several files have a row, the newest file
counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from paimon_core.dataclass import dataclass
from paimon_core.errors import UnfamiliarFormError
from paimon_core.lazy import ImportedOnCall
from paimon_core.options import VECTOR_FILE_FORMAT, TableOptions
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.row_ranges import RowRange, first_row
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import DataField, VectorType
from paimon_core.store.file_fields import fields_of_file
from paimon_core.store.table_store import TableStore

if TYPE_CHECKING:
    from paimon_core.store.indexes.global_indexes import RowSpan, without
else:
    without = ImportedOnCall("paimon_core.store.indexes.global_indexes", "without")


@dataclass(frozen=True, slots=True)
class Piece:
    """The rows `start` to before `end` of a range, by position in the range. They are in `file`; the first row of the
    file has the position `first`."""

    start: int
    end: int
    first: int
    file: DataFileMeta


def vector_file_fields(schema: TableSchema, options: TableOptions) -> tuple[DataField, ...]:
    """Return the columns with values in files of their own."""
    if options[VECTOR_FILE_FORMAT] is None:
        return ()
    return tuple(f for f in schema.fields if isinstance(f.type, VectorType))


def pieces_of(
    store: TableStore, rows: RowRange, fields: Iterable[DataField]
) -> dict[tuple[Piece, ...], list[DataField]]:
    """Divide the rows of a range among the files that have the columns. Columns in the same files are together.

    Raises `UnfamiliarFormError` if some rows are in no file."""
    found: dict[tuple[Piece, ...], list[DataField]] = defaultdict(list)
    for field in fields:
        holders = [h for h in rows.all_files if any(f.id == field.id for f in fields_of_file(store, h))]
        found[_newest(rows, holders)].append(field)
    return found


def _newest(rows: RowRange, files: Sequence[DataFileMeta]) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    left: list[RowSpan] = [(0, rows.count)]
    for file in sorted(files, key=lambda f: (f.max_sequence_number, f.file_name), reverse=True):
        first = first_row(file) - rows.first
        own = first, first + file.row_count
        both = [(max(start, own[0]), min(end, own[1])) for start, end in left]
        pieces += [Piece(start, end, first, file) for start, end in both if start < end]
        left = without(left, [own])
    if left:
        low, high = left[0][0] + rows.first, left[0][1] + rows.first - 1
        raise UnfamiliarFormError(files[0].file_name, f"no file has the vectors of rows {low} to {high}")
    return tuple(sorted(pieces, key=lambda p: p.start))
