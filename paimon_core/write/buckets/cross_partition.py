"""Dynamic buckets if the primary key lacks partition columns: a key is in one partition of the table.

No index shows where a key is, so the keys of the table are read for each buffer of rows. If the key of a row is in
another partition, the merge engine decides:

    deduplicate                   it moves: the old partition gets a delete with the new values, the new one the row
    partial-update, aggregation   it is merged into the old row, and gets the partition columns of the old row
    first-row                     it is dropped, as it would be in the same partition
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import chain

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.binary_rows import hash_rows, row_bytes
from paimon_core.arrow.columns import fixed_values, int64_array
from paimon_core.arrow.types import VALUE_KIND, key_value_fields
from paimon_core.clock import metadata_now
from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidDataError
from paimon_core.lsm.diff import with_kinds
from paimon_core.lsm.engines.registry import columns_to_merge
from paimon_core.lsm.keys import Words, flatten, fold, key_words, widths
from paimon_core.lsm.rows import ROW_DELETE, concat_batches, is_retract
from paimon_core.lsm.runs import SortedRun, sections
from paimon_core.options import CROSS_PARTITION_INDEX_TTL, MERGE_ENGINE
from paimon_core.spec.manifest import BucketKey, DataFileMeta
from paimon_core.spec.message import CommitMessage
from paimon_core.store.data.bucket_files import BucketFiles, merge_section, merge_spec
from paimon_core.store.indexes.index_files import deletion_files
from paimon_core.store.manifests import live_files
from paimon_core.store.table_store import TableStore
from paimon_core.write.buckets.bucketing import partition_codes, split_by
from paimon_core.write.buckets.dynamic import AssignmentBase, DynamicBuckets

_NONE = -1  # no bucket, or no row
_MERGED_WHERE_THEY_ARE = ("partial-update", "aggregation")
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Keys:
    """Rows with key and partition columns, and the number of each row's bucket; `_NONE` for a deleted row."""

    rows: pa.RecordBatch
    buckets: Numbers


@dataclass(frozen=True, slots=True)
class _Part:
    """Rows to write, the numbers of their source rows, and the numbers of their target buckets; shapes (rows,)."""

    numbers: Numbers
    rows: pa.RecordBatch
    buckets: Numbers


