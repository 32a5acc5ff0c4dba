"""`sequence.snapshot-ordering`: the newest row of a key is the row in the latest snapshot, whatever writer made it.

In the metadata of a file of new rows, the sequence numbers are the id of its snapshot. The rows in the file keep their
writer's numbers, and are read with the snapshot's number. Compactions write the rows as read.
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
    """Set the snapshot id in the added files of a snapshot with new rows."""
    return [_stamped(e, snapshot_id) if e.kind is FileKind.ADD else e for e in entries]


def in_snapshot_order(
    options: TableOptions, file: DataFileMeta, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Number the batches of a file by its snapshot, if the table's options require it."""
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
