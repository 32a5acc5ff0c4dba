"""INT96 columns of Parquet files: a replaced footer declares them as values of 12 bytes (`arrow.int96`), both when
they are read and when they are written.

Source: parquet-format, `parquet.thrift`.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core.arrow.leaves import leaves
from paimon_core.arrow.types import STORED_TIME
from paimon_core.formats.parquet.footer import (
    chunk_metadata,
    column_chunks,
    file_end,
    row_groups,
    schema_elements,
)
from paimon_core.formats.parquet.thrift import I32, Fields, decode

# Fields: type and length of a schema element. The type has the same field id in a chunk's metadata.
_TYPE, _LENGTH = 1, 2
_INT96, _FIXED, _TWELVE = (I32, 3), (I32, 7), (I32, 12)


def has_int96(file: pq.ParquetFile) -> bool:
    """Return whether a file has INT96 columns."""
    schema = file.metadata.schema
    return any(schema.column(i).physical_type == "INT96" for i in range(len(schema)))


def int96_as_bytes(file: Fields) -> None:
    """Change INT96 columns to columns of 12 bytes, in the metadata of a file."""
    for element in schema_elements(file):
        if element.get(_TYPE) == _INT96:
            element[_TYPE], element[_LENGTH] = _FIXED, _TWELVE
    for chunk in _chunks(file):
        if chunk[_TYPE] == _INT96:
            chunk[_TYPE] = _FIXED


class Int96Sink(io.RawIOBase):
    """The sink of a Parquet file with columns of 12 bytes that become INT96. `leaves` are their indices.

    Bytes after the call of `hold` are the end of the file, with its footer; `release` changes and writes them.
    """

    def __init__(self, sink: pa.NativeFile, leaves: Sequence[int], count: int) -> None:
        self._sink, self._leaves, self._count = sink, frozenset(leaves), count
        self._held: bytearray | None = None

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        content = memoryview(data).cast("B")  # type: ignore[arg-type]
        if self._held is None:
            self._sink.write(content)
        else:
            self._held += content
        return len(content)

    def hold(self) -> None:
        self._held = bytearray()

    def release(self) -> None:
        held = bytes(self._held or b"")
        start = len(held) - 8 - int.from_bytes(held[-8:-4], "little")
        file = decode(held[start:])
        _to_int96(file, self._leaves, self._count)
        self._sink.write(held[:start] + file_end(file))


def stored_leaves(schema: pa.Schema) -> tuple[list[int], int]:
    """Return the indices of columns of such bytes among all leaf columns, and the number of leaf columns."""
    found = leaves(schema)
    return [i for i, (_, arrow) in enumerate(found) if arrow.equals(STORED_TIME)], len(found)


def _to_int96(file: Fields, leaves: frozenset[int], count: int) -> None:
    for leaf, element in enumerate(e for e in schema_elements(file) if _TYPE in e):
        if leaf in leaves:
            element[_TYPE] = _INT96
            del element[_LENGTH]
    for leaf, chunk in enumerate(_chunks(file)):
        if leaf % count in leaves:
            chunk[_TYPE] = _INT96


def _chunks(file: Fields) -> Iterator[Fields]:
    """Yield the metadata of all column chunks."""
    return (chunk_metadata(chunk) for group in row_groups(file) for chunk in column_chunks(group))
