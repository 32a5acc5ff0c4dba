"""MAPs with a column per key, read by some keys: as whole MAPs without the others, from fewer columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.arrow.map_shredding import LRU, PLAIN, SEQUENTIAL, MapShredder
from paimon_core.arrow.shredded_maps import selected_keys
from paimon_core.arrow.types import arrow_schema
from paimon_core.errors import CorruptFileError
from paimon_core.formats.file_format import ReadRequest
from paimon_core.formats.registry import format_of_file
from paimon_core.io.local import LocalFileIO
from paimon_core.options import TableOptions
from paimon_core.spec.types import (
    BIGINT,
    INT,
    STRING,
    CollectionType,
    DataField,
    DataType,
    Kind,
    MapType,
    RowType,
    TimeType,
)
from tests.support.examples import examples
from tests.unit.arrow.test_shredded_maps import shredded

KEYS = ("a", "b", "ü", "long key", "")
KEY = STRING.with_nullable(False)
PLACE = RowType(fields=(DataField(id=20, name="x", type=INT), DataField(id=21, name="y", type=STRING)))
LAYOUT = {"fields.m.map.storage-layout": "shared-shredding"}
Maps = list[dict[str, Any] | None]
maps = st.lists(st.none() | st.dictionaries(st.sampled_from(KEYS), st.none() | st.integers(0, 9)), max_size=9)


def fields_of(value: DataType) -> tuple[DataField, ...]:
    return DataField(id=0, name="k", type=INT), DataField(id=7, name="m", type=MapType(key=KEY, value=value))


def write(path: Path, parts: list[Maps], value: DataType = BIGINT, **options: str) -> None:
    fields = fields_of(value)
    schema = arrow_schema(fields)
    given_options = TableOptions({**LAYOUT, **options})
    writer = format_of_file(path.name).open_writer(LocalFileIO(), str(path), fields, given_options)
    for part in parts:
        whole = pa.array([None if v is None else list(v.items()) for v in part], schema.field("m").type)
        writer.write(pa.table([pa.array(range(len(part)), pa.int32()), whole], schema=schema))
    writer.close()


def read(path: Path, keys: Sequence[str] | None, value: DataType = BIGINT, io: Any = None, **more: Any) -> list[Any]:
    fields = fields_of(value)
    wanted = {} if keys is None else {7: tuple(keys)}
    request = ReadRequest(str(path), fields, None, lambda: fields, TableOptions({}), map_keys=wanted, **more)
    batches = list(format_of_file(path.name).read(io or LocalFileIO(), request))
    for batch in batches:
        batch.validate(full=True)
    return [None if v is None else dict(v) for b in batches for v in b.column(1).to_pylist()]


def only(found: list[Any], keys: Sequence[str]) -> list[Any]:
    return [None if v is None else {k: i for k, i in v.items() if k in keys} for v in found]


@pytest.mark.parametrize("extension", ["parquet", "orc"])
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    parts=st.lists(maps, max_size=3),
    keys=st.lists(st.sampled_from([*KEYS, "never"]), unique=True),
    columns=st.integers(1, 3),
    policy=st.sampled_from([LRU, PLAIN, SEQUENTIAL]),
)
def test_any_keys_of_any_maps(
    tmp_path: Path, extension: str, parts: list[Maps], keys: list[str], columns: int, policy: str
) -> None:
    path = tmp_path / f"f.{extension}"
    path.unlink(missing_ok=True)
    options = {
        "fields.m.map.shared-shredding.max-columns": str(columns),
        "fields.m.map.shared-shredding.column-placement-policy": policy,
    }
    write(path, parts, **options)
    assert read(path, keys) == only(read(path, None), keys)
    assert read(path, keys, max_rows=2) == only([v for part in parts for v in part], keys)


@pytest.mark.parametrize("extension", ["parquet", "orc"])
@pytest.mark.parametrize(
    ("value", "items"),
    [
        (PLACE, [{"x": 1, "y": "p"}, {"x": None, "y": "q"}, None]),
        (CollectionType(Kind.ARRAY, element=INT), [[1, None], [], None]),
        (MapType(key=KEY, value=INT), [[("i", 1)], [], None]),
        (TimeType(Kind.TIMESTAMP, precision=3), [pa.scalar(0, pa.timestamp("ms")).as_py(), None]),
        (STRING, ["x", "", None]),
    ],
)
def test_values_of_any_type(tmp_path: Path, extension: str, value: DataType, items: list[Any]) -> None:
    path = tmp_path / f"f.{extension}"
    rows: Maps = [{f"k{i}": item for i, item in enumerate(items)}, None, {"k0": items[0], "other": items[1]}, {}]
    write(path, [rows, rows[::-1]], value, **{"fields.m.map.shared-shredding.max-columns": "2"})
    for keys in (["k0"], ["k1", "other"], ["k2"], ["none"], []):
        assert read(path, keys, value) == only(read(path, None, value), keys)


class CountingIO(LocalFileIO):
    """Counts the bytes that readers take of data files."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes_read = 0

    @property
    def is_near(self) -> bool:
        return False

    def open_input(self, path: str, size: int | None = None) -> pa.NativeFile:
        inner, counting = super().open_input(path, size), self

        class Counted:
            closed = False

            def read(self, length: int = -1) -> bytes:
                data = bytes(inner.read() if length is None or length < 0 else inner.read(length))
                counting.bytes_read += len(data)
                return data

            def seek(self, offset: int, whence: int = 0) -> int:
                return int(inner.seek(offset, whence))

            def tell(self) -> int:
                return int(inner.tell())

            def seekable(self) -> bool:
                return True

            def readable(self) -> bool:
                return True

            def writable(self) -> bool:
                return False

            def close(self) -> None:
                inner.close()

        return pa.PythonFile(Counted(), mode="r")


