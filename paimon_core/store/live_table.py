"""The live data files of a version as an Arrow table, without an object for each file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow.columns import int64_array
from paimon_core.expressions.constants import array_of
from paimon_core.manifests.entries import EntryColumns, Rows
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.manifests import data_manifests, live_columns
from paimon_core.store.table_store import TableStore

LIVE_FILES = pa.schema(
    [
        ("partition", pa.binary()),
        ("bucket", pa.int64()),
        ("level", pa.int64()),
        ("size", pa.int64()),
        ("rows", pa.int64()),
        ("created", pa.int64()),
        ("name", pa.binary()),
    ]
)


def live_table(store: TableStore, snapshot: Snapshot | None) -> pa.Table:
    """Return the live files of a version: the columns of `LIVE_FILES`.

    `partition` is a BinaryRow, `size` is in bytes. `created` is the wall clock of the writer in milliseconds since
    1970, or NULL. Files of postponed buckets are left out: their rows are not part of the table yet.
    """
    found = () if snapshot is None else live_columns(store, data_manifests(store, snapshot))
    batches = [pa.RecordBatch.from_arrays(list(_columns(m, rows)), schema=LIVE_FILES) for m, rows in _in_buckets(found)]
    return pa.Table.from_batches(batches, LIVE_FILES).combine_chunks()


def run_counts(files: pa.Table) -> dict[tuple[bytes, int], int]:
    """Return the number of sorted runs of each bucket, by partition and bucket, in the files of `live_table`."""
    each = pa.array(range(-len(files), 0), pa.int64())  # a file of level 0 is a run by itself
    runs = files.append_column("run", pc.if_else(pc.equal(files["level"], 0), each, files["level"]))
    counts = runs.group_by(["partition", "bucket"]).aggregate([("run", "count_distinct")])
    columns = (counts[name].to_pylist() for name in ("partition", "bucket", "run_count_distinct"))
    return {(partition, bucket): count for partition, bucket, count in zip(*columns, strict=True)}


def _in_buckets(found: Iterable[tuple[EntryColumns, Rows]]) -> Iterator[tuple[EntryColumns, Rows]]:
    for manifest, rows in found:
        kept = rows[manifest.buckets[rows] >= 0]
        if len(kept):
            yield manifest, kept


def _columns(manifest: EntryColumns, rows: Rows) -> Iterator[pa.Array]:
    """Yield the columns of `LIVE_FILES` for rows of a manifest."""
    taken = int64_array(rows)
    yield array_of(manifest.partitions, pa.binary()).take(int64_array(manifest.partition_codes[rows]))
    yield int64_array(manifest.buckets[rows])
    yield int64_array(manifest.levels[rows])
    yield manifest.file_numbers("_FILE_SIZE").take(taken)
    yield int64_array(manifest.row_counts[rows])
    yield manifest.file_numbers("_CREATION_TIME").take(taken)
    yield manifest.names.take(taken)
