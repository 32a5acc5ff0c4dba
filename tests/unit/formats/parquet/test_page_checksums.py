"""Checksums of Parquet pages: a changed byte is found, unless a table says not to look; files without are read."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.arrow.columns import with_values
from paimon_core.arrow.int96 import stored
from paimon_core.arrow.types import arrow_schema
from paimon_core.errors import CorruptFileError, InvalidOptionError
from paimon_core.formats.file_format import ReadRequest
from paimon_core.formats.output import OutputFile
from paimon_core.formats.parquet.data_files import ParquetFormat
from paimon_core.formats.parquet.file_writer import ParquetFileWriter
from paimon_core.formats.parquet.splice import replace_columns
from paimon_core.formats.parquet.thrift import Fields, decode, encode
from paimon_core.io.local import LocalFileIO
from paimon_core.manifests.record_files import decode_file, encode_columns
from paimon_core.options import TableOptions
from paimon_core.spec.manifest import LIST_VERSION, MANIFEST_FILE_META, ManifestFileMeta
from paimon_core.spec.stats import EMPTY_STATS as STATS
from paimon_core.spec.types import BIGINT, DOUBLE, STRING, DataField, DataType, Kind, StoredTimeType

IO = LocalFileIO()
ROWS = 3000
DAMAGES = 60
PLAIN = {"file.compression": "none"}  # a codec would find some of the changes itself
VERIFY, WRITE = "parquet.page.verify-checksum.enabled", "parquet.page.write-checksum.enabled"
TYPES: dict[str, DataType] = {
    "k": BIGINT,
    "d": DOUBLE,
    "few": STRING,  # has a dictionary
    "t": StoredTimeType(Kind.TIMESTAMP, precision=9),  # INT96, read through a footer of our own
}
FIELDS = tuple(DataField(id=i, name=n, type=t) for i, (n, t) in enumerate(TYPES.items()))
_STORED_BYTES, _CHECKSUM = 3, 4  # PageHeader


def table() -> pa.Table:
    k = np.arange(ROWS)
    columns = [
        pa.array(k),
        pa.array(k / 7),
        pa.array([f"s{n % 7}" for n in k]),
        stored(pa.array(k, pa.timestamp("ns"))),
    ]
    return pa.table(columns, schema=arrow_schema(FIELDS))


def write(path: Path, options: dict[str, str]) -> None:
    writer = ParquetFileWriter(OutputFile(IO, str(path)), FIELDS, TableOptions(options))
    writer.write(table())
    writer.close()


def read(path: Path, options: dict[str, str] | None = None) -> pa.Table:
    request = ReadRequest(str(path), FIELDS, options=TableOptions(options or {}))
    return pa.Table.from_batches(ParquetFormat().read(IO, request))


def pages(path: Path) -> Iterator[tuple[Fields, range]]:
    """The header of each page of a file, and the positions of its bytes."""
    footer, content = pq.read_metadata(path), path.read_bytes()
    for group in range(footer.num_row_groups):
        for column in range(footer.num_columns):
            chunk = footer.row_group(group).column(column)
            offset = chunk.dictionary_page_offset or chunk.data_page_offset
            end = offset + chunk.total_compressed_size
            while offset < end:
                header = decode(content[offset:end])
                start = offset + len(encode(header))
                offset = start + header[_STORED_BYTES][1]
                yield header, range(start, offset)


def damaged(path: Path, positions: list[int]) -> Iterator[None]:
    """A file with one byte changed, many times; each time another."""
    content, chance = path.read_bytes(), random.Random(1)
    for position in chance.sample(positions, min(DAMAGES, len(positions))):
        changed = bytearray(content)
        changed[position] ^= 1 << chance.randrange(8)
        path.write_bytes(changed)
        yield
    path.write_bytes(content)


@pytest.mark.parametrize(
    "options", [PLAIN, {}, PLAIN | {"parquet.writer.version": "v2"}, PLAIN | {"parquet.enable.dictionary": "false"}]
)
def test_a_changed_byte_is_found(tmp_path: Path, options: dict[str, str]) -> None:
    path = tmp_path / "f.parquet"
    write(path, options)
    found = list(pages(path))
    assert len(found) >= len(FIELDS) and all(_CHECKSUM in header for header, _ in found)
    for _ in damaged(path, [p for _, positions in found for p in positions]):
        with pytest.raises(CorruptFileError, match=r"f\.parquet is corrupt: .*checksum"):
            read(path, options)
    assert read(path, options).equals(table())


def test_a_table_may_do_without(tmp_path: Path) -> None:
    with_checksums, without = tmp_path / "with.parquet", tmp_path / "without.parquet"
    write(with_checksums, PLAIN)
    write(without, PLAIN | {WRITE: "false"})
    assert not any(_CHECKSUM in header for header, _ in pages(without))
    assert read(without).equals(table())
    _, numbers = next(p for p in pages(with_checksums) if len(p[1]) > ROWS)
    for _ in damaged(with_checksums, list(numbers)):
        with pytest.raises(CorruptFileError):
            read(with_checksums)
        assert not read(with_checksums, {VERIFY: "false"}).equals(table())


@pytest.mark.parametrize("option", [WRITE, VERIFY])
def test_an_option_that_is_no_truth_value(option: str) -> None:
    with pytest.raises(InvalidOptionError, match=option):
        ParquetFormat().check(FIELDS, TableOptions({option: "maybe"}))


def test_copied_chunks_keep_their_checksums(tmp_path: Path) -> None:
    """Also those that were damaged before they were copied: a rewrite does not make damage right."""
    old, new = tmp_path / "old.parquet", tmp_path / "new.parquet"
    write(old, PLAIN)
    values = table().select(["d"]).slice(0, 5).combine_chunks().to_batches()[0]

    def change(start: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return with_values(batches, np.arange(10, 15), values, start)

    def replace() -> Any:
        return replace_columns(IO, ReadRequest(str(old), FIELDS[1:2], options=TableOptions(PLAIN)), str(new), change)

    assert replace() is not None
    found = list(pages(new))
    assert all(_CHECKSUM in header for header, _ in found)
    for _ in damaged(new, [p for _, positions in found for p in positions]):
        with pytest.raises(CorruptFileError, match="checksum"):
            read(new)
    _, keys = next(iter(pages(old)))
    for _ in damaged(old, list(keys)[:5]):
        new.unlink()
        assert replace() is not None
        with pytest.raises(CorruptFileError, match="checksum"):
            read(new)


def test_metadata_in_parquet_has_checksums(tmp_path: Path) -> None:
    path = tmp_path / "manifest-list"
    metas = [
        ManifestFileMeta(
            file_name=f"manifest-{n}",
            file_size=n,
            num_added_files=1,
            num_deleted_files=0,
            partition_stats=STATS,
            schema_id=0,
        )
        for n in range(50)
    ]
    path.write_bytes(encode_columns(MANIFEST_FILE_META, LIST_VERSION, metas, "parquet", "none"))
    for _ in damaged(path, [p for _, positions in pages(path) for p in positions]):
        with pytest.raises(CorruptFileError, match="checksum"):
            list(decode_file(MANIFEST_FILE_META, LIST_VERSION, str(path), path.read_bytes()))
    assert list(decode_file(MANIFEST_FILE_META, LIST_VERSION, str(path), path.read_bytes())) == metas
