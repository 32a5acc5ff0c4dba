"""Times of any year in ORC files, and the runs of numbers that they are made of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.orc as po
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.arrow.types import arrow_schema
from paimon_core.errors import CorruptFileError, PaimonError, UnfamiliarFormError
from paimon_core.formats.file_format import ReadRequest
from paimon_core.formats.orc.data_files import OrcFormat
from paimon_core.formats.orc.integer_runs import decode_runs
from paimon_core.formats.orc.layout import messages, read_stripe_footer, read_tail, stored
from paimon_core.formats.orc.timestamps import stripe_times
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.encodings.varints import encode_varint
from paimon_core.spec.types import DataField, parse_type
from paimon_core.time_zones import time_zone
from tests.support.examples import examples

FAR = [-62_135_596_800_000, 253_402_300_799_999, -1, -999, -1000, 0, 1, 1_700_000_000_123]
TIMES = {"ntz": "TIMESTAMP(6)", "ltz": "TIMESTAMP(6) WITH LOCAL TIME ZONE"}
FIELDS = [
    DataField(id=0, name="k", type=parse_type("INT")),
    *(DataField(id=i + 1, name=n, type=parse_type(t)) for i, (n, t) in enumerate(TIMES.items())),
    DataField(id=3, name="m", type=parse_type({"type": "MAP", "key": "STRING", "value": "TIMESTAMP(6)"})),
    DataField(
        id=4,
        name="a",
        type=parse_type(
            {"type": "ARRAY", "element": {"type": "ROW", "fields": [{"id": 5, "name": "t", "type": "TIMESTAMP(6)"}]}}
        ),
    ),
]


def rows(millis: list[int | None]) -> pa.Table:
    micros = [None if m is None else m * 1000 for m in millis]
    columns = [
        list(range(len(micros))),
        micros,
        micros,
        [None if m is None else [("x", m), ("y", None)] for m in micros],
        [None if m is None else [{"t": m}, None] for m in micros],
    ]
    return pa.table(columns, schema=arrow_schema(FIELDS))


@pytest.mark.parametrize("codec", ["uncompressed", "zstd", "zlib", "snappy", "lz4"])
@pytest.mark.parametrize(
    "fields", [FIELDS, FIELDS[:2], [FIELDS[4], FIELDS[0]]], ids=lambda f: "".join(x.name for x in f)
)
def test_times_of_any_year_are_read(tmp_path: Path, codec: str, fields: list[DataField]) -> None:
    path, random = tmp_path / "f.orc", np.random.default_rng(1)
    millis = [*FAR, None, *random.integers(FAR[0], FAR[1], 2000).tolist(), *range(600), *([7] * 100)]
    table = rows(millis)
    po.write_table(table, path, compression=codec, stripe_size=8192, batch_size=100)
    assert po.ORCFile(path).nstripes > 1 or codec != "uncompressed"
    found = pa.Table.from_batches(OrcFormat().read(LocalFileIO(), ReadRequest(str(path), tuple(fields))))
    assert found.equals(table.select([f.name for f in fields]).cast(found.schema))


def test_damage_is_named(tmp_path: Path) -> None:
    path, random = tmp_path / "f.orc", np.random.default_rng(3)
    po.write_table(rows([*FAR, None]), path)
    data = path.read_bytes()
    for offset in random.integers(0, len(data), 200).tolist():
        path.write_bytes(data[:offset] + bytes([data[offset] ^ (1 << offset % 8)]) + data[offset + 1 :])
        try:
            list(OrcFormat().read(LocalFileIO(), ReadRequest(str(path), tuple(FIELDS))))
        except PaimonError as error:
            assert "f.orc" in str(error)
            # no checksum covers the footer: a damaged type may be a type of another file
            assert isinstance(error, (CorruptFileError, UnfamiliarFormError)) or "cannot be read as" in str(error)


def with_zone(data: bytes, zone: str, more: bytes = b"") -> bytes:
    """An ORC file of one stripe by a writer in another time zone, with `more` fields in its footer."""
    tail = read_tail(pa.BufferReader(data))
    (stripe,) = tail.stripes

    def packed(content: bytes) -> bytes:
        return stored(tail.codec, tail.block_size, content)

    def replaced(message: bytes, field: int, other: bytes) -> bytes:
        value, at = next((v, at) for number, v, at in messages(message) if number == field)
        if isinstance(value, int):
            return message[:at] + other + message[at + len(encode_varint(value)) :]
        start = at - len(encode_varint(len(value)))
        return message[:start] + encode_varint(len(other)) + other + message[at + len(value) :]

    footer = packed(replaced(read_stripe_footer(pa.BufferReader(data), tail, stripe), 3, zone.encode()))
    information = next(v for number, v, _ in messages(tail.footer) if number == 3)
    content = packed(replaced(tail.footer, 3, replaced(information, 4, encode_varint(len(footer)))) + more)
    statistics = data[stripe.footer_start + stripe.footer_size : tail.footer_start]
    postscript = replaced(tail.postscript, 1, encode_varint(len(content)))
    return data[: stripe.footer_start] + footer + statistics + content + postscript + bytes([len(postscript)])


# hours of each kind of clock: no year has all changes of daylight saving in one of them
CLOCKS = [m * 1000 for m in range(-3_000_000_000, 1_900_000_000, 3_777_777)]


@pytest.mark.parametrize("codec", ["uncompressed", "zstd", "zlib"])
@pytest.mark.parametrize(
    ("zone", "region"),
    [
        ("PST", "America/Los_Angeles"),
        ("CTT", "Asia/Shanghai"),
        ("GMT+08:00", "Etc/GMT-8"),
        ("GMT-3", "Etc/GMT+3"),
        ("+08:00", "Etc/GMT-8"),
        ("-0300", "Etc/GMT+3"),
        ("Z", "UTC"),
        ("EST", "Etc/GMT+5"),
    ],
)
def test_a_time_zone_of_any_spelling_gives_the_times_of_its_region(
    tmp_path: Path, codec: str, zone: str, region: str
) -> None:
    """pyarrow finds regions alone; Java's writers name what the machine's time zone is called there."""
    path = tmp_path / "f.orc"
    po.write_table(rows([*CLOCKS, *(m for m in FAR if abs(m) < 2**42), None]), path, compression=codec)
    data, request = path.read_bytes(), ReadRequest(str(path), tuple(FIELDS))
    path.write_bytes(with_zone(data, region))
    expected = pa.Table.from_batches(OrcFormat().read(LocalFileIO(), request))
    path.write_bytes(with_zone(data, zone))
    assert pa.Table.from_batches(OrcFormat().read(LocalFileIO(), request)).equals(expected)


def test_a_file_is_read_alike_by_its_rules_and_by_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f.orc"
    po.write_table(rows([*(m for m in CLOCKS if m > 100_000_000_000), None]), path)
    request = ReadRequest(str(path), tuple(FIELDS))
    for zone in ("America/Los_Angeles", "Europe/London", "Asia/Kolkata", "UTC"):
        path.write_bytes(with_zone(path.read_bytes(), zone))
        native = pa.Table.from_batches(OrcFormat().read(LocalFileIO(), request))
        with monkeypatch.context() as patch:
            patch.setattr("paimon_core.formats.orc.data_files.is_found_by_rules", lambda zone: True)
            assert pa.Table.from_batches(OrcFormat().read(LocalFileIO(), request)).equals(native)


def user_metadata(key: bytes, value: bytes) -> bytes:
    """Field 5 of an ORC footer."""
    item = b"\x0a" + encode_varint(len(key)) + key + b"\x12" + encode_varint(len(value)) + value
    return b"\x2a" + encode_varint(len(item)) + item


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Shanghai", "+08:00", "PST", "UTC"])
def test_moments_that_spark_wrote_without_a_zone(tmp_path: Path, zone: str) -> None:
    """Spark stores the seconds of the moment. Paimon's writers store the wall clock of UTC in the writer's zone."""
    start = datetime(2024, 11, 3, 4, tzinfo=UTC)  # New York repeats the hour from 5:00 on
    moments = [start + timedelta(minutes=20 * i, microseconds=i) for i in range(12)] + [None]
    # pyarrow counts from 2015 in UTC, other writers from 2015 in their zone
    base = datetime(2015, 1, 1, tzinfo=UTC) - datetime(2015, 1, 1, tzinfo=time_zone(zone))
    kinds = {
        "t": (TIMES["ltz"], lambda m: m),
        "n": (TIMES["ntz"], lambda m: m),
        "a": ({"type": "ARRAY", "element": TIMES["ltz"]}, lambda m: [m]),
        "r": ({"type": "ROW", "fields": [{"id": 9, "name": "x", "type": TIMES["ltz"]}]}, lambda m: {"x": m}),
        "m": ({"type": "MAP", "key": "STRING", "value": TIMES["ltz"]}, lambda m: [("k", m)]),
    }
    naive = pa.timestamp("us")
    types = {"a": pa.list_(naive), "r": pa.struct([("x", naive)]), "m": pa.map_(pa.string(), naive)}
    stored = [None if m is None else (m + base).replace(tzinfo=None) for m in moments]
    columns = {name: pa.array([shape(s) for s in stored], types.get(name, naive)) for name, (_, shape) in kinds.items()}
    path = tmp_path / "f.orc"
    po.write_table(pa.table(columns), path)
    data, spark = path.read_bytes(), user_metadata(b"org.apache.spark.version", b"4.0.0")
    fields = tuple(DataField(id=i, name=n, type=parse_type(kind)) for i, (n, (kind, _)) in enumerate(kinds.items()))

    def found(more: bytes) -> dict[str, list[object]]:
        path.write_bytes(with_zone(data, zone, more))
        read = pa.Table.from_batches(OrcFormat().read(LocalFileIO(), ReadRequest(str(path), fields)))
        return {name: read.column(name).to_pylist() for name in read.schema.names}

    ours, of_spark = found(b""), found(spark)
    for name in "tarm":
        assert of_spark[name] == [kinds[name][1](m) for m in moments]
    assert of_spark["n"] == ours["n"]
    walls = [None if m is None else m.astimezone(time_zone(zone)).replace(tzinfo=UTC) for m in moments]
    assert ours["t"] == walls


def test_times_around_the_epoch_and_of_local_mean_time_are_those_that_java_wrote(tmp_path: Path) -> None:
    """Java rounds seconds up by the moment, pyarrow down by the wall clock; Los Angeles was 7:52:58 behind London."""
    path = tmp_path / "f.orc"
    # seconds as Java stores them, as pyarrow does of its own: of 1970-01-01 00:00:00.5, and of a moment in 1874
    stored_clocks = [datetime(1970, 1, 1, 0, 0, 1, 500_000), datetime(1874, 1, 1, 7, 52, 58) - timedelta(hours=8)]
    field = (DataField(id=0, name="t", type=parse_type("TIMESTAMP(6)")),)
    for clock, zone, wall in zip(
        stored_clocks,
        ("Asia/Shanghai", "America/Los_Angeles"),
        (datetime(1970, 1, 1, 0, 0, 0, 500_000), datetime(1874, 1, 1)),
        strict=True,
    ):
        po.write_table(pa.table({"t": pa.array([clock], pa.timestamp("us"))}), path)
        path.write_bytes(with_zone(path.read_bytes(), zone))
        (batch,) = OrcFormat().read(LocalFileIO(), ReadRequest(str(path), field))
        assert batch.column(0).to_pylist() == [wall]


def test_a_time_zone_that_nobody_knows_is_named_where_times_are_read(tmp_path: Path) -> None:
    path = tmp_path / "f.orc"
    po.write_table(rows([1, 2]), path)
    path.write_bytes(with_zone(path.read_bytes(), "Mars/Base"))
    found = list(OrcFormat().read(LocalFileIO(), ReadRequest(str(path), (FIELDS[0],))))
    assert pa.Table.from_batches(found).column(0).to_pylist() == [0, 1]
    with pytest.raises(UnfamiliarFormError, match=r"f\.orc.*the time zone 'Mars/Base', which this version"):
        list(OrcFormat().read(LocalFileIO(), ReadRequest(str(path), tuple(FIELDS))))


# the examples of the ORC specification
RUNS = {
    "0a2710": [10_000] * 5,
    "5e03 5ca1 ab1e dead beef": [23713, 43806, 57005, 48879],
    "8e13 2b21 07d0 1e00 1470 2832 3c46 505a 646e 7882 8c96 a0aa b4be fce8": [
        *(2030, 2000, 2020, 1_000_000),
        *range(2040, 2200, 10),
    ],
    "c609 0202 2242 4246": [2, 3, 5, 7, 11, 13, 17, 19, 23, 29],
    # not there, but as writers do for negative numbers
    "c003 f8ff ffff ffff ffff ff01 04": [2**64 - 8, 2**64 - 6, 2**64 - 4, 2**64 - 2],
}


@pytest.mark.parametrize("text", RUNS)
def test_runs_of_the_specification(text: str) -> None:
    assert decode_runs(bytes.fromhex(text)).tolist() == RUNS[text]
    with pytest.raises((ValueError, IndexError)):
        decode_runs(bytes.fromhex(text)[:-1])


@settings(max_examples=examples(60))
@given(st.lists(st.sampled_from([0, 1, 5, 1000, 2**31, 2**40]) | st.integers(0, 300), max_size=600), st.integers(1, 9))
def test_nanoseconds_are_runs(counts: list[int], repeat: int) -> None:
    numbers = [n for n in counts for _ in range(repeat)][:600]
    table = pa.table({"t": pa.array([10**9 * (i % 7) + n % 10**9 for i, n in enumerate(numbers)], pa.timestamp("ns"))})
    sink = pa.BufferOutputStream()
    po.write_table(table, sink)
    source = pa.BufferReader(sink.getvalue())
    assert nanoseconds(source) == [n % 10**9 for n in numbers]


def nanoseconds(source: pa.NativeFile) -> list[int]:
    tail = read_tail(source)
    return [n for i in range(len(tail.stripes)) for n in stripe_times("f.orc", source, tail, i).nanos[1].tolist()]
