"""Lookup: the rows of older sorted runs whose keys newer runs have, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from paimon_core.formats.columns import int64_array
from paimon_core.lsm.diff import shared_words
from paimon_core.lsm.merge import key_windows


def rows_with_keys(
    older: Sequence[Iterator[pa.RecordBatch]], newer: Sequence[Iterator[pa.RecordBatch]], key_names: tuple[str, ...]
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of older runs, each run by its place, whose keys newer runs have; those of a run in key order.

    Runs are in key order and have each key once; beside the key columns each may have columns of its own.
    """
    for window in key_windows([*older, *newer], key_names):
        places = [place for place, _ in window]
        if places[0] >= len(older) or places[-1] < len(older):
            continue
        words = shared_words([batch for _, batch in window], key_names)
        wanted = [w for place, w in zip(places, words, strict=True) if place >= len(older)]
        keys = wanted[0] if len(wanted) == 1 else np.unique(np.concatenate(wanted))
        for (place, batch), word in zip(window, words, strict=True):
            if place >= len(older):
                break
            found = np.searchsorted(keys, word)
            hits = np.flatnonzero(keys[np.minimum(found, len(keys) - 1)] == word)
            if len(hits):
                yield place, batch.take(int64_array(hits))
