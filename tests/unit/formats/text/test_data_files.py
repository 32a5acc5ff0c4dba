"""CSV and JSON files: every type they hold comes back, special characters and NULLs too."""

from __future__ import annotations

import gzip
import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.arrow.types import arrow_schema, arrow_type
from paimon_core.errors import (
    CorruptFileError,
    InvalidDataError,
    InvalidOptionError,
    PaimonError,
    UnfamiliarFormError,
    UnsupportedFeatureError,
)
from paimon_core.formats.file_format import ReadRequest
from paimon_core.formats.registry import file_ending, format_of_file
from paimon_core.io.local import LocalFileIO
from paimon_core.options import TableOptions
from paimon_core.spec.types import (
    BIGINT,
    BOOLEAN,
    INT,
    STRING,
    CollectionType,
    DataField,
    DataType,
    Kind,
    LengthType,
    MapType,
    RowType,
    parse_type,
)
from tests.support.examples import examples
from tests.support.faulty_io import Fault, FaultyIO
from tests.support.strategies import KEY_TYPES, columns_of

IO = LocalFileIO()
TEXTS = ("csv", "json")


def write(path: Path, fields: list[DataField], rows: pa.Table, **options: str) -> None:
    given = {"file.compression": "none"} | {k.replace("__", ".").replace("_", "-"): v for k, v in options.items()}
    writer = format_of_file(path.name).open_writer(IO, str(path), fields, TableOptions(given))
    writer.write(rows)
    written = writer.close()
    assert (written.size, written.row_count, written.stats) == (path.stat().st_size, rows.num_rows, {})


def read(path: Path, fields: list[DataField], **options: str) -> pa.Table:
    given = TableOptions({k.replace("__", ".").replace("_", "-"): v for k, v in options.items()})
    request = ReadRequest(str(path), tuple(fields), options=given)
    return pa.Table.from_batches(list(format_of_file(path.name).read(IO, request)), arrow_schema(fields))


def fields_of(*types: DataType) -> list[DataField]:
    return [DataField(id=i, name=f"c{i}", type=t) for i, t in enumerate(types)]


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("data_type", [t for t in KEY_TYPES if "(9)" not in str(t)], ids=str)
@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_values_come_back(name: str, data_type: DataType, tmp_path: Path, data: st.DataObject) -> None:
    fields, path = fields_of(INT, data_type), tmp_path / f"f.{name}"
    columns = data.draw(columns_of((INT, data_type)))
    rows = pa.Table.from_arrays(columns, schema=arrow_schema(fields))
    if len(columns[0]) == 0:
        return
    if pa.types.is_timestamp(columns[1].type) and any(y is not None and y < 0 for y in pc.year(columns[1]).to_pylist()):
        with pytest.raises(InvalidDataError, match="years 0 to 9999"):
            write(path, fields, rows)
        return
    write(path, fields, rows)
    if name == "csv" and isinstance(data_type, LengthType):  # an empty text is NULL
        texts = pc.if_else(pc.equal(pc.binary_length(rows.column(1)), 0), None, rows.column(1))
        rows = rows.set_column(1, rows.schema.field(1), texts.cast(rows.schema.field(1).type))
    assert read(path, fields).equals(rows)


def test_what_java_writes_is_read(tmp_path: Path) -> None:
    fields = fields_of(INT, STRING, parse_type("DECIMAL(10, 2)"), parse_type("DATE"))
    (tmp_path / "f.csv").write_bytes(b'4,csv,2.50,\n,"a,""b"" \\"c\\" \\\\",-0.01,2024-02-29\n')
    (tmp_path / "f.json").write_bytes(b'{"c0":"5","c1":"json","c2":"2.50","c3":null}\n{"c0":6,"other":[1]}\n')
    assert [list(r.values()) for r in read(tmp_path / "f.csv", fields).to_pylist()] == [
        [4, "csv", Decimal("2.50"), None],
        [None, 'a,"b" "c" \\', Decimal("-0.01"), date(2024, 2, 29)],
    ]
    assert read(tmp_path / "f.json", fields[:2]).to_pylist() == [{"c0": 5, "c1": "json"}, {"c0": 6, "c1": None}]


def test_lines_are_those_that_java_writes(tmp_path: Path) -> None:
    fields = fields_of(INT, STRING, parse_type("DOUBLE"), LengthType(Kind.VARBINARY, True, 9), BIGINT)
    rows = pa.table(
        [[1, None], ['say "a,b" \\', "x\ny"], [float("nan"), 0.5], [b"\x00\xff", None], [7, None]],
        schema=arrow_schema(fields),
    )
    write(tmp_path / "f.csv", fields, rows)
    assert (tmp_path / "f.csv").read_text() == '1,"say \\"a,b\\" \\\\",NaN,AP8=,7\n,"x\ny",0.5,,\n'
    write(tmp_path / "f.json", fields, rows)
    first = json.loads((tmp_path / "f.json").read_text().splitlines()[0])
    assert first == {"c0": "1", "c1": 'say "a,b" \\', "c2": "NaN", "c3": "AP8=", "c4": "7"}


