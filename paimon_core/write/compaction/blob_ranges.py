"""Compacting `.blob` files, with `blob-compaction.enabled`: files of a column in neighbouring rows become one, or
several if the values exceed `blob.target-file-size`.

Stored values are copied as they are, without decoding. Of a row with several values, the newest is kept. The new file
has the largest sequence number of the old files, so that a value that another commit writes meanwhile is newer. A file
cannot have rows of several row ranges, so files of several ranges are combined only together with these ranges. An
update of one row replaces all values of the range, so small compactions wait for `compaction.min.file-num` files, as
they do for data files. Java's compactions take any two files. Source: Java's Paimon 2.1,
`DataEvolutionBlobCompactTask`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from paimon_core.dataclass import dataclass
from paimon_core.options import BLOB_COMPACTION, BLOB_TARGET_FILE_SIZE
from paimon_core.spec.manifest import DataFileMeta, FileSource
from paimon_core.spec.row_ranges import RowRange, first_row, is_blob
from paimon_core.spec.types import DataField
from paimon_core.store.blob.columns import blob_file_fields
from paimon_core.store.blob.row_ranges import newest_values
from paimon_core.store.data.evolved_files import holds
from paimon_core.store.table_store import TableStore
from paimon_core.write.files.blob_files import BlobColumnWriter
from paimon_core.write.files.data_files import target_file_size
from paimon_core.write.files.new_paths import NewPaths


@dataclass(frozen=True, slots=True)
class BlobFiles:
    """The `.blob` files of a column that are combined: they have all rows from the first to the last."""

    field: DataField
    files: tuple[DataFileMeta, ...]

    @property
    def rows(self) -> RowRange:
        first = min(first_row(f) for f in self.files)
        return RowRange(first, max(first_row(f) + f.row_count for f in self.files) - first, ())


def due_blobs(
    store: TableStore, ranges: Iterable[RowRange], merged: Sequence[Sequence[RowRange]], least: int
) -> list[BlobFiles]:
    """Return the files to combine, `least` or more into one. `merged` are the groups of `ranges` that a compaction
    combines."""
    if not store.options[BLOB_COMPACTION]:
        return []
    firsts = {r.first for group in merged for r in group}
    spans = (*merged, *([r] for r in ranges if r.first not in firsts))
    target = store.options[BLOB_TARGET_FILE_SIZE] or target_file_size(store)
    fields = blob_file_fields(store.schema, store.options)
    found = (BlobFiles(f, tuple(files)) for span in spans for f in fields for files in _due(store, span, f, target))
    return [b for b in found if len(b.files) >= least]


def blob_writer(store: TableStore, bucket_dir: str, blobs: BlobFiles) -> BlobColumnWriter:
    """Return a writer of the files that combine others."""
    paths, size = NewPaths(store, bucket_dir), target_file_size(store)
    return BlobColumnWriter(store, blobs.field, paths, size, stored=True, source=FileSource.COMPACT)


def combine(store: TableStore, bucket_dir: str, writer: BlobColumnWriter, blobs: BlobFiles) -> list[DataFileMeta]:
    """Write the newest values of the files to new files. Raises the same errors as `newest_values`."""
    rows = blobs.rows
    for file, start, count in newest_values(store, bucket_dir, rows, blobs.files):
        writer.copy(file, start, count)
    new = writer.roll()
    firsts = accumulate((f.row_count for f in new), initial=rows.first)
    low, high = min(f.min_sequence_number for f in blobs.files), max(f.max_sequence_number for f in blobs.files)
    return [
        replace(file, first_row_id=first, min_sequence_number=low, max_sequence_number=high)
        for file, first in zip(new, firsts, strict=False)
    ]


def _due(store: TableStore, span: Sequence[RowRange], field: DataField, target: int) -> Iterator[list[DataFileMeta]]:
    """Group files of a column that follow one another without a gap, up to the target size. Files of the same rows are
    in one group."""
    parts = (p for r in span for p in r.parts if is_blob(p) and holds(store, p, field))
    group: list[DataFileMeta] = []
    for files in [*_sharing_rows(parts), None]:
        is_full = files is not None and len(files) == 1 and files[0].file_size >= target
        if files is None or is_full or sum(f.file_size for f in group) >= target or first_row(files[0]) > _end(group):
            if group:
                yield group
            group = []
        group = group if files is None or is_full else [*group, *files]


def _sharing_rows(files: Iterable[DataFileMeta]) -> list[list[DataFileMeta]]:
    """Divide files, in the order of their rows, so that no two parts have rows in common."""
    found: list[list[DataFileMeta]] = []
    for file in sorted(files, key=first_row):
        if found and first_row(file) < _end(found[-1]):
            found[-1].append(file)
        else:
            found.append([file])
    return found


def _end(files: Iterable[DataFileMeta]) -> int:
    """Return the id after the last row of files, or the largest number without files."""
    return max((first_row(f) + f.row_count for f in files), default=2**63)
