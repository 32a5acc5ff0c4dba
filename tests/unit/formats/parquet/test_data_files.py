"""Parquet files: every type comes back, schemas are those of golden files, row groups are pruned soundly."""

from __future__ import annotations

import math
import struct
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.arrow.types import arrow_schema, arrow_type, field_id, key_value_fields
from paimon_core.errors import CorruptFileError, InvalidOptionError, UnsupportedFeatureError
from paimon_core.expressions.predicate import And, Compare, In
from paimon_core.formats.file_format import ReadRequest
from paimon_core.formats.output import OutputFile
from paimon_core.formats.parquet.data_files import ParquetFormat
from paimon_core.formats.parquet.file_writer import ParquetFileWriter
from paimon_core.formats.parquet.footer import read_footer
from paimon_core.formats.parquet.int96 import int96_as_bytes
from paimon_core.formats.parquet.thrift import checked_structure
from paimon_core.formats.registry import format_of_file
from paimon_core.io.local import LocalFileIO
from paimon_core.options import TableOptions
from paimon_core.spec.schema import decode_schema
from paimon_core.spec.stats import ColumnStats
from paimon_core.spec.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    STRING,
    VARIANT,
    CollectionType,
    DataField,
    DataType,
    Kind,
    MapType,
    RowType,
    parse_type,
)
from tests.support.examples import examples
from tests.support.golden import GOLDEN_DATABASE
from tests.support.strategies import KEY_TYPES, columns_of

IO = LocalFileIO()


def write(path: Path, fields: list[DataField], groups: list[pa.Table], **options: str) -> dict[str, ColumnStats]:
    given = {k.replace("__", ".").replace("_", "-"): v for k, v in options.items()}
    writer = ParquetFileWriter(OutputFile(IO, str(path)), fields, TableOptions(given))
    for rows in groups:
        writer.write(rows)
    written = writer.close()
    assert written.size == path.stat().st_size
    assert written.row_count == sum(g.num_rows for g in groups)
    return dict(written.stats)


def read(path: Path, fields: list[DataField], **given: Any) -> pa.Table:
    batches = list(ParquetFormat().read(IO, ReadRequest(str(path), tuple(fields), **given)))
    return pa.Table.from_batches(batches, arrow_schema(fields))


def one_field(data_type: DataType) -> list[DataField]:
    return [DataField(id=7, name="c", type=data_type)]


@pytest.mark.parametrize("data_type", KEY_TYPES, ids=str)
@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_atomic_types_come_back(data_type: DataType, tmp_path: Path, data: st.DataObject) -> None:
    fields = one_field(data_type)
    (column,) = data.draw(columns_of((data_type,)))
    rows = pa.Table.from_arrays([column], schema=arrow_schema(fields))
    stats = write(tmp_path / "f.parquet", fields, [rows])["c"]
    assert read(tmp_path / "f.parquet", fields).equals(rows)
    assert stats.null_count == column.null_count


NESTED = [
    CollectionType(Kind.ARRAY, True, INT),
    CollectionType(Kind.ARRAY, True, CollectionType(Kind.ARRAY, True, STRING)),
    MapType(key=STRING, value=BIGINT),
    CollectionType(Kind.MULTISET, True, STRING),
    RowType(fields=(DataField(id=8, name="x", type=INT), DataField(id=9, name="y", type=STRING))),
    parse_type("VARIANT"),
]
VALUES: list[list[Any]] = [
    [[1, None], None, []],
    [[["a"], None], None, []],
    [[("a", 1), ("b", None)], None, []],
    [[("a", 2)], None, []],
    [{"x": 1, "y": "a"}, None, {"x": None, "y": None}],
    [{"value": b"\x01", "metadata": b"\x02"}, None, {"value": b"", "metadata": b""}],
]


@pytest.mark.parametrize(("data_type", "values"), list(zip(NESTED, VALUES, strict=True)), ids=[str(t) for t in NESTED])
def test_nested_types_come_back_without_bounds(data_type: DataType, values: list[Any], tmp_path: Path) -> None:
    fields = one_field(data_type)
    rows = pa.Table.from_arrays([pa.array(values, arrow_type(data_type))], schema=arrow_schema(fields))
    stats = write(tmp_path / "f.parquet", fields, [rows])["c"]
    assert read(tmp_path / "f.parquet", fields).to_pylist() == rows.to_pylist()
    assert (stats.minimum, stats.maximum) == (None, None)


