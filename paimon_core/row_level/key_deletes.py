"""DELETE from tables whose merge engine takes no deletes: files that hold one of the keys are rewritten without it.

Writers sort the keys that go into level-0 files, as if they were deletes; these files are never committed. A task is a
bucket: its live files, and the files of its keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from paimon_core.io.failure import on_failure
from paimon_core.lsm.compaction import last_level
from paimon_core.lsm.lookup import rows_with_keys, rows_without_keys
from paimon_core.lsm.runs import SortedRun, in_key_order, sections
from paimon_core.options import (
    AGGREGATION_REMOVE_ON_DELETE,
    BUCKET,
    CHANGELOG_PRODUCER,
    IGNORE_DELETE,
    MERGE_ENGINE,
    PARTIAL_UPDATE_REMOVE_ON_DELETE,
    PARTIAL_UPDATE_REMOVE_ON_GROUP,
    POSTPONED,
    SEQUENCE_FIELD,
    TableOptions,
)
from paimon_core.spec.manifest import DataFileMeta, FileSource
from paimon_core.spec.message import CommitMessage, decode_message, encode_message
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.data.bucket_files import BucketFiles, file_fields, merge_section, merge_spec
from paimon_core.store.data.time_units import as_stored_times
from paimon_core.store.indexes.index_files import vectors_by_file
from paimon_core.store.partitions import only_partitions
from paimon_core.store.table_store import TableStore
from paimon_core.write.compaction.job import live_buckets
from paimon_core.write.deletion import changed_vectors
from paimon_core.write.files.data_files import DataFileWriter, FileRole


def takes_deletes(options: TableOptions) -> bool:
    """Whether a row that is deleted goes by writing a row that says so."""
    match options[MERGE_ENGINE]:
        case "partial-update":
            return options[PARTIAL_UPDATE_REMOVE_ON_DELETE] or bool(options[PARTIAL_UPDATE_REMOVE_ON_GROUP])
        case "aggregation":
            return options[AGGREGATION_REMOVE_ON_DELETE]
        case engine:
            return engine == "deduplicate"


def rewrites_keys(store: TableStore) -> bool:
    """Whether DELETE rewrites files of a table with a primary key; postponed rows are not in any that could be."""
    return store.has_primary_key and store.options[BUCKET] != POSTPONED and not takes_deletes(store.options)


def keys_store(store: TableStore) -> TableStore:
    """The store as the writer of the keys that go sees it."""
    plain = {MERGE_ENGINE.key: "deduplicate", CHANGELOG_PRODUCER.key: "none", SEQUENCE_FIELD.key: ""}
    return store.with_options(plain | {IGNORE_DELETE.key: "false"})


def delete_tasks(store: TableStore, snapshot: Snapshot | None, keys: Iterable[CommitMessage]) -> list[CommitMessage]:
    """The buckets of a version, with the files of the keys that go from them in `new_files`."""
    going = {(m.partition, m.bucket): m.new_files for m in keys if m.new_files}
    partitions = only_partitions(store.schema.partition_fields, (p for p, _ in going))
    live = live_buckets(store, snapshot, partitions) if going else []
    return [replace(t, new_files=going[t.partition, t.bucket]) for t in live if (t.partition, t.bucket) in going]


def delete_function(store: TableStore) -> Callable[[str], str]:
    """What runs a task: its text to the text of the message that replaces files."""
    return partial(_run_task, store)


def _run_task(store: TableStore, text: str) -> str:
    task, store = decode_message(text), as_stored_times(store)
    place = task.partition, task.bucket
    files = BucketFiles(store, store.bucket_dir(*place), file_fields(store))
    live = replace(files, deletions=vectors_by_file(store, place, task.compact_deleted_index_files))
    keys = replace(files, fields=files.fields[: len(store.schema.key_fields)])
    key_types = [f.type for f in store.schema.key_fields]
    level = max([last_level(store.options), *(f.level for f in task.compact_before)])
    writer = DataFileWriter(store, files.bucket_dir, FileRole(level=level, source=FileSource.COMPACT))
    gone: list[DataFileMeta] = []
    with on_failure(writer.abort):
        for section in sections(task.compact_before, key_types):
            members = in_key_order((f for run in section for f in run.files), key_types)
            if _holds_any(replace(keys, deletions=live.deletions), section, keys, task.new_files):
                gone += members
                _rewrite(live, section, keys, task.new_files, writer)
        names = frozenset(f.file_name for f in gone)
        index = changed_vectors(store, place, task.compact_deleted_index_files, {}, names)
    return encode_message(
        CommitMessage(
            partition=task.partition,
            bucket=task.bucket,
            total_buckets=task.total_buckets,
            deleted_files=tuple(gone),
            new_files=tuple(writer.finished),
            new_index_files=index.new,
            deleted_index_files=index.deleted,
        )
    )


def _holds_any(
    live: BucketFiles, section: Sequence[SortedRun], keys: BucketFiles, going: Sequence[DataFileMeta]
) -> bool:
    """Whether a section has one of the keys."""
    found = rows_with_keys([live.read(r.files) for r in section], [keys.read([f]) for f in going], _names(keys))
    return next(found, None) is not None


def _rewrite(
    live: BucketFiles,
    section: Sequence[SortedRun],
    keys: BucketFiles,
    going: Sequence[DataFileMeta],
    writer: DataFileWriter,
) -> None:
    """Write the rows of a section that stay, in files of their own: sections between others keep theirs."""
    merged = merge_section(live, section, merge_spec(live.store, drop_delete=True))
    for batch in rows_without_keys(merged, [keys.read([f]) for f in going], _names(keys)):
        writer.write(batch)
    writer.roll()


def _names(keys: BucketFiles) -> tuple[str, ...]:
    return tuple(f.name for f in keys.fields)
