"""A Parquet file in a form that nothing here decodes is not called corrupt."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.errors import CorruptFileError, UnfamiliarFormError
from paimon_core.formats.file_format import ReadRequest
from paimon_core.formats.parquet.data_files import ParquetFormat
from paimon_core.formats.parquet.footer import (
    chunk_metadata,
    column_chunks,
    file_end,
    read_footer,
    row_groups,
    schema_elements,
)
from paimon_core.formats.parquet.thrift import I32
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.types import INT, DataField

FIELDS = (DataField(id=0, name="k", type=INT),)


def read(path: Path) -> int:
    return sum(b.num_rows for b in ParquetFormat().read(LocalFileIO(), ReadRequest(str(path), FIELDS)))


def write(path: Path, codec: int) -> None:
    """A file that says of its chunk that it has another codec."""
    pq.write_table(pa.table({"k": pa.array([1, 2], pa.int32())}), path, compression="snappy")
    with pa.OSFile(str(path)) as source:
        footer, start = read_footer(source)
    chunk_metadata(column_chunks(row_groups(footer)[0])[0])[4] = I32, codec
    path.write_bytes(path.read_bytes()[:start] + file_end(footer))


@pytest.mark.parametrize(("codec", "named"), [(3, "LZO"), (9, "codec 9"), (99, "codec 99")])
def test_codecs(tmp_path: Path, codec: int, named: str) -> None:
    path = tmp_path / "f.parquet"
    write(path, codec)
    with pytest.raises(UnfamiliarFormError, match=rf"f\.parquet has a form .* compressed by {named},"):
        read(path)


def test_an_encrypted_file(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table({"k": [1]}), path)
    path.write_bytes(path.read_bytes()[:-4] + b"PARE")
    with pytest.raises(UnfamiliarFormError, match="it is encrypted"):
        read(path)


@pytest.mark.parametrize(
    ("annotation", "said"),
    [((I32, 77), "UNKNOWN"), ((I32, 0), "UTF8 can only annotate"), ((I32, 5), "DECIMAL precision")],
    ids=["unknown annotation", "text as number", "decimal without digits"],
)
def test_schemas(tmp_path: Path, annotation: tuple[int, int], said: str) -> None:
    """The footer is whole, but pyarrow refuses a type in it: nothing shows that the bytes are damaged."""
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table({"k": pa.array([1, 2], pa.int32())}), path, store_schema=False)
    with pa.OSFile(str(path)) as source:
        footer, start = read_footer(source)
    schema_elements(footer)[1][6] = annotation
    path.write_bytes(path.read_bytes()[:start] + file_end(footer))
    with pytest.raises(UnfamiliarFormError, match=f"its footer is whole, but has a schema .*{said}"):
        read(path)
    path.write_bytes(path.read_bytes()[:start] + path.read_bytes()[start + 3 :])
    with pytest.raises(CorruptFileError):
        read(path)


def test_damage_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    write(path, 6)  # the pages are Snappy's
    for content in (path.read_bytes(), path.read_bytes()[:-5], b"", b"PAR1"):
        path.write_bytes(content)
        with pytest.raises(CorruptFileError, match="is corrupt"):
            read(path)
