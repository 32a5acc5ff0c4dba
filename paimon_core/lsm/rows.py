"""Rows of a key range, in the order that merge engines see them: by key, then by age."""

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
    """Order rows by key, then sequence where there is one, then place."""
    order, same = _ordered(key)
    if sequence is not None:
        ordered = sequence[order]
        if (same & (ordered[1:] < ordered[:-1])).any():
            order = np.lexsort((sequence, key))
    return KeyedRows(batch, order, np.append(~same, True)[: len(order)])


def superseded(key: Words, run: NDArray[np.int64], whole: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Where a row of a run of whole rows has a younger whole row of its key; runs are numbered from old to young."""
    places = np.flatnonzero(whole)
    order = places[np.lexsort((run[places], key[places]))]
    result = np.zeros(len(key), dtype=np.bool_)
    result[order[:-1][_same_as_next(key, order)]] = True
    return result


def is_retract(kinds: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Where the row kind takes a row away."""
    result: NDArray[np.bool_] = (kinds == ROW_DELETE) | (kinds == ROW_UPDATE_BEFORE)
    return result


def row_kinds(batch: pa.RecordBatch) -> NDArray[np.int8] | None:
    """The kinds of the rows; None for rows without, all of which are inserts."""
    place = batch.schema.get_field_index(VALUE_KIND)
    return None if place < 0 else fixed_values(batch.column(place), np.int8)


def concat_batches(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """The rows of all parts."""
    return parts[0] if len(parts) == 1 else pa.concat_batches(parts)


def _ordered(key: Words) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Rows by key, then place, and where a row has the key of the next one in that order, shape (rows - 1,)."""
    rows = len(key)
    bits = max(1, rows - 1).bit_length()
    is_mixed = np.count_nonzero(key[1:] < key[:-1]) * _LONG_RUN > rows  # few long runs are merged, which is faster
    if not is_mixed or int(key.max()) - int(key.min()) >= 1 << (63 - bits):
        order = np.argsort(key, kind="stable")
        return order, _same_as_next(key, order)
    # key and place in one word: sorting numbers takes a third of the time that sorting places of numbers takes
    packed = np.sort(((key - key.min()) << bits) | np.arange(rows))
    keys = packed >> bits
    return packed & ((1 << bits) - 1), keys[1:] == keys[:-1]


def _same_as_next(key: Words, order: NDArray[np.int64]) -> NDArray[np.bool_]:
    ordered = key[order]
    same: NDArray[np.bool_] = ordered[1:] == ordered[:-1]
    return same
