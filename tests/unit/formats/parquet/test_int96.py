"""Times of any year with nanoseconds: written as Parquet's INT96, read and changed to other types."""

from __future__ import annotations

import struct
from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.arrow.casts import cast_column
from paimon_core.arrow.int96 import stored
from paimon_core.arrow.types import STORED_TIME, arrow_schema, arrow_type
from paimon_core.formats.file_format import ReadRequest
from paimon_core.formats.output import OutputFile
from paimon_core.formats.parquet.data_files import ParquetFormat
from paimon_core.formats.parquet.file_writer import ParquetFileWriter
from paimon_core.formats.text.values import from_text
from paimon_core.io.local import LocalFileIO
from paimon_core.options import TableOptions
from paimon_core.spec.stats import ColumnStats
from paimon_core.spec.types import (
    INT,
    CollectionType,
    DataField,
    DataType,
    Kind,
    RowType,
    StoredTimeType,
    parse_type,
)

IO = LocalFileIO()
NANOS = parse_type("TIMESTAMP(9)")
TIME = StoredTimeType(Kind.TIMESTAMP, precision=9)
FAR = [
    datetime(9999, 12, 31, 23, 59, 59, 999_999),
    None,
    datetime(1, 1, 1),
    datetime(1969, 12, 31, 23, 59, 59, 999_999),
]
EXACT = pa.array([10**18 + 1, -1, None, 0], pa.timestamp("ns"))
ROW = RowType(
    fields=(DataField(id=5, name="d", type=parse_type("DECIMAL(28, 2)")), DataField(id=6, name="t", type=TIME))
)
FIELDS = [
    DataField(id=1, name="t", type=TIME),
    DataField(id=2, name="a", type=CollectionType(Kind.ARRAY, element=ROW)),
    DataField(id=3, name="n", type=INT),
]


def rows(times: pa.Array) -> pa.Table:
    count, schema = len(times), arrow_schema(FIELDS)
    listed = schema.field("a").type
    structs = pa.StructArray.from_arrays(
        [pa.array([1] * count, pa.decimal128(28, 2)), stored(times)], fields=list(listed.value_type)
    )
    lists = pa.ListArray.from_arrays(pa.array(range(count + 1), pa.int32()), structs, type=listed)
    return pa.table([stored(times), lists, pa.array(range(count), pa.int32())], schema=schema)


def read(path: Path, data_type: DataType) -> pa.Array:
    fields = (DataField(id=1, name="now", type=data_type),)
    return pa.Table.from_batches(ParquetFormat().read(IO, ReadRequest(str(path), fields)))["now"].combine_chunks()


@pytest.mark.parametrize("dictionary", ["true", "false"])
def test_times_are_written_as_int96(dictionary: str, tmp_path: Path) -> None:
    groups = [rows(pa.array(FAR, pa.timestamp("us"))), rows(EXACT)]
    paths = [tmp_path / "far.parquet", tmp_path / "exact.parquet"]
    for path, group in zip(paths, groups, strict=True):
        writer = ParquetFileWriter(
            OutputFile(IO, str(path)), FIELDS, TableOptions({"parquet.enable.dictionary": dictionary})
        )
        for _ in range(20):
            writer.write(group)
        written = writer.close()
        assert written.stats["t"] == ColumnStats(null_count=20) and written.size == path.stat().st_size
        schema = pq.ParquetFile(path).schema
        physical = [schema.column(i).physical_type for i in range(len(schema))]
        assert physical == ["INT96", "FIXED_LEN_BYTE_ARRAY", "INT96", "INT32"]
        again = ParquetFormat().read(IO, ReadRequest(str(path), tuple(FIELDS)))
        assert pa.Table.from_batches(again).equals(pa.concat_tables([group] * 20))
        with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:  # as others read it
            assert file.read(["t"])["t"].to_pylist()[:4] == read(path, parse_type("TIMESTAMP(6)")).to_pylist()[:4]
    assert read(paths[0], parse_type("TIMESTAMP(6)")).to_pylist() == FAR * 20
    assert read(paths[1], NANOS).equals(pa.concat_arrays([EXACT] * 20))
    assert read(paths[1], TIME).equals(stored(pa.concat_arrays([EXACT] * 20)))


def test_a_time_has_one_form() -> None:
    """Java counts the nanoseconds of a day before 1970 from its end."""
    before = pa.array([struct.pack("<qi", -1, 2_440_588), None], STORED_TIME)
    assert stored(before).equals(stored(pa.array([-1, None], pa.timestamp("ns"))))
    assert stored(before)[0].as_py() == struct.pack("<qi", 86_400 * 10**9 - 1, 2_440_587)
    assert stored(pa.array([-1], pa.timestamp("s"))).equals(stored(pa.array([-(10**9)], pa.timestamp("ns"))))
    assert stored(pa.nulls(3, pa.timestamp("us"))).null_count == 3


def test_columns_change_to_and_from_such_times() -> None:
    far, exact = stored(pa.array(FAR, pa.timestamp("us"))), stored(EXACT)
    assert cast_column(far, TIME, parse_type("TIMESTAMP(6)")).to_pylist() == FAR
    assert cast_column(far, TIME, parse_type("DATE")).to_pylist()[0] == date(9999, 12, 31)
    assert cast_column(far, TIME, parse_type("STRING")).to_pylist()[0] == "9999-12-31 23:59:59.999999"
    assert cast_column(exact, TIME, parse_type("STRING")).to_pylist()[0] == "2001-09-09 01:46:40.000000001"
    assert cast_column(exact, TIME, NANOS).equals(EXACT)
    millis = pa.array(FAR, pa.timestamp("us")).cast(pa.timestamp("ms"), safe=False)
    assert cast_column(millis, parse_type("TIMESTAMP(3)"), TIME).equals(stored(millis))
    days = pa.array([date(9999, 12, 31)])
    midnight = pa.array([datetime(9999, 12, 31)], pa.timestamp("us"))
    assert cast_column(days, parse_type("DATE"), TIME).equals(stored(midnight))
    texts = pa.array(["2001-09-09 01:46:40.000000001", None])
    assert from_text(texts, TIME, arrow_type(TIME)).to_pylist()[0] == exact[0].as_py()
    micros = from_text(texts, parse_type("TIMESTAMP(6)"), pa.timestamp("us"))  # as a query asks for them
    assert micros.to_pylist() == [datetime(2001, 9, 9, 1, 46, 40), None]
    assert from_text(pa.array(["9999-12-31 23:59:59.999999"]), TIME, arrow_type(TIME))[0] == far[0]
