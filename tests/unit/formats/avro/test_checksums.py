"""Frames of zstandard in Avro files have a checksum: a changed byte is found, in metadata and in data."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from paimon_core.arrow.types import arrow_schema
from paimon_core.errors import CorruptFileError
from paimon_core.formats.avro.data_files import AvroFormat
from paimon_core.formats.file_format import ReadRequest
from paimon_core.io.local import LocalFileIO
from paimon_core.manifests.record_files import decode_file, encode_avro
from paimon_core.options import TableOptions
from paimon_core.spec.manifest import LIST_VERSION, MANIFEST_FILE_META, ManifestFileMeta
from paimon_core.spec.stats import EMPTY_STATS
from paimon_core.spec.types import BIGINT, STRING, DataField
from tests.support.stored import create_table, insert, open_table, read

DAMAGES = 300
FIELDS = (DataField(id=0, name="k", type=BIGINT), DataField(id=1, name="v", type=STRING))


def damaged(content: bytes) -> list[bytes]:
    """A file with one byte of its blocks changed, many times."""
    chance = random.Random(1)
    header = content.index(content[-16:]) + 16  # blocks end with the marker that ends the header
    found = []
    for _ in range(DAMAGES):
        changed = bytearray(content)
        changed[chance.randrange(header + 8, len(content) - 16)] ^= chance.randrange(1, 256)
        found.append(bytes(changed))
    return found


def test_metadata() -> None:
    metas = [
        ManifestFileMeta(
            file_name=f"manifest-{n * 7919 % 1000}-abc",
            file_size=n * 31,
            num_added_files=1,
            num_deleted_files=0,
            partition_stats=EMPTY_STATS,
            schema_id=0,
        )
        for n in range(300)
    ]
    content = encode_avro(MANIFEST_FILE_META, LIST_VERSION, metas, "zstd")
    assert list(decode_file(MANIFEST_FILE_META, LIST_VERSION, "f", content)) == metas
    for changed in damaged(content):
        with pytest.raises(CorruptFileError):
            list(decode_file(MANIFEST_FILE_META, LIST_VERSION, "f", changed))


def test_data(tmp_path: Path) -> None:
    io, path = LocalFileIO(), tmp_path / "f.avro"
    k = np.arange(500)
    rows = pa.table([k, [f"text {n * 7919 % 1000}" for n in k]], schema=arrow_schema(FIELDS))
    writer = AvroFormat().open_writer(io, str(path), FIELDS, TableOptions({}))
    writer.write(rows)
    writer.close()
    request = ReadRequest(str(path), FIELDS, stored=lambda: FIELDS)
    assert pa.Table.from_batches(AvroFormat().read(io, request)) == rows
    for changed in damaged(path.read_bytes()):
        path.write_bytes(changed)
        with pytest.raises(CorruptFileError):
            list(AvroFormat().read(io, request))


def test_a_file_that_ends_between_two_blocks_is_damaged(tmp_path: Path) -> None:
    """Nothing in an Avro file says how many blocks there are: metadata knows how many rows."""
    table = create_table(str(tmp_path), file__format="avro")
    insert(table, [(1, "a"), (2, "b")])
    (path,) = tmp_path.rglob("data-*.avro")
    whole = path.read_bytes()
    header = len(whole.split(whole[-16:], 1)[0]) + 16
    path.write_bytes(whole[:header])
    with pytest.raises(CorruptFileError, match=r"data-.*avro is corrupt: .*it has 0 rows, but metadata lists 2"):
        read(open_table(str(tmp_path)))
