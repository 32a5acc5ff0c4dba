"""WriteBuffer: the rows of a task that wait to be sorted and written, known as the memtable of an LSM tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from paimon_core.lsm.keys import ColumnWords, Words, flatten, fold, key_words, widths
from paimon_core.lsm.rows import concat_batches

_WORD_BYTES = 8


class WriteBuffer:
    """Batches in order of arrival, with the words of their keys, up to `capacity` bytes."""

    def __init__(self, key_names: Sequence[str], capacity: int):
        self._key_names, self._capacity = tuple(key_names), capacity
        self._batches: list[pa.RecordBatch] = []
        self._keys: list[tuple[ColumnWords, ...]] = []
        self._columns: tuple[int, ...] = ()
        self._bytes = self._row_count = 0

    def offer(self, rows: pa.RecordBatch) -> bool:
        """Add rows and return True, or return False if they do not fit. An empty buffer accepts any rows."""
        key = key_words([rows.column(n) for n in self._key_names])
        columns = tuple(map(max, widths([key]), self._columns or widths([key])))
        key_bytes = (self._row_count + rows.num_rows) * (sum(columns) + len(columns)) * _WORD_BYTES
        if self._batches and self._bytes + rows.nbytes + key_bytes > self._capacity:
            return False
        self._batches.append(rows)
        self._keys.append(key)
        self._bytes += rows.nbytes
        self._row_count += rows.num_rows
        self._columns = columns
        return True

    def drain(self) -> tuple[pa.RecordBatch, Words] | None:
        """Return the rows and a word per row for its key, comparable among these rows. Return None if the buffer is
        empty."""
        if not self._batches:
            return None
        rows, columns = concat_batches(self._batches), widths(self._keys)
        words = [flatten(k, columns) for k in self._keys]
        self._batches, self._keys, self._columns = [], [], ()
        self._bytes = self._row_count = 0
        return rows, fold([np.concatenate(column) for column in zip(*words, strict=True)])
