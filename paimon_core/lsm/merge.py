"""Merging sorted runs in bounded memory.

A cursor has one batch of each run. The smallest of the last keys of these batches is the bound of a window: every row
up to the bound is in memory, and no later batch of any run can have a key of the window. So:

    1. the keys of the batches become words (`lsm.keys`); their last rows give the bound
    2. a binary search in each batch counts its rows up to the bound, which the cursors move past
    3. these rows, run after run from old to young, become one batch, with one word per key
    4. if older runs have whole rows, only the last whole row of each key is kept (`superseded`)
    5. rows are grouped by key (`lsm.rows`) and the merge engine makes one row of each group

Windows follow one another in key order, and no key is in two of them. Memory is bounded by a batch of each run. Each
window uses up one batch or more, so a merge takes at most as many windows as there are batches. A window with rows of
one run only, and the rest of the last remaining run, are passed on unchanged.

Invariants: a run has each key once, in key order (else `InvalidDataError`); runs are given oldest first.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pyarrow as pa

from paimon_core import compute as pc
from paimon_core.arrow.columns import fixed_values, int64_array
from paimon_core.arrow.types import SEQUENCE_NUMBER
from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidDataError
from paimon_core.lsm.engines.registry import MergeEngine
from paimon_core.lsm.keys import (
    ColumnWords,
    Words,
    bounded,
    flatten,
    fold,
    key_words,
    last_row,
    reversed_order,
    upper_bound,
    widths,
)
from paimon_core.lsm.rows import concat_batches, group_by_key, is_retract, row_kinds, superseded

_NOT_SORTED = "The rows of a sorted run are not in the order of their keys."


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSpec:
    """The rules of a merge: the key columns (by their names in files), the `sequence.field`s, and the engine.

    `descending`: the row with the smaller sequence field is newer."""

    key_names: tuple[str, ...]
    engine: MergeEngine
    sequence_fields: tuple[str, ...] = ()
    descending: bool = False
    drop_delete: bool = True


class _Cursor:
    """The current batch of a run, from the first row that is not merged yet."""

    def __init__(self, batches: Iterator[pa.RecordBatch], key_names: Sequence[str], whole: bool = False):
        self._batches, self._key_names, self.whole = bounded(batches, key_names), key_names, whole
        self.batch: pa.RecordBatch | None = None
        self.key: tuple[ColumnWords, ...] = ()
        self.start = 0
        self.advance()

    def advance(self) -> None:
        self.batch, self.start = next(self._batches, None), 0
        if self.batch is not None:
            self.key = key_words([self.batch.column(n) for n in self._key_names])

    def words(self, columns: tuple[int, ...]) -> list[Words]:
        return [w[self.start :] for w in flatten(self.key, columns)]

    def take(self, rows: int) -> pa.RecordBatch:
        """Return the next rows; the cursor moves past them."""
        assert self.batch is not None
        part = self.batch.slice(self.start, rows)
        self.start += rows
        if self.start == self.batch.num_rows:
            self.advance()
        return part


def merge_runs(
    runs: Sequence[Iterator[pa.RecordBatch]], spec: MergeSpec, *, whole: int = 0
) -> Iterator[pa.RecordBatch]:
    """Merge runs into one row per key, in key order. The runs have key, sequence number, row kind and value columns.

    Batches may lack sequence numbers if later runs are always younger, and row kinds if all rows are inserts. The newer
    row of a key is the row with the larger sequence field, then sequence number, then the later run. A run has each key
    once. In the first `whole` runs, each row replaces all older rows of its key.
    """
    with _closed(runs):
        cursors = [_Cursor(run, spec.key_names, i < whole) for i, run in enumerate(runs)]
        while cursors := [c for c in cursors if c.batch is not None]:
            if len(cursors) == 1:
                yield from _non_empty(_pass_through(cursors[0], spec))
            else:
                yield from _non_empty(_merge_window(cursors, spec))


def key_windows(
    runs: Sequence[Iterator[pa.RecordBatch]], key_names: Sequence[str]
) -> Iterator[list[tuple[int, pa.RecordBatch]]]:
    """Yield the rows of all runs by ranges of keys, in key order; no key is in two windows.

    A window lists the runs that have rows in its range: the index of the run and its rows. A run must have each key
    once, in order. Raises `InvalidDataError`."""
    with _closed(runs):
        cursors = [(i, _Cursor(run, key_names)) for i, run in enumerate(runs)]
        while cursors := [(i, c) for i, c in cursors if c.batch is not None]:
            columns = widths([c.key for _, c in cursors])
            words = [c.words(columns) for _, c in cursors]
            bound = min(map(last_row, words))
            counts = [upper_bound(w, bound) for w in words]
            if not any(counts):
                raise InvalidDataError(_NOT_SORTED)
            yield [(i, c.take(n)) for (i, c), n in zip(cursors, counts, strict=True) if n]


@contextmanager
def _closed(runs: Sequence[Iterator[pa.RecordBatch]]) -> Iterator[None]:
    """Close the files of all runs at the end, even if reading fails.

    Arrow's reader may keep the error of a failed run, and the error's traceback keeps the readers of the other runs
    open."""
    try:
        yield
    finally:
        for run in runs:
            if isinstance(run, Generator):
                run.close()


def merge_rows(batch: pa.RecordBatch, key: Words, spec: MergeSpec) -> pa.RecordBatch:
    """Merge the rows of one batch. If two rows have the same sequence number, the later row is newer."""
    return spec.engine(group_by_key(batch, key, _sequence(batch, spec)), spec.drop_delete)


def sorted_rows(batch: pa.RecordBatch, key: Words, spec: MergeSpec) -> pa.RecordBatch:
    """Sort all rows of one batch by key, older rows first."""
    return pc.take(batch, int64_array(group_by_key(batch, key, _sequence(batch, spec)).order))


def _merge_window(cursors: Sequence[_Cursor], spec: MergeSpec) -> pa.RecordBatch:
    columns = widths([c.key for c in cursors])
    words = [c.words(columns) for c in cursors]
    bound = min(map(last_row, words))
    counts = [upper_bound(w, bound) for w in words]
    if not any(counts):
        raise InvalidDataError(_NOT_SORTED)
    whole = np.repeat([c.whole for c in cursors], counts)
    run = np.repeat(np.arange(len(cursors)), counts)
    parts = [c.take(n) for c, n in zip(cursors, counts, strict=True) if n]
    if len(parts) == 1:
        return _without_deletes(parts[0]) if spec.drop_delete else parts[0]
    taken = [[column[:n] for column in w] for w, n in zip(words, counts, strict=True) if n]
    key = fold([np.concatenate(column) for column in zip(*taken, strict=True)])
    batch = concat_batches(parts)
    if whole.any() and (old := superseded(key, run, whole)).any():
        kept = np.flatnonzero(~old)
        batch, key = pc.take(batch, int64_array(kept)), key[kept]
    return merge_rows(batch, key, spec)


def _pass_through(cursor: _Cursor, spec: MergeSpec) -> pa.RecordBatch:
    assert cursor.batch is not None
    rest = cursor.take(cursor.batch.num_rows - cursor.start)
    return _without_deletes(rest) if spec.drop_delete else rest


def _without_deletes(batch: pa.RecordBatch) -> pa.RecordBatch:
    kinds = row_kinds(batch)
    retract = None if kinds is None else is_retract(kinds)
    return batch if retract is None or not retract.any() else pc.take(batch, int64_array(np.flatnonzero(~retract)))


def _sequence(batch: pa.RecordBatch, spec: MergeSpec) -> Words | None:
    column = batch.schema.get_field_index(SEQUENCE_NUMBER)
    numbers = [] if column < 0 else [fixed_values(batch.column(column), np.int64)]
    if not spec.sequence_fields:
        return numbers[0] if numbers else None
    fields = key_words([batch.column(n) for n in spec.sequence_fields])
    words = reversed_order if spec.descending else flatten
    return fold([*words(fields, widths([fields])), *numbers])


def _non_empty(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    if batch.num_rows:
        yield batch
