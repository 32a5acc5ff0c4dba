"""`CALL sys.rewrite_file_index`, `sys.create_global_index` and `sys.drop_global_index`."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Sequence

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import (
    InvalidOptionError,
    SnapshotNotFoundError,
    UnsupportedFeatureError,
)
from paimon_core.indexes.full_text import FULL_TEXT
from paimon_core.indexes.global_index.reader import GLOBAL_INDEX_FILES
from paimon_core.indexes.vector_index.layout import VECTOR_INDEXES
from paimon_core.options import DATA_EVOLUTION, ROW_TRACKING
from paimon_core.spec.index_manifest import IndexFileMeta
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.types import DataField
from paimon_core.store.indexes.index_files import index_entries
from paimon_core.store.manifests import live_files
from paimon_core.table import Table
from paimon_core.write.compaction.job import live_buckets
from paimon_core.write.file_index_job import file_index_job
from paimon_core.write.indexes.global_index import IndexBuild
from paimon_core.write.indexes.text_index import TextIndexBuild
from paimon_core.write.indexes.vector_index import VectorIndexBuild
from paimon_sql.procedures.arguments import call_options, columns_named, given
from paimon_sql.procedures.dry_runs import rows_of_partitions
from paimon_sql.procedures.partition_choice import chosen_partitions
from paimon_sql.procedures.registry import Int, ProcedureContext, Rows, procedure


@procedure(written_partitions="int", written_indexes="int")
def rewrite_file_index(context: ProcedureContext, table: str, where: str | None = None, dry_run: bool = False) -> Rows:
    """Rebuild the file indexes of all data files, or of partitions that satisfy `where` (`dt > '2024-01-01'`), by the
    table's current `file-index` options. Rows are read, data files are not changed.

    The result is the numbers of partitions and files with a new index. With `dry_run` nothing changes: the result has a
    row for each partition, with the data files that would be read.
    """
    target = context.load_table(table)
    target.check_writable()
    snapshot = target.latest_snapshot()
    chosen = chosen_partitions(context, target, snapshot, None, where)
    if dry_run:
        read = live_files(target.store, snapshot, chosen).values()
        return rows_of_partitions("rewrite_file_index", target.store, read, "read for new indexes")
    buckets = live_buckets(target.store, snapshot, chosen)
    messages = target.run(context.executor, file_index_job(target.store, buckets))
    if messages:
        target.commit_or_abort(messages, CommitInfo(user=target.new_commit_user()))
    return [(Int(len({m.partition for m in messages})), Int(sum(len(m.compact_after) for m in messages)))]


@procedure(result="boolean")
def create_global_index(
    context: ProcedureContext,
    table: str,
    index_column: str,
    index_type: str,
    partitions: str | None = None,
    options: str | None = None,
) -> Rows:
    """Create a global index of a column for all rows without an index of this type, or only for some partitions
    (`dt=2024-01-01;dt=2024-01-02`). The type is `btree`, or `bitmap` for columns with few different values;
    `multivalue` for the elements of ARRAYs; for vectors `ivf-flat`, `ivf-pq`, `ivf-sq`, `ivf-rq` or `diskann`; for
    words in texts `full-text`. The table must have data evolution. `options` are settings of the index
    (`btree-index.compression=zstd`).

    The result is true.
    """
    target, kind = context.load_table(table), index_type.strip().lower()
    target.check_writable()
    _check_evolves(target)
    fields = _columns(context, target, index_column)
    _check_type(kind, fields)
    if options:
        target = target.with_options(call_options(options))
    target = target.for_write()
    snapshot = target.latest_snapshot()
    chosen = chosen_partitions(context, target, snapshot, given(partitions), None)
    if snapshot is None:
        return [(True,)]
    build: IndexBuild | VectorIndexBuild | TextIndexBuild
    if kind == FULL_TEXT:
        build = TextIndexBuild(target.store, fields[0], snapshot)
    elif kind in VECTOR_INDEXES:
        build = VectorIndexBuild(target.store, fields[0], kind, snapshot)
    else:
        build = IndexBuild(target.store, fields[0], kind, snapshot)
    build.check()
    _commit(target, target.run(context.executor, build.job(chosen)), f"global-index-{kind}-create-{uuid.uuid4()}")
    return [(True,)]


@procedure(result="boolean", dropped_file_count="bigint")
def drop_global_index(
    context: ProcedureContext,
    table: str,
    index_column: str,
    index_type: str,
    partitions: str | None = None,
    dry_run: bool | None = None,
) -> Rows:
    """Drop the global index of a column for all rows, or for some partitions. Its files are deleted when no snapshot
    needs them any more.

    The result is true, and the number of dropped files; with `dry_run`, files are only counted.
    """
    target, kind = context.load_table(table), index_type.strip().lower()
    target.check_writable()
    ids = tuple(f.id for f in _columns(context, target, index_column))
    snapshot = target.latest_snapshot()
    if snapshot is None:
        raise SnapshotNotFoundError(f"Table {target.name} has no snapshot: there is no index to drop.")
    chosen = chosen_partitions(context, target, snapshot, given(partitions), None)
    dropped: dict[tuple[bytes, int], list[IndexFileMeta]] = defaultdict(list)
    for entry in index_entries(target.store, snapshot):
        covered = entry.file.global_index
        meant = entry.file.index_type == kind and covered is not None and covered.field_ids == ids
        if meant and chosen.holds(entry.partition):
            dropped[entry.partition, entry.bucket].append(entry.file)
    if not dry_run:
        messages = [
            CommitMessage(partition=p, bucket=b, total_buckets=-1, deleted_index_files=tuple(files))
            for (p, b), files in dropped.items()
        ]
        _commit(target, messages, f"drop-global-index-{uuid.uuid4()}")
    return [(True, sum(map(len, dropped.values())))]


def _commit(target: Table, messages: Sequence[CommitMessage], user: str) -> None:
    if not messages:
        return
    target.commit_or_abort(messages, CommitInfo(user=user))


def _columns(context: ProcedureContext, target: Table, text: str) -> list[DataField]:
    """Return the columns of `a,b`. Raises `InvalidOptionError`, `InvalidSchemaError`."""
    found = columns_named(
        "index_column", text, target.schema.fields, target.name, case_sensitive=context.case_sensitive
    )
    if not found:
        raise InvalidOptionError(f"index_column cannot be {text!r}: at least one column required.")
    if len({f.id for f in found}) < len(found):
        raise InvalidOptionError(f"index_column cannot be {text!r}: duplicate index columns are not allowed.")
    return found


def _check_evolves(target: Table) -> None:
    missing = [o.key for o in (ROW_TRACKING, DATA_EVOLUTION) if not target.store.options[o]]
    if missing:
        raise UnsupportedFeatureError(
            f"Table {target.name} must enable '{missing[0]}=true' before creating global index: both "
            f"'{ROW_TRACKING.key}' and '{DATA_EVOLUTION.key}' are set when a table is created."
        )


def _check_type(kind: str, fields: Sequence[DataField]) -> None:
    known = (*sorted(GLOBAL_INDEX_FILES), *VECTOR_INDEXES, FULL_TEXT)
    if kind not in known:
        raise UnsupportedFeatureError(
            f"Can't find global index for type: {kind}. Use one of {', '.join(known)}: this version supports no others."
        )
    if len(fields) > 1:
        raise UnsupportedFeatureError(
            f"Index type '{kind}' does not support multi-column index, got columns: "
            f"{', '.join(f.name for f in fields)}. Create an index for each."
        )
