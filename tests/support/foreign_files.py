"""Parquet files as other writers store them, committed to a table: columns of each type in several physical forms."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core.scan.read import read_split
from paimon_core.spec.binary_row import EMPTY_ROW
from paimon_core.spec.split import DataSplit
from paimon_core.spec.stats import EMPTY_STATS
from paimon_core.spec.types import (
    INT,
    STRING,
    CollectionType,
    DataField,
    DataType,
    Kind,
    MapType,
    RowType,
    parse_type,
)
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from tests.support.tables import data_file, info, message

_ROW = RowType(fields=(DataField(id=10, name="x", type=INT), DataField(id=11, name="y", type=STRING)))
_NESTED: dict[str, DataType] = {
    "ARRAY<INT>": CollectionType(Kind.ARRAY, element=INT),
    "MAP<STRING, INT>": MapType(key=STRING, value=INT),
    "MULTISET<STRING>": CollectionType(Kind.MULTISET, element=STRING),
    "ROW<x INT, y STRING>": _ROW,
    "ARRAY<ROW<x INT, y STRING>>": CollectionType(Kind.ARRAY, element=_ROW),
}


@dataclass(frozen=True)
class Form:
    """One way to store values of a type: the Arrow type for pyarrow's writer, and settings of the writer."""

    sql: str
    values: tuple[Any, ...]
    stored: pa.DataType
    is_usual: bool
    settings: Mapping[str, Any]
    read: tuple[Any, ...]

    @property
    def type(self) -> DataType:
        return _NESTED[self.sql] if self.sql in _NESTED else parse_type(self.sql)

    def __str__(self) -> str:
        return f"{self.sql} as {self.stored}{'' if not self.settings else f' {dict(self.settings)}'}"


def _form(
    sql: str, stored: pa.DataType, values: Sequence[Any], usual: bool = False, read: Sequence[Any] = (), **more: Any
) -> Form:
    return Form(sql, tuple(values), stored, usual, more, tuple(read or values))


_TIMES = (datetime(2024, 1, 2, 3, 4, 5, 678000), None, datetime(1969, 5, 1))
_ZONED = tuple(t and t.replace(tzinfo=UTC) for t in _TIMES)
_MILLIS = (1704164645678, None, -21168000000)
_MICROS = tuple(m and m * 1000 for m in _MILLIS)
_DECIMALS = (Decimal("1.25"), None, Decimal("-3.50"))
_NULLS = (None, None, None)
_ROWS = ({"x": 1, "y": "a"}, None, {"x": None, "y": "b"})
_MAPS = ([("a", 1), ("b", None)], None, [])
_XY = [("x", pa.int32()), ("y", pa.string())]

