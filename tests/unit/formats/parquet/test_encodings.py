"""Which columns are packed, by the first rows of a file; packed ones read as they were written."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.arrow.types import arrow_schema
from paimon_core.formats.file_format import ReadRequest
from paimon_core.formats.output import OutputFile
from paimon_core.formats.parquet.data_files import ParquetFormat
from paimon_core.formats.parquet.encodings import column_encodings
from paimon_core.formats.parquet.file_writer import ParquetFileWriter
from paimon_core.io.local import LocalFileIO
from paimon_core.options import TableOptions
from paimon_core.spec.types import DataField, parse_type

NARROW = {
    "TINYINT": (-128, 128),
    "SMALLINT": (-(2**15), 2**15),
    "INT": (0, 2**19),
    "BIGINT": (2**60, 2**60 + 2**38),
    "DATE": (-200_000, 200_000),
    "TIME(3)": (0, 500_000),
    "TIMESTAMP(3)": (-(2**39), 2**39),
    "TIMESTAMP(6)": (0, 2**40),
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": (0, 2**40),
    "TIMESTAMP(9)": (2**60, 2**60 + 2**40),
}
VERSION_2 = {"parquet.writer.version": "v2"}
WIDE = {"INT": (-(2**31), 2**31), "BIGINT": (-(2**63), 2**63 - 1), "TIMESTAMP(6)": (-(2**60), 2**60)}


def written(path: Path, kind: str, bounds: tuple[int, int], **options: str) -> tuple[pa.Table, set[str]]:
    """Random values of a type in a file, a tenth of them NULL; the encodings of the column."""
    fields = [DataField(id=0, name="a.b", type=parse_type(kind))]
    schema, random = arrow_schema(fields), np.random.default_rng(7)
    arrow = schema.field(0).type
    numbers = pa.array(random.integers(*bounds, 5_000), mask=random.random(5_000) < 0.1)
    stored = numbers.cast(pa.int32() if arrow.bit_width == 32 else pa.int64()) if arrow.bit_width > 16 else numbers
    rows = pa.table([stored.cast(arrow)], schema=schema)
    writer = ParquetFileWriter(OutputFile(LocalFileIO(), str(path)), fields, TableOptions(VERSION_2 | options))
    writer.write(rows)
    writer.close()
    request = ReadRequest(str(path), tuple(fields))
    assert pa.Table.from_batches(ParquetFormat().read(LocalFileIO(), request), schema) == rows
    return rows, set(pq.ParquetFile(path).metadata.row_group(0).column(0).encodings)


@pytest.mark.parametrize("kind", NARROW)
def test_integers_near_one_another_are_packed(kind: str, tmp_path: Path) -> None:
    few_values = kind in ("TINYINT",)  # these repeat, and have a dictionary
    _, encodings = written(tmp_path / "f.parquet", kind, NARROW[kind])
    assert ("DELTA_BINARY_PACKED" in encodings) is not few_values
    _, encodings = written(tmp_path / "f.parquet", kind, NARROW[kind], **{"parquet.enable.dictionary": "false"})
    assert "DELTA_BINARY_PACKED" in encodings


@pytest.mark.parametrize("kind", WIDE)
def test_integers_far_from_one_another_are_plain(kind: str, tmp_path: Path) -> None:
    _, encodings = written(tmp_path / "f.parquet", kind, WIDE[kind])
    assert encodings == {"PLAIN", "RLE"}


@pytest.mark.parametrize("version", ["v1", "PARQUET_1_0"])
def test_the_first_version_of_parquet_packs_nothing(version: str, tmp_path: Path) -> None:
    _, encodings = written(tmp_path / "f.parquet", "BIGINT", NARROW["BIGINT"], **{"parquet.writer.version": version})
    assert encodings == {"PLAIN", "RLE"}


def test_the_first_version_is_the_default(tmp_path: Path) -> None:
    rows = pa.table({"k": pa.array(range(1_000))})
    assert column_encodings(rows, TableOptions({})) == ([], {})
    assert column_encodings(rows, TableOptions(VERSION_2)) == ([], {"k": "DELTA_BINARY_PACKED"})
