"""Every format of data files: all types come back, columns are found across schemas, damage is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.orc as po
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.arrow.types import arrow_schema, arrow_type, key_value_fields
from paimon_core.errors import (
    InvalidDataError,
    InvalidOptionError,
    PaimonError,
    UnfamiliarFormError,
    UnsupportedFeatureError,
)
from paimon_core.formats.file_format import ReadRequest
from paimon_core.formats.orc.layout import read_streams, read_tail
from paimon_core.formats.registry import FORMATS, format_of_file
from paimon_core.io.local import LocalFileIO
from paimon_core.options import TableOptions
from paimon_core.spec.schema import decode_schema
from paimon_core.spec.stats import ColumnStats
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
    parse_type,
)
from tests.support.examples import examples
from tests.support.golden import GOLDEN_DATABASE
from tests.support.strategies import KEY_TYPES, columns_of

IO = LocalFileIO()
NANOS = [t for t in KEY_TYPES if isinstance(t, TimeType) and t.precision > 6]


def write(path: Path, fields: list[DataField], groups: list[pa.Table], **options: str) -> dict[str, ColumnStats]:
    given = {k.replace("__", ".").replace("_", "-"): v for k, v in options.items()}
    writer = format_of_file(path.name).open_writer(IO, str(path), fields, TableOptions(given))
    for rows in groups:
        writer.write(rows)
    written = writer.close()
    assert written.size == path.stat().st_size
    assert written.row_count == sum(g.num_rows for g in groups)
    return dict(written.stats)


def read(path: Path, fields: list[DataField], **given: Any) -> pa.Table:
    batches = list(format_of_file(path.name).read(IO, ReadRequest(str(path), tuple(fields), **given)))
    for batch in batches:
        batch.validate(full=True)
    return pa.Table.from_batches(batches, arrow_schema(fields))


def one_field(data_type: DataType) -> list[DataField]:
    return [DataField(id=7, name="c", type=data_type)]


@pytest.mark.parametrize("name", ["orc", "avro"])
@pytest.mark.parametrize("data_type", [t for t in KEY_TYPES if t not in NANOS], ids=str)
@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_atomic_types_come_back(name: str, data_type: DataType, tmp_path: Path, data: st.DataObject) -> None:
    fields = one_field(data_type)
    (column,) = data.draw(columns_of((data_type,)))
    rows = pa.Table.from_arrays([column], schema=arrow_schema(fields))
    if name == "orc" and pa.types.is_timestamp(column.type) and not orc_holds(column):
        with pytest.raises(InvalidDataError, match="'c' has times before 1970"):
            write(tmp_path / f"f.{name}", fields, [rows])
        return
    stats = write(tmp_path / f"f.{name}", fields, [rows])["c"]
    assert read(tmp_path / f"f.{name}", fields).equals(rows)
    assert stats.null_count == column.null_count
    assert (stats.minimum is None) == (column.null_count == len(column))


def orc_holds(column: pa.Array) -> bool:
    """Whether the times of a column have no microseconds before 1970."""
    numbers = column.cast(pa.int64()).to_pylist()
    return column.type.unit == "ms" or not any(n is not None and n < 0 and n % 1000 for n in numbers)


DECIMAL, MOMENT = parse_type("DECIMAL(20, 4)"), parse_type("TIMESTAMP(3)")
NESTED = [
    CollectionType(Kind.ARRAY, True, INT),
    CollectionType(Kind.ARRAY, True, CollectionType(Kind.ARRAY, True, DECIMAL)),
    MapType(key=STRING, value=BIGINT),
    MapType(key=parse_type("DATE"), value=MapType(key=STRING, value=MOMENT)),
    CollectionType(Kind.MULTISET, True, STRING),
    CollectionType(Kind.MULTISET, True, INT),
    RowType(fields=(DataField(id=8, name="x", type=INT), DataField(id=9, name="y", type=parse_type("TIME(3)")))),
    RowType(fields=(DataField(id=8, name="x", type=CollectionType(Kind.ARRAY, True, RowType(fields=()))),)),
]


def values(data_type: DataType) -> st.SearchStrategy[Any]:
    """Values as Arrow's builders take them, without NULL at the top."""
    match data_type:
        case MapType(key=key, value=value):
            return st.dictionaries(values(key), maybe(value), max_size=3).map(lambda d: list(d.items()))
        case CollectionType(kind=Kind.MULTISET, element=element):
            return st.dictionaries(values(element), st.integers(1, 9), max_size=3).map(lambda d: list(d.items()))
        case CollectionType(element=element):
            return st.lists(maybe(element), max_size=3)
        case RowType(fields=fields):
            return st.fixed_dictionaries({f.name: maybe(f.type) for f in fields})
    if data_type == STRING:
        return st.text(max_size=5)
    if data_type == DECIMAL:
        return st.decimals(-(10**15), 10**15, places=4)
    return st.integers(0, 2_000_000)  # as INT, BIGINT, DATE, TIME and TIMESTAMP


