"""Schemas of Avro files: nested records of one name, what other writers make, and references to named types."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from paimon_core.arrow.types import arrow_schema
from paimon_core.formats.avro.container import MAGIC, ContainerReader, ContainerWriter
from paimon_core.formats.avro.data_files import AvroFormat
from paimon_core.formats.avro.records import RecordCodec, read_records
from paimon_core.formats.avro.schema import plain_record
from paimon_core.formats.file_format import ReadRequest
from paimon_core.io.local import LocalFileIO
from paimon_core.options import TableOptions
from paimon_core.spec.avro_types import UnfamiliarSchemaError, parse_type
from paimon_core.spec.types import BYTES, INT, DataField, DataType, MapType, RowType

LONG = {"name": "k", "type": "long"}
FIXED = {"type": "fixed", "name": "ns.f", "size": 4}


def row(*fields: tuple[str, DataType]) -> RowType:
    return RowType(fields=tuple(DataField(id=10 + i, name=n, type=t) for i, (n, t) in enumerate(fields)))


X = row(("x", INT))


def record(name: str | None, *fields: Any) -> dict[str, Any]:
    return {"type": "record", "fields": list(fields)} | ({} if name is None else {"name": name})


def field(name: str, avro: Any) -> dict[str, Any]:
    return {"name": name, "type": avro}


def read(path: Path, fields: Sequence[DataField]) -> list[dict[str, Any]]:
    batches = AvroFormat().read(LocalFileIO(), ReadRequest(str(path), tuple(fields)))
    return pa.Table.from_batches(batches, arrow_schema(fields)).to_pylist()


def container(schema: Any, codec: RecordCodec, records: list[Any]) -> bytes:
    sink = io.BytesIO()
    ContainerWriter(sink, schema, "null", 3).write(len(records), codec.encode(records))
    return sink.getvalue()


@pytest.mark.parametrize(
    ("types", "value"),
    [
        ({"a_b": X, "a": row(("b", X))}, {"a_b": {"x": 1}, "a": {"b": {"x": 2}}}),
        ({"m": MapType(key=X, value=X), "m_value": X}, {"m": [({"x": 1}, {"x": 2})], "m_value": {"x": 3}}),
    ],
    ids=["a row in a row", "values of a map"],
)
def test_columns_whose_records_have_one_name(types: dict[str, DataType], value: dict[str, Any], tmp_path: Path) -> None:
    """Records are named after the path to them, joined by `_`, as Java does."""
    fields = [DataField(id=i, name=n, type=t) for i, (n, t) in enumerate(types.items())]
    path = tmp_path / "f.avro"
    writer = AvroFormat().open_writer(LocalFileIO(), str(path), fields, TableOptions({}))
    writer.write(pa.Table.from_pylist([value], arrow_schema(fields)))
    writer.close()
    assert read(path, fields) == [value]


@pytest.mark.parametrize(
    ("avro", "value"),
    [
        ({"type": "fixed", "name": "d", "size": 2, "logicalType": "decimal", "precision": 30, "scale": 2}, b"ab"),
        (record(None, field("x", "int")), {"f0": 1}),
        (record("r", field("x", "int")), {"f0": 1}),
        ({"type": "int", "default": "no number"}, 1),
    ],
    ids=["decimal", "no name", "one name", "default"],
)
def test_data_files_of_other_writers(avro: Any, value: Any, tmp_path: Path) -> None:
    """A column that is not asked for may be of a type that fastavro refuses."""
    path, schema = tmp_path / "f.avro", record("r", LONG, field("other", avro))
    path.write_bytes(container(schema, RecordCodec(plain_record(schema)), [{"f0": 7, "f1": value}]))
    assert read(path, [DataField(id=0, name="k", type=INT)]) == [{"k": 7}]


def test_fixed_types_are_referred_to_by_name() -> None:
    enum = {"type": "enum", "name": "e", "symbols": ["A"]}
    named = [field("a", FIXED), field("b", ["null", "ns.f"]), field("c", enum), field("d", "e")]
    schema = record("r", *named, field("i", record("ns.i", field("x", {"type": "array", "items": "f"}))))
    value = {"a": b"1234", "b": b"5678", "c": "A", "d": "A", "i": {"x": [b"90ab"]}}
    data = container(schema, RecordCodec(schema), [value])
    assert list(read_records(ContainerReader(io.BytesIO(data)))) == [value]


@pytest.mark.parametrize("name", ["f", "n1"])
def test_columns_of_data_files_refer_to_types_by_name(name: str, tmp_path: Path) -> None:
    """`n1` is what the record that decodes them calls the type itself."""
    inner = record("i", field("x", "int"))
    schema = record("r", LONG, field("a", FIXED | {"name": name}), field("b", name), field("c", inner), field("d", "i"))
    value = {"k": 7, "a": b"1234", "b": b"5678", "c": {"x": 1}, "d": {"x": 2}}
    path = tmp_path / "f.avro"
    path.write_bytes(container(schema, RecordCodec(schema), [value]))
    fields = [
        DataField(id=0, name="k", type=INT),
        DataField(id=1, name="b", type=BYTES),
        *row(("c", X), ("d", X)).fields,
    ]
    assert read(path, fields) == [{"k": 7, "b": b"5678", "c": {"x": 1}, "d": {"x": 2}}]


@pytest.mark.parametrize(
    "fields",
    [
        [field("a", "f")],
        [field("a", "f"), field("b", FIXED)],
        [field("a", ["null", "r"])],
        [field("a", FIXED), field("b", record("f", field("x", ["null", "f"])))],
        [field("a", FIXED | {"name": "a.f", "size": 0}), field("b", FIXED), field("c", "f")],
        [field("a", FIXED | {"name": "f"}), field("b", FIXED | {"name": "f", "size": 3}), field("c", "f")],
        [field("a", record("f", field("x", "null"))), *2**16 * [field("b", "f")]],
        [
            field("a", FIXED | {"name": "error"}),
            field("b", {"type": "array", "items": record("x") | {"type": "failure"}}),
        ],
    ],
    ids=[
        "unknown",
        "before it is defined",
        "recursive",
        "recursive by namespace",
        "two",
        "redefined",
        "many",
        "a failure",
    ],
)
def test_references_without_bound_are_refused(fields: list[Any]) -> None:
    """By a record that repeats others, or itself, a few bytes are any number of values."""
    with pytest.raises(UnfamiliarSchemaError, match="is not defined|contains itself|repeats more than"):
        parse_type(record("r", *fields))


def test_records_that_double_by_their_names_are_refused() -> None:
    """Thirty records, each with the one before it twice, would be a billion values of no bytes."""
    doubled = [field(f"f{i}", record(f"d{i}", *[field(n, f"d{i - 1}") for n in "ab"])) for i in range(1, 30)]
    with pytest.raises(UnfamiliarSchemaError, match="repeats more than"):
        parse_type(record("r", field("f0", record("d0", field("x", "null"))), *doubled))


def test_a_schema_that_fastavro_refuses() -> None:
    with pytest.raises(ValueError, match="not a valid Avro schema .*redefined named type"):
        RecordCodec(record("r", field("a", FIXED), field("b", FIXED)))


def test_arrays_of_an_empty_fixed_type_by_name() -> None:
    empty = field("a", FIXED | {"size": 0})
    with pytest.raises(ValueError, match="take no bytes"):
        parse_type(record("r", empty, field("b", {"type": "array", "items": "ns.f"})))


def test_a_schema_that_is_nested_too_deeply() -> None:
    """Of a data file as well, whose header is read before anything is known of it."""
    schema = '{"type":"array","items":' * 5000 + '"int"' + "}" * 5000
    header = io.BytesIO()
    fastavro.schemaless_writer(header, {"type": "map", "values": "bytes"}, {"avro.schema": schema.encode()})
    with pytest.raises(ValueError, match="nested too deeply"):
        ContainerReader(io.BytesIO(MAGIC + header.getvalue() + bytes(16)))