def test_json_of_other_tools(tmp_path: Path) -> None:
    """Booleans are their text; what does not parse is an error, or as `json.ignore-parse-errors` says."""
    row = RowType(fields=(DataField(id=4, name="n", type=INT),))
    fields = fields_of(BOOLEAN, STRING, INT, MapType(key=INT, value=CollectionType(Kind.ARRAY, element=row)))
    path = tmp_path / "f.json"
    path.write_text('{"c0": true, "c1": false, "c2": 3, "c3": {"1": [{"n": "2"}, null]}}\n{"c1": {"x": 1}}\n')
    none = dict.fromkeys(("c0", "c1", "c2", "c3"))
    first = {"c0": True, "c1": "false", "c2": 3, "c3": [(1, [{"n": 2}, None])]}
    assert read(path, fields).to_pylist() == [first, none | {"c1": ""}]
    lines = ('{"c2": "x", "c1": "y"}', "no row", "[1]", '{"c3": {"1": [{"n": "z"}, 5], "k": []}}', '{"c3": 7, "c2": 8}')
    path.write_text("\n".join(lines))
    with pytest.raises(
        UnfamiliarFormError, match="as a JSON file, .*; compare its lines with the columns of the table"
    ):
        read(path, fields)
    found = read(path, fields, json__ignore_parse_errors="true").to_pylist()
    assert found == [none | {"c1": "y"}, none | {"c3": [(1, [{"n": None}, None])]}, none | {"c2": 8}]


@pytest.mark.parametrize(("digits", "fraction"), [(3, "678"), (6, "678912"), (9, "678912345")])
@pytest.mark.parametrize("ends", [["-05:00", "Z", "+0530", ""], ["-03:30"], ["", ""]])
def test_the_offset_of_a_moment_counts(tmp_path: Path, digits: int, fraction: str, ends: list[str]) -> None:
    """Spark writes moments with the offset of its session; Paimon writes them in UTC without one."""
    moment = parse_type(f"TIMESTAMP({digits}) WITH LOCAL TIME ZONE")
    nested = CollectionType(Kind.ARRAY, True, moment)
    wall = f"2024-11-03T06:00:00.{fraction}"
    hours = {"-05:00": 11, "Z": 6, "+0530": 0.5, "": 6, "-03:30": 9.5}
    expected = [f"2024-11-03T{int(hours[e]):02}:{int(hours[e] % 1 * 60):02}:00.{fraction.ljust(9, '0')}" for e in ends]
    fields = (DataField(id=0, name="t", type=moment), DataField(id=1, name="a", type=nested))
    lines = [{"t": wall + end, "a": [None, wall + end]} for end in ends] + [{"t": None}]
    (tmp_path / "f.json").write_text("\n".join(map(json.dumps, lines)))
    request = ReadRequest(str(tmp_path / "f.json"), fields)
    rows = pa.Table.from_batches(format_of_file("f.json").read(LocalFileIO(), request))
    unit = arrow_type(moment).unit
    instants = pa.array([*expected, None]).cast(pa.timestamp("ns")).cast(pa.timestamp(unit, "UTC"))
    assert rows.column("t").combine_chunks().equals(instants)
    values = rows.column("a").combine_chunks().flatten().drop_null()
    assert values.equals(instants.drop_null())


def test_nested_values_are_objects_in_json(tmp_path: Path) -> None:
    element = {"type": "ROW", "fields": [{"id": 5, "name": "x", "type": "INT"}, {"id": 6, "name": "y", "type": "DATE"}]}
    nested = [
        {"type": "ARRAY", "element": element},
        {"type": "MAP", "key": "INT", "value": {"type": "ARRAY", "element": "DOUBLE"}},
    ]
    fields = fields_of(*map(parse_type, nested))
    values: list[list[Any]] = [
        [[{"x": 1, "y": None}, None], None, []],
        [[(1, [0.5, None]), (2, None)], None, []],
    ]
    rows = pa.table([pa.array(v, arrow_type(f.type)) for v, f in zip(values, fields, strict=True)], names=["c0", "c1"])
    write(tmp_path / "f.json", fields, rows.cast(arrow_schema(fields)))
    assert read(tmp_path / "f.json", fields).to_pylist() == rows.to_pylist()
    with pytest.raises(UnsupportedFeatureError, match="ARRAY"):
        write(tmp_path / "f.csv", fields, rows)


