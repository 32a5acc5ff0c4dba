"""Tails of ORC files: read in every codec, and refused where the native reader would trust what they say."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.orc as po
import pytest

from paimon_core.errors import CorruptFileError
from paimon_core.formats.file_format import ReadRequest
from paimon_core.formats.orc.data_files import OrcFormat
from paimon_core.formats.orc.layout import check_tail, read_streams, read_tail
from paimon_core.io.local import LocalFileIO
from paimon_core.manifests.record_files import decode_columns, encode_columns
from paimon_core.spec.manifest import LIST_VERSION, MANIFEST_FILE_META
from paimon_core.spec.types import INT, DataField
from tests.fuzz.files.orc_changes import Message, parsed, with_tail, written

ROWS = pa.table({"k": pa.array(range(1000), pa.int32()), "a": [[i, None] for i in range(1000)]})
BLOCK_SIZE, TYPES = 3, 4  # of the postscript, of the footer


def orc(codec: str = "zlib") -> bytes:
    sink = pa.BufferOutputStream()
    po.write_table(ROWS, sink, compression=codec)
    return bytes(sink.getvalue())


def with_block_size(data: bytes, size: int) -> bytes:
    tail = read_tail(pa.BufferReader(data))
    fields = [(n, w, size if n == BLOCK_SIZE else v) for n, w, v in parsed(tail.postscript)]
    return with_tail(data, tail, tail.footer, written(fields))


def with_types(data: bytes, types: list[Message]) -> bytes:
    tail = read_tail(pa.BufferReader(data))
    others = [f for f in parsed(tail.footer) if f[0] != TYPES]
    return with_tail(data, tail, written([*others, *((TYPES, 2, t) for t in types)]))


def check(data: bytes) -> None:
    check_tail(pa.BufferReader(data))


@pytest.mark.parametrize("codec", ["uncompressed", "zlib", "snappy", "lz4", "zstd"])
def test_tails_of_every_codec(codec: str) -> None:
    data = orc(codec)
    source = pa.BufferReader(data)
    tail = read_tail(source)
    check(data)
    assert len(tail.types) == 4  # the row, k, a and its elements
    streams, zone = read_streams(source, tail, tail.stripes[0])
    assert {s.column for s in streams} >= {1, 2, 3} and zone


@pytest.mark.parametrize("size", [2**23 + 1, 2**31, 2**64 - 2**31])
def test_blocks_of_an_impossible_size(size: int, tmp_path: Path) -> None:
    """The native reader allocates them, or crashes."""
    path = tmp_path / "f.orc"
    path.write_bytes(with_block_size(orc(), size))
    request = ReadRequest(str(path), (DataField(id=0, name="k", type=INT),))
    with pytest.raises(CorruptFileError, match=f"f.orc is corrupt: .*its blocks have {size} bytes"):
        list(OrcFormat().read(LocalFileIO(), request))
    manifests = with_block_size(encode_columns(MANIFEST_FILE_META, LIST_VERSION, [], "orc", "zlib"), size)
    with pytest.raises(CorruptFileError, match="its blocks have"):
        list(decode_columns(MANIFEST_FILE_META, LIST_VERSION, "f", manifests))


def node(kind: int, *below: int) -> Message:
    return [(1, 0, kind), *((2, 0, b) for b in below)]


INTEGER, LIST, STRUCT = 3, 10, 12
DEEP = [node(STRUCT, 1), *(node(LIST, i + 2) for i in range(200)), node(INTEGER)]


@pytest.mark.parametrize(
    "types",
    [
        [node(STRUCT, 0)],
        [node(STRUCT, 1), node(LIST, 1)],
        [node(STRUCT, 1), node(LIST, 0)],
        [node(STRUCT, 1, 1), node(INTEGER)],
        [node(STRUCT, 7), node(INTEGER)],
        [node(STRUCT), node(INTEGER)],
        DEEP,
    ],
    ids=["itself", "its element", "its parent", "twice", "not there", "in nothing", "deep"],
)
def test_columns_that_are_no_tree(types: list[Message]) -> None:
    with pytest.raises(ValueError, match="its columns do not form a tree, or are nested too deeply"):
        check(with_types(orc(), types))


def test_columns_that_are_a_tree() -> None:
    check(with_types(orc(), [*DEEP[:50], node(INTEGER)]))


def test_stripes_outside_of_the_file() -> None:
    data = orc()
    tail = read_tail(pa.BufferReader(data))
    for field in (1, 2, 3, 4):  # offset, and bytes of indexes, rows and footer
        footer = [
            (n, w, [(i, t, 2**40 if i == field else x) for i, t, x in v] if n == 3 else v)
            for n, w, v in parsed(tail.footer)
        ]
        with pytest.raises(ValueError, match="a stripe lies outside of the file"):
            check(with_tail(data, tail, written(footer)))