def maybe(data_type: DataType) -> st.SearchStrategy[Any]:
    return values(data_type) | st.none()


@pytest.mark.parametrize("name", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("data_type", NESTED[:-1], ids=str)
@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_nested_types_come_back(name: str, data_type: DataType, tmp_path: Path, data: st.DataObject) -> None:
    fields, path = one_field(data_type), tmp_path / f"f.{name}"
    column = pa.array(data.draw(st.lists(maybe(data_type), max_size=6)), arrow_type(data_type))
    rows = pa.Table.from_arrays([column], schema=arrow_schema(fields))
    stats = write(path, fields, [rows.slice(0, 2), rows.slice(2)])["c"]
    assert read(path, fields).to_pylist() == rows.to_pylist()
    assert stats == ColumnStats(null_count=None if name == "parquet" else column.null_count)


@pytest.mark.parametrize("table", ["types_pk_orc", "types_pk_avro"])
def test_files_have_the_schema_of_golden_files(table: str, tmp_path: Path) -> None:
    root, name = GOLDEN_DATABASE / table, table.rpartition("_")[2]
    schema = decode_schema("schema-0", (root / "schema" / "schema-0").read_bytes())
    golden = next(root.glob(f"bucket-0/*.{name}"))
    fields = list(key_value_fields(schema.fields, schema.key_fields))
    rows = read(golden, fields)
    write(tmp_path / f"f.{name}", fields, [rows])
    assert read(tmp_path / f"f.{name}", fields).equals(rows)
    assert stored_schema(tmp_path / f"f.{name}") == stored_schema(golden)


def stored_schema(path: Path) -> Any:
    if path.suffix == ".orc":
        return po.ORCFile(str(path)).schema.to_string(show_field_metadata=True)
    with path.open("rb") as file:
        return fastavro.reader(file).writer_schema


THEN = [
    DataField(id=0, name="a", type=INT),
    DataField(id=1, name="b", type=STRING),
    DataField(id=2, name="r", type=RowType(fields=(DataField(id=3, name="x", type=INT),))),
]
NOW = [
    DataField(id=4, name="a", type=STRING),  # another column, that took the name
    DataField(id=0, name="b", type=BIGINT),
    DataField(
        id=2,
        name="r",
        type=RowType(fields=(DataField(id=5, name="x", type=INT), DataField(id=3, name="y", type=BIGINT))),
    ),
]


@pytest.mark.parametrize("name", ["parquet", "orc", "avro"])
def test_columns_are_found_by_id_whatever_they_were_called(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"f.{name}"
    write(path, THEN, [pa.table([[1, None], ["x", "y"], [{"x": 3}, None]], schema=arrow_schema(THEN))])
    assert read(path, NOW, stored=lambda: THEN).to_pylist() == [
        {"a": None, "b": 1, "r": {"x": None, "y": 3}},
        {"a": None, "b": None, "r": None},
    ]


@pytest.mark.parametrize("name", ["parquet", "orc", "avro", "csv", "json"])
def test_rows_are_there_though_none_of_their_columns_is_asked_for(name: str, tmp_path: Path) -> None:
    path, stored = tmp_path / f"f.{name}", one_field(INT)
    rows = pa.table([[1, 2, None]], schema=arrow_schema(stored))
    write(path, stored, [rows], **{"file.compression": "none"})
    later = [DataField(id=70, name="later", type=STRING)]
    assert read(path, later, stored=lambda: stored)["later"].to_pylist() == [None] * 3
    assert read(path, [], stored=lambda: stored).num_rows == 3


@pytest.mark.parametrize("name", ["parquet", "orc", "avro"])
def test_thin_files_have_their_keys_once(name: str, tmp_path: Path) -> None:
    path, value = tmp_path / f"f.{name}", THEN[:2]
    fields = key_value_fields(value, [THEN[0]])
    write(path, list(fields[1:]), [pa.table([[5], [0], [1], ["x"]], schema=arrow_schema(fields[1:]))])
    assert read(path, list(fields), stored=lambda: fields).to_pylist() == [
        {"_KEY_a": 1, "_SEQUENCE_NUMBER": 5, "_VALUE_KIND": 0, "a": 1, "b": "x"}
    ]
    with pytest.raises(UnfamiliarFormError, match="_SEQUENCE_NUMBER"):
        write(path, value, [pa.table([[1], ["x"]], schema=arrow_schema(value))])
        read(path, list(fields), stored=lambda: fields)


CODECS: dict[str, dict[str, str]] = {
    "orc": {"zstd": "ZSTD", "snappy": "SNAPPY", "zlib": "ZLIB", "lz4": "LZ4", "none": "UNCOMPRESSED"},
    "avro": {"zstd": "zstandard"} | {c: c for c in ("null", "deflate", "snappy", "bzip2", "xz")} | {"none": "null"},
}


@pytest.mark.parametrize(("name", "codec"), [(n, c) for n, found in CODECS.items() for c in found])
def test_codecs(name: str, codec: str, tmp_path: Path) -> None:
    path, rows = tmp_path / f"f.{name}", pa.table([["x" * 1000] * 100], schema=arrow_schema(one_field(STRING)))
    write(path, one_field(STRING), [rows], file__compression=codec)
    assert read(path, one_field(STRING)).equals(rows)
    assert codec_of(path) == CODECS[name][codec]
    with pytest.raises(InvalidOptionError, match=r"file\.compression.*'rar'"):
        write(tmp_path / f"g.{name}", one_field(STRING), [], file__compression="rar")
    assert not (tmp_path / f"g.{name}").exists()


def codec_of(path: Path) -> str:
    if path.suffix == ".orc":
        return str(po.ORCFile(str(path)).compression)
    return path.read_bytes().partition(b"avro.codec")[2][1:20].decode("ascii", "replace").partition("\0")[0]


@pytest.mark.parametrize(("name", "sql_type"), [("orc", "VARIANT"), ("avro", "VARIANT"), ("avro", "TIMESTAMP(9)")])
def test_types_that_a_format_does_not_hold_are_refused(name: str, sql_type: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFeatureError, match=sql_type.partition("(")[0]):
        write(tmp_path / f"f.{name}", one_field(parse_type(sql_type)), [])
    assert not list(tmp_path.iterdir())


def test_bloom_filters_of_orc(tmp_path: Path) -> None:
    nested = MapType(key=STRING, value=CollectionType(Kind.ARRAY, element=INT))
    fields = [DataField(id=0, name="m", type=nested), DataField(id=1, name="v", type=STRING)]
    rows = pa.Table.from_pylist(
        [{"m": [("a", [1])], "v": f"{i * 7919:0>50}"} for i in range(2000)], arrow_schema(fields)
    )
    written = {"orc.bloom.filter.columns": "v", "orc.bloom.filter.fpp": "0.001", "orc.compression.zstd.level": "9"}
    for name, options in (("f", written), ("g", {})):
        writer = FORMATS["orc"].open_writer(IO, str(tmp_path / f"{name}.orc"), fields, TableOptions(options))
        writer.write(rows)
        writer.close()
    with IO.open_input(str(tmp_path / "f.orc")) as source:
        tail = read_tail(source)
        kinds = {(s.column, s.kind) for s in read_streams(source, tail, tail.stripes[0])[0]}
    utf8_filter = 8
    assert [column for column, kind in kinds if kind == utf8_filter] == [5]  # the row, m, its keys, lists, numbers, v
    assert read(tmp_path / "f.orc", fields).equals(read(tmp_path / "g.orc", fields))


@pytest.mark.parametrize("name", ["orc", "avro"])
def test_options_reach_the_writer(name: str, tmp_path: Path) -> None:
    rows = pa.table([[f"{i * 7919:0>50}" for i in range(20_000)]], schema=arrow_schema(one_field(STRING)))
    write(tmp_path / f"f.{name}", one_field(STRING), [rows] * 4, file__block_size="256 kb", orc__compress="snappy")
    write(tmp_path / f"g.{name}", one_field(STRING), [rows] * 4, avro__codec="deflate", orc__row__index__stride="500")
    if name == "orc":
        first, second = (po.ORCFile(str(tmp_path / f"{f}.orc")) for f in "fg")
        assert (first.compression, second.compression) == ("SNAPPY", "ZSTD")
        assert first.row_index_stride == 10_000
        assert second.row_index_stride == 500
        assert first.nstripes > second.nstripes == 1
    else:
        assert [codec_of(tmp_path / f"{f}.avro")[:7] for f in "fg"] == ["zstanda", "deflate"]


def test_batches_of_long_values_are_small(tmp_path: Path) -> None:
    rows = pa.table([[f"{i:0>1000}" for i in range(1000)]], schema=arrow_schema(one_field(STRING)))
    for name in ("orc", "avro"):
        write(tmp_path / f"f.{name}", one_field(STRING), [rows])
        request = ReadRequest(str(tmp_path / f"f.{name}"), tuple(one_field(STRING)), max_rows=300, max_bytes=100_000)
        sizes = [b.num_rows for b in FORMATS[name].read(IO, request)]
        assert sum(sizes) == 1000
        assert max(sizes) <= 600


def flips(data: bytes) -> list[Callable[[], bytes]]:
    random = np.random.default_rng(7)
    offsets = random.integers(0, len(data), 150)
    return [lambda p=int(p): data[:p] + bytes([data[p] ^ (1 << (p % 8))]) + data[p + 1 :] for p in offsets]


@pytest.mark.parametrize("name", ["orc", "avro"])
def test_damaged_files_name_themselves(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"f.{name}"
    write(path, THEN, [pa.table([[1, None] * 50, ["x", "yy"] * 50, [{"x": 3}, None] * 50], schema=arrow_schema(THEN))])
    data = path.read_bytes()
    whole = read(path, THEN, stored=lambda: THEN)
    for make in [
        lambda: b"",
        lambda: b"nonsense",
        *(lambda n=n: data[:n] for n in (4, 30, len(data) - 1)),
        *flips(data),
    ]:
        path.write_bytes(make())
        try:
            found = read(path, THEN, stored=lambda: THEN)
        except PaimonError as error:
            assert f"f.{name}" in str(error)
        else:
            assert len(make()) == len(data)
            assert found.num_rows == whole.num_rows or name == "orc"


def test_a_missing_file_is_missing(tmp_path: Path) -> None:
    for name in ("orc", "avro"):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / f"f.{name}", THEN)
