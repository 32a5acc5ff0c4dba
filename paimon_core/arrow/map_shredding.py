"""Store MAPs with a column per key: the reverse of `shredded_maps`, which describes the struct.

A key has a number in its file, by its first row. A row's values go to `columns` columns, and others to the overflow:

    plain         in the order of the MAP
    sequential    in the order of their numbers
    lru           key n goes to column n % columns, so that it has the same column in nearly all rows. Keys of a row
                  with the same column go to other free columns. Java evicts the least recently used key instead, row
                  by row; both place keys alike as long as there are not more keys than columns

All rows are placed at once by numpy. The field's metadata is known when the file ends: the numbers of names, the
columns of each number, the numbers in the overflow, and the most keys of a row. A file with more metadata than readers
accept is refused while it is written.
Source: Java's Paimon 2.0, `org.apache.paimon.data.shredding`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import islice

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.columns import fixed_array, fixed_values, int64_array, validity
from paimon_core.arrow.shredded_maps import COLUMN, MAPPING, OVERFLOW, PREFIX, VERSION, map_entries

PLAIN, SEQUENTIAL, LRU = "plain", "sequential", "lru"
LAYOUT, SHARED = "paimon.map.storage-layout", "shared-shredding"
_MOST_BYTES = 32 * 2**20  # of metadata; readers accept twice as many of names, and Parquet's 100 MB of all in base64
_PAIR_BYTES = 12  # of a number and its column

Numbers = NDArray[np.int64]


class MapShredder:
    """One MAP column of a file that is written. Raises `ValueError` for a MAP that cannot be stored."""

    def __init__(self, columns: int, policy: str) -> None:
        self._columns, self._policy = columns, policy
        self._numbers: dict[str, int] = {}
        self._columns_of: dict[int, set[int]] = defaultdict(set)
        self._in_overflow: set[int] = set()
        self._widest = self._bytes = 0

    def physical(self, maps: pa.MapArray) -> pa.StructArray:
        """Return the struct that the file has for MAPs."""
        valid, rows = validity(maps), len(maps)
        row, entry = map_entries(maps, valid)
        number = self._numbered(maps.keys.take(int64_array(entry)))
        order = np.lexsort((np.arange(len(row)), number, row))  # the last one of a key in a row counts
        kept = order[np.append(np.diff(row[order] * (len(self._numbers) + 1) + number[order]) != 0, True)[: len(order)]]
        if self._policy == PLAIN:
            kept = np.sort(kept)
        row, entry, number = row[kept], entry[kept], number[kept]
        sizes = np.bincount(row, minlength=rows)
        self._widest = max(self._widest, int(sizes.max(initial=0)))
        column = self._placed(row, number, sizes)
        self._remember(number, column)
        mapping = np.full((rows, self._columns), -1, dtype=np.int32)
        placed = column >= 0
        mapping[row[placed], column[placed]] = number[placed]
        parts: list[pa.Array] = [_lists(mapping)]
        for index in range(self._columns):
            here = np.flatnonzero(column == index)
            source = np.full(rows, -1, dtype=np.int64)
            source[row[here]] = entry[here]
            parts.append(maps.items.take(int64_array(source, source >= 0)))
        parts.append(_overflow(maps.items, row[~placed], entry[~placed], number[~placed], rows))
        fields = list(physical_type(maps.type, self._columns))
        parts = [part.cast(f.type) for part, f in zip(parts, fields, strict=True)]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=None if valid.all() else pa.array(~valid))

    def metadata(self) -> dict[str, str]:
        """Return the metadata of the field, after the last row."""
        names = _json({name: self._numbers[name] for name in sorted(self._numbers, key=_as_java)}).encode()
        columns = {str(n): sorted(self._columns_of[n]) for n in sorted(self._columns_of)}
        found = {
            "version": VERSION,
            "field-dict-compression": "zstd",
            "field-dict-original-size": str(len(names)),
            "field-dict": pa.compress(names, "zstd", asbytes=True).decode("latin-1"),
            "field-columns": _json(columns),
            "overflow-set": _json(sorted(self._in_overflow)),
            "num-columns": str(self._columns),
            "max-row-width": str(self._widest),
        }
        return {LAYOUT: SHARED, **{f"{PREFIX}{key}": value for key, value in found.items()}}

    def _numbered(self, keys: pa.Array) -> Numbers:
        """Return the number of each key; new keys get the next numbers."""
        if keys.null_count:
            raise ValueError("a key is NULL")
        encoded, before = keys.dictionary_encode(), len(self._numbers)
        numbers = [self._numbers.setdefault(name, len(self._numbers)) for name in encoded.dictionary.to_pylist()]
        self._add_bytes(sum(len(_json(name).encode()) + _PAIR_BYTES for name in islice(self._numbers, before, None)))
        found: Numbers = np.array(numbers, dtype=np.int64)[fixed_values(encoded.indices, np.int32)]
        return found

    def _placed(self, row: Numbers, number: Numbers, sizes: Numbers) -> Numbers:
        """Return the column of each value, -1 for the overflow. Values are in the order of their rows."""
        if self._policy != LRU:
            place = np.arange(len(row)) - (np.cumsum(sizes) - sizes)[row]
            return np.where(place < self._columns, place, -1)
        column = number % self._columns
        _, first = np.unique(row * self._columns + column, return_index=True)
        others = np.ones(len(row), dtype=np.bool_)
        others[first] = False
        if others.any():
            self._move(row, column, others)
        return column

    def _move(self, row: Numbers, column: Numbers, others: NDArray[np.bool_]) -> None:
        """Move values from columns that other keys have taken to free columns of their rows; put the rest into the
        overflow.
        """
        crowded, at = np.unique(row[others], return_inverse=True)
        taken = np.zeros((len(crowded), self._columns), dtype=np.bool_)
        index = np.searchsorted(crowded, row)
        near = ~others & (index < len(crowded)) & (crowded[np.minimum(index, len(crowded) - 1)] == row)
        taken[index[near], column[near]] = True
        free = np.argsort(taken, axis=1, kind="stable")
        counts = np.bincount(at)
        place = np.arange(len(at)) - (np.cumsum(counts) - counts)[at]
        has_room = place < self._columns - taken.sum(axis=1)[at]
        column[others] = np.where(has_room, free[at, np.minimum(place, self._columns - 1)], -1)

    def _remember(self, number: Numbers, column: Numbers) -> None:
        for key, index in np.unique(np.stack((number, column), axis=1), axis=0).tolist():
            if index < 0:
                self._in_overflow.add(key)
            elif index not in self._columns_of[key]:
                self._columns_of[key].add(index)
                self._add_bytes(_PAIR_BYTES)

    def _add_bytes(self, count: int) -> None:
        self._bytes += count
        if self._bytes > _MOST_BYTES:
            raise ValueError(
                f"the rows of one file have {len(self._numbers)} different keys, too many for its metadata"
            )


def physical_type(maps: pa.MapType, columns: int) -> pa.StructType:
    """Return the type of the struct for MAPs."""
    mapping = pa.list_(pa.field("element", pa.int32()))
    fields = [pa.field(MAPPING, mapping), *(pa.field(f"{COLUMN}{n}", maps.item_type) for n in range(columns))]
    key, value = pa.field("key", pa.int32(), nullable=False), pa.field("value", maps.item_type)
    return pa.struct([*fields, pa.field(OVERFLOW, pa.map_(key, value))])


def widest(maps: pa.ChunkedArray) -> int:
    """Return the most entries of a MAP."""
    lengths = [np.diff(c.offsets.to_numpy())[validity(c)] for c in maps.chunks]
    return max((int(of.max(initial=0)) for of in lengths), default=0)


def _lists(mapping: NDArray[np.int32]) -> pa.ListArray:
    rows, columns = mapping.shape
    offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * columns, pa.int32())
    return pa.ListArray.from_arrays(offsets, fixed_array(mapping.reshape(-1), pa.int32()))


def _overflow(items: pa.Array, row: Numbers, entry: Numbers, number: Numbers, rows: int) -> pa.MapArray:
    """Return the values without a column, by number; NULL for a row without such values."""
    sizes = np.bincount(row, minlength=rows)
    offsets = pa.array(np.append(0, np.cumsum(sizes)), pa.int32())
    keys = fixed_array(number.astype(np.int32), pa.int32())
    return pa.MapArray.from_arrays(offsets, keys, items.take(int64_array(entry)), mask=pa.array(sizes == 0))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _as_java(name: str) -> bytes:
    return name.encode("utf-16-be", "surrogatepass")
