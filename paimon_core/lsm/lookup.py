"""Lookup in bounded memory: find the rows of sorted runs with keys that other runs also have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.columns import int64_array
from paimon_core.lsm.diff import shared_words
from paimon_core.lsm.merge import key_windows

Runs = Sequence[Iterator[pa.RecordBatch]]


def rows_with_keys(runs: Runs, others: Runs, key_names: tuple[str, ...]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield the rows with keys that `others` also have, in key order within their run, each batch with the index of its
    run.

    All runs must be in key order and have each key once. Besides the key columns they may have any columns.
    """
    return _chosen(runs, others, key_names, found=True)


def rows_without_keys(
    rows: Iterator[pa.RecordBatch], others: Runs, key_names: tuple[str, ...]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a run with keys that are not in `others`; see `rows_with_keys` for the runs."""
    return (batch for _, batch in _chosen([rows], others, key_names, found=False))


def _chosen(
    runs: Runs, others: Runs, key_names: tuple[str, ...], *, found: bool
) -> Iterator[tuple[int, pa.RecordBatch]]:
    for window in key_windows([*runs, *others], key_names):
        own = [(run, batch) for run, batch in window if run < len(runs)]
        if len(own) == len(window):
            yield from () if found else own
            continue
        words = shared_words([batch for _, batch in window], key_names)
        keys = _distinct(words[len(own) :])
        for (run, batch), word in zip(own, words, strict=False):
            at = np.minimum(np.searchsorted(keys, word), len(keys) - 1)
            hits = np.flatnonzero((keys[at] == word) == found)
            if len(hits):
                yield run, batch if len(hits) == batch.num_rows else batch.take(int64_array(hits))


def _distinct(words: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the keys of several runs, ascending."""
    return words[0] if len(words) == 1 else np.unique(np.concatenate(words))
