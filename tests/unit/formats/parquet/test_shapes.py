"""What a footer says of columns and chunks, found without decoding all of it: as pyarrow finds it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.formats.parquet import shapes
from paimon_core.formats.parquet.footer import file_end, read_footer, schema_elements
from paimon_core.formats.parquet.shapes import FileLook, Shapes, look
from paimon_core.formats.parquet.thrift import decode, encode

WIDE = pa.table(
    {f"c{i}": pa.array(range(1000), pa.int64()) for i in range(40)}
    | {"s": ["a" * 300] * 1000, "m": pa.array([[("a", 1)]] * 1000, pa.map_(pa.string(), pa.int32()))}
    | {"r": pa.array([{"x": 1, "y": [1, 2]}] * 1000), "d": pa.array([None] * 1000, pa.decimal128(10, 2))}
)
NUMBERS = {"UNCOMPRESSED": 0, "SNAPPY": 1, "GZIP": 2, "BROTLI": 4, "ZSTD": 6, "LZ4": 7}


def look_at(path: Path, known: Shapes | None = None) -> FileLook:
    with pa.OSFile(str(path)) as source:
        return look(source, path.stat().st_size, Shapes() if known is None else known)


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "lz4", "brotli"])
@pytest.mark.parametrize("rows", [10_000, 64, 9])  # in one group, in 16 and in many
def test_chunks_of_every_group(tmp_path: Path, codec: str, rows: int) -> None:
    path = tmp_path / "f.parquet"
    pq.write_table(WIDE, path, compression=codec, row_group_size=rows)
    found, metadata = look_at(path), pq.read_metadata(path)
    chunks = [
        metadata.row_group(g).column(c) for g in range(metadata.num_row_groups) for c in range(metadata.num_columns)
    ]
    assert found.row_count == 1000
    assert found.codecs == {NUMBERS[c.compression] for c in chunks}
    assert found.encodings == {3, 0, 8}
    assert len(found.shape.paths) == metadata.num_columns


def test_no_footer_of_a_known_writer_is_decoded_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of a thousand columns: names that begin alike, and values in statistics that look like other names."""
    monkeypatch.delattr(shapes, "_whole_look")
    path, names = tmp_path / "f.parquet", [f"c{i}" for i in range(1000)]
    rows = pa.table({n: [f"\x19\x18\x02c{i % 9}", n] for i, n in enumerate(names)})
    codecs = dict.fromkeys(names, "zstd") | {"c11": "brotli", "c999": "gzip"}
    pq.write_table(rows, path, compression=codecs, row_group_size=1)
    assert (look_at(path).codecs, look_at(path).row_count) == ({2, 4, 6}, 2)


def test_one_chunk_of_another_codec_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    codecs = dict.fromkeys(WIDE.column_names, "zstd") | {"c39": "brotli"}
    pq.write_table(WIDE, path, compression=codecs)
    assert 4 in look_at(path).codecs


def test_schemas_are_decoded_once(tmp_path: Path) -> None:
    known, path = Shapes(), tmp_path / "f.parquet"
    found = []
    for rows in (WIDE, WIDE.slice(0, 3), WIDE.select(["c1"]), WIDE):
        pq.write_table(rows, path)
        found.append(look_at(path, known).shape)
    assert found[0] is found[1] is found[3] is not found[2]
    assert len(known.known) == 2


def test_a_footer_in_another_spelling_is_decoded_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    pq.write_table(WIDE, path, compression={c: "brotli" if c == "s" else "zstd" for c in WIDE.column_names})
    expected = look_at(path)
    with pa.OSFile(str(path)) as source:
        _, start = read_footer(source)
    whole = path.read_bytes()
    footer = whole[start:-8]
    # the codec of a chunk with its field's number written out, as no known writer does
    other = footer.replace(b"\x15\x08\x16", b"\x05\x08\x08\x16", 1)
    assert decode(other) == decode(footer)
    path.write_bytes(whole[:start] + other + len(other).to_bytes(4, "little") + b"PAR1")
    found = look_at(path)
    assert (found.codecs, found.encodings, found.row_count) == (expected.codecs, expected.encodings, 1000)


@pytest.mark.parametrize(
    "content", [b"", b"PAR1", b"PAR1" * 3, b"PAR1" + b"\x00" * 100, b"PAR1\x15\x02\x19\xff\x02\x00\x00\x00PAR1"]
)
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "f.parquet"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="."):
        look_at(path)


def test_so_many_groups_of_no_columns_are_refused(tmp_path: Path) -> None:
    footer = b"\x15\x02\x19\x1c\x48\x01r\x15\x00\x00\x16\x00\x19\xfc" + b"\xff" * 8 + b"\x7f\x00"
    path = tmp_path / "f.parquet"
    path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(ValueError, match="."):
        look_at(path)


def test_damaged_footers_are_refused_or_read(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    pq.write_table(WIDE.select(["s", "m", "r"]), path)
    with pa.OSFile(str(path)) as source:
        file, start = read_footer(source)
    assert look_at(path).row_count == 1000
    whole = path.read_bytes()
    assert whole[start:] == file_end(decode(encode(file)))
    for at in range(start, len(whole) - 8, 3):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        try:
            found = look_at(path)
        except ValueError:
            continue
        assert isinstance(found, FileLook)


def test_every_annotation_has_a_name(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    types = {
        "int(8)": pa.int8(), "uint(32)": pa.uint32(), "string": pa.string(), "date": pa.date32(),
        "timestamp(ms,local)": pa.timestamp("ms"), "timestamp(us,utc)": pa.timestamp("us", "UTC"),
        "timestamp(ns,local)": pa.timestamp("ns"), "time(ms,local)": pa.time32("ms"),
        "decimal(10,2)": pa.decimal128(10, 2), "other": pa.null(),
    }  # fmt: skip
    pq.write_table(pa.schema(list(types.items())).empty_table(), path, store_schema=False)
    assert [c.annotation for c in look_at(path).shape.columns] == list(types)
    assert shapes.REQUIRED == 0


def test_a_schema_with_fewer_columns_than_it_announces(tmp_path: Path) -> None:
    """Each number of children is announced larger, in the root and in a group below it."""
    path = tmp_path / "f.parquet"
    pq.write_table(WIDE.select(["s", "m", "r"]), path)
    with pa.OSFile(str(path)) as source:
        file, start = read_footer(source)
    whole = path.read_bytes()
    for element in schema_elements(file):
        if 5 in element:
            kind, number = element[5]
            element[5] = (kind, number + 1)
            path.write_bytes(whole[:start] + file_end(file))
            with pytest.raises(ValueError, match="fewer columns than it announces"):
                look_at(path)
            element[5] = (kind, number)
