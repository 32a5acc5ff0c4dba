"""Dividing rows by partition and bucket, one numpy step per batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.binary_rows import hash_rows
from paimon_core.arrow.columns import byte_lengths, fixed_values, int64_array, padded_bytes
from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError
from paimon_core.lsm.keys import flatten, fold, key_words, widths
from paimon_core.options import BUCKET, BUCKET_FUNCTION
from paimon_core.spec.hashing.bucket_functions import (
    check_bucket_key,
    hive_bucket,
    hive_bytes,
    hive_decimal,
    hive_int,
    hive_long,
    mod_bucket,
)
from paimon_core.spec.hashing.murmur import bucket_of
from paimon_core.spec.kinds import FLOATS, STRINGS
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import NESTED_KINDS, DataField, DataType, DecimalType, Kind
from paimon_core.store.table_store import TableStore

_SIGNED = {1: np.int8, 2: np.int16, 4: np.int32}


@dataclass(frozen=True, slots=True)
class BucketFunction:
    """The function from bucket key columns to the bucket of a row; `kind` is a value of `bucket-function.type`."""

    fields: tuple[DataField, ...]
    buckets: int
    kind: str = "default"

    @staticmethod
    def of(store: TableStore) -> BucketFunction:
        """Return the function of a table with fixed buckets.

        Raises `InvalidOptionError` if the table has no bucket key and needs one, or if the function does not accept its
        type.
        """
        schema, buckets, kind = store.schema, store.options[BUCKET], store.options[BUCKET_FUNCTION]
        fields = schema.select(schema.bucket_keys)
        if not fields:
            return BucketFunction(_hashed_without_key(schema, buckets), buckets)
        check_bucket_key(fields, kind)
        return BucketFunction(fields, buckets, kind)

    def __call__(self, batch: pa.RecordBatch) -> NDArray[np.int32]:
        """Return the bucket number of each row, shape (rows,)."""
        if self.buckets == 1 or not self.fields:
            return np.zeros(batch.num_rows, dtype=np.int32)
        columns = [batch.column(f.name) for f in self.fields]
        if self.kind == "mod":
            width = np.int32 if self.fields[0].type.kind is Kind.INT else np.int64
            return mod_bucket(fixed_values(columns[0], width).astype(np.int64), self.buckets)
        if self.kind == "hive":
            hashes = (_hive_hash(c, f.type) for c, f in zip(columns, self.fields, strict=True))
            return hive_bucket(hashes, batch.num_rows, self.buckets)
        return bucket_of(hash_rows(columns, [f.type for f in self.fields]), self.buckets)


def _hashed_without_key(schema: TableSchema, buckets: int) -> tuple[DataField, ...]:
    """Return the columns that decide the bucket in a table without a key: all columns, as in Paimon 0.4 to 0.8.

    Nested columns are left out, because readers only use filters on other columns to find a bucket.
    """
    if buckets > 1 and not schema.allows_keyless_buckets:
        raise InvalidOptionError(
            f"'{BUCKET.key}' = '{buckets}' without a primary key needs 'bucket-key': name the columns."
        )
    return tuple(f for f in schema.fields if f.type.kind not in NESTED_KINDS)


def _hive_hash(column: pa.Array, data_type: DataType) -> NDArray[np.uint32]:
    """Return the hash of each value, 0 for NULL; shape (rows,)."""
    kind = data_type.kind
    if kind in STRINGS:
        lengths = byte_lengths(column)
        return hive_bytes(padded_bytes(column, int(lengths.max(initial=0))), lengths)
    if isinstance(data_type, DecimalType):
        halves = fixed_values(column, np.dtype(("<u8", (2,))))
        return hive_decimal(
            np.ascontiguousarray(halves[:, 0]), np.ascontiguousarray(halves[:, 1]).view(np.int64), data_type.scale
        )
    if kind in FLOATS:
        values = fixed_values(column, np.float32 if kind is Kind.FLOAT else np.float64) + 0.0  # -0.0 is 0.0
        values[np.isnan(values)] = np.nan
        return hive_int(values.view(np.int32)) if kind is Kind.FLOAT else hive_long(values.view(np.int64))
    if kind is Kind.BIGINT:
        return hive_long(fixed_values(column, np.int64))
    width = 1 if kind is Kind.BOOLEAN else column.type.bit_width // 8
    return hive_int(fixed_values(column, _SIGNED[width]))


def partition_codes(batch: pa.RecordBatch, names: Sequence[str]) -> NDArray[np.int64]:
    """Return a number per row, shape (rows,).

    Two rows have the same number exactly if they are in the same partition.
    """
    if not names or not batch.num_rows:
        return np.zeros(batch.num_rows, dtype=np.int64)
    key = key_words([batch.column(n) for n in names])
    return fold(flatten(key, widths([key])))


def split_by(batch: pa.RecordBatch, codes: NDArray[np.integer]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield each code with its rows, in ascending order of the codes. Rows of one code keep their order."""
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
