"""Rows of a key range, in the order of merge engines: by key, then by age.

A merge window is one batch: the rows of all runs in a range of keys, run after run, oldest run first. The rows are not
moved. Engines get `order`, a permutation of row numbers, and `last`, which marks the last row of each key. They take
the rows that they keep from each column once, at the end.

    key      3 5 7 3 5 9         two runs, one after the other, as folded words (see `lsm.keys`)
    order    0 3 1 4 2 5         by key, and within a key from old to young
    last     F T F T T T         the newest row of each key; a group of equal keys ends here

Age is the sequence number if rows have it, else the position: rows of a younger run follow the rows of an older run.
A stable sort by key keeps positions in order, and positions mostly agree with sequence numbers. Only if two rows of
a key are in the wrong order, as with `sequence.field` and concurrent writers, the rows are sorted by key and number.

Sorting takes most of the time, so the method depends on the data. A few long runs are merged by numpy's stable sort, a
Timsort. Mixed keys that span few enough bits are packed with the position into one word: a sort of plain numbers takes
a third of the time of an argsort.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.columns import fixed_values
from paimon_core.arrow.types import VALUE_KIND
from paimon_core.dataclass import dataclass
from paimon_core.lsm.keys import Words

ROW_INSERT, ROW_UPDATE_BEFORE, ROW_UPDATE_AFTER, ROW_DELETE = 0, 1, 2, 3
_LONG_RUN = 32  # rows


@dataclass(frozen=True, slots=True)
class KeyedRows:
    """Rows and their order.

    `batch` has keys, values, and, if they matter, sequence numbers and row kinds. `order` has row numbers by key,
    oldest first. `last` marks, in that order, the newest row of each key. Shapes (rows,).
    """

    batch: pa.RecordBatch
    order: NDArray[np.int64]
    last: NDArray[np.bool_]


def group_by_key(batch: pa.RecordBatch, key: Words, sequence: Words | None) -> KeyedRows:
    """Order rows by key, then by sequence if given, then by position. `key` and `sequence` have shape (rows,)."""
    order, same = _ordered(key)
    if sequence is not None:
        ordered = sequence[order]
        if (same & (ordered[1:] < ordered[:-1])).any():
            order = np.lexsort((sequence, key))
    return KeyedRows(batch, order, np.append(~same, True)[: len(order)])


def superseded(key: Words, run: NDArray[np.int64], whole: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the whole rows that a younger whole row of their key replaces. Runs are numbered from old to young; shape
    (rows,).
    """
    positions = np.flatnonzero(whole)
    order = positions[np.lexsort((run[positions], key[positions]))]
    result = np.zeros(len(key), dtype=np.bool_)
    result[order[:-1][_same_as_next(key, order)]] = True
    return result


def is_retract(kinds: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Return which of the row kinds retract a row."""
    result: NDArray[np.bool_] = (kinds == ROW_DELETE) | (kinds == ROW_UPDATE_BEFORE)
    return result


def row_kinds(batch: pa.RecordBatch) -> NDArray[np.int8] | None:
    """Return the kinds of the rows; None for rows without kinds, which are all inserts."""
    column = batch.schema.get_field_index(VALUE_KIND)
    return None if column < 0 else fixed_values(batch.column(column), np.int8)


def concat_batches(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Return the rows of all parts."""
    return parts[0] if len(parts) == 1 else pa.concat_batches(parts)


def _ordered(key: Words) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the rows ordered by key, then by position, and whether each row has the key of the next row, shape (rows -
    1,).
    """
    rows = len(key)
    bits = max(1, rows - 1).bit_length()
    is_mixed = np.count_nonzero(key[1:] < key[:-1]) * _LONG_RUN > rows  # few long runs are merged, which is faster
    if not is_mixed or int(key.max()) - int(key.min()) >= 1 << (63 - bits):
        order = np.argsort(key, kind="stable")
        return order, _same_as_next(key, order)
    # Sort key and position as one word: a sort of numbers takes a third of the time of an argsort.
    packed = np.sort(((key - key.min()) << bits) | np.arange(rows))
    keys = packed >> bits
    return packed & ((1 << bits) - 1), keys[1:] == keys[:-1]


def _same_as_next(key: Words, order: NDArray[np.int64]) -> NDArray[np.bool_]:
    ordered = key[order]
    same: NDArray[np.bool_] = ordered[1:] == ordered[:-1]
    return same
