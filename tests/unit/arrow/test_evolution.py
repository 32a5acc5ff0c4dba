"""Nested columns of files that were written before their table was altered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.arrow.evolution import conform
from paimon_core.arrow.types import arrow_field, arrow_schema
from paimon_core.errors import InvalidDataError
from paimon_core.formats.file_format import ReadRequest
from paimon_core.formats.output import OutputFile
from paimon_core.formats.parquet.data_files import ParquetFileWriter, ParquetFormat
from paimon_core.io.local import LocalFileIO
from paimon_core.options import TableOptions
from paimon_core.spec.types import BIGINT, INT, STRING, CollectionType, DataField, DataType, Kind, MapType, RowType

THEN = RowType(fields=(DataField(id=1, name="a", type=INT), DataField(id=2, name="b", type=STRING)))
# a became a BIGINT called b, b was dropped, c is new
NOW = RowType(fields=(DataField(id=1, name="b", type=BIGINT), DataField(id=3, name="c", type=STRING)))
ROWS = [{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}]
EXPECTED = [{"b": 1, "c": None}, None, {"b": None, "c": None}]


def column(data_type: DataType) -> DataField:
    return DataField(id=0, name="v", type=data_type)


def in_array(element: DataType) -> DataType:
    return CollectionType(Kind.ARRAY, element=element)


def in_map(value: DataType) -> DataType:
    return MapType(key=STRING, value=value)


def in_row(inner: DataType) -> DataType:
    return RowType(fields=(DataField(id=9, name="r", type=inner),))


CASES: list[tuple[DataType, DataType, list[Any], list[Any]]] = [
    (THEN, NOW, ROWS, EXPECTED),
    (in_array(THEN), in_array(NOW), [ROWS, None, [], ROWS[:1]], [EXPECTED, None, [], EXPECTED[:1]]),
    (
        in_map(THEN),
        in_map(NOW),
        [[("p", ROWS[0]), ("q", None)], None, []],
        [[("p", EXPECTED[0]), ("q", None)], None, []],
    ),
    (in_row(in_array(THEN)), in_row(in_array(NOW)), [{"r": ROWS}, None], [{"r": EXPECTED}, None]),
]


@pytest.mark.parametrize(("then", "now", "rows", "expected"), CASES)
def test_nested_fields_are_found_by_id(
    then: DataType, now: DataType, rows: list[Any], expected: list[Any], tmp_path: Path
) -> None:
    path, io = str(tmp_path / "f.parquet"), LocalFileIO()
    writer = ParquetFileWriter(OutputFile(io, path), [column(then)], TableOptions({}))
    writer.write(pa.table([rows], schema=arrow_schema([column(then)])))
    writer.close()
    (batch,) = ParquetFormat().read(io, ReadRequest(path, (column(now),)))
    assert batch.column("v").to_pylist() == expected
    assert batch.schema.equals(arrow_schema([column(now)]), check_metadata=True)


@pytest.mark.parametrize(("then", "now", "rows", "expected"), CASES)
def test_a_slice_stays_a_slice(then: DataType, now: DataType, rows: list[Any], expected: list[Any]) -> None:
    whole = pa.array(rows, arrow_field(column(then)).type)
    for start in range(len(rows)):
        part = conform(whole.slice(start, 2), arrow_field(column(now)).type)
        part.validate(full=True)
        assert part.to_pylist() == expected[start : start + 2]


def test_a_type_that_became_another_kind_is_refused(tmp_path: Path) -> None:
    path, io = str(tmp_path / "f.parquet"), LocalFileIO()
    writer = ParquetFileWriter(OutputFile(io, path), [column(in_array(INT))], TableOptions({}))
    writer.write(pa.table([[[1, 2]]], schema=arrow_schema([column(in_array(INT))])))
    writer.close()
    with pytest.raises(InvalidDataError, match=r"'v' of file .*f\.parquet"):
        list(ParquetFormat().read(io, ReadRequest(path, (column(THEN),))))
