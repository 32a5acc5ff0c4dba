"""Compaction that tells what it changes: sorted runs in, merged rows and the changelog out.

Rows that readers of the changelog know already are told apart from those they do not know yet. The state of a key
before is the merge of the rows known; its state after is the merge of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.columns import int64_array
from paimon_core.lsm.diff import changelog, shared_words
from paimon_core.lsm.keys import Words
from paimon_core.lsm.merge import MergeSpec, key_windows, merge_rows
from paimon_core.lsm.rows import concat_batches, superseded


@dataclass(frozen=True, slots=True)
class ToldRun:
    """A sorted run; `told` where its rows are known to readers of the changelog; not `merged` where it is only looked
    up: older rows of keys that other runs have; `whole` where its rows are all there is to their keys on older runs."""

    batches: Iterator[pa.RecordBatch]
    told: bool
    merged: bool = True
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Merged:
    """What becomes of the rows of a key range: the rows to keep, and the changes to tell."""

    rows: pa.RecordBatch
    changes: pa.RecordBatch


def merge_and_tell(
    runs: Sequence[ToldRun], spec: MergeSpec, compared: tuple[str, ...] | None, *, first_stays: bool = False
) -> Iterator[Merged]:
    """Merge runs, given oldest first, and tell the changes of keys that have a row not told yet.

    `compared`: see `changelog`. Rows to keep are those of keys that a merged run has, each with all its older rows;
    where the first row of a key stays where it is, only those of keys that no older run has.
    """
    for window in key_windows([r.batches for r in runs], spec.key_names):
        if not any(runs[p].merged for p, _ in window):
            continue
        batch = concat_batches([b for _, b in window])
        (key,) = shared_words([batch], spec.key_names)
        place = np.repeat([p for p, _ in window], [b.num_rows for _, b in window])
        whole = np.array([r.whole for r in runs])[place]
        if whole.any() and (old := superseded(key, place, whole)).any():
            left = np.flatnonzero(~old)
            batch, key, place = batch.take(int64_array(left)), key[left], place[left]
        told = np.array([r.told for r in runs])[place]
        merged = np.array([r.merged for r in runs])[place]
        kept = ~np.isin(key, key[~merged]) if first_stays else np.isin(key, key[merged])
        yield Merged(
            rows=_merge(batch, key, kept, spec),
            changes=_tell(batch, key, told, spec, compared),
        )


def _tell(
    batch: pa.RecordBatch, key: Words, told: NDArray[np.bool_], spec: MergeSpec, compared: tuple[str, ...] | None
) -> pa.RecordBatch:
    if told.all():
        return batch.slice(0, 0)
    touched = np.isin(key, key[~told])
    present = replace(spec, drop_delete=True)
    before = _merge(batch, key, touched & told, present)
    after = _merge(batch, key, touched, present)
    return changelog(before, after, spec.key_names, compared)


def _merge(batch: pa.RecordBatch, key: Words, chosen: NDArray[np.bool_], spec: MergeSpec) -> pa.RecordBatch:
    if chosen.all():
        return merge_rows(batch, key, spec)
    if not chosen.any():
        return batch.slice(0, 0)
    places = np.flatnonzero(chosen)
    return merge_rows(batch.take(int64_array(places)), key[places], spec)
