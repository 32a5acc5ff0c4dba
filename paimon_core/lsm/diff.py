"""The comparison of two states of the same keys: added, removed and changed rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.columns import fixed_values, int64_array
from paimon_core.arrow.equality import rows_equal
from paimon_core.arrow.types import VALUE_KIND
from paimon_core.dataclass import dataclass
from paimon_core.lsm.keys import Words, flatten, fold, key_words, widths
from paimon_core.lsm.rows import ROW_DELETE, ROW_INSERT, ROW_UPDATE_AFTER, ROW_UPDATE_BEFORE, concat_batches, is_retract

Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RowAlignment:
    """The row numbers of two states: the rows of keys that only one state has, and pairs of rows of keys that both
    have.
    """

    only_before: Positions
    only_after: Positions
    before: Positions
    after: Positions


def align(before: pa.RecordBatch, after: pa.RecordBatch, key_names: tuple[str, ...]) -> RowAlignment:
    """Match the rows of two states by key. Each state must have each key once, in key order."""
    first, second = shared_words([before, after], key_names)
    positions = np.searchsorted(first, second)
    found = np.zeros(len(second), dtype=np.bool_)
    inside = positions < len(first)
    found[inside] = first[positions[inside]] == second[inside]
    missing = np.ones(len(first), dtype=np.bool_)
    missing[positions[found]] = False
    return RowAlignment(np.flatnonzero(missing), np.flatnonzero(~found), positions[found], np.flatnonzero(found))


def shared_words(batches: list[pa.RecordBatch], key_names: tuple[str, ...]) -> list[Words]:
    """Return a word per row, comparable among all batches."""
    keys = [key_words([b.column(n) for n in key_names]) for b in batches]
    columns = widths(keys)
    parts = [flatten(k, columns) for k in keys]
    folded = fold([np.concatenate(column) for column in zip(*parts, strict=True)])
    return list(np.split(folded, np.cumsum([b.num_rows for b in batches])[:-1]))


def changelog(
    before: pa.RecordBatch, after: pa.RecordBatch, key_names: tuple[str, ...], compared: tuple[str, ...] | None
) -> pa.RecordBatch:
    """Return the changes from one state to the other, in key order: +I, -D, and a pair of -U and +U for a key of both
    states.

    A row of both states counts as changed if one of the `compared` columns differs, or always without `compared`.
    The states must not contain deletes. Rows keep their values and sequence numbers, and get new kinds.
    """
    found = align(before, after, key_names)
    old, new = found.before, found.after
    if compared is not None and len(old):
        old_rows, new_rows = before.take(int64_array(old)), after.take(int64_array(new))
        differ = ~rows_equal(old_rows, new_rows, compared)
        old, new = old[differ], new[differ]
    parts = [(found.only_before, ROW_DELETE), (old, ROW_UPDATE_BEFORE)]
    later = [(found.only_after, ROW_INSERT), (new, ROW_UPDATE_AFTER)]
    rows = np.concatenate([p for p, _ in parts] + [p + before.num_rows for p, _ in later])
    kinds = np.concatenate([np.full(len(p), kind, dtype=np.int8) for p, kind in parts + later])
    both = concat_batches([before, after])
    words = np.concatenate(shared_words([before, after], key_names))[rows]
    order = np.lexsort((kinds == ROW_UPDATE_AFTER, words))
    return with_kinds(both.take(int64_array(rows[order])), kinds[order])


def difference(
    before: pa.RecordBatch, after: pa.RecordBatch, key_names: tuple[str, ...], compared: tuple[str, ...]
) -> pa.RecordBatch:
    """Return the rows of `after` that are not in `before`, and a -D for each key that only `before` has."""
    found = align(before, after, key_names)
    old, new = before.take(int64_array(found.before)), after.take(int64_array(found.after))
    same = rows_equal(old, new, compared) & (_retracts(old) == _retracts(new))
    changed = after.take(int64_array(np.sort(np.concatenate([found.only_after, found.after[~same]]))))
    deleted = before.take(int64_array(found.only_before[~_retracts(before)[found.only_before]]))
    return concat_batches([changed, with_kinds(deleted, np.full(deleted.num_rows, ROW_DELETE, dtype=np.int8))])


def with_kinds(batch: pa.RecordBatch, kinds: NDArray[np.int8]) -> pa.RecordBatch:
    """Return the rows with other row kinds."""
    column_index = batch.schema.get_field_index(VALUE_KIND)
    data = np.ascontiguousarray(kinds, dtype=np.int8)
    column = pa.Array.from_buffers(pa.int8(), len(data), [None, pa.py_buffer(data)])
    return batch.set_column(column_index, batch.schema.field(column_index), column)


def _retracts(batch: pa.RecordBatch) -> NDArray[np.bool_]:
    return is_retract(fixed_values(batch.column(VALUE_KIND), np.int8))
