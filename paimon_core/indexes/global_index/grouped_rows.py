"""The content of a global index file: keys, and the rows of each key."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap64

from paimon_core.dataclass import dataclass
from paimon_core.indexes.file_index.keys import ByteKeys
from paimon_core.indexes.global_index.blocks import damaged
from paimon_core.indexes.global_index.file_meta import SortedFileMeta

RowIds = BitMap64


@dataclass(frozen=True, slots=True)
class GroupedRows:
    """The rows of each key.

    `rows[starts[i]:starts[i + 1]]` have key `i` of the distinct stored keys, which ascend; `nulls` have no key. Rows
    are numbers, counted from 0 for the first row that the index covers. If keys are elements of ARRAYs, a row may have
    several keys or none; `arrays` is the number of rows then."""

    keys: ByteKeys
    starts: NDArray[np.int64]
    rows: NDArray[np.int64]
    nulls: NDArray[np.int64]
    arrays: int | None = None

    @property
    def row_count(self) -> int:
        return len(self.rows) + len(self.nulls) if self.arrays is None else self.arrays

    @property
    def with_value(self) -> NDArray[np.int64]:
        """Return the rows with a value, in order; none if keys are elements."""
        return np.sort(self.rows) if self.arrays is None else self.nulls

    @property
    def meta(self) -> SortedFileMeta:
        """Return the metadata of a file of these rows for the manifest."""
        first, last = (self.keys[0], self.keys[len(self.keys) - 1]) if len(self.keys) else (None, None)
        return SortedFileMeta(first, last, bool(len(self.nulls)))


def row_ids(rows: NDArray[np.int64]) -> RowIds:
    """Return row numbers as a set."""
    return RowIds(np.ascontiguousarray(rows, dtype=np.uint64)) if len(rows) else RowIds()


def encode_row_ids(rows: RowIds) -> bytes:
    """Encode a set as a 64-bit Roaring bitmap in its portable format, in the fewest bytes."""
    rows.run_optimize()
    data: bytes = rows.serialize()
    return data


def decode_row_ids(path: str, data: bytes) -> RowIds:
    """Decode a set: the reverse of `encode_row_ids`. Raises `CorruptFileError`."""
    try:
        return RowIds.deserialize(data)
    except (ValueError, IndexError, MemoryError, OverflowError) as e:
        raise damaged(path, f"a bitmap of its rows does not decode ({e})") from e
