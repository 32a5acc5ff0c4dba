"""`.blob` files, against a writer of a few lines; values of several files; damaged files."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.errors import CorruptFileError, DataFileMissingError, UnreadableFileError
from paimon_core.formats import blob
from paimon_core.formats.blob import BlobFile, BlobFileWriter
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.row_ranges import row_ranges
from paimon_core.spec.types import DataField, DataType, Kind
from paimon_core.store.blob.row_ranges import blob_column
from tests.support.examples import examples
from tests.support.tables import data_file, new_store

NOT_WRITTEN = "not written"
Value = bytes | str | None
FIELD = DataField(id=1, name="v", type=DataType(Kind.BLOB))
VALUES = st.lists(st.one_of(st.none(), st.binary(max_size=300), st.just(NOT_WRITTEN)), max_size=12)


def encode(values: list[Value]) -> bytes:
    body, index, last = b"", b"", 0
    for value in values:
        length = -1 if value is None else -2
        if isinstance(value, bytes):
            length = len(value) + 16
            entry = (1481511375).to_bytes(4, "little") + value
            entry += length.to_bytes(8, "little")
            body += entry + zlib.crc32(entry).to_bytes(4, "little")
        delta, last = length - last, length
        zigzag = delta * 2 if delta >= 0 else -delta * 2 - 1
        while zigzag >= 0x80:
            index += bytes([zigzag & 0x7F | 0x80])
            zigzag >>= 7
        index += bytes([zigzag])
    return body + index + len(index).to_bytes(4, "little") + b"\x01"


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=VALUES, data=st.data())
def test_values_are_read(tmp_path: Path, values: list[Value], data: st.DataObject) -> None:
    path = tmp_path / "a.blob"
    path.write_bytes(encode(values))
    file = BlobFile.open(LocalFileIO(), str(path))
    assert file.written.tolist() == [v != NOT_WRITTEN for v in values]
    start = data.draw(st.integers(0, len(values)))
    count = data.draw(st.integers(0, len(values) - start))
    found = [v for part in file.read(start, count) for v in part.to_pylist()]
    assert found == [v if isinstance(v, bytes) else None for v in values[start : start + count]]


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=VALUES, cut=st.integers(0, 12), large=st.booleans())
def test_what_is_written_is_the_format(tmp_path: Path, values: list[Value], cut: int, large: bool) -> None:
    writer = BlobFileWriter(LocalFileIO(), str(tmp_path / "w.blob"))
    for part in (values[:cut], values[cut:]):
        kind = pa.large_binary() if large else pa.binary()
        column = pa.array([v if isinstance(v, bytes) else None for v in part], kind)
        writer.write(column, np.array([v != NOT_WRITTEN for v in part], dtype=np.bool_))
    expected = encode(values)
    assert (writer.close(), writer.row_count) == (len(expected), len(values))
    assert (tmp_path / "w.blob").read_bytes() == expected


def test_a_file_has_room_until_its_size_is_reached(tmp_path: Path) -> None:
    writer = BlobFileWriter(LocalFileIO(), str(tmp_path / "w.blob"))
    values = pa.array([b"1234", None, b"5678", b"9"])
    assert [writer.room(values, n) for n in (1, 20, 21, 40, 41, 57, 58)] == [1, 1, 3, 3, 4, 4, 4]
    writer.write(values.slice(0, 1))
    assert [writer.room(values, n) for n in (20, 21, 40, 41)] == [1, 1, 1, 3]
    writer.abort()
    assert not list(tmp_path.iterdir())


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(older=st.lists(st.sampled_from([None, b"", b"old", NOT_WRITTEN]), min_size=6, max_size=6), cut=st.integers(0, 6))
def test_the_newest_file_that_tells_a_value_counts(
    tmp_path_factory: pytest.TempPathFactory, older: list[Value], cut: int
) -> None:
    """Two files of a part of the rows each, and a newer one of all of them."""
    root = tmp_path_factory.mktemp("wh")
    store = new_store(root, **{"row-tracking.enabled": "true", "data-evolution.enabled": "true"})
    newer: list[Value] = [b"new", None, NOT_WRITTEN] * 2
    files = [data_file(store, 0, 9, rows=6, first_row_id=100, write_cols=("k",))]
    for first, part, version in ((0, older[:cut], 1), (cut, older[cut:], 1), (0, newer, 2)):
        if part:
            name = f"b{len(files)}.blob"
            (root / name).write_bytes(encode(part))
            more = {"first_row_id": 100 + first, "write_cols": ("v",), "max_sequence_number": version}
            files.append(data_file(store, 0, 9, rows=len(part), file_name=name, **more))
    (rows,) = row_ranges(files)
    found = [v for b in blob_column(store, str(root), rows, rows.parts, FIELD) for v in b.column(0).to_pylist()]
    expected = [n if n != NOT_WRITTEN else o if o != NOT_WRITTEN else None for o, n in zip(older, newer, strict=True)]
    assert found == expected


@settings(max_examples=examples(80), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=VALUES, data=st.data())
def test_damage_is_told(tmp_path: Path, values: list[Value], data: st.DataObject) -> None:
    """Whatever is cut off or changed, the answer is values or an error that names the file."""
    content = bytearray(encode(values))
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    else:
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path = tmp_path / "a.blob"
    path.write_bytes(content)
    try:
        file = BlobFile.open(LocalFileIO(), str(path))
        assert sum(len(part) for part in file.read(0, len(file.lengths))) == len(file.lengths)
    except UnreadableFileError as e:
        assert e.path == str(path)


def test_a_file_that_is_not_there_or_too_short(tmp_path: Path) -> None:
    store = new_store(tmp_path, **{"row-tracking.enabled": "true", "data-evolution.enabled": "true"})
    files = [data_file(store, 0, 9, rows=2, first_row_id=0, file_name=n, write_cols=(c,)) for n, c in PAIRS]
    (rows,) = row_ranges(files)
    with pytest.raises(DataFileMissingError, match=r"x\.blob of table"):
        list(blob_column(store, str(tmp_path), rows, rows.parts, FIELD))
    (tmp_path / "x.blob").write_bytes(encode([b"a"]))
    with pytest.raises(CorruptFileError, match="it has 1 values, but metadata says 2"):
        list(blob_column(store, str(tmp_path), rows, rows.parts, FIELD))


PAIRS = (("a.parquet", "k"), ("x.blob", "v"))


@pytest.mark.parametrize("near", [True, False])
def test_large_values_are_written_and_read_as_small_ones(
    tmp_path: Path, near: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large values are written without a copy of them, and read in smaller pieces from a near storage."""
    monkeypatch.setattr(blob, "_MOST_NEAR", 150_000)
    monkeypatch.setattr(LocalFileIO, "is_near", property(lambda _: near))
    values = [None if i % 3 == 2 else bytes([i]) * (70_000 + i) for i in range(12)]
    paths = [str(tmp_path / name) for name in ("large.blob", "small.blob")]
    for path, least in zip(paths, (2**16, 2**30), strict=True):
        monkeypatch.setattr(blob, "_LARGE", least)
        writer = BlobFileWriter(LocalFileIO(), path)
        starts = writer.write(pa.array(values, pa.binary()))
        assert writer.close() == Path(path).stat().st_size
    assert Path(paths[0]).read_bytes() == Path(paths[1]).read_bytes()
    pieces = [p.to_pylist() for p in BlobFile.open(LocalFileIO(), paths[0]).read(0, 12)]
    assert [v for piece in pieces for v in piece] == values and (len(pieces) > 3) is near
    data = Path(paths[0]).read_bytes()
    assert [data[s:][: len(v)] for s, v in zip(starts.tolist(), values, strict=True) if v] == [v for v in values if v]