def physical(schema: pq.ParquetSchema) -> list[tuple[Any, ...]]:
    columns = (schema.column(i) for i in range(len(schema)))
    return [(c.path, c.physical_type, c.length, str(c.logical_type), c.max_definition_level) for c in columns]


def test_the_schema_is_that_of_a_golden_file(tmp_path: Path) -> None:
    root = GOLDEN_DATABASE / "types_pk_parquet"
    schema = decode_schema("schema-0", (root / "schema" / "schema-0").read_bytes())
    golden = pq.ParquetFile(next(root.glob("bucket-0/*.parquet")))
    fields = list(key_value_fields(schema.fields, schema.key_fields))
    rows = golden.read().cast(arrow_schema(fields))
    write(tmp_path / "f.parquet", fields, [rows])
    ours = pq.ParquetFile(tmp_path / "f.parquet")
    assert physical(ours.schema) == physical(golden.schema)
    assert field_ids(ours.schema_arrow) == field_ids(golden.schema_arrow)
    assert read(tmp_path / "f.parquet", fields).to_pylist() == golden.read().to_pylist()


def field_ids(schema: pa.Schema) -> list[Any]:
    def below(arrow: pa.DataType) -> list[Any]:
        if pa.types.is_map(arrow):
            return [of(arrow.key_field), of(arrow.item_field)]
        return [of(arrow.field(i)) for i in range(arrow.num_fields)]

    def of(field: pa.Field) -> tuple[Any, ...]:
        return field_id(field), field.nullable, *below(field.type)

    return [(f.name, of(f)) for f in schema]


def test_bounds_cover_nan_long_texts_and_all_row_groups(tmp_path: Path) -> None:
    fields = [DataField(id=0, name="d", type=DOUBLE), DataField(id=1, name="s", type=STRING)]
    schema = arrow_schema(fields)
    groups = [
        pa.table([[1.0, math.nan, None], ["b", None, "c"]], schema=schema),
        pa.table([[-2.0], ["a"]], schema=schema),
        pa.table([[None], [None]], schema=schema),
    ]
    stats = write(tmp_path / "f.parquet", fields, groups)
    assert repr(stats["d"]) == repr(ColumnStats(-2.0, math.nan, 2))
    assert stats["s"] == ColumnStats("a", "c", 2)
    only_nan = write(tmp_path / "g.parquet", fields, [pa.table([[math.nan], ["x" * 5000]], schema=schema)])
    assert repr(only_nan["d"]) == repr(ColumnStats(math.nan, math.nan, 0))
    zeros = write(tmp_path / "z.parquet", fields, [pa.table([[0.0, -0.0], ["a", "a"]], schema=schema)])
    assert repr(zeros["d"]) == repr(ColumnStats(-0.0, 0.0, 0))
    assert only_nan["s"] == ColumnStats(None, None, 0)


def test_row_groups_without_a_match_are_skipped(tmp_path: Path) -> None:
    fields = [DataField(id=0, name="k", type=INT), DataField(id=1, name="d", type=DOUBLE)]
    groups = [
        pa.table([list(range(10 * i, 10 * i + 10)), [math.nan] + [float(i)] * 9], schema=arrow_schema(fields))
        for i in range(3)
    ]
    ours, foreign = tmp_path / "f.parquet", tmp_path / "g.parquet"
    write(ours, fields, groups)
    pq.write_table(pa.concat_tables(groups), foreign, row_group_size=10)
    for path in (ours, foreign):
        assert read(path, fields, predicate=Compare("k", ">", 25)).column("k").to_pylist() == list(range(20, 30))
        assert read(path, fields, predicate=Compare("k", "=", 15)).column("k").to_pylist() == [15]
        assert read(path, fields, predicate=Compare("d", ">", 5.0)).num_rows == 30  # NaN is above all
        assert read(path, fields, predicate=Compare("k", "=", 99)).num_rows == 0
    assert read(foreign, fields, predicate=Compare("d", "<", 1.0)).num_rows == 10


def test_the_group_that_may_have_a_value_is_asked_for_it(tmp_path: Path) -> None:
    fields = [DataField(id=0, name="k", type=INT), DataField(id=1, name="v", type=INT)]
    path = tmp_path / "f.parquet"
    write(path, fields, [pa.table([[i, i + 2, None], [0, 0, 0]], schema=arrow_schema(fields)) for i in (0, 10)])
    for predicate in (Compare("k", "=", 11), In("k", (1, 11)), And((Compare("k", "=", 12), Compare("v", "=", 1)))):
        assert read(path, fields, predicate=predicate).num_rows == 0
    for predicate in (Compare("k", "=", 12), In("k", (1, 12)), And((Compare("k", "=", 12), Compare("v", "<", 1)))):
        assert read(path, fields, predicate=predicate).to_pylist() == [{"k": 12, "v": 0}]


