"""Metadata that unpacks to far more than its size: refused by name, within little memory, in every codec and format."""

from __future__ import annotations

import io
import lzma
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest

from paimon_core.errors import CorruptFileError
from paimon_core.formats.avro.codecs import InflatedError, decompress, most_content
from paimon_core.formats.avro.container import SYNC_SIZE, ContainerReader, block_header
from paimon_core.formats.avro.packing import compress
from paimon_core.manifests.record_files import decode_columns, decode_file, encode_columns
from paimon_core.spec.manifest import ENTRY_VERSION, LIST_VERSION, MANIFEST_ENTRY, MANIFEST_FILE_META
from tests.support.bombs import PACKED, PIECE, avro_bomb, with_little_memory
from tests.support.golden_files import manifest_lists, manifests

ENTRIES = next(m for m in manifests().values() if m)
LISTS = next(m for m in manifest_lists().values() if m)
IMPORTS = """
from pathlib import Path
from paimon_core.manifests.entries import decode_entries
from paimon_core.manifests.record_files import decode_file
from paimon_core.spec.manifest import LIST_VERSION, MANIFEST_FILE_META
"""


def test_avro_that_unpacks_to_gigabytes(tmp_path: Path) -> None:
    acts = []
    for codec in PACKED:
        blocks = 70 if codec in ("bzip2", "zstandard") else 2  # the others shrink nothing to less than a thousandth
        for name, bomb in (
            ("manifest", avro_bomb(MANIFEST_ENTRY, ENTRY_VERSION, ENTRIES, codec, blocks)),
            ("list", avro_bomb(MANIFEST_FILE_META, LIST_VERSION, LISTS, codec, blocks)),
        ):
            path = tmp_path / f"{name}.{codec}"
            path.write_bytes(bomb)
            data = f"'f', Path({str(path)!r}).read_bytes()"
            acts.append(
                f"decode_entries({data})"
                if name == "manifest"
                else f"list(decode_file(MANIFEST_FILE_META, LIST_VERSION, {data}))"
            )
    found = with_little_memory(IMPORTS, acts)
    assert len(found) == 2 * len(PACKED)
    assert [f.error for f in found if not f.error.startswith("CorruptFileError: File f is corrupt: ")] == []


@pytest.mark.parametrize("codec", PACKED)
def test_no_more_is_unpacked_than_honest_blocks_hold(codec: str) -> None:
    packed = compress(codec, 3, bytes(PIECE))
    assert decompress(codec, packed) == bytes(PIECE)
    with pytest.raises(ValueError, match="far more bytes|impossible size"):
        decompress(codec, packed, PIECE - 1)
    reader = ContainerReader(io.BytesIO(avro_bomb(MANIFEST_ENTRY, ENTRY_VERSION, ENTRIES, codec, 0)))
    assert sum(count for count, _ in reader.bounded()) == len(ENTRIES)


@pytest.mark.parametrize("codec", ["bzip2", "zstandard"])
def test_what_is_bounded_is_the_sum_of_blocks(codec: str) -> None:
    """15 kB of bzip2 hold a gigabyte: each of its blocks is as large as an honest one may be."""
    data = avro_bomb(MANIFEST_ENTRY, ENTRY_VERSION, ENTRIES, codec, 3)
    with pytest.raises(InflatedError):
        list(ContainerReader(io.BytesIO(data)).bounded())
    with pytest.raises(InflatedError):
        ContainerReader(io.BytesIO(data)).content(16)


@pytest.mark.parametrize("codec", PACKED)
def test_records_of_hardly_any_bytes(codec: str) -> None:
    """Each record names a file: a million of them take more than some kilobytes, and are not made."""
    content = bytes(2**22)
    packed = compress(codec, 1, content)
    honest = avro_bomb(MANIFEST_FILE_META, LIST_VERSION, LISTS, codec, 0)
    bomb = honest + block_header(2**21, len(packed)) + packed + honest[-SYNC_SIZE:]
    with pytest.raises(CorruptFileError, match="claims 20971.. records in .* bytes"):
        list(decode_file(MANIFEST_FILE_META, LIST_VERSION, "f", bomb))


def test_what_files_may_unpack_to() -> None:
    assert 2**24 < most_content(100) < most_content(10**5) < most_content(10**7) == most_content(10**9) == 2**30


def test_an_xz_header_cannot_ask_for_gigabytes() -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 2**29}]
    packed = lzma.compress(b"little", filters=filters)
    with pytest.raises(ValueError, match="does not decompress by codec xz"):
        decompress("xz", packed)


def test_a_stripe_that_unpacks_to_far_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The native reader, which unpacks it as a whole, does not see it."""
    sink = pa.BufferOutputStream()
    po.write_table(pa.table({"_VERSION": ["x" * 2**20] * 300}), sink, compression="zstd")
    packed = bytes(sink.getvalue())
    assert len(packed) < 200_000
    for name in ("read", "read_stripe"):  # the footer alone may be read, for the name of the writer
        monkeypatch.setattr(po.ORCFile, name, None)
    with pytest.raises(CorruptFileError, match="far more bytes"):
        list(decode_columns(MANIFEST_FILE_META, LIST_VERSION, "f", packed))


def test_columns_that_unpack_to_far_more() -> None:
    data = encode_columns(MANIFEST_ENTRY, ENTRY_VERSION, ENTRIES, "parquet", "zstd")
    honest = pq.read_table(pa.BufferReader(data))
    many = pa.concat_tables([honest.slice(0, 1)] * (len(data) * 2))
    sink = pa.BufferOutputStream()
    pq.write_table(many, sink, compression="zstd")
    with pytest.raises(CorruptFileError, match="claims .* rows in"):
        list(decode_columns(MANIFEST_ENTRY, ENTRY_VERSION, "f", bytes(sink.getvalue())))
    index = honest.schema.get_field_index("_PARTITION")
    assert index >= 0
    large = honest.slice(0, 1).set_column(index, honest.schema.field(index), [pa.array([bytes(PIECE)], pa.binary())])
    sink = pa.BufferOutputStream()
    pq.write_table(pa.concat_tables([large] * 4), sink, compression="zstd")
    packed = bytes(sink.getvalue())
    assert len(packed) < 40_000
    with pytest.raises(CorruptFileError, match="far more bytes"):
        list(decode_columns(MANIFEST_ENTRY, ENTRY_VERSION, "f", packed))
