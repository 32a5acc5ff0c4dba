"""Compaction with a changelog: sorted runs in, merged rows and their changes out.

A run is published if the changelog already has its rows. The state of a key before a compaction is the merge of its
published rows, the state after it is the merge of all rows, and the changelog is the difference (`lsm.diff`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.columns import int64_array
from paimon_core.dataclass import dataclass
from paimon_core.lsm.diff import changelog, shared_words
from paimon_core.lsm.keys import Words
from paimon_core.lsm.merge import MergeSpec, key_windows, merge_rows
from paimon_core.lsm.rows import concat_batches, superseded


@dataclass(frozen=True, slots=True)
class ChangelogRun:
    """A sorted run of a compaction.

    `published`: the changelog already has the run's rows. `merged`: the compaction rewrites the run. Otherwise the run
    stays in its files, and is only searched for older rows of the other runs' keys. `whole`: a row of the run replaces
    all older rows of its key.
    """

    batches: Iterator[pa.RecordBatch]
    published: bool
    merged: bool = True
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Merged:
    """The result for a key range: the rows to keep, and the changes for the changelog."""

    rows: pa.RecordBatch
    changes: pa.RecordBatch


def merge_with_changelog(
    runs: Sequence[ChangelogRun], spec: MergeSpec, compared: tuple[str, ...] | None, *, first_stays: bool = False
) -> Iterator[Merged]:
    """Merge runs, given oldest first, and find the changes of keys with a row that is not published yet.

    Each result has the rows of all keys in a `merged` run, merged with all their older rows. `compared` names the
    columns that decide whether a row changed (see `changelog`). With `first_stays`, the first row of a key stays in its
    file: the results leave out keys that an older run has.
    """
    for window in key_windows([r.batches for r in runs], spec.key_names):
        if not any(runs[i].merged for i, _ in window):
            continue
        batch = concat_batches([b for _, b in window])
        (key,) = shared_words([batch], spec.key_names)
        run = np.repeat([i for i, _ in window], [b.num_rows for _, b in window])
        whole = np.array([r.whole for r in runs])[run]
        if whole.any() and (old := superseded(key, run, whole)).any():
            remaining = np.flatnonzero(~old)
            batch, key, run = batch.take(int64_array(remaining)), key[remaining], run[remaining]
        published = np.array([r.published for r in runs])[run]
        merged = np.array([r.merged for r in runs])[run]
        kept = ~np.isin(key, key[~merged]) if first_stays else np.isin(key, key[merged])
        yield Merged(
            rows=_merge(batch, key, kept, spec),
            changes=_changes(batch, key, published, spec, compared),
        )


def _changes(
    batch: pa.RecordBatch, key: Words, published: NDArray[np.bool_], spec: MergeSpec, compared: tuple[str, ...] | None
) -> pa.RecordBatch:
    if published.all():
        return batch.slice(0, 0)
    touched = np.isin(key, key[~published])
    present = replace(spec, drop_delete=True)
    before = _merge(batch, key, touched & published, present)
    after = _merge(batch, key, touched, present)
    return changelog(before, after, spec.key_names, compared)


def _merge(batch: pa.RecordBatch, key: Words, chosen: NDArray[np.bool_], spec: MergeSpec) -> pa.RecordBatch:
    if chosen.all():
        return merge_rows(batch, key, spec)
    if not chosen.any():
        return batch.slice(0, 0)
    positions = np.flatnonzero(chosen)
    return merge_rows(batch.take(int64_array(positions)), key[positions], spec)