def test_a_group_is_decoded_up_to_its_last_row_with_the_value(tmp_path: Path) -> None:
    fields = [DataField(id=0, name="k", type=INT), DataField(id=1, name="v", type=DOUBLE)]
    path, rows = tmp_path / "f.parquet", 2**16
    columns = [np.arange(rows, dtype=np.int32), np.random.default_rng(1).random(rows)]
    write(path, fields, [pa.table(columns, schema=arrow_schema(fields))])
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(1)
    with path.open("r+b") as file:  # damage the last page of the values
        file.seek(chunk.data_page_offset + chunk.total_compressed_size - 5000)
        file.write(b"\xff" * 5000)
    for wanted in ((7,), (7, 9000), (20_000,)):
        assert tuple(read(path, fields, predicate=In("k", wanted)).column("k").to_pylist()) == wanted
    with pytest.raises(CorruptFileError):
        read(path, fields, predicate=In("k", (7, rows - 1)))


def test_footers_say_nothing_about_floats_because_they_leave_nan_out(tmp_path: Path) -> None:
    fields = [DataField(id=0, name="k", type=INT), DataField(id=1, name="d", type=DOUBLE)]
    write(tmp_path / "f.parquet", fields, [pa.table([[1], [math.nan]], schema=arrow_schema(fields))])
    group = pq.ParquetFile(tmp_path / "f.parquet").metadata.row_group(0)
    assert [group.column(i).statistics is None for i in range(2)] == [False, True]


def test_batches_keep_within_rows_and_bytes(tmp_path: Path) -> None:
    fields = one_field(STRING)
    rows = pa.table([[f"{i:0>1000}" for i in range(1000)]], schema=arrow_schema(fields))
    write(tmp_path / "f.parquet", fields, [rows], file__compression="none")
    request = ReadRequest(str(tmp_path / "f.parquet"), tuple(fields), max_rows=300, max_bytes=100_000)
    sizes = [b.num_rows for b in ParquetFormat().read(IO, request)]
    assert sum(sizes) == 1000
    assert max(sizes) <= 100


@pytest.mark.parametrize("codec", ["zstd", "snappy", "gzip", "lz4", "lz4_raw", "none"])
def test_compression(codec: str, tmp_path: Path) -> None:
    rows = pa.table([[1, 2, 3]], schema=arrow_schema(one_field(INT)))
    write(tmp_path / "f.parquet", one_field(INT), [rows], file__compression=codec)
    found = pq.ParquetFile(tmp_path / "f.parquet").metadata.row_group(0).column(0).compression
    assert found == {"none": "UNCOMPRESSED", "lz4_raw": "LZ4"}.get(codec, codec.upper())


def test_an_unknown_codec_is_refused_before_a_file_is_made(tmp_path: Path) -> None:
    with pytest.raises(InvalidOptionError, match=r"file\.compression.*lzo"):
        write(tmp_path / "f.parquet", one_field(INT), [], file__compression="lzo")
    assert not list(tmp_path.iterdir())


def test_dictionaries_pages_and_codecs_are_as_options_say(tmp_path: Path) -> None:
    fields = [DataField(id=i, name=n, type=STRING) for i, n in enumerate("ab")]
    texts = [f"{i * 7919:0>30}" for i in range(5000)] * 4
    rows, path = pa.table([texts, texts], schema=arrow_schema(fields)), tmp_path / "f.parquet"

    def chunks(options: dict[str, str]) -> list[pq.ColumnChunkMetaData]:
        writer = ParquetFileWriter(OutputFile(IO, str(path)), fields, TableOptions(options))
        writer.write(rows)
        writer.close()
        return [pq.ParquetFile(path).metadata.row_group(0).column(i) for i in range(2)]

    plain = chunks({})
    assert [c.has_dictionary_page for c in plain] == [True, True]
    assert [c.has_dictionary_page for c in chunks({"parquet.enable.dictionary": "false"})] == [False, False]
    assert [c.has_dictionary_page for c in chunks({"parquet.enable.dictionary#a": "false"})] == [False, True]
    small = chunks({"parquet.dictionary.page.size": "1 kb"})[0]
    assert "PLAIN" in small.encodings and small.total_uncompressed_size > 2 * plain[0].total_uncompressed_size
    pages = [{"parquet.enable.dictionary": "false", "parquet.page.size": size} for size in ("4096", "1 mb")]
    assert chunks(pages[0])[0].total_uncompressed_size > chunks(pages[1])[0].total_uncompressed_size
    assert chunks({"parquet.compression": "snappy", "file.compression": "gzip"})[0].compression == "SNAPPY"
    own = {"parquet.compression.codec.zstd.level": "19", "file.compression.zstd-level": "1"}
    sizes = [chunks(o)[0].total_compressed_size for o in ({}, {"file.compression.zstd-level": "19"}, own)]
    assert sizes[0] > sizes[1] == sizes[2]


