"""Nested columns of files that were written before their table was altered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.arrow.evolution import AmbiguousNameError, conform, sources_of
from paimon_core.arrow.types import arrow_field, arrow_schema, key_value_fields
from paimon_core.errors import InvalidDataError
from paimon_core.formats.file_format import ReadRequest
from paimon_core.formats.output import OutputFile
from paimon_core.formats.parquet.data_files import ParquetFormat
from paimon_core.formats.parquet.file_writer import ParquetFileWriter
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


def numbered(name: str, arrow: pa.DataType, number: int | None = None) -> pa.Field:
    return pa.field(name, arrow, metadata=None if number is None else {"PARQUET:field_id": str(number)})


def test_columns_without_ids_go_by_their_names_beside_columns_with_ids(tmp_path: Path) -> None:
    """pypaimon-rust numbers the columns of the table only, and leaves the columns of keys out."""
    key, value = DataField(id=0, name="k", type=INT), DataField(id=1, name="v", type=STRING)
    fields = key_value_fields((key, value), (key,))
    schema = pa.schema([
        numbered("_SEQUENCE_NUMBER", pa.int64()), numbered("_VALUE_KIND", pa.int8()),
        numbered("k", pa.int32(), 0), numbered("renamed", pa.string(), 1),
    ])  # fmt: skip
    path = str(tmp_path / "f.parquet")
    pq.write_table(pa.table([[7, 8], [0, 3], [1, 2], ["a", "b"]], schema=schema), path)
    (batch,) = ParquetFormat().read(LocalFileIO(), ReadRequest(path, fields, stored=lambda: fields))
    assert [tuple(r.values()) for r in batch.to_pylist()] == [(1, 7, 0, 1, "a"), (2, 8, 3, 2, "b")]


@pytest.mark.parametrize(
    ("found", "wanted", "expected"),
    [
        ([("a", 1), ("b", None)], [("b", 9), ("a", 9)], ["b", None]),  # a name whose column has another id is no match
        ([("a", 1), ("B", None)], [("x", 1), ("b", 2)], ["a", "B"]),
        ([("a", None), ("A", None)], [("a", 1), ("A", 2)], ["a", "A"]),
        ([("Event_Name", None)], [("event_name", None)], ["Event_Name"]),
        ([("a", None), ("a_b", None)], [("c", None)], [None]),
        ([("a", None)], [("A", None), ("a", None)], [None, "a"]),
        ([("k", None), ("x", 7)], [("K", 1), ("k", 0)], [None, "k"]),
    ],
)
def test_sources(
    found: list[tuple[str, int | None]], wanted: list[tuple[str, int]], expected: list[str | None]
) -> None:
    fields = [numbered(name, pa.int32(), number) for name, number in found]
    assert sources_of(fields, wanted) == expected


def test_names_in_another_case(tmp_path: Path) -> None:
    fields = [numbered("Ab", pa.int32()), numbered("aB", pa.int32())]
    with pytest.raises(AmbiguousNameError, match="its columns 'Ab' and 'aB' both match 'ab'"):
        sources_of(fields, [("ab", None)])
    assert sources_of(fields, [("ab", None), ("aB", None)], exact=True) == [None, "aB"]
    stored = [DataField(id=5, name="ab", type=INT)]
    assert sources_of(fields[:1], [("other", 5)], stored) == ["Ab"]
    twins = [DataField(id=5, name="ab", type=INT), DataField(id=6, name="Ab", type=INT)]
    assert sources_of(fields[:1], [("ab", 5)], twins) == [None]  # it is the other column


def test_times_lose_the_digits_that_their_column_has_not() -> None:
    nanos = pa.array([1_999_999, None, -1], pa.timestamp("ns"))
    assert conform(nanos, pa.timestamp("us")).cast(pa.int64()).to_pylist() == [1999, None, -1]
    assert conform(nanos, pa.timestamp("ms", "UTC")).cast(pa.int64()).to_pylist() == [1, None, -1]
    assert conform(pa.array([1_999], pa.timestamp("us")), pa.timestamp("ms")).cast(pa.int64()).to_pylist() == [1]
    assert conform(pa.array([5], pa.timestamp("ms")), pa.timestamp("us")).cast(pa.int64()).to_pylist() == [5000]


@pytest.mark.parametrize("stored", [pa.int32(), pa.null(), pa.string(), pa.list_(pa.int8())], ids=str)
@pytest.mark.parametrize(
    "wanted",
    [
        pa.string(),
        pa.date32(),
        pa.decimal128(9, 2),
        pa.list_(pa.int32()),
        pa.map_(pa.string(), pa.int32()),
        pa.struct([("a", pa.int32())]),
    ],
    ids=str,
)
def test_a_column_without_values_is_of_any_type(stored: pa.DataType, wanted: pa.DataType) -> None:
    """A writer that has not seen a value may store the column as another type, pandas for example."""
    assert conform(pa.nulls(3, stored), wanted).equals(pa.nulls(3, wanted))
    assert conform(pa.nulls(3, stored).slice(1), wanted).equals(pa.nulls(2, wanted))
