"""Checksums of Parquet pages: what they find, and what they cost.

    page_checksums.py [--rows 1000000] [--repetitions 9] [--damages 1700]

Changes one byte in the pages of a file, again and again, and counts how the reads end; then prints processor time with
checksums over that without, of writing and of reading files: the median of pairs that run one after the other.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core.arrow.types import arrow_schema
from paimon_core.errors import PaimonError
from paimon_core.formats.file_format import ReadRequest
from paimon_core.formats.output import OutputFile
from paimon_core.formats.parquet.data_files import ParquetFormat
from paimon_core.formats.parquet.file_writer import ParquetFileWriter
from paimon_core.io.local import LocalFileIO
from paimon_core.options import TableOptions
from paimon_core.spec.types import BIGINT, DOUBLE, INT, STRING, DataField

IO = LocalFileIO()
TYPES = {"id": BIGINT, "amount": DOUBLE, "kind": INT, "name": STRING, "text": STRING}
FIELDS = tuple(DataField(id=i, name=n, type=t) for i, (n, t) in enumerate(TYPES.items()))
WRITE, VERIFY = "parquet.page.write-checksum.enabled", "parquet.page.verify-checksum.enabled"
COMPRESSIONS = {"zstd": {}, "none": {"file.compression": "none"}}


def rows_of(count: int) -> pa.Table:
    numbers = np.random.default_rng(0)
    columns = [
        pa.array(np.arange(count)),
        pa.array(numbers.random(count)),
        pa.array(numbers.integers(0, 1000, count), pa.int32()),
        pa.array(np.char.add("name ", numbers.integers(0, 5000, count).astype(str))),
        pa.array(np.char.add("text ", numbers.integers(0, 10**9, count).astype(str))),
    ]
    return pa.Table.from_arrays(columns, schema=arrow_schema(FIELDS))


def write(path: Path, rows: pa.Table, options: dict[str, str]) -> None:
    writer = ParquetFileWriter(OutputFile(IO, str(path)), FIELDS, TableOptions(options))
    for start in range(0, rows.num_rows, 2**18):
        writer.write(rows.slice(start, 2**18))
    writer.close()


def read(path: Path, options: dict[str, str]) -> list[pa.RecordBatch]:
    return list(ParquetFormat().read(IO, ReadRequest(str(path), FIELDS, options=TableOptions(options))))


def chunk_bytes(path: Path) -> list[int]:
    """The positions of bytes of pages, and of their headers."""
    footer = pq.read_metadata(path)
    found: list[int] = []
    for group in range(footer.num_row_groups):
        for column in range(footer.num_columns):
            chunk = footer.row_group(group).column(column)
            start = chunk.dictionary_page_offset or chunk.data_page_offset
            found += range(start, start + chunk.total_compressed_size)
    return found


def damages(folder: Path, count: int, options: dict[str, str]) -> Counter[str]:
    """How reads of files end in which one byte differs."""
    path, rows = folder / "damaged.parquet", rows_of(20_000)
    write(path, rows, options)
    content, chance, ends = path.read_bytes(), random.Random(1), Counter[str]()
    positions = chunk_bytes(path)
    for _ in range(count):
        changed = bytearray(content)
        changed[chance.choice(positions)] ^= chance.randrange(1, 256)
        path.write_bytes(changed)
        try:
            found = pa.Table.from_batches(read(path, options))
            ends["right rows" if found.equals(rows) else "OTHER ROWS"] += 1
        except PaimonError:
            ends["refused"] += 1
    return ends


def ratio(repetitions: int, work: Callable[[bool], object]) -> tuple[float, float]:
    """Processor time with checksums over that without, and seconds without: medians."""
    ratios, plain = [], []
    for number in range(repetitions):
        seconds = {}
        for checks in (True, False) if number % 2 else (False, True):
            start = time.process_time()
            work(checks)
            seconds[checks] = time.process_time() - start
        ratios.append(seconds[True] / seconds[False])
        plain.append(seconds[False])
    return statistics.median(ratios), statistics.median(plain)


def costs(folder: Path, rows: pa.Table, repetitions: int, options: dict[str, str]) -> None:
    path = folder / "timed.parquet"

    def writing(checks: bool) -> None:
        write(path, rows, options | {WRITE: str(checks)})

    def reading(checks: bool) -> None:
        read(path, options | {VERIFY: str(checks)})

    writing(True)
    for name, work in {"write": writing, "read": reading}.items():
        share, seconds = ratio(repetitions, work)
        print(f"  {name:6} {share - 1:+7.1%} of {seconds:.3f} s for {rows.num_rows:,} rows")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--damages", type=int, default=1700)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        for compression, options in COMPRESSIONS.items():
            print(f"compression {compression}")
            for checks in ("false", "true"):
                ends = damages(Path(name), given.damages, options | {WRITE: checks, VERIFY: checks})
                print(f"  {given.damages} bytes changed, checksums {checks}: {dict(sorted(ends.items()))}")
            costs(Path(name), rows_of(given.rows), given.repetitions, options)


if __name__ == "__main__":
    main()
