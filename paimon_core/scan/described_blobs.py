"""Replace descriptors in BLOB columns by the values that they refer to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from paimon_core import compute as pc
from paimon_core.errors import DataFileMissingError
from paimon_core.lazy import ImportedOnCall
from paimon_core.store.blob.columns import descriptor_fields, reads_rows_to_change
from paimon_core.store.blob.values import DescribedBlobs
from paimon_core.store.table_store import TableStore

if TYPE_CHECKING:
    from paimon_core.arrow.blob_parts import blob_parts, row_sums
    from paimon_core.store.blob.values import is_descriptor
    from paimon_core.store.external.files import check_pack
else:
    blob_parts = ImportedOnCall("paimon_core.arrow.blob_parts", "blob_parts")
    row_sums = ImportedOnCall("paimon_core.arrow.blob_parts", "row_sums")
    is_descriptor = ImportedOnCall("paimon_core.store.blob.values", "is_descriptor")
    check_pack = ImportedOnCall("paimon_core.store.external.files", "check_pack")


def with_values(
    store: TableStore, batches: Iterator[pa.RecordBatch], described: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Replace descriptors in the columns `described` by values, in smaller batches if values are large. In rows to be
    written again, descriptors stay in place of values that look like descriptors.

    Raises `InvalidDataError` if the file of a descriptor does not have its value, `DataFileMissingError` for a missing
    pack, `NotAllowedError` for packs in folders that the table must not read, `StorageError`.
    """
    blobs = DescribedBlobs.of(store)
    check, missing = partial(check_pack, store), partial(_missing, store)
    again = reads_rows_to_change(store.options)
    elsewhere = {f.name for f in descriptor_fields(store.schema, store.options)}
    for batch in batches:
        for rows in _pieces(batch, blobs, described):
            for name in described:
                index = rows.schema.get_field_index(name)
                parts, with_parts = blob_parts(rows.column(index))
                values = blobs.resolved(parts) if name in elsewhere else blobs.resolved(parts, check, missing)
                if again and (alike := is_descriptor(values)).any():
                    values = pc.if_else(pa.array(alike), parts.cast(values.type), values)
                rows = rows.set_column(index, rows.schema.field(index), with_parts(values.cast(pa.binary())))
            yield rows


def _missing(store: TableStore, path: str) -> DataFileMissingError:
    return DataFileMissingError(
        f"File {path} with BLOBs of table {store.name} is missing: it was deleted, or its snapshot expired. Run the "
        "query again, or roll back to a snapshot that still has its files."
    )


def _pieces(batch: pa.RecordBatch, blobs: DescribedBlobs, described: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Divide the rows into pieces of values that are fetched at once."""
    columns = (batch.column(name) for name in described)
    ends = np.cumsum(np.sum([row_sums(c, blobs.sizes(blob_parts(c)[0])) for c in columns], axis=0))
    start = 0
    while start < len(ends):
        before = ends[start - 1] if start else 0
        end = max(start + 1, int(np.searchsorted(ends, before + blobs.at_once, side="right")))
        yield batch.slice(start, end - start)
        start = end