def test_options_of_csv(tmp_path: Path) -> None:
    fields = fields_of(INT, STRING)
    rows = pa.table([[1, None], ["a;b", None]], schema=arrow_schema(fields))
    options = {"csv__field_delimiter": ";", "csv__null_literal": "N", "csv__include_header": "true"}
    write(tmp_path / "f.csv", fields, rows, **options)
    assert (tmp_path / "f.csv").read_text() == 'c0;c1\n1;"a;b"\nN;N\n'
    assert read(tmp_path / "f.csv", fields, **options).equals(rows)


def test_compression(tmp_path: Path) -> None:
    rows = pa.table([[1, 2]], schema=arrow_schema(fields_of(INT)))
    for codec, ending in {"gzip": ".csv.gz", "zstd": ".csv.zst", "bzip2": ".csv.bz2", "none": ".csv"}.items():
        given = {"file.format": "csv", "file.compression": codec}
        assert file_ending(TableOptions(given)) == ending
        write(tmp_path / f"f{ending}", fields_of(INT), rows, file__compression=codec)
        assert read(tmp_path / f"f{ending}", fields_of(INT)).equals(rows)
    assert gzip.decompress((tmp_path / "f.csv.gz").read_bytes()) == b"1\n2\n"
    with pytest.raises(InvalidOptionError, match="lz4"):
        write(tmp_path / "g.csv", fields_of(INT), rows, file__compression="lz4")
    (tmp_path / "f.csv.snappy").write_bytes(b"x")
    with pytest.raises(UnsupportedFeatureError, match=r"f\.csv\.snappy"):
        read(tmp_path / "f.csv.snappy", fields_of(INT))


@pytest.mark.parametrize("name", ["csv", "json", "csv.zst"])
def test_damage_is_named(name: str, tmp_path: Path) -> None:
    fields, random, path = fields_of(INT, STRING), np.random.default_rng(2), tmp_path / f"f.{name}"
    codec = "zstd" if name.endswith("zst") else "none"
    write(path, fields, pa.table([[1, 2] * 20, ["a", "b"] * 20], schema=arrow_schema(fields)), file__compression=codec)
    data = path.read_bytes()
    for offset in random.integers(0, len(data), 100).tolist():
        path.write_bytes(data[:offset] + bytes([data[offset] ^ (1 << offset % 8)]) + data[offset + 1 :])
        try:
            read(path, fields)
        except PaimonError as error:
            assert f"f.{name}" in str(error)
    path.write_bytes(b"what is this\n")
    kind = CorruptFileError if name.endswith("zst") else UnfamiliarFormError
    with pytest.raises(kind):
        read(path, fields)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("csv", b"1,a,b\n"),
        ("csv", b"one,a\n"),
        ("csv", b"1,\xe4\n"),
        ("json", b'{"c0": "one"}\n'),
        ("json", b"{'c0': 1}\n"),
        ("json", b'{"c1": "\xe4"}\n'),
        ("csv.gz", gzip.compress(b"one,a\n", mtime=0)),
    ],
)
def test_lines_that_do_not_fit_the_table_are_not_called_damaged(name: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"f.{name}"
    path.write_bytes(content)
    with pytest.raises(UnfamiliarFormError) as caught:
        read(path, fields_of(INT, STRING))
    assert "backup" not in str(caught.value) and f"options '{name[:4].rstrip('.')}." in str(caught.value)


@pytest.mark.parametrize("name", ["f.csv", "f.json", "f.csv.gz", "f.json.bz2", "f.csv.zst"])
def test_a_file_that_is_read_short_is_no_shorter_file(name: str, tmp_path: Path) -> None:
    fields, path = fields_of(INT, STRING), tmp_path / name
    codec = {"gz": "gzip", "bz2": "bzip2", "zst": "zstd"}.get(name.rpartition(".")[2], "none")
    rows = pa.table([pa.array(range(1000), pa.int32()), [f"s{n}" for n in range(1000)]], schema=arrow_schema(fields))
    write(path, fields, rows, file__compression=codec)
    request, counted = ReadRequest(str(path), tuple(fields)), FaultyIO(IO)
    assert sum(b.num_rows for b in format_of_file(name).read(counted, request)) == 1000
    short = []
    for call in counted.moments(Fault.SHORT):
        try:
            found = list(format_of_file(name).read(FaultyIO(IO, call, Fault.SHORT), request))
        except CorruptFileError as error:
            short.append(str(error))
        else:
            assert sum(b.num_rows for b in found) == 1000  # it was behind the end
    assert short and all(str(path) in text for text in short)