FORMS = (
    _form("BOOLEAN", pa.bool_(), (True, None, False), True),
    _form("TINYINT", pa.int8(), (1, None, -2), True),
    _form("TINYINT", pa.int32(), (1, None, -2)),
    _form("SMALLINT", pa.int16(), (1, None, -2), True),
    _form("SMALLINT", pa.int64(), (1, None, -2)),
    _form("INT", pa.int32(), (1, None, -2), True),
    _form("INT", pa.int64(), (1, None, -2)),
    _form("INT", pa.int16(), (1, None, -2)),
    _form("INT", pa.uint32(), (1, None, 2)),
    _form("INT", pa.int32(), (1, None, -2), column_encoding="BYTE_STREAM_SPLIT", use_dictionary=False),
    _form("INT", pa.int32(), (1, None, -2), True, column_encoding="DELTA_BINARY_PACKED", use_dictionary=False),
    _form("BIGINT", pa.int64(), (1, None, -(2**40)), True),
    _form("BIGINT", pa.int32(), (1, None, -2)),
    _form("BIGINT", pa.uint64(), (1, None, 2)),
    _form("FLOAT", pa.float32(), (1.5, None, -2.0), True),
    _form("FLOAT", pa.float64(), (1.5, None, -2.0)),
    _form("DOUBLE", pa.float64(), (1.5, None, -2.0), True),
    _form("DOUBLE", pa.float32(), (1.5, None, -2.0)),
    _form("DECIMAL(5,2)", pa.decimal128(5, 2), _DECIMALS, True),
    _form("DECIMAL(5,2)", pa.decimal128(5, 2), _DECIMALS, True, store_decimal_as_integer=True),
    _form("DECIMAL(10,2)", pa.decimal128(10, 2), _DECIMALS, True, store_decimal_as_integer=True),
    _form("DECIMAL(10,2)", pa.decimal128(38, 2), _DECIMALS),
    _form("DECIMAL(10,2)", pa.decimal128(12, 4), _DECIMALS),
    _form("DECIMAL(30,2)", pa.decimal128(30, 2), _DECIMALS, True),
    _form("DECIMAL(30,2)", pa.decimal128(10, 2), _DECIMALS, store_decimal_as_integer=True),
    _form("STRING", pa.string(), ("a", None, "ü"), True),
    _form("STRING", pa.string(), ("a", None, "ü"), True, column_encoding="DELTA_BYTE_ARRAY", use_dictionary=False),
    _form("STRING", pa.string(), ("a", None, "ü"), data_page_version="2.0", usual=True),
    _form("STRING", pa.binary(), (b"a", None, b"b"), read=("a", None, "b")),
    _form("STRING", pa.int32(), _NULLS),
    _form("STRING", pa.null(), _NULLS),
    _form("CHAR(3)", pa.string(), ("abc", None, "def"), True),
    _form("BYTES", pa.binary(), (b"a", None, b"\xff"), True),
    _form("BYTES", pa.binary(2), (b"ab", None, b"\xff\x00")),
    _form("DATE", pa.date32(), (date(2024, 1, 2), None, date(1969, 5, 1)), True),
    _form("DATE", pa.int32(), (19724, None, -1), read=(date(2024, 1, 2), None, date(1969, 12, 31))),
    _form("TIME(3)", pa.time32("ms"), (time(1, 2, 3, 4000), None, time(0)), True),
    _form("TIME(3)", pa.time64("us"), (time(1, 2, 3, 4000), None, time(0))),
    _form("TIMESTAMP(3)", pa.timestamp("ms"), _TIMES, True),
    _form("TIMESTAMP(3)", pa.timestamp("us"), _TIMES),
    _form("TIMESTAMP(3)", pa.int64(), _MILLIS, read=_TIMES),
    _form("TIMESTAMP(3)", pa.timestamp("ms", "UTC"), _ZONED, read=_TIMES),
    _form("TIMESTAMP(6)", pa.timestamp("us"), _TIMES, True),
    _form("TIMESTAMP(6)", pa.timestamp("ms"), _TIMES),
    _form("TIMESTAMP(6)", pa.timestamp("ns"), _TIMES),
    _form("TIMESTAMP(6)", pa.timestamp("ns"), _TIMES, use_deprecated_int96_timestamps=True),
    _form("TIMESTAMP(6)", pa.int64(), _MICROS, read=_TIMES),
    _form("TIMESTAMP(3) WITH LOCAL TIME ZONE", pa.timestamp("ms", "UTC"), _ZONED, True),
    _form("TIMESTAMP(6) WITH LOCAL TIME ZONE", pa.timestamp("us", "UTC"), _ZONED, True),
    _form("TIMESTAMP(6) WITH LOCAL TIME ZONE", pa.timestamp("us"), _TIMES, read=_ZONED),
    _form("TIMESTAMP(6) WITH LOCAL TIME ZONE", pa.int64(), _MICROS, read=_ZONED),
    _form("ARRAY<INT>", pa.list_(pa.int32()), ([1, None], None, []), True),
    _form("ARRAY<INT>", pa.list_(pa.int64()), ([1, None], None, [])),
    _form("ARRAY<INT>", pa.list_(pa.int32()), ([1, None], None, []), use_compliant_nested_type=False, usual=True),
    _form("MAP<STRING, INT>", pa.map_(pa.string(), pa.int32()), _MAPS, True),
    _form("MAP<STRING, INT>", pa.map_(pa.string(), pa.int64()), _MAPS),
    _form("MULTISET<STRING>", pa.map_(pa.string(), pa.int32()), ([("a", 1)], None, []), True),
    _form("ROW<x INT, y STRING>", pa.struct(_XY), _ROWS, True),
    _form("ROW<x INT, y STRING>", pa.struct(_XY[::-1]), _ROWS, True),
    _form("ROW<x INT, y STRING>", pa.struct([("X", pa.int32()), ("y", pa.string())]), ({"X": 1, "y": "a"}, None,
          {"X": None, "y": "b"}), read=_ROWS),
    _form("ROW<x INT, y STRING>", pa.struct([("x", pa.int64()), ("y", pa.string())]), _ROWS),
    _form("ROW<x INT, y STRING>", pa.struct(_XY[1:]), ({"y": "a"}, None, {"y": "b"}),
          read=({"x": None, "y": "a"}, None, {"x": None, "y": "b"})),
    _form("ARRAY<ROW<x INT, y STRING>>", pa.list_(pa.struct(_XY)), ([_ROWS[0]], None, []), True),
    _form("ARRAY<ROW<x INT, y STRING>>", pa.list_(pa.struct([("x", pa.int16()), _XY[1]])), ([_ROWS[0]], None, [])),
)  # fmt: skip


def stored_table(columns: Mapping[str, Form], rows: Sequence[int], ids: Mapping[str, int] | None = None) -> pa.Table:
    """The chosen rows of columns in their forms, with field ids where given."""
    known = ids or {}
    fields, arrays = [], []
    for name, form in columns.items():
        metadata = {"PARQUET:field_id": str(known[name])} if name in known else None
        fields.append(pa.field(name, form.stored, metadata=metadata))
        arrays.append(pa.array([form.values[i] for i in rows], form.stored))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def settings_of(columns: Mapping[str, Form]) -> dict[str, Any]:
    """Return the writer's arguments for columns with forms that agree: encodings are set for single columns."""
    settings: dict[str, Any] = {}
    for form in columns.values():
        settings |= form.settings
    return settings


def write_file(store: TableStore, rows: pa.Table, **settings: Any) -> DataSplit:
    """Write a Parquet file of the table that no snapshot names. Return its split."""
    folder = Path(store.bucket_dir(EMPTY_ROW, 0))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"data-{uuid.uuid4()}-0.parquet"
    pq.write_table(rows, path, **{"store_schema": False, **settings})
    more = {
        "file_name": path.name,
        "file_size": path.stat().st_size,
        "value_stats": EMPTY_STATS,
        "value_stats_cols": (),
    }
    file = data_file(store, 0, 0, rows=rows.num_rows, **more)
    return DataSplit(partition=EMPTY_ROW, bucket=0, bucket_dir=str(folder), files=(file,))


def commit_file(table: Table, rows: pa.Table, **settings: Any) -> None:
    """Commit one Parquet file to a table."""
    split = write_file(table.store, rows, **settings)
    table.commit_or_abort([message(table.store, *split.files)], info())


def read_alone(store: TableStore, split: DataSplit, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the rows of a split as this library's reader returns them."""
    return [tuple(row.values()) for b in read_split(store, split, columns) for row in b.to_pylist()]
