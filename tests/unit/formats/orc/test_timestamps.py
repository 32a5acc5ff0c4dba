"""Times of any year in ORC files, and the runs of numbers that they are made of."""

from __future__ import annotations

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
from paimon_core.formats.orc.layout import read_tail
from paimon_core.formats.orc.timestamps import stripe_times
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.types import DataField, parse_type

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


@settings(max_examples=60)
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
    return [n for i in range(len(tail.stripes)) for n in stripe_times(source, tail, i).nanos[1].tolist()]
