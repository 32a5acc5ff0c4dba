"""Arrays and maps of BLOBs in `.blob` files, against a writer of a few lines; damaged values."""

from __future__ import annotations

import datetime
import math
import struct
import tracemalloc
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.arrow.blob_parts import blob_parts
from paimon_core.errors import CorruptFileError, UnfamiliarFormError, UnreadableFileError, UnsupportedVersionError
from paimon_core.formats.blob import BlobFile, BlobFileWriter
from paimon_core.formats.blob_elements import encoded
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.encodings.blob_descriptor import BlobDescriptor
from paimon_core.store.blob.nested_values import nested_descriptors, nested_values
from tests.support.examples import examples

ARRAY, MAP = pa.list_(pa.binary()), pa.map_(pa.string(), pa.binary())
FIXTURES = [HealthCheck.function_scoped_fixture]
BLOBS = st.none() | st.binary(max_size=200)
ARRAYS = st.lists(st.none() | st.lists(BLOBS, max_size=5), max_size=6)
LARGE = st.integers(-(10**32), 10**32).map(lambda n: Decimal(f"{n}e-2"))  # other ways would round to 28 digits
KEYS: dict[pa.DataType, tuple[st.SearchStrategy[Any], Any]] = {
    pa.int8(): (st.integers(-128, 127), lambda k: struct.pack("<b", k)),
    pa.int16(): (st.integers(-(2**15), 2**15 - 1), lambda k: struct.pack("<h", k)),
    pa.int32(): (st.integers(-(2**31), 2**31 - 1), lambda k: struct.pack("<i", k)),
    pa.int64(): (st.integers(-(2**63), 2**63 - 1), lambda k: struct.pack("<q", k)),
    pa.bool_(): (st.booleans(), lambda k: bytes([k])),
    pa.date32(): (st.dates(), lambda k: struct.pack("<i", (k - datetime.date(1970, 1, 1)).days)),
    pa.time32("ms"): (
        st.times().map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000)),
        lambda k: struct.pack("<i", (k.hour * 3600 + k.minute * 60 + k.second) * 1000 + k.microsecond // 1000),
    ),
    pa.string(): (st.text(max_size=9), str.encode),
    pa.binary(): (st.binary(max_size=9), bytes),
    pa.decimal128(9, 2): (
        st.integers(-(10**9) + 1, 10**9 - 1).map(lambda n: Decimal(n).scaleb(-2)),
        lambda k: struct.pack("<q", int(k.scaleb(2))),
    ),
    pa.decimal128(38, 2): (LARGE, lambda k: big_integer(int(f"{k:f}".replace(".", "")))),
}


def big_integer(number: int) -> bytes:
    """The bytes of Java's BigInteger.toByteArray."""
    bits = (number if number >= 0 else ~number).bit_length() + 1
    return number.to_bytes(math.ceil(bits / 8), "big", signed=True)


def varints(numbers: list[int]) -> bytes:
    out, last = b"", 0
    for number in numbers:
        delta, last = number - last, number
        zigzag = delta * 2 if delta >= 0 else -delta * 2 - 1
        while zigzag >= 0x80:
            out += bytes([zigzag & 0x7F | 0x80])
            zigzag >>= 7
        out += bytes([zigzag])
    return out


def lengths(values: list[bytes | None]) -> bytes:
    return varints([-1 if v is None else len(v) for v in values])


def array(values: list[bytes | None]) -> bytes:
    index = lengths(values)
    head = struct.pack("<IBi", 1094861634, 1, len(values))
    return head + b"".join(v or b"" for v in values) + index + struct.pack("<i", len(index))


def mapping(entries: list[tuple[bytes, bytes | None]]) -> bytes:
    keys, values = [k for k, _ in entries], [v for _, v in entries]
    first, second = lengths([*keys]), lengths(values)
    head = struct.pack("<IBi", 0x4D424342, 1, len(entries))
    body = b"".join(keys) + b"".join(v or b"" for v in values)
    return head + body + first + second + struct.pack("<ii", len(first), len(second))