def test_columns_of_a_file_without_field_ids_go_by_name(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a.b": [1, 2], "c": ["x", "y"]}), tmp_path / "f.parquet")
    fields = [DataField(id=5, name="c", type=STRING), DataField(id=6, name="a.b", type=BIGINT)]
    fields.append(DataField(id=7, name="missing", type=INT))
    assert read(tmp_path / "f.parquet", fields).to_pylist() == [
        {"c": "x", "a.b": 1, "missing": None},
        {"c": "y", "a.b": 2, "missing": None},
    ]
    assert read(tmp_path / "f.parquet", fields[2:]).num_rows == 2


def test_files_that_are_no_parquet_name_themselves(tmp_path: Path) -> None:
    (tmp_path / "f.parquet").write_bytes(b"not a Parquet file at all")
    with pytest.raises(CorruptFileError, match=r"f\.parquet"):
        read(tmp_path / "f.parquet", one_field(INT))
    with pytest.raises(UnsupportedFeatureError, match=r"data-1\.lance"):
        format_of_file("data-1.lance")


def test_values_before_the_gregorian_calendar_come_back(tmp_path: Path) -> None:
    fields = one_field(parse_type("DATE"))
    rows = pa.table([[date(1, 1, 1), date(1582, 10, 4)]], schema=arrow_schema(fields))
    assert write(tmp_path / "f.parquet", fields, [rows])["c"] == ColumnStats(-719162, -141438, 0)


def test_decimals_are_exact_in_bounds(tmp_path: Path) -> None:
    fields = one_field(parse_type("DECIMAL(38, 18)"))
    values = [Decimal("99999999999999999999.999999999999999999"), Decimal("-0.000000000000000001")]
    stats = write(tmp_path / "f.parquet", fields, [pa.table([values], schema=arrow_schema(fields))])["c"]
    assert (stats.minimum, stats.maximum) == (values[1], values[0])


@pytest.mark.parametrize("kind", ["plain", "in an array", "in a row"])
def test_shredded_variants_are_put_together(kind: str, tmp_path: Path) -> None:
    shredded = pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("typed_value", pa.int64())])
    one = {"metadata": b"\x01\0\0", "value": None, "typed_value": 5}
    declared, stored, value = {
        "plain": (VARIANT, shredded, one),
        "in an array": (CollectionType(Kind.ARRAY, element=VARIANT), pa.list_(shredded), [one]),
        "in a row": (
            RowType(fields=(DataField(id=2, name="v", type=VARIANT),)),
            pa.struct({"v": shredded}),
            {"v": one},
        ),
    }[kind]
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table({"k": pa.array([1], pa.int32()), "x": pa.array([value], stored)}), path)
    fields = [DataField(id=0, name="k", type=INT), DataField(id=1, name="x", type=declared)]
    assert read(path, fields[:1])["k"].to_pylist() == [1]
    five = {"value": b"\x0c\x05", "metadata": b"\x01\0\0"}
    whole = {"plain": five, "in an array": [five], "in a row": {"v": five}}
    assert read(path, fields)["x"].to_pylist() == [whole[kind]]


FAR = [datetime(2024, 1, 1, 1, 2, 3, 456789), datetime(9999, 12, 31, 1, 2, 3, 456789), datetime(1, 1, 1), None]


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("dictionary", [False, True])
def test_int96_is_read_of_any_year(nested: bool, dictionary: bool, tmp_path: Path) -> None:
    stored = pa.array(FAR, pa.timestamp("us"))
    declared: DataType = parse_type("TIMESTAMP(6)")
    if nested:
        stored = pa.ListArray.from_arrays(pa.array([0, 2, 2, 3, 4], pa.int32()), stored)
        declared = CollectionType(Kind.ARRAY, element=declared)
    table = pa.table({"k": pa.array([1, 2, 3, 4], pa.int32()), "c": stored})
    path = tmp_path / "f.parquet"
    pq.write_table(table, path, use_deprecated_int96_timestamps=True, use_dictionary=dictionary)
    assert read(path, [DataField(id=1, name="c", type=declared)])["c"].to_pylist() == stored.to_pylist()
    content = path.read_bytes()
    for offset in range(len(content) - 1, len(content) - 300, -1):  # the footer
        with suppress(ValueError):
            damaged = content[:offset] + bytes([content[offset] ^ 0x5C]) + content[offset + 1 :]
            footer, _ = read_footer(pa.BufferReader(damaged))
            with checked_structure():
                int96_as_bytes(footer)


