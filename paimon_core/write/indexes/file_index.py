"""The file index of a data file that is being written, with one builder per indexed column and index type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Protocol

import numpy as np
import pyarrow as pa

from paimon_core.arrow.columns import validity
from paimon_core.dataclass import dataclass
from paimon_core.indexes.file_index.arrow_keys import hashes, keyed_rows, map_values, number_keys
from paimon_core.indexes.file_index.bitmap import encode_bitmap_index
from paimon_core.indexes.file_index.bloom_filter import BloomFilter
from paimon_core.indexes.file_index.bsi import encode_bsi
from paimon_core.indexes.file_index.container import INDEX_SUFFIX, encode_container
from paimon_core.indexes.file_index.keys import KeyType
from paimon_core.indexes.file_index.options import (
    BITMAP_BLOCK_SIZE,
    BITMAP_VERSION,
    BLOOM_FPP,
    BLOOM_ITEMS,
    RANGE_CHUNK_SIZE,
    WantedIndex,
)
from paimon_core.indexes.file_index.range_bitmap import encode_range_bitmap
from paimon_core.indexes.file_index.registry import BITMAP, BLOOM_FILTER, BSI, RANGE_BITMAP
from paimon_core.options import FILE_INDEX_THRESHOLD
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.types import Kind
from paimon_core.store.table_store import TableStore

# Columns of these types have few different values, so each value is a chunk of its own.
_UNCHUNKED = frozenset((Kind.BOOLEAN, Kind.TINYINT, Kind.SMALLINT))


class _Builder(Protocol):
    """The index of one column of a file."""

    def add(self, column: pa.Array) -> None:
        """Add the values of the next rows."""

    def encode(self) -> bytes | None:
        """Return the body of the index, or None if the index cannot hold the values."""


class _BloomFilterBuilder:
    def __init__(self, column: WantedIndex):
        self._type = column.type
        self._filter = BloomFilter(column.settings[BLOOM_ITEMS], column.settings[BLOOM_FPP])

    def add(self, column: pa.Array) -> None:
        self._filter.add(hashes(column, self._type))

    def encode(self) -> bytes | None:
        return self._filter.encode()


@dataclass(slots=True)
class _ColumnBuilder:
    """An index that needs the whole column at once."""

    column: WantedIndex
    make: Callable[[WantedIndex, pa.ChunkedArray], bytes | None]
    parts: list[pa.Array] = field(default_factory=list)

    def add(self, column: pa.Array) -> None:
        self.parts.append(column)

    def encode(self) -> bytes | None:
        try:
            return self.make(self.column, pa.chunked_array(self.parts))
        except OverflowError:
            return None


def _bitmap(column: WantedIndex, values: pa.ChunkedArray) -> bytes | None:
    rows, settings = keyed_rows(values, column.type), column.settings
    version, block_size = settings[BITMAP_VERSION], settings[BITMAP_BLOCK_SIZE]
    return encode_bitmap_index(_key_type(column), rows.keys, rows.codes, version=version, block_size=block_size)


def _bsi(column: WantedIndex, values: pa.ChunkedArray) -> bytes | None:
    numbers = [number_keys(c, column.type) for c in values.chunks]
    return encode_bsi(np.concatenate(numbers), np.concatenate([validity(c) for c in values.chunks]))


def _range_bitmap(column: WantedIndex, values: pa.ChunkedArray) -> bytes | None:
    rows = keyed_rows(values, column.type)
    default = 0 if column.type.kind in _UNCHUNKED else RANGE_CHUNK_SIZE.default
    chunk_size = column.settings[replace(RANGE_CHUNK_SIZE, default=default)]
    return encode_range_bitmap(_key_type(column), rows.keys, rows.codes, chunk_size)


def _key_type(column: WantedIndex) -> KeyType:
    key_type = KeyType.of(column.type)
    assert key_type is not None, column  # an indexed column has keys
    return key_type


_BUILDERS: dict[str, Callable[[WantedIndex], _Builder]] = {
    BITMAP: partial(_ColumnBuilder, make=_bitmap),
    BLOOM_FILTER: _BloomFilterBuilder,
    BSI: partial(_ColumnBuilder, make=_bsi),
    RANGE_BITMAP: partial(_ColumnBuilder, make=_range_bitmap),
}


class FileIndexBuilder:
    """Builds the indexes of one file's columns."""

    def __init__(self, columns: Sequence[WantedIndex]):
        self._columns = [(c, _BUILDERS[c.index_type](c)) for c in columns]

    def add(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Add the next rows, with at least the indexed columns."""
        for column, builder in self._columns:
            values = rows.column(column.field.name)
            for chunk in values.chunks if isinstance(values, pa.ChunkedArray) else [values]:
                builder.add(chunk if column.key is None else map_values(chunk, column.key))

    def bodies(self) -> dict[str, dict[str, bytes | None]]:
        """Return the bodies of the indexes by column and index type."""
        found: dict[str, dict[str, bytes | None]] = {}
        for column, builder in self._columns:
            body = builder.encode()
            if body is not None:
                found.setdefault(column.name, {})[column.index_type] = body
        return found


def with_file_index(
    store: TableStore, folder: str, file: DataFileMeta, bodies: dict[str, dict[str, bytes | None]], name: str = ""
) -> DataFileMeta:
    """Return the file with a new index instead of its old index.

    Up to `file-index.in-manifest-threshold` bytes, the index is in the file's metadata. A larger index is written to a
    file named `name`, beside the data file. Raises `StorageError`."""
    others = tuple(n for n in file.extra_files if not n.endswith(INDEX_SUFFIX))
    bare = replace(file, extra_files=others, embedded_file_index=None)
    if not bodies:
        return bare
    container = encode_container(bodies)
    if len(container) <= store.options[FILE_INDEX_THRESHOLD]:
        return replace(bare, embedded_file_index=container)
    name = name or file.file_name + INDEX_SUFFIX
    store.io.write_bytes(f"{folder}/{name}", container)
    return replace(bare, extra_files=(*others, name))
