"""Every legal Avro spelling of the rows of a data file is read as the same rows."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.arrow.types import arrow_schema
from paimon_core.formats.avro.codecs import CODECS
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
    CollectionType,
    DataField,
    DataType,
    DecimalType,
    Kind,
    MapType,
    RowType,
    TimeType,
)
from tests.support.examples import examples
from tests.support.spellings import coded
from tests.unit.formats.avro.test_resolution import without_logical_types

DATE, TIME = DataType(Kind.DATE), TimeType(Kind.TIME, precision=3)
_EPOCH = datetime(1970, 1, 1)
_MILLIS, _MICROS = (TimeType(Kind.TIMESTAMP, precision=p) for p in (3, 6))
Encode = Callable[[Any], Any]
_VALUES: dict[DataType, st.SearchStrategy[Any]] = {
    BOOLEAN: st.booleans(),
    INT: st.integers(-(2**31), 2**31 - 1),
    BIGINT: st.integers(-(2**63), 2**63 - 1),
    FLOAT: st.floats(allow_nan=False, width=32),
    DOUBLE: st.floats(allow_nan=False),
    STRING: st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    BYTES: st.binary(min_size=2, max_size=2),
    DATE: st.dates(date(1900, 1, 1)),
    TIME: st.integers(0, 86_399_999).map(lambda n: (_EPOCH + timedelta(milliseconds=n)).time()),
    _MILLIS: st.integers(-(10**11), 10**12).map(lambda n: _EPOCH + timedelta(milliseconds=n)),
    _MICROS: st.integers(-(10**14), 10**15).map(lambda n: _EPOCH + timedelta(microseconds=n)),
    DecimalType(precision=9, scale=2): st.integers(-(10**9) + 1, 10**9 - 1).map(lambda n: Decimal(n).scaleb(-2)),
}


def column_types() -> st.SearchStrategy[DataType]:
    nested = st.recursive(
        st.sampled_from([*_VALUES]),
        lambda inner: st.one_of(
            inner.map(lambda t: CollectionType(Kind.ARRAY, element=t)),
            inner.map(lambda t: MapType(key=STRING.with_nullable(False), value=t)),
            st.lists(inner, min_size=1, max_size=3).map(
                lambda types: RowType(fields=tuple(DataField(id=i, name=f"f{i}", type=t) for i, t in enumerate(types)))
            ),
        ),
        max_leaves=4,
    )
    return nested


def values_of(data_type: DataType) -> st.SearchStrategy[Any]:
    """Values as Arrow has them in `to_pylist`."""
    if isinstance(data_type, CollectionType):
        made = st.lists(values_of(data_type.element), max_size=3)
    elif isinstance(data_type, MapType):
        made = st.dictionaries(_VALUES[STRING], values_of(data_type.value), max_size=3).map(lambda d: [*d.items()])
    elif isinstance(data_type, RowType):
        made = st.fixed_dictionaries({f.name: values_of(f.type) for f in data_type.fields})
    else:
        made = _VALUES[data_type]
    return st.none() | made


def millis_of_day(value: time) -> int:
    return (datetime.combine(_EPOCH, value) - _EPOCH) // timedelta(milliseconds=1)


@dataclass
class Spelling:
    """The choices of one file: each type as another writer may declare it, and a function that encodes a value."""

    draw: st.DrawFn
    names: count[int] = field(default_factory=count)

    def choose(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def record(self, fields: tuple[DataField, ...]) -> tuple[Any, Encode]:
        columns = {f.name: self.nullable(f.type) for f in fields}
        made = [{"name": name, "type": kind} for name, (kind, _) in columns.items()]
        later = {f"later{next(self.names)}": None for _ in range(self.choose(0, 0, 1))}
        made += [{"name": name, "type": self.choose("null", ["null", "string"])} for name in later]
        schema = {"type": "record", "name": f"r{next(self.names)}", "fields": self.draw(st.permutations(made))}
        if self.choose(True, False):
            schema["namespace"] = "other.space"
        return schema, lambda value: later | {n: encode(value[n]) for n, (_, encode) in columns.items()}

    def nullable(self, data_type: DataType) -> tuple[Any, Encode]:
        made, encode = self.type(data_type)
        union = self.choose(["null", made], [made, "null"])
        return union, lambda value: None if value is None else encode(value)

    def type(self, data_type: DataType) -> tuple[Any, Encode]:
        if isinstance(data_type, RowType):
            return self.record(data_type.fields)
        if isinstance(data_type, CollectionType):
            items, encode = self.nullable(data_type.element)
            return {"type": "array", "items": items}, lambda value: [encode(v) for v in value]
        if isinstance(data_type, MapType):
            return self.map(data_type.value)
        if isinstance(data_type, TimeType):
            return self.time(data_type)
        if isinstance(data_type, DecimalType):
            size = self.choose(5, 8)
            as_bytes = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
            fixed = {**as_bytes, "type": "fixed", "name": f"d{next(self.names)}", "size": size}
            return self.choose(as_bytes, fixed), lambda v: int(v.scaleb(2)).to_bytes(size, "big", signed=True)
        if data_type == DATE:
            return self.choose("int", {"type": "int", "logicalType": "date"}), lambda v: (v - date(1970, 1, 1)).days
        fixed = {"type": "fixed", "name": f"b{next(self.names)}", "size": 2}
        spellings: dict[DataType, tuple[tuple[Any, Encode], ...]] = {
            BOOLEAN: (("boolean", bool),),
            INT: (("int", int), ("long", int)),
            BIGINT: (("long", int),),
            FLOAT: (("float", float), ("double", float)),
            DOUBLE: (("double", float),),
            STRING: (("string", str), ("bytes", str.encode)),
            BYTES: (("bytes", bytes), (fixed, bytes)),
        }
        chosen: tuple[Any, Encode] = self.choose(*spellings[data_type])
        return chosen

    def map(self, value_type: DataType) -> tuple[Any, Encode]:
        values, encode = self.nullable(value_type)
        if self.choose(True, False):
            return {"type": "map", "values": values}, lambda value: {k: encode(v) for k, v in value}
        entry = [{"name": "key", "type": "string"}, {"name": "value", "type": values}]
        items = {"type": "record", "name": f"m{next(self.names)}", "fields": entry}
        return (
            {"type": "array", "logicalType": "map", "items": items},
            lambda value: [{"key": k, "value": encode(v)} for k, v in value],
        )

    def time(self, data_type: TimeType) -> tuple[Any, Encode]:
        if data_type.kind is Kind.TIME:
            return self.choose(
                ({"type": "int", "logicalType": "time-millis"}, millis_of_day),
                ({"type": "long", "logicalType": "time-micros"}, lambda v: millis_of_day(v) * 1000),
            )
        units = {"micros": timedelta(microseconds=1)}
        if data_type.precision == 3:
            units["millis"] = timedelta(milliseconds=1)
        unit = self.choose(*units)
        logical = self.choose("timestamp", "local-timestamp")
        return {"type": "long", "logicalType": f"{logical}-{unit}"}, lambda v: (v - _EPOCH) // units[unit]


@st.composite
def files(draw: st.DrawFn) -> tuple[tuple[DataField, ...], list[dict[str, Any]], bytes]:
    """Columns, rows, and a file of the rows as another writer could write it. The file may lack a last column."""
    types = draw(st.lists(column_types(), min_size=1, max_size=4))
    fields = tuple(DataField(id=i, name=f"c{i}", type=t) for i, t in enumerate(types))
    rows = draw(st.lists(st.fixed_dictionaries({f.name: values_of(f.type) for f in fields}), max_size=5))
    spelling = Spelling(draw)
    stored = fields[:-1] if len(fields) > 1 and spelling.choose(True, False, False) else fields
    schema, encode = spelling.record(stored)
    schema = spelling.choose(schema, ["null", schema], [schema, "null"])
    parsed = fastavro.parse_schema(without_logical_types(schema))
    path = Path(tempfile.mkdtemp()) / "f.avro"
    with path.open("wb") as sink:
        writer = ContainerWriter(sink, schema, spelling.choose(*CODECS), 3)
        for start in range(0, len(rows), step := spelling.choose(1, 3, 1000)):
            block = [encode(r) for r in rows[start : start + step]]
            writer.write(len(block), coded(parsed, block))
    data = path.read_bytes()
    path.unlink()
    path.parent.rmdir()
    missing = {f.name: None for f in fields[len(stored) :]}
    return fields, [row | missing for row in rows], data


@settings(deadline=timedelta(seconds=30), max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(files())
def test_every_legal_spelling_of_a_data_file_is_read(
    case: tuple[tuple[DataField, ...], list[dict[str, Any]], bytes],
) -> None:
    fields, rows, data = case
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "f.avro"
        path.write_bytes(data)
        batches = list(AvroFormat().read(LocalFileIO(), ReadRequest(str(path), fields, row_count=len(rows))))
    found = pa.Table.from_batches(batches, None if batches else arrow_schema(fields))
    assert found.schema.names == [f.name for f in fields]
    assert found.to_pylist() == rows
