"""UPDATE of one column of an append table: a file of many columns, of which a row in a thousand changes.

    update_columns.py [--rows 1000000] [--columns 5 20 50]

Prints seconds and peak resident memory, each in a process of its own, and the ratio to decoding and encoding all the
columns of the same file.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from memory import peak_bytes

from paimon_core.arrow.types import FILE_PATH, ROW_INDEX
from paimon_core.commit.draft import CommitInfo
from paimon_core.row_level.patches import PatchWriter, patch_job
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.paths import data_file_path
from paimon_core.spec.types import BIGINT, DOUBLE, STRING, DataField
from paimon_core.store.data.bucket_files import BucketFiles
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.manifests import live_files
from paimon_core.table import Table
from paimon_core.write.files.data_files import DataFileWriter, FileRole
from paimon_core.write.writer import open_writer, written
from paimon_sql.catalog.load import load_catalog

KINDS = (BIGINT, DOUBLE, STRING)
T = Identifier("default", "t")


def make_table(warehouse: str, columns: int, rows: int) -> Table:
    """A table of one file, whose columns are alternately numbers and texts."""
    fields = [DataField(id=i, name=f"c{i}", type=KINDS[i % 3]) for i in range(columns)]
    catalog = load_catalog({"warehouse": warehouse})
    catalog.create_table(T, new_table_schema(fields, options={}))
    table, random = catalog.load_table(T), np.random.default_rng(0)
    makers = (
        lambda: pa.array(random.integers(0, 10**9, rows)),
        lambda: pa.array(random.random(rows)),
        lambda: pa.array(random.integers(0, 10**6, rows)).cast(pa.string()),
    )
    batch = pa.RecordBatch.from_pydict({f.name: makers[i % 3]() for i, f in enumerate(fields)})
    table.commit(written(open_writer(table.store, sequence_start=0), [batch]), CommitInfo(user="b"))
    return table


def update(table: Table) -> None:
    """What the tasks of an UPDATE do."""
    (entry,) = live_files(table.store, table.latest_snapshot()).values()
    path = data_file_path(table.store.bucket_dir(entry.partition, entry.bucket), entry.file)
    rows = np.arange(0, entry.file.row_count, 1000)
    writer = PatchWriter(table.store, ("c1",))
    positions = {FILE_PATH: pa.array([path] * len(rows)), ROW_INDEX: pa.array(rows)}
    written(writer, [pa.RecordBatch.from_pydict(positions | {"c1": pa.array(rows / 3)})])
    patch_job(table.store, table.latest_snapshot(), writer.patches, ("c1",)).run_here()


def rewrite(table: Table) -> None:
    """The same file, decoded and encoded."""
    (entry,) = live_files(table.store, table.latest_snapshot()).values()
    folder = table.store.bucket_dir(entry.partition, entry.bucket)
    writer = DataFileWriter(table.store, folder, FileRole())
    for batch in BucketFiles(table.store, folder, table.store.schema.fields).read([entry.file]):
        writer.write(batch)
    writer.roll()


def measured(work: Callable[[Table], None], warehouse: str) -> tuple[float, int]:
    """Seconds and peak bytes of a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_run, (work, warehouse))


def _run(work: Callable[[Table], None], warehouse: str) -> tuple[float, int]:
    table = load_catalog({"warehouse": warehouse}).load_table(T)
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        work(table)
        seconds.append(time.perf_counter() - start)
    return min(seconds), peak_bytes()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, nargs="+", default=[5, 20, 50])
    arguments = parser.parse_args()
    print(f"{'columns':>8} {'update s':>9} {'MiB':>6} {'rewrite s':>10} {'MiB':>6} {'x':>6}")
    for columns in arguments.columns:
        with tempfile.TemporaryDirectory() as warehouse:
            make_table(warehouse, columns, arguments.rows)
            (ours, peak), (whole, most) = measured(update, warehouse), measured(rewrite, warehouse)
        print(f"{columns:>8} {ours:>9.2f} {peak >> 20:>6} {whole:>10.2f} {most >> 20:>6} {whole / ours:>6.1f}")


if __name__ == "__main__":
    main()