class CrossPartition:
    """Gives the rows of a task their partitions and buckets. The module's docstring explains rows with a key in another
    partition."""

    def __init__(self, store: TableStore, base: AssignmentBase):
        self._store, self._base, self._new = store, base, DynamicBuckets(store, base)
        self._keeps = base.overwrites and base.snapshot is not None  # an overwrite of some partitions
        schema, self._engine = store.schema, store.options[MERGE_ENGINE]
        self._key_fields = schema.select(schema.primary_keys)
        self._names = tuple(dict.fromkeys(schema.primary_keys + schema.partition_keys))
        self._buckets: list[BucketKey] = []
        self._numbers: dict[BucketKey, int] = {}
        self._partitions: dict[bytes, int] = {}
        self._counts: dict[bytes, dict[int, int]] | None = {} if base.overwrites else None
        self._written: list[_Keys] = []

    def __call__(self, rows: pa.RecordBatch) -> Iterator[tuple[bytes, int, pa.RecordBatch]]:
        """Yield a partition, a bucket and the rows for it, in key order.

        `rows` must have each key once, in key order.
        """
        if self._keeps:
            self._check_replaced(rows)
        parts = self._moved(rows) if self._engine == "deduplicate" else self._kept(rows)
        order = np.argsort(np.concatenate([p.numbers for p in parts]), kind="stable")
        routed = concat_batches([p.rows for p in parts]).take(int64_array(order))
        for number, share in split_by(routed, np.concatenate([p.buckets for p in parts])[order]):
            yield *self._buckets[number], share

    def _moved(self, rows: pa.RecordBatch) -> list[_Part]:
        """Return the rows for the partitions that their columns name, and deletes of their old rows in other
        partitions.
        """
        hashes = self._hashes(rows)
        old, known = self._find(rows, hashes)
        old_buckets = np.where(old >= 0, known.buckets[old], _NONE) if len(known.buckets) else old
        retract = is_retract(fixed_values(rows.column(VALUE_KIND), np.int8))
        partitions = self._partition_numbers(rows)
        stays = (old_buckets >= 0) & (self._partitions_of(old_buckets) == partitions)
        moves = (old_buckets >= 0) & ~stays
        buckets = np.where(stays, old_buckets, np.int64(_NONE))
        fresh = ~stays & ~retract
        buckets[fresh] = self._new_buckets(partitions[fresh], hashes[fresh])
        self._written.append(_Keys(rows.select(self._names), np.where(retract, _NONE, buckets)))
        kept, moved = np.flatnonzero(buckets >= 0), np.flatnonzero(moves)
        deletes = self._in_old_partitions(rows.take(int64_array(moved)), known.rows, old[moved])
        deletes = with_kinds(deletes, np.full(len(moved), ROW_DELETE, dtype=np.int8))
        return [_Part(kept, rows.take(int64_array(kept)), buckets[kept]), _Part(moved, deletes, old_buckets[moved])]

    def _kept(self, rows: pa.RecordBatch) -> list[_Part]:
        """Return the rows of new keys, in the partitions that their columns name. Other rows go to the old row's
        partition, or are dropped."""
        hashes = self._hashes(rows)
        old, known = self._find(rows, hashes)
        buckets = np.where(old >= 0, known.buckets[old], _NONE) if len(known.buckets) else old.copy()
        fresh, others = np.flatnonzero(buckets < 0), np.flatnonzero(buckets >= 0)
        buckets[fresh] = self._new_buckets(self._partition_numbers(rows)[fresh], hashes[fresh])
        parts = [_Part(fresh, rows.take(int64_array(fresh)), buckets[fresh])]
        if self._engine != "first-row":
            merged = self._in_old_partitions(rows.take(int64_array(others)), known.rows, old[others])
            parts.append(_Part(others, merged, buckets[others]))
        self._written += [_Keys(p.rows.select(self._names), p.buckets) for p in parts]
        return parts

    def finish(self, messages: Iterable[CommitMessage]) -> list[CommitMessage]:
        """Return the messages with the snapshot that was read: if another commit changes rows after it, this commit
        fails.
        """
        latest = self._base.snapshot
        base = None if self._base.overwrites and not self._keeps else 0 if latest is None else latest.id
        return [replace(m, index_base=base) for m in messages]

    def _hashes(self, rows: pa.RecordBatch) -> NDArray[np.int32]:
        return hash_rows([rows.column(f.name) for f in self._key_fields], [f.type for f in self._key_fields])

    def _check_replaced(self, rows: pa.RecordBatch) -> None:
        """Raise `InvalidDataError` if the key of a row is in a partition that the overwrite keeps."""
        old, known = self._match(rows, self._hashes(rows), self._stored())
        found = np.flatnonzero(old >= 0)
        partitions, replaced = self._partitions_of(known.buckets[old[found]]), self._base.replaced
        if replaced is None:
            kept = partitions != self._partition_numbers(rows)[found]
        else:
            kept = ~np.array([replaced.holds(p) for p in self._partitions], dtype=np.bool_)[partitions]
        if kept.any():
            partition = list(self._partitions)[int(partitions[kept][0])]
            key = rows.select(self._store.schema.primary_keys).slice(int(found[kept][0]), 1).to_pylist()[0]
            raise InvalidDataError(
                f"Key {key} of table {self._store.name} is in partition {self._store.partition_spec(partition)}, which "
                "this overwrite keeps, and a key can be in one partition only. Delete the key there first, or "
                "overwrite that partition, too."
            )

    def _find(self, rows: pa.RecordBatch, hashes: NDArray[np.int32]) -> tuple[Numbers, _Keys]:
        """Return for each row the number of the known row with its key, or -1, and the known rows."""
        stored = () if self._base.overwrites else self._stored()  # an overwrite ignores the keys that it replaces
        return self._match(rows, hashes, chain(stored, self._written))

    def _match(
        self, rows: pa.RecordBatch, hashes: NDArray[np.int32], sources: Iterable[_Keys]
    ) -> tuple[Numbers, _Keys]:
        near: list[_Keys] = []
        for keys in sources:
            hits = np.flatnonzero(np.isin(self._hashes(keys.rows), hashes))
            if len(hits):
                near.append(_Keys(keys.rows.take(int64_array(hits)), keys.buckets[hits]))
        if not near:
            return np.full(rows.num_rows, _NONE), _Keys(rows.select(self._names).slice(0, 0), np.empty(0, np.int64))
        known = _Keys(concat_batches([k.rows for k in near]), np.concatenate([k.buckets for k in near]))
        wanted, found = ([batch.column(f.name) for f in self._key_fields] for batch in (rows, known.rows))
        sides = [key_words(wanted), key_words(found)]
        columns = widths(sides)
        both = zip(*(flatten(side, columns) for side in sides), strict=True)
        codes = fold([np.concatenate(pair) for pair in both])
        ours, theirs = codes[: rows.num_rows], codes[rows.num_rows :]
        order = np.argsort(theirs, kind="stable")
        last = np.searchsorted(theirs[order], ours, side="right") - 1  # the newest of a key
        match = (last >= 0) & (theirs[order][last] == ours)
        return np.where(match, order[last], _NONE), known

    def _stored(self) -> Iterator[_Keys]:
        """Yield the keys of the table, bucket by bucket. The first call also counts them."""
        counts, counting = defaultdict[bytes, dict[int, int]](dict), self._counts is None
        buckets: dict[BucketKey, list[DataFileMeta]] = defaultdict(list)
        for entry in live_files(self._store, self._base.snapshot).values():
            if entry.bucket >= 0:
                buckets[entry.partition, entry.bucket].append(entry.file)
        vectors = deletion_files(self._store, self._base.snapshot)
        schema, spec = self._store.schema, merge_spec(self._store, drop_delete=True)
        wanted = columns_to_merge(schema, self._store.options, frozenset(self._names))
        fields = key_value_fields(tuple(f for f in schema.fields if f.name in wanted), schema.key_fields)
        for key, files in buckets.items():
            reader = BucketFiles(self._store, self._store.bucket_dir(*key), fields, deletions=vectors[key])
            for section in sections(files, [f.type for f in schema.key_fields]):
                if self._is_forgotten(section):
                    continue
                for batch in merge_section(reader, section, spec):
                    partition, bucket = key
                    counts[partition][bucket] = counts[partition].get(bucket, 0) + batch.num_rows
                    yield _Keys(batch.select(self._names), np.full(batch.num_rows, self._number(key)))
        if counting:
            self._counts = counts

    def _is_forgotten(self, section: Sequence[SortedRun]) -> bool:
        """Return whether a section was last written before the period in which the table looks keys up."""
        ttl = self._store.options[CROSS_PARTITION_INDEX_TTL]
        if ttl is None:
            return False
        times = [f.creation_time for run in section for f in run.files if f.creation_time is not None]
        return not times or max(times) < metadata_now() - timedelta(milliseconds=ttl)

    def _number(self, key: BucketKey) -> int:
        if key not in self._numbers:
            self._numbers[key] = len(self._buckets)
            self._buckets.append(key)
            self._partitions.setdefault(key[0], len(self._partitions))
        return self._numbers[key]

    def _partition_numbers(self, rows: pa.RecordBatch) -> Numbers:
        _, first, codes = np.unique(
            partition_codes(rows, self._store.schema.partition_keys), return_index=True, return_inverse=True
        )
        partitions = [row_bytes(rows, int(i), self._store.schema.partition_fields) for i in first]
        return np.array([self._partitions.setdefault(p, len(self._partitions)) for p in partitions])[codes]

    def _partitions_of(self, buckets: Numbers) -> Numbers:
        known = np.array([*(self._partitions[p] for p, _ in self._buckets), _NONE], dtype=np.int64)
        return known[buckets]

    def _new_buckets(self, partitions: Numbers, hashes: NDArray[np.int32]) -> Numbers:
        counts = {} if self._counts is None else self._counts
        names, result = list(self._partitions), np.empty(len(hashes), dtype=np.int64)
        for number in np.unique(partitions).tolist():
            members = np.flatnonzero(partitions == number)
            partition = names[number]
            buckets = self._new.new_buckets(partition, hashes[members], counts.setdefault(partition, {}))
            for bucket in np.unique(buckets).tolist():
                result[members[buckets == bucket]] = self._number((partition, bucket))
        return result

    def _in_old_partitions(self, rows: pa.RecordBatch, known: pa.RecordBatch, old: Numbers) -> pa.RecordBatch:
        """Return the rows, with the partition columns of the known rows."""
        columns = dict(zip(rows.schema.names, rows.columns, strict=True))
        for name in self._store.schema.partition_keys:
            columns[name] = known.column(name).take(int64_array(old))
        return pa.RecordBatch.from_arrays(list(columns.values()), schema=rows.schema)


def in_first_partitions(rows: pa.RecordBatch, key: Words, names: Sequence[str]) -> pa.RecordBatch:
    """Return the rows; the columns `names` have the values of the first row of each key, because a key must be in one
    partition.
    """
    _, first, codes = np.unique(key, return_index=True, return_inverse=True)
    source = int64_array(first[codes.reshape(-1)].astype(np.int64))
    columns = dict(zip(rows.schema.names, rows.columns, strict=True))
    return pa.RecordBatch.from_arrays(
        [c.take(source) if name in names else c for name, c in columns.items()], schema=rows.schema
    )


def merges_where_it_is(store: TableStore) -> bool:
    """Return whether a row is merged in the partition that already has its key, even if its own partition columns
    differ.
    """
    return store.schema.cross_partition_update and store.options[MERGE_ENGINE] in _MERGED_WHERE_THEY_ARE
