"""Dividing rows by partition and bucket, one numpy step per batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.formats.binary_rows import hash_rows
from paimon_core.formats.columns import int64_array
from paimon_core.lsm.keys import flatten, fold, key_words, widths
from paimon_core.spec.hashing import bucket_of
from paimon_core.spec.types import DataField


@dataclass(frozen=True, slots=True)
class BucketFunction:
    """Which bucket a row belongs to: the default function over the bucket key columns."""

    fields: tuple[DataField, ...]
    buckets: int

    def __call__(self, batch: pa.RecordBatch) -> NDArray[np.int32]:
        """Bucket numbers, shape (rows,)."""
        if self.buckets == 1:
            return np.zeros(batch.num_rows, dtype=np.int32)
        columns = [batch.column(f.name) for f in self.fields]
        return bucket_of(hash_rows(columns, [f.type for f in self.fields]), self.buckets)


def partition_codes(batch: pa.RecordBatch, names: Sequence[str]) -> NDArray[np.int64]:
    """A number per row, equal exactly where the rows' partitions are; shape (rows,)."""
    if not names or not batch.num_rows:
        return np.zeros(batch.num_rows, dtype=np.int64)
    key = key_words([batch.column(n) for n in names])
    return fold(flatten(key, widths([key])))


def split_by(batch: pa.RecordBatch, codes: NDArray[np.integer]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of each code, in ascending codes; rows of one code keep their order."""
    if not batch.num_rows:
        return
    if codes.min() == codes.max():
        yield int(codes[0]), batch
        return
    ascending = bool((codes[1:] >= codes[:-1]).all())
    if not ascending:
        order = np.argsort(codes, kind="stable")
        batch, codes = batch.take(int64_array(order)), codes[order]
    starts = [0, *(1 + np.flatnonzero(codes[1:] != codes[:-1])).tolist(), batch.num_rows]
    for start, end in zip(starts, starts[1:], strict=False):
        yield int(codes[start]), batch.slice(start, end - start)
