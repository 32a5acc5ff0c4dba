"""Columns of Avro data files in other types than ours: promotions, units, unions; and what is refused, by name."""

from __future__ import annotations

import io
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from paimon_core.arrow.types import arrow_schema
from paimon_core.errors import UnfamiliarFormError
from paimon_core.formats.avro.container import ContainerWriter
from paimon_core.formats.avro.data_files import AvroFormat
from paimon_core.formats.file_format import ReadRequest
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    TINYINT,
    CollectionType,
    DataField,
    DataType,
    DecimalType,
    Kind,
    MapType,
    RowType,
    TimeType,
)

DATE, TIME = DataType(Kind.DATE), TimeType(Kind.TIME, precision=3)
MILLIS, MICROS = (TimeType(Kind.TIMESTAMP, precision=p) for p in (3, 6))
ROW = RowType(fields=(DataField(id=5, name="x", type=BIGINT), DataField(id=6, name="y", type=STRING)))
MOMENT = datetime(2024, 1, 2, 3, 4, 5, 678901)
MICROSECONDS = 1_704_164_645_678_901
RECORD = {"type": "record", "name": "i", "fields": [{"name": "y", "type": "bytes"}]}
FORMS: list[tuple[DataType, Any, Any, Any]] = [
    (BIGINT, "int", 7, 7),
    (BIGINT, ["int", "null"], 7, 7),
    (BIGINT, ["null", "long", "int"], 2**40, 2**40),
    (INT, "long", 7, 7),
    (TINYINT, ["null", "long"], -7, -7),
    (DOUBLE, "int", 7, 7.0),
    (DOUBLE, "long", 2**60, float(2**60)),
    (DOUBLE, ["null", "long", "float"], 1.5, 1.5),
    (FLOAT, "long", 2**24 + 1, float(2**24)),
    (FLOAT, "double", 1.5, 1.5),
    (STRING, "bytes", b"a", "a"),
    (STRING, ["bytes", "string"], "a", "a"),
    (BYTES, "string", "a", b"a"),
    (BYTES, {"type": "fixed", "name": "f", "size": 2}, b"ab", b"ab"),
    (DATE, "int", 19_724, date(2024, 1, 2)),
    (TIME, {"type": "long", "logicalType": "time-micros"}, 3_723_004_005, time(1, 2, 3, 4000)),
    (MILLIS, {"type": "long", "logicalType": "timestamp-micros"}, MICROSECONDS, MOMENT.replace(microsecond=678000)),
    (MILLIS, {"type": "long", "logicalType": "timestamp-micros"}, -1, datetime(1969, 12, 31, 23, 59, 59, 999000)),
    (MICROS, {"type": "long", "logicalType": "local-timestamp-micros"}, MICROSECONDS, MOMENT),
    (MICROS, {"type": "long", "logicalType": "timestamp-nanos"}, MICROSECONDS * 1000 + 7, MOMENT),
    (
        DecimalType(precision=9, scale=3),
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 1},
        b"\x7d",
        Decimal("12.500"),
    ),
    (INT, "null", None, None),
    (CollectionType(Kind.ARRAY, element=BIGINT), {"type": "array", "items": ["int", "null"]}, [1, None], [1, None]),
    (MapType(key=STRING, value=DOUBLE), {"type": "map", "values": "int"}, {"a": 1}, [("a", 1.0)]),
    (ROW, RECORD, {"y": b"b"}, {"x": None, "y": "b"}),
]


def data_file(path: Path, avro: Any, *values: Any) -> str:
    schema = {"type": "record", "name": "r", "fields": [{"name": "c", "type": avro}, {"name": "k", "type": "int"}]}
    stored = fastavro.parse_schema(without_logical_types(schema))
    rows = io.BytesIO()
    for number, value in enumerate(values):
        fastavro.schemaless_writer(rows, stored, {"c": value, "k": number})
    sink = io.BytesIO()
    ContainerWriter(sink, schema, "null", 3).write(len(values), rows.getvalue())
    path.write_bytes(sink.getvalue())
    return str(path)


def without_logical_types(avro: Any) -> Any:
    if isinstance(avro, dict):
        return {k: without_logical_types(v) for k, v in avro.items() if k != "logicalType"}
    return [without_logical_types(v) for v in avro] if isinstance(avro, list) else avro


def read(path: str, data_type: DataType) -> list[Any]:
    fields = (DataField(id=0, name="c", type=data_type),)
    batches = AvroFormat().read(LocalFileIO(), ReadRequest(path, fields))
    return pa.Table.from_batches(batches, arrow_schema(fields))["c"].to_pylist()


@pytest.mark.parametrize(
    ("data_type", "avro", "value", "expected"), FORMS, ids=[f"{t.sql()} of {a}"[:70] for t, a, _, _ in FORMS]
)
def test_other_types(data_type: DataType, avro: Any, value: Any, expected: Any, tmp_path: Path) -> None:
    assert read(data_file(tmp_path / "f.avro", avro, value), data_type) == [expected]


@pytest.mark.parametrize(
    ("data_type", "avro", "value"),
    [
        (INT, "string", "1"),
        (INT, "double", 1.0),
        (INT, "boolean", True),
        (INT, ["null", "int", "string"], 1),
        (BOOLEAN, "int", 1),
        (STRING, "int", 1),
        (STRING, {"type": "enum", "name": "e", "symbols": ["A"]}, "A"),
        (DATE, {"type": "int", "logicalType": "time-millis"}, 1),
        (MILLIS, {"type": "int", "logicalType": "date"}, 1),
        (DecimalType(precision=9, scale=3), "double", 1.0),
        (CollectionType(Kind.ARRAY, element=BIGINT), {"type": "array", "items": "string"}, ["1"]),
        (MapType(key=STRING, value=INT), {"type": "array", "items": "string"}, ["1"]),
        (ROW, "string", "1"),
    ],
    ids=str,
)
def test_a_column_that_does_not_resolve_is_named(data_type: DataType, avro: Any, value: Any, tmp_path: Path) -> None:
    path = data_file(tmp_path / "f.avro", avro, value)
    with pytest.raises(UnfamiliarFormError, match="f.avro has a form.*column c: "):
        read(path, data_type)
    fields = (DataField(id=0, name="k", type=INT),)
    (batch,) = AvroFormat().read(LocalFileIO(), ReadRequest(path, fields))
    assert batch.to_pylist() == [{"k": 0}]  # the other columns are read


def test_a_nested_column_that_does_not_resolve_is_named(tmp_path: Path) -> None:
    record = {"type": "record", "name": "i", "fields": [{"name": "x", "type": "string"}]}
    with pytest.raises(UnfamiliarFormError, match="column c: column x: it is stored as string"):
        read(data_file(tmp_path / "f.avro", record, {"x": "1"}), ROW)


def test_numbers_that_a_column_cannot_hold(tmp_path: Path) -> None:
    with pytest.raises(UnfamiliarFormError, match="column c: it is stored as int64, with values that are not int32"):
        read(data_file(tmp_path / "f.avro", "long", 2**40), INT)


def test_a_codec_that_is_unknown_here_is_named(tmp_path: Path) -> None:
    path = tmp_path / "f.avro"
    path.write_bytes(Path(data_file(tmp_path / "g.avro", "int", 1)).read_bytes().replace(b"\x08null", b"\x06lz4", 1))
    with pytest.raises(UnfamiliarFormError, match=r"f\.avro has a form .*codec 'lz4' is not one of null, deflate"):
        read(str(path), INT)
