"""Rows that change their bucket: postponed ones get theirs, those of a bucket are divided anew by a rescale.

A task reads files of one bucket in order and writes level-0 files of others. Numbers of rows are given beforehand, so
that tasks beside each other keep the order: the n-th row to be read is the n-th after all rows of the table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from paimon_core.errors import CorruptFileError
from paimon_core.lsm.runs import sections
from paimon_core.options import BUCKET, POSTPONED, SPLIT_TARGET_SIZE
from paimon_core.spec.json_object import member
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.message import CommitMessage, decode_message, encode_message, encode_messages
from paimon_core.store.data.bucket_files import BucketFiles, file_fields, merge_section, merge_spec
from paimon_core.store.data.postponed_files import arrival_order
from paimon_core.store.data.time_units import as_stored_times
from paimon_core.store.indexes.index_files import vectors_by_file
from paimon_core.store.table_store import TableStore
from paimon_core.write.append import AppendWriter
from paimon_core.write.key_value import KeyValueWriter
from paimon_core.write.rows.incoming import as_stored
from paimon_core.write.writer import written


@dataclass(frozen=True, slots=True)
class Route:
    """A task: rows of `source.compact_before`, numbered from `start`, go to `buckets` buckets of the partition."""

    source: CommitMessage
    buckets: int
    start: int

    @property
    def size(self) -> int:
        """Bytes to read."""
        return sum(f.file_size for f in self.source.compact_before)


def routes(
    store: TableStore, sources: Iterable[CommitMessage], buckets: Mapping[bytes, int], start: int
) -> list[Route]:
    """Tasks for buckets, each with its files in `compact_before`; `buckets` says how many each partition gets."""
    found = []
    for source in sources:
        for part in _parts(store, source):
            found.append(Route(part, buckets[source.partition], start))
            start += sum(f.row_count for f in part.compact_before)
    return found


def encode_routes(tasks: Iterable[Route]) -> list[str]:
    """The tasks as texts."""
    return [json.dumps({"source": encode_message(t.source), "of": t.buckets, "start": t.start}) for t in tasks]


def route_function(store: TableStore) -> Callable[[str], str]:
    """What runs a task: its text to the JSON list of the messages of the buckets that got rows."""
    return partial(_run_route, store)


def _run_route(store: TableStore, text: str) -> str:
    task, store = _decode(text), as_stored_times(store)
    target = as_stored(store).with_options({BUCKET.key: str(task.buckets)})
    keyed = store.has_primary_key
    writer = KeyValueWriter(target, task.start, counted=True) if keyed else AppendWriter(target, task.start)
    return encode_messages(written(writer, _rows(store, task.source)))


def _rows(store: TableStore, source: CommitMessage) -> Iterator[pa.RecordBatch]:
    """The rows of a bucket: all of them in their order, or one of each key where files are sorted."""
    place = source.partition, source.bucket
    deletions = vectors_by_file(store, place, source.compact_deleted_index_files)
    files = BucketFiles(store, store.bucket_dir(*place), file_fields(store), deletions=deletions)
    if not store.has_primary_key or source.bucket == POSTPONED:
        yield from files.read(source.compact_before)
        return
    spec = merge_spec(store, drop_delete=True)
    for section in sections(source.compact_before, [f.type for f in store.schema.key_fields]):
        yield from merge_section(files, section, spec)


def _parts(store: TableStore, source: CommitMessage) -> Iterator[CommitMessage]:
    """Pieces of a bucket whose rows tell nothing of each other, in order, of about the size of a split."""
    if store.has_primary_key and source.bucket != POSTPONED:
        yield source
        return
    if source.bucket == POSTPONED:
        ordered = arrival_order(source.compact_before)
    else:
        ordered = sorted(source.compact_before, key=lambda f: f.min_sequence_number)
    group, size = list[DataFileMeta](), 0
    for file in ordered:
        if group and size + file.file_size > store.options[SPLIT_TARGET_SIZE]:
            yield replace(source, compact_before=tuple(group))
            group, size = [], 0
        group.append(file)
        size += file.file_size
    if group:
        yield replace(source, compact_before=tuple(group))


def _decode(text: str) -> Route:
    try:
        node = json.loads(text)
        return Route(decode_message(member(node, "source", str)), member(node, "of", int), member(node, "start", int))
    except (ValueError, TypeError) as e:
        raise CorruptFileError("<task>", f"it does not decode ({e})", "run the statement again") from e
