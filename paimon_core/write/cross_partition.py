"""Dynamic buckets where the primary key lacks partition columns: a row moves when its partition columns change.

No index says where a key is: the keys of the table are read for each buffer of rows. A row whose key is in another
partition is deleted there, with its new values, and inserted anew; one whose key is in the same stays in its bucket.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.formats.arrow_types import VALUE_KIND, key_value_fields
from paimon_core.formats.binary_rows import hash_rows, row_bytes
from paimon_core.formats.columns import fixed_values, int64_array
from paimon_core.lsm.keys import flatten, fold, key_words, widths
from paimon_core.lsm.rows import ROW_DELETE, concat_batches, is_retract
from paimon_core.lsm.runs import sections
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.message import CommitMessage
from paimon_core.store.bucket_files import BucketFiles, merge_section, merge_spec
from paimon_core.store.index_files import Bucket, deletion_files
from paimon_core.store.manifests import live_files
from paimon_core.store.table_store import TableStore
from paimon_core.write.bucketing import partition_codes, split_by
from paimon_core.write.dynamic_buckets import AssignmentBase, DynamicBuckets

_NOWHERE = -1
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Keys:
    """Rows with key and partition columns, and the number of the bucket each is in; `_NOWHERE` for a deleted one."""

    rows: pa.RecordBatch
    places: Numbers


class CrossPartition:
    """Gives the rows of a task their partitions and buckets, and takes them out of others."""

    def __init__(self, store: TableStore, base: AssignmentBase):
        self._store, self._base, self._new = store, base, DynamicBuckets(store, base)
        schema = store.schema
        self._key_fields = schema.select(schema.primary_keys)
        self._names = tuple(dict.fromkeys(schema.primary_keys + schema.partition_keys))
        self._buckets: list[Bucket] = []
        self._numbers: dict[Bucket, int] = {}
        self._partitions: dict[bytes, int] = {}
        self._counts: dict[bytes, dict[int, int]] | None = None
        self._written: list[_Keys] = []

    def __call__(self, rows: pa.RecordBatch) -> Iterator[tuple[bytes, int, pa.RecordBatch]]:
        """Partition, bucket and the rows that go there, in key order. `rows` have each key once, in key order."""
        hashes = self._hashes(rows)
        old, known = self._find(rows, hashes)
        old_places = np.where(old >= 0, known.places[old], _NOWHERE) if len(known.places) else old
        retract = is_retract(fixed_values(rows.column(VALUE_KIND), np.int8))
        partitions = self._partition_numbers(rows)
        stays = (old_places >= 0) & (self._partitions_of(old_places) == partitions)
        moves = (old_places >= 0) & ~stays
        places = np.where(stays, old_places, np.int64(_NOWHERE))
        fresh = ~stays & ~retract
        places[fresh] = self._new_places(partitions[fresh], hashes[fresh])
        self._written.append(_Keys(rows.select(self._names), np.where(retract, _NOWHERE, places)))
        kept, gone = np.flatnonzero(places >= 0), np.flatnonzero(moves)
        deletes = self._deletes(rows.take(int64_array(gone)), known.rows, old[gone])
        order = np.argsort(np.concatenate([kept, gone]), kind="stable")
        routed = concat_batches([rows.take(int64_array(kept)), deletes]).take(int64_array(order))
        for number, share in split_by(routed, np.concatenate([places[kept], old_places[gone]])[order]):
            yield *self._buckets[number], share

    def finish(self, messages: Iterable[CommitMessage]) -> list[CommitMessage]:
        """The messages, which no other change of rows may come before."""
        latest = self._base.snapshot
        base = None if self._base.overwrites else 0 if latest is None else latest.id
        return [replace(m, index_base=base) for m in messages]

    def _hashes(self, rows: pa.RecordBatch) -> NDArray[np.int32]:
        return hash_rows([rows.column(f.name) for f in self._key_fields], [f.type for f in self._key_fields])

    def _find(self, rows: pa.RecordBatch, hashes: NDArray[np.int32]) -> tuple[Numbers, _Keys]:
        """For each row the number of the known one with its key, -1 for none; and the known ones."""
        near: list[_Keys] = []
        for keys in chain(self._stored(), self._written):
            hits = np.flatnonzero(np.isin(self._hashes(keys.rows), hashes))
            if len(hits):
                near.append(_Keys(keys.rows.take(int64_array(hits)), keys.places[hits]))
        if not near:
            return np.full(rows.num_rows, _NOWHERE), _Keys(rows.select(self._names).slice(0, 0), np.empty(0, np.int64))
        known = _Keys(concat_batches([k.rows for k in near]), np.concatenate([k.places for k in near]))
        wanted, found = ([batch.column(f.name) for f in self._key_fields] for batch in (rows, known.rows))
        sides = [key_words(wanted), key_words(found)]
        columns = widths(sides)
        both = zip(*(flatten(side, columns) for side in sides), strict=True)
        codes = fold([np.concatenate(pair) for pair in both])
        ours, theirs = codes[: rows.num_rows], codes[rows.num_rows :]
        order = np.argsort(theirs, kind="stable")
        last = np.searchsorted(theirs[order], ours, side="right") - 1  # the newest of a key
        match = (last >= 0) & (theirs[order][last] == ours)
        return np.where(match, order[last], _NOWHERE), known

    def _stored(self) -> Iterator[_Keys]:
        """The keys of the table, bucket by bucket. The first time they are counted."""
        counts, counting = defaultdict[bytes, dict[int, int]](dict), self._counts is None
        buckets: dict[Bucket, list[DataFileMeta]] = defaultdict(list)
        for entry in live_files(self._store, self._base.snapshot).values():
            if entry.bucket >= 0:
                buckets[entry.partition, entry.bucket].append(entry.file)
        vectors = deletion_files(self._store, self._base.snapshot)
        schema, spec = self._store.schema, merge_spec(self._store, drop_delete=True)
        values = schema.select(tuple(dict.fromkeys(self._names + spec.sequence_fields)))
        fields = key_value_fields(values, schema.key_fields)
        for place, files in buckets.items():
            reader = BucketFiles(self._store, self._store.bucket_dir(*place), fields, deletions=vectors[place])
            for section in sections(files, [f.type for f in schema.key_fields]):
                for batch in merge_section(reader, section, spec):
                    partition, bucket = place
                    counts[partition][bucket] = counts[partition].get(bucket, 0) + batch.num_rows
                    yield _Keys(batch.select(self._names), np.full(batch.num_rows, self._number(place)))
        if counting:
            self._counts = counts

    def _number(self, place: Bucket) -> int:
        if place not in self._numbers:
            self._numbers[place] = len(self._buckets)
            self._buckets.append(place)
            self._partitions.setdefault(place[0], len(self._partitions))
        return self._numbers[place]

    def _partition_numbers(self, rows: pa.RecordBatch) -> Numbers:
        _, first, codes = np.unique(
            partition_codes(rows, self._store.schema.partition_keys), return_index=True, return_inverse=True
        )
        partitions = [row_bytes(rows, int(i), self._store.schema.partition_fields) for i in first]
        return np.array([self._partitions.setdefault(p, len(self._partitions)) for p in partitions])[codes]

    def _partitions_of(self, places: Numbers) -> Numbers:
        known = np.array([*(self._partitions[p] for p, _ in self._buckets), _NOWHERE], dtype=np.int64)
        return known[places]

    def _new_places(self, partitions: Numbers, hashes: NDArray[np.int32]) -> Numbers:
        counts = {} if self._counts is None else self._counts
        names, result = list(self._partitions), np.empty(len(hashes), dtype=np.int64)
        for number in np.unique(partitions).tolist():
            members = np.flatnonzero(partitions == number)
            partition = names[number]
            buckets = self._new.new_buckets(partition, hashes[members], counts.setdefault(partition, {}))
            for bucket in np.unique(buckets).tolist():
                result[members[buckets == bucket]] = self._number((partition, bucket))
        return result

    def _deletes(self, rows: pa.RecordBatch, known: pa.RecordBatch, old: Numbers) -> pa.RecordBatch:
        """The rows as deletes in the partitions where they were."""
        columns = dict(zip(rows.schema.names, rows.columns, strict=True))
        for name in self._store.schema.partition_keys:
            columns[name] = known.column(name).take(int64_array(old))
        kinds = np.full(rows.num_rows, ROW_DELETE, dtype=np.int8)
        columns[VALUE_KIND] = pa.Array.from_buffers(pa.int8(), rows.num_rows, [None, pa.py_buffer(kinds)])
        return pa.RecordBatch.from_arrays(list(columns.values()), schema=rows.schema)