def file_of(folder: Path, stored: list[bytes | None]) -> BlobFile:
    path = str(folder / "a.blob")
    (folder / "a.blob").unlink(missing_ok=True)
    writer = BlobFileWriter(LocalFileIO(), path)
    writer.write(pa.array(stored, pa.binary()))
    writer.close()
    return BlobFile.open(LocalFileIO(), path)


def check(folder: Path, column: pa.Array, expected: list[bytes | None]) -> None:
    """The bytes written have the documented layout, and are read as bytes and as descriptors."""
    parts = blob_parts(column)[0].cast(pa.large_binary())
    assert encoded(column, parts).to_pylist() == expected
    file = file_of(folder, expected)
    for start, count in ((0, len(column)), (len(column) // 2, len(column) - len(column) // 2)):
        found = list(nested_values(file, column.type, start, count, again=False))
        described = list(nested_descriptors(file, column.type, start, count))
        for part in (*found, *described):
            part.validate(full=True)
        wanted = column.to_pylist()[start : start + count]
        assert [v for part in found for v in part.to_pylist()] == wanted
        assert [resolved(v) for part in described for v in part.to_pylist()] == wanted


def resolved(value: Any) -> Any:
    if isinstance(value, list):
        return [resolved(v) for v in value]
    if isinstance(value, tuple):
        return value[0], resolved(value[1])
    if value is None:
        return None
    descriptor = BlobDescriptor.decode(value)
    return Path(descriptor.uri).read_bytes()[descriptor.offset :][: descriptor.length]


@settings(max_examples=examples(40), suppress_health_check=FIXTURES)
@given(rows=ARRAYS, cut=st.integers(0, 3))
def test_arrays(tmp_path: Path, rows: list[Any], cut: int) -> None:
    column = pa.array(rows, ARRAY).slice(cut)
    check(tmp_path, column, [None if r is None else array(r) for r in rows[cut:]])


@settings(max_examples=examples(80), suppress_health_check=FIXTURES)
@given(data=st.data(), key=st.sampled_from(list(KEYS)), cut=st.integers(0, 2))
def test_maps(tmp_path: Path, data: st.DataObject, key: pa.DataType, cut: int) -> None:
    keys, as_bytes = KEYS[key]
    maps = st.dictionaries(keys, BLOBS, max_size=4).map(lambda d: list(d.items()))
    rows = data.draw(st.lists(st.none() | maps, max_size=5))
    column = pa.array(rows, pa.map_(key, pa.binary())).slice(cut)
    expected = [None if r is None else mapping([(as_bytes(k), v) for k, v in r]) for r in rows[cut:]]
    check(tmp_path, column, expected)


def test_decimals_are_as_short_as_in_java() -> None:
    numbers = [0, 1, -1, 127, 128, 255, 256, -128, -129, -256, 2**63, -(2**63), 2**64, 10**37, -(10**37)]
    column = pa.array([[(Decimal(n), b"x")] for n in numbers], pa.map_(pa.decimal128(38, 0), pa.binary()))
    expected = [mapping([(big_integer(n), b"x")]) for n in numbers]
    assert encoded(column, blob_parts(column)[0].cast(pa.large_binary())).to_pylist() == expected


def test_values_below_null_are_not_read(tmp_path: Path) -> None:
    offsets = pa.py_buffer(np.array([0, 2, 3], np.int32))
    values = pa.array([b"a", b"b", b"c"])
    column = pa.Array.from_buffers(ARRAY, 2, [pa.py_buffer(b"\x02"), offsets], 1, 0, [values])
    assert encoded(column, values.cast(pa.large_binary())).to_pylist() == [None, array([b"c"])]


def test_a_key_twice_is_refused(tmp_path: Path) -> None:
    column = pa.array([[("a", b"1")], [("b", b"1"), ("b", b"2")]], MAP)
    with pytest.raises(ValueError, match="a key twice"):
        encoded(column, blob_parts(column)[0].cast(pa.large_binary()))
    file = file_of(tmp_path, [mapping([(b"b", b"1"), (b"b", b"2")])])
    with pytest.raises(CorruptFileError, match="a key twice"):
        list(nested_values(file, MAP, 0, 1, again=False))


WRONG = [
    (ARRAY, b"", "is too short"),
    (ARRAY, mapping([(b"a", b"b")]), "magic number"),
    (MAP, array([b"a", b"b", b"c"]), "magic number"),
    (ARRAY, array([b"a"])[:4] + b"\0" + array([b"a"])[5:], "another version"),
    (ARRAY, array([b"a", b"b"])[:5] + struct.pack("<i", 3) + array([b"a", b"b"])[9:], "more elements|another number"),
    (ARRAY, array([b"a", b"b"])[:5] + struct.pack("<i", -1) + array([b"a", b"b"])[9:], "more elements"),
    (ARRAY, array([b"a", b"b"])[:-4] + struct.pack("<i", 2**31 - 1), "more elements"),
    (ARRAY, array([b"abc"])[:9] + b"x" + array([b"abc"])[9:], "do not have the lengths"),
    (ARRAY, array([b"abc"])[:9] + array([b"abc"])[10:], "impossible length"),
    (ARRAY, struct.pack("<IBi", 1094861634, 1, 1) + varints([2**62]) + struct.pack("<i", 9), "impossible length"),
    (ARRAY, struct.pack("<IBi", 1094861634, 1, 1) + varints([-2]) + struct.pack("<i", 1), "impossible length"),
    (ARRAY, struct.pack("<IBi", 1094861634, 1, 1) + b"\xff" * 11 + b"\1" + struct.pack("<i", 12), "64 bits"),
    (ARRAY, struct.pack("<IBi", 1094861634, 1, 1) + b"\xff" + struct.pack("<i", 1), "another number"),
    (MAP, mapping([(b"\xff", b"b")]), "[Uu][Tt][Ff]-?8"),
    (pa.map_(pa.int32(), pa.binary()), mapping([(b"abc", b"b")]), "impossible length"),
    (pa.map_(pa.bool_(), pa.binary()), mapping([(b"\2", b"b")]), "not a BOOLEAN"),
    (pa.map_(pa.decimal128(20, 0), pa.binary()), mapping([(b"", b"b")]), "impossible length"),
    (pa.map_(pa.decimal128(20, 0), pa.binary()), mapping([(b"\x7f" * 16, b"b")]), "precision"),
    (pa.map_(pa.decimal128(20, 0), pa.binary()), mapping([(b"\1", b"a"), (b"\0\1", b"b")]), "a key twice"),
    (pa.map_(pa.decimal128(9, 0), pa.binary()), mapping([(b"\1" + bytes(7), b"a")] * 2), "a key twice"),
    (pa.map_(pa.time32("ms"), pa.binary()), mapping([(struct.pack("<i", 86_400_000), b"a")]), "not a TIME"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_values_are_named(tmp_path: Path, number: int) -> None:
    kind, stored, why = WRONG[number]
    file = file_of(tmp_path, [None, stored])
    with pytest.raises(CorruptFileError, match=f"a.blob.*an array or map of BLOBs.*{why}"):
        list(nested_values(file, kind, 0, 2, again=False))
    with pytest.raises(CorruptFileError, match=f"a.blob.*an array or map of BLOBs.*{why}"):
        list(nested_descriptors(file, kind, 0, 2))


def test_a_later_version_is_not_damage(tmp_path: Path) -> None:
    file = file_of(tmp_path, [array([b"a"])[:4] + b"\2" + array([b"a"])[5:]])
    with pytest.raises(UnsupportedVersionError, match="of version 2, only 1 is supported"):
        list(nested_values(file, ARRAY, 0, 1, again=False))


def test_a_key_that_is_null_is_not_damage(tmp_path: Path) -> None:
    head, index = struct.pack("<IBi", 0x4D424342, 1, 1), varints([-1]) + varints([1])
    file = file_of(tmp_path, [head + b"v" + index + struct.pack("<ii", 1, 1)])
    for read in (nested_values(file, MAP, 0, 1, again=False), nested_descriptors(file, MAP, 0, 1)):
        with pytest.raises(UnfamiliarFormError, match="a key that is NULL"):
            list(read)


@settings(max_examples=examples(150), suppress_health_check=FIXTURES)
@given(data=st.data(), rows=st.lists(st.lists(BLOBS, max_size=4), min_size=1, max_size=3), maps=st.booleans())
def test_damaged_values_end_in_an_error(tmp_path: Path, data: st.DataObject, rows: list[Any], maps: bool) -> None:
    kind = MAP if maps else ARRAY
    stored = [mapping([(f"k{i}".encode(), v) for i, v in enumerate(r)]) if maps else array(r) for r in rows]
    at = data.draw(st.integers(0, len(stored) - 1))
    damaged = bytearray(stored[at])
    if data.draw(st.booleans()):
        del damaged[data.draw(st.integers(0, len(damaged) - 1)) :]
    else:
        damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
    file = file_of(tmp_path, [*stored[:at], bytes(damaged), *stored[at + 1 :]])
    for read in (nested_values(file, kind, 0, len(rows), again=True), nested_descriptors(file, kind, 0, len(rows))):
        with suppress(UnreadableFileError):
            for part in read:
                part.validate(full=True)
                assert len(part) == len(rows)


def blobs_of(folder: Path, column: pa.Array) -> BlobFile:
    stored = encoded(column, blob_parts(column)[0].cast(pa.large_binary()))
    return file_of(folder, stored.to_pylist())


@settings(max_examples=examples(30), suppress_health_check=FIXTURES)
@given(values=ARRAYS, most=st.integers(1, 7))
def test_few_elements_are_in_memory_at_once(tmp_path: Path, values: list[list[bytes | None] | None], most: int) -> None:
    """Rows come in pieces with up to that many elements, or with one value."""
    column = pa.array(values, ARRAY)
    file = blobs_of(tmp_path, column)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("paimon_core.store.blob.nested_values._MOST_ELEMENTS", most)
        read = list(nested_values(file, ARRAY, 0, len(values), again=False))
        described = list(nested_descriptors(file, ARRAY, 0, len(values)))
    for pieces in (read, described):
        sizes = [[len(v) for v in piece.to_pylist() if v is not None] for piece in pieces]
        assert all(sum(of) <= most or len(of) == 1 for of in sizes)
    assert [v for piece in read for v in piece.to_pylist()] == values
    assert [None if v is None else len(v) for piece in described for v in piece.to_pylist()] == [
        None if v is None else len(v) for v in values
    ]


def test_a_value_with_too_many_elements_is_refused(tmp_path: Path) -> None:
    """A NULL has one byte in the file, and many in memory."""
    column = pa.array([[None] * 5, [b"x"]], ARRAY)
    file = blobs_of(tmp_path, column)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("paimon_core.store.blob.nested_values._MOST_ELEMENTS", 2)
        patched.setattr("paimon_core.store.blob.nested_values._MOST_OF_VALUE", 4)
        for read in (nested_values(file, ARRAY, 0, 2, again=False), nested_descriptors(file, ARRAY, 0, 2)):
            with pytest.raises(UnfamiliarFormError, match="has 5 elements, known are up to 4"):
                list(read)


def test_memory_of_many_nulls_is_bounded(tmp_path: Path) -> None:
    """A file of 1 MB with 4 values of a quarter million NULLs each needs memory for one value at a time."""
    nulls = pa.array([[None] * 2**18] * 4, ARRAY)
    file = blobs_of(tmp_path, nulls)
    tracemalloc.start()
    try:
        assert [len(piece) for piece in nested_values(file, ARRAY, 0, 4, again=False)] == [1] * 4
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100 * 2**18  # bytes
