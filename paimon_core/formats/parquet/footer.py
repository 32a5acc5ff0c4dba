"""The metadata at the end of a Parquet file as a tree. Source: parquet-format, `parquet.thrift`."""

from __future__ import annotations

import pyarrow as pa

from paimon_core.formats.parquet.thrift import Fields, decode, encode

MAGIC = b"PAR1"
_TAIL = 8  # bytes after the metadata: its length, and the magic again
SCHEMA, GROUPS = 2, 4  # FileMetaData
CHUNKS, META = 1, 3  # RowGroup, ColumnChunk


def read_footer(source: pa.NativeFile) -> tuple[Fields, int]:
    """Return the metadata of a file, and its offset. Raises `ValueError`."""
    found, start = footer_bytes(source)
    return decode(found), start


def footer_bytes(source: pa.NativeFile) -> tuple[bytes, int]:
    """Return the encoded metadata of a file, and its offset. Raises `ValueError`."""
    end = source.size() - _TAIL
    length = int.from_bytes(bytes_at(source, end, 4), "little")
    if end - length < len(MAGIC):
        raise ValueError("its footer is longer than the file")
    return bytes_at(source, end - length, length), end - length


def bytes_at(source: pa.NativeFile, start: int, length: int) -> bytes:
    """Read bytes of a file after its first bytes, `MAGIC`.

    Raises `ValueError` if the file is too short, or the storage returns fewer bytes. Callers that copy pages would not
    notice, because they do not decode them."""
    if start < len(MAGIC) or length < 0 or start + length > source.size():
        raise ValueError("it names offsets outside of the file")
    found = bytes(source.read_at(length, start))
    if len(found) != length:
        raise ValueError(f"only {len(found)} of {length} bytes at {start} could be read")
    return found


def file_end(file: Fields) -> bytes:
    """Return the last bytes of a file with this metadata."""
    footer = encode(file)
    return footer + len(footer).to_bytes(4, "little") + MAGIC


def schema_elements(file: Fields) -> list[Fields]:
    elements: list[Fields] = file[SCHEMA][1].values
    return elements


def row_groups(file: Fields) -> list[Fields]:
    groups: list[Fields] = file[GROUPS][1].values
    return groups


def column_chunks(group: Fields) -> list[Fields]:
    chunks: list[Fields] = group[CHUNKS][1].values
    return chunks


def chunk_metadata(chunk: Fields) -> Fields:
    meta: Fields = chunk[META][1]
    return meta
