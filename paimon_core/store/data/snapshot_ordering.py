"""`sequence.snapshot-ordering`: the newest row of a key is the row in the latest snapshot, whatever writer made it.

A file of new rows has the id of its snapshot as the sequence number in its metadata. The rows in the file keep their
writer's numbers; reading replaces them by the snapshot's id. Compactions write the replaced numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from paimon_core.arrow.columns import int64_array
from paimon_core.arrow.types import SEQUENCE_NUMBER
from paimon_core.options import SNAPSHOT_ORDERING, TableOptions
from paimon_core.spec.manifest import DataFileMeta, FileKind, FileSource, ManifestEntry


def stamped(entries: Iterable[ManifestEntry], snapshot_id: int) -> list[ManifestEntry]:
    """Set the snapshot's id as the sequence number of the files with new rows that a snapshot adds."""
    return [_stamped(e, snapshot_id) if e.kind is FileKind.ADD else e for e in entries]


def in_snapshot_order(
    options: TableOptions, file: DataFileMeta, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Replace the sequence numbers in a file's batches by its snapshot's id, if the table's options require it."""
    if not options[SNAPSHOT_ORDERING] or file.file_source != FileSource.APPEND:
        return batches
    return (_numbered(batch, file.max_sequence_number) for batch in batches)


def _stamped(entry: ManifestEntry, snapshot_id: int) -> ManifestEntry:
    file = replace(entry.file, min_sequence_number=snapshot_id, max_sequence_number=snapshot_id)
    return replace(entry, file=file)


def _numbered(batch: pa.RecordBatch, number: int) -> pa.RecordBatch:
    index = batch.schema.get_field_index(SEQUENCE_NUMBER)
    if index < 0:
        return batch
    numbers = int64_array(np.full(batch.num_rows, number, dtype=np.int64))
    return batch.set_column(index, batch.schema.field(index), numbers)
