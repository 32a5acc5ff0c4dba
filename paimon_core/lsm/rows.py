"""Rows of a key range, in the order that merge engines see them: by key, then by age.

A merge window is one batch: the rows of all runs in a range of keys, run after run, oldest run first. Nothing is moved
to order it. Engines get `order`, a permutation of row numbers, and `last`, which marks where a key ends, and take the
rows they keep from each column once, in the end.

    key      3 5 7 3 5 9         two runs, behind one another, as folded words (see `lsm.keys`)
    order    0 3 1 4 2 5         by key, and within a key from old to young
    last     F T F T T T         the newest row of each key; a group of equal keys ends here

Age is the sequence number where rows have it, else the position: rows of a younger run stand behind those of an older
one. A stable sort by key keeps positions in order, so sequence numbers are compared only where that puts two rows of
one key the wrong way around, which `sequence.field` and concurrent writers may do, and then sorted in one call.

Sorting dominates, so it depends on the data: a few long runs are merged by numpy's stable sort, a Timsort; mixed keys
that span few enough bits are packed with the position into one word, and a sort of plain numbers takes a third of the
time of an argsort.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.columns import fixed_values
from paimon_core.arrow.types import VALUE_KIND
from paimon_core.lsm.keys import Words

ROW_INSERT, ROW_UPDATE_BEFORE, ROW_UPDATE_AFTER, ROW_DELETE = 0, 1, 2, 3
_LONG_RUN = 32  # rows


@dataclass(frozen=True, slots=True)
class KeyedRows:
    """Rows with everything a merge needs to know of their order.

    `batch` holds keys, values, and where they matter sequence numbers and row kinds; `order` its row numbers, oldest
    first within a key; `last` marks, in that order, the newest row of each key. Shapes (rows,).
    """

    batch: pa.RecordBatch
    order: NDArray[np.int64]
    last: NDArray[np.bool_]


def group_by_key(batch: pa.RecordBatch, key: Words, sequence: Words | None) -> KeyedRows:
    """Order rows by key, then sequence where there is one, then position; `key` and `sequence` of shape (rows,)."""
    order, same = _ordered(key)
    if sequence is not None:
        ordered = sequence[order]
        if (same & (ordered[1:] < ordered[:-1])).any():
            order = np.lexsort((sequence, key))
    return KeyedRows(batch, order, np.append(~same, True)[: len(order)])


def superseded(key: Words, run: NDArray[np.int64], whole: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Where a row of a run of whole rows has a younger whole row of its key; runs are numbered from old to young."""
    positions = np.flatnonzero(whole)
    order = positions[np.lexsort((run[positions], key[positions]))]
    result = np.zeros(len(key), dtype=np.bool_)
    result[order[:-1][_same_as_next(key, order)]] = True
    return result


def is_retract(kinds: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Where the row kind takes a row away."""
    result: NDArray[np.bool_] = (kinds == ROW_DELETE) | (kinds == ROW_UPDATE_BEFORE)
    return result


def row_kinds(batch: pa.RecordBatch) -> NDArray[np.int8] | None:
    """The kinds of the rows; None for rows without, all of which are inserts."""
    column = batch.schema.get_field_index(VALUE_KIND)
    return None if column < 0 else fixed_values(batch.column(column), np.int8)


def concat_batches(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """The rows of all parts."""
    return parts[0] if len(parts) == 1 else pa.concat_batches(parts)


def _ordered(key: Words) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Rows by key, then position, and where a row has the key of the next one in that order, shape (rows - 1,)."""
    rows = len(key)
    bits = max(1, rows - 1).bit_length()
    is_mixed = np.count_nonzero(key[1:] < key[:-1]) * _LONG_RUN > rows  # few long runs are merged, which is faster
    if not is_mixed or int(key.max()) - int(key.min()) >= 1 << (63 - bits):
        order = np.argsort(key, kind="stable")
        return order, _same_as_next(key, order)
    # key and position in one word: sorting numbers takes a third of the time of an argsort
    packed = np.sort(((key - key.min()) << bits) | np.arange(rows))
    keys = packed >> bits
    return packed & ((1 << bits) - 1), keys[1:] == keys[:-1]


def _same_as_next(key: Words, order: NDArray[np.int64]) -> NDArray[np.bool_]:
    ordered = key[order]
    same: NDArray[np.bool_] = ordered[1:] == ordered[:-1]
    return same