def test_int96_may_have_negative_nanoseconds_of_a_day(tmp_path: Path) -> None:
    path, noon = tmp_path / "f.parquet", [datetime(1969, 12, 31, 12, 0, 0, 1), datetime(1600, 1, 1, 12)]
    table = pa.table({"c": pa.array(noon, pa.timestamp("us"))})
    pq.write_table(table, path, use_deprecated_int96_timestamps=True, use_dictionary=False, compression="none")
    day, content = 86_400 * 10**9, path.read_bytes()
    for number, nanos in ((2_440_587, day // 2 + 1000), (2_305_448, day // 2)):
        before, after = (struct.pack("<qi", n, d) for n, d in ((nanos, number), (nanos - day, number + 1)))
        assert content.count(before) == 1
        content = content.replace(before, after)
    path.write_bytes(content)
    assert read(path, one_field(parse_type("TIMESTAMP(6)")))["c"].to_pylist() == noon
    with pytest.raises(UnsupportedFeatureError, match="'c' of file .* outside of the years 1678 to 2261"):
        read(path, one_field(parse_type("TIMESTAMP(9)")))


def test_options_of_columns_reach_the_writer(tmp_path: Path) -> None:
    pair = RowType(fields=(DataField(id=2, name="n", type=INT), DataField(id=3, name="b", type=BOOLEAN)))
    fields = [
        DataField(id=0, name="k.x", type=STRING),
        DataField(id=1, name="m", type=MapType(key=STRING, value=CollectionType(Kind.ARRAY, element=pair))),
    ]
    rows = [{"k.x": f"{i}", "m": [(f"{i}", [{"n": i, "b": True}])]} for i in range(300)]
    options = {
        "parquet.compression#k.x": "GZIP",
        "parquet.compression#m.key_value.value.list.element.b": "none",
        "parquet.bloom.filter.enabled": "true",
        "parquet.bloom.filter.enabled#m.key_value.key": "false",
        "parquet.bloom.filter.expected.ndv#k.x": "300",
        "parquet.page.row.count.limit": "100",
        "parquet.enable.dictionary": "false",
    }
    writer = ParquetFileWriter(OutputFile(IO, str(path := tmp_path / "f.parquet")), fields, TableOptions(options))
    writer.write(pa.Table.from_pylist(rows, arrow_schema(fields)))
    writer.close()
    group = pq.ParquetFile(path).metadata.row_group(0)
    columns = {group.column(i).path_in_schema: group.column(i) for i in range(4)}
    assert [c.compression for c in columns.values()] == ["GZIP", "ZSTD", "ZSTD", "UNCOMPRESSED"]
    filters = {p: c.bloom_filter_length for p, c in columns.items()}
    assert [bool(length) for length in filters.values()] == [True, False, True, False] and filters["k.x"] < 2000, (
        filters
    )
    assert read(path, fields).to_pylist() == rows


def test_nanoseconds_are_read_as_either(tmp_path: Path) -> None:
    exact = [-1, -1000, 1999, 2**63 - 1, -(2**63), None]
    pq.write_table(pa.table({"c": pa.array(exact, pa.timestamp("ns", "UTC"))}), tmp_path / "f.parquet")
    found = read(tmp_path / "f.parquet", one_field(parse_type("TIMESTAMP(6) WITH LOCAL TIME ZONE")))["c"]
    assert found.cast(pa.int64()).to_pylist() == [-1, -1, 1, 2**63 // 1000, -(2**63) // 1000, None]
    table = pa.table({"c": pa.array([-1, 999, 10**18 + 1, None], pa.timestamp("ns"))})
    pq.write_table(table, tmp_path / "g.parquet", use_deprecated_int96_timestamps=True)
    assert read(tmp_path / "g.parquet", one_field(parse_type("TIMESTAMP(9)")))["c"].equals(table["c"])