@pytest.mark.parametrize("extension", ["parquet", "orc"])
def test_a_key_costs_its_column_alone(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"f.{extension}"
    rows: Maps = [{f"k{n}": (i * 7919 + n * 104729) ** 3 % 2**60 for n in range(20)} for i in range(4000)]
    write(path, [rows], **{"file.compression": "none", "orc.dictionary.key.threshold": "0"})
    costs = {}
    for keys in (None, ["k3"], ["k3", "k4"], []):
        io = CountingIO()
        found = read(path, keys, io=io)
        assert found == (rows if keys is None else only(rows, keys))
        costs[repr(keys)] = io.bytes_read
    whole, one, two, none = costs.values()
    assert none < one < two < whole / 4


def test_columns_that_the_metadata_does_not_list_are_damage(tmp_path: Path) -> None:
    shredder = MapShredder(2, PLAIN)
    stored = shredder.physical(pa.array([[("a", 1), ("b", 2)], [("b", 3), ("a", 4)]], pa.map_(pa.string(), pa.int64())))
    metadata = shredder.metadata()
    prefix = "paimon.map.shared-shredding."
    damaged = {
        "field-columns": ['{"0":[0],"1":[1]}', '{"0":[9],"1":[1]}', '{"0":3}', "[]", '{"0":["x"]}', "{"],
        "overflow-set": ["{}", '["x"]', "[[0]]", "5"],
    }
    for name, texts in damaged.items():
        for text in texts:
            more = {**metadata, f"{prefix}{name}": text, "PARQUET:field_id": "7"}
            schema = pa.schema([pa.field("k", pa.int32()), pa.field("m", stored.type, metadata=more)])
            pq.write_table(pa.table([pa.array([1, 2], pa.int32()), stored], schema=schema), tmp_path / "f.parquet")
            with pytest.raises(CorruptFileError):
                read(tmp_path / "f.parquet", ["a"])


def test_without_the_columns_of_keys_whole_maps_are_read(tmp_path: Path) -> None:
    values: Maps = [{"a": 1, "b": None, "ü": 3}, None, {}, {"b": 5, "a": 6}]
    batch = shredded(values, 2)
    assert selected_keys(batch.schema.field(0).type, batch.schema.field(0).metadata, ["a"]) is None
    rows = pa.Table.from_batches([batch]).add_column(0, "k", pa.array(range(len(values)), pa.int32()))
    pq.write_table(rows, tmp_path / "f.parquet")
    assert read(tmp_path / "f.parquet", ["a"]) == values


def test_plain_maps_are_read_as_they_are(tmp_path: Path) -> None:
    plain = pa.table(
        {"k": pa.array([1, 2], pa.int32()), "m": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64()))}
    )
    pq.write_table(plain, tmp_path / "f.parquet")
    assert read(tmp_path / "f.parquet", ["b"]) == [{"a": 1}, None]
