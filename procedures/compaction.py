"""`CALL sys.compact`, `sys.compact_database`, `sys.materialize_deletion_vectors`, `sys.rescale` and
`sys.compact_manifest`: rewrite rows with one task per bucket, or manifests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import compress
from typing import Any

from paimon_core.arrow.patterns import Pattern
from paimon_core.commit.commit import compact_manifests, due_manifests
from paimon_core.commit.draft import CommitInfo
from paimon_core.dataclass import dataclass
from paimon_core.errors import CommitUnknownError, InvalidOptionError, PaimonError, UnsupportedFeatureError
from paimon_core.io.failure import on_failure
from paimon_core.lsm.strategy import Strategy
from paimon_core.options import (
    BUCKET,
    CLUSTERING_COLUMNS,
    MANIFEST_SORT_ENABLED,
    MANIFEST_SORT_FIELD,
    MANIFEST_SORT_SIZE,
    POSTPONED,
    WRITE_ONLY,
)
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.manifest import DataFileMeta, ManifestEntry
from paimon_core.spec.message import BucketState, CommitMessage
from paimon_core.spec.snapshot import Operation, Snapshot
from paimon_core.store.ddl.schema_changes import SetOption
from paimon_core.store.features import check_selectable
from paimon_core.store.manifests import live_files
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.snapshots import latest_for_read
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_core.tracing import span
from paimon_core.write.bucket_moves import postponed_files
from paimon_core.write.compaction.clustering import cluster_units, clustered, clustering_curve, is_clustered
from paimon_core.write.compaction.job import compaction_job, live_buckets, planned_compaction
from paimon_core.write.compaction.materialize import (
    check_materializes,
    marked_parts,
    materialize_job,
    replaced_files,
    without_vectors,
)
from paimon_core.write.compaction.sort_job import Curve, check_order, replacing, sort_job
from paimon_sql.catalog.listing import of_each
from paimon_sql.procedures.arguments import call_options, column_named, columns_named, given, idle_millis
from paimon_sql.procedures.dry_runs import partition_text, rows_of_partitions
from paimon_sql.procedures.partition_choice import chosen_partitions, idle_partitions, lasting_partitions
from paimon_sql.procedures.registry import DryRunRows, Int, ProcedureContext, ProcedureExecutor, Rows, procedure, quoted

_RANGE = re.compile(r"([0-9]{1,9})(?:\s*-\s*([0-9]{1,9}))?")
STRATEGIES = ("full", "minor")


@dataclass(frozen=True, slots=True)
class _Compaction:
    """The work of one call: partitions of a version, the numbers of their `buckets` (None: all), and the `order` to
    sort by.
    """

    executor: ProcedureExecutor
    table: Table
    snapshot: Snapshot | None
    partitions: PartitionFilter
    strategy: Strategy
    buckets: frozenset[int] | None
    order: tuple[Curve, tuple[str, ...]] | None

    def files(self) -> list[BucketState]:
        """Return the files of the partitions, by bucket."""
        return live_buckets(self.table.store, self.snapshot, self.partitions)


def _cluster(work: _Compaction) -> list[CommitMessage]:
    store = work.table.store
    units = cluster_units(store, work.files(), full=work.strategy is Strategy.FULL)
    columns = store.options[CLUSTERING_COLUMNS]
    job = sort_job(store, [u.files for u in units], columns, clustering_curve(store.options))
    return clustered(store, units, work.executor.sort(job, f"cluster {work.table.name}")) if units else []


def _sort(work: _Compaction) -> list[CommitMessage]:
    found = work.files()
    if work.order is None or not found:
        return []
    curve, columns = work.order
    job = sort_job(work.table.store, found, columns, curve)
    return replacing(found, work.executor.sort(job, f"sort {work.table.name}"))


def _assign_buckets(work: _Compaction) -> list[CommitMessage]:
    moves = work.table.bucket_moves(work.executor, f"compact {work.table.name}")
    return moves.compact(work.partitions, work.strategy)


def _compact_buckets(work: _Compaction) -> list[CommitMessage]:
    tasks = [t for t in work.files() if work.buckets is None or t.bucket in work.buckets]
    return work.table.run(work.executor, compaction_job(work.table.store, tasks, work.strategy))


# -- dry runs: the files of buckets that a compaction takes, and what becomes of them --------------------------------
_Planned = Iterator[tuple[BucketState, Sequence[DataFileMeta], str]]


def _planned_clusters(work: _Compaction) -> _Planned:
    store = work.table.store
    for unit in cluster_units(store, work.files(), full=work.strategy is Strategy.FULL):
        yield unit.files, unit.files.files, f"sorted, level {unit.level}"


def _planned_sort(work: _Compaction) -> _Planned:
    for bucket in work.files():
        yield bucket, bucket.files, "sorted"


def _planned_buckets(work: _Compaction) -> _Planned:
    for bucket in postponed_files(work.table.store, work.snapshot, work.partitions):
        yield bucket, bucket.files, "in buckets"
    yield from _planned_merges(work)


def _planned_merges(work: _Compaction) -> _Planned:
    for bucket in work.files():
        planned = planned_compaction(work.table.store, bucket, work.strategy)
        if planned is not None and (work.buckets is None or bucket.bucket in work.buckets):
            yield bucket, planned.files, "fewer files" if planned.level is None else f"level {planned.level}"


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of tables that are compacted alike. `applies` decides by the table and by whether the call
    sorts its rows.
    """

    applies: Callable[[TableStore, bool], bool]
    default: Strategy
    compact: Callable[[_Compaction], list[CommitMessage]]
    planned: Callable[[_Compaction], _Planned]


_KINDS = (  # the first kind that applies is used
    _Kind(lambda store, sorts: is_clustered(store), Strategy.MINOR, _cluster, _planned_clusters),
    _Kind(lambda store, sorts: sorts, Strategy.FULL, _sort, _planned_sort),
    _Kind(lambda store, sorts: store.options[BUCKET] == POSTPONED, Strategy.MINOR, _assign_buckets, _planned_buckets),
    _Kind(lambda store, sorts: True, Strategy.FULL, _compact_buckets, _planned_merges),
)


@procedure(result="boolean")
def compact(
    context: ProcedureContext,
    table: str,
    partitions: str | None = None,
    compact_strategy: str | None = None,
    order_strategy: str | None = None,
    order_by: str | None = None,
    where: str | None = None,
    options: str | None = None,
    partition_idle_time: str | None = None,
    buckets: str | None = None,
    dry_run: bool = False,
) -> Rows:
    """Compact a table, or some partitions: named partitions (`dt=2024-01-01,hh=10;dt=2024-01-02`), partitions that
    satisfy `where` (`dt > '2024-01-01'`), or partitions without new files for `partition_idle_time` (`1 d`).

    `compact_strategy` is `full` (all files become one sorted run, or few files) or `minor` (only as the table's
    `num-sorted-run.compaction-trigger` and size ratios require). The default is `full`. It is `minor` for postponed
    buckets, where a compaction assigns buckets to rows, and for `clustering.incremental`, where a compaction sorts.
    `options` (`key=value,…`) override the table's options for this call. `buckets` (`0-9,12`) restricts the call to
    some buckets, for a table of fixed buckets.

    In append tables `order_strategy` sorts the rows of the partitions by `order_by` (`a,b`): `order` by one column
    after the other, `zorder` and `hilbert` along a curve through all columns. The result is true.

    With `dry_run` nothing changes: the result has a row for each bucket that would be compacted, with its files, bytes
    and rows.
    """
    target = context.load_table(table).with_options({WRITE_ONLY.key: "false"} | call_options(options))
    buckets, partition_idle_time = given(buckets), given(partition_idle_time)
    sorts = (given(order_strategy) or "none").lower() != "none"
    if sorts and (partition_idle_time is not None or buckets is not None):
        raise InvalidOptionError("order_strategy sorts whole partitions: leave partition_idle_time and buckets out.")
    kind = next(k for k in _KINDS if k.applies(target.store, sorts))
    strategy, order = _strategy(kind, compact_strategy), _order(context, target, order_strategy, order_by)
    numbers = None if buckets is None else _bucket_numbers(target, buckets)
    if order is not None and is_clustered(target.store):
        raise InvalidOptionError(
            f"Table {target.name} has enabled incremental clustering, which sorts: leave order_strategy out."
        )
    target.check_writable()
    if target.store.options[BUCKET] == POSTPONED:
        target = target.for_write()  # rows get sequence numbers
    snapshot = latest_for_read(target.store)  # the commit checks that the files are still there
    chosen = chosen_partitions(context, target, snapshot, partitions, where)
    chosen = lasting_partitions(target, snapshot, chosen)
    if partition_idle_time is not None:
        chosen = idle_partitions(target, snapshot, chosen, idle_millis(partition_idle_time))
    work = _Compaction(context.executor, target, snapshot, chosen, strategy, numbers, order)
    if dry_run:
        return _planned_rows("compact", target.store, kind.planned(work))
    with span("compaction", table=target.name):
        messages = kind.compact(work)
        if messages:
            target.commit_or_abort(messages, CommitInfo(user=target.new_commit_user()))
    return [(True,)]


def _planned_rows(work: str, store: TableStore, planned: _Planned) -> Rows:
    """Return a row for each bucket, or part of a bucket, that would be written anew."""
    check_selectable(store)  # partitions and numbers of rows are for readers
    rows = []
    for bucket, files, result in planned:
        size, count = (sum(getattr(f, name) for f in files) for name in ("file_size", "row_count"))
        place = partition_text(store, bucket.partition), bucket.bucket
        rows.append((work, *place, len(files), size, count, result))
    return DryRunRows(sorted(rows, key=lambda row: row[1:3]))


@procedure(result="boolean")
def materialize_deletion_vectors(
    context: ProcedureContext,
    table: str,
    partitions: str | None = None,
    options: str | None = None,
    where: str | None = None,
    dry_run: bool = False,
) -> Rows:
    """Write the files with deleted rows anew without these rows, and drop their deletion vectors, in an append table,
    or in some partitions: named partitions (`dt=2024-01-01;dt=2024-01-02`), or partitions that satisfy `where`.

    In a table with data evolution `compact` keeps deleted rows. There, the other rows of these files get new row ids,
    and global indexes that cover them are dropped. `options` (`key=value,…`) override the table's options for this
    call. The result is true. With `dry_run` nothing changes: the result has a row for each part of a partition that
    would be written.
    """
    target = context.load_table(table).with_options({WRITE_ONLY.key: "false"} | call_options(options))
    target.check_writable()
    check_materializes(target.store)
    snapshot = latest_for_read(target.store)  # the commit checks that the files are still there
    chosen = chosen_partitions(context, target, snapshot, partitions, where)
    parts = marked_parts(target.store, live_buckets(target.store, snapshot, chosen))
    if dry_run:
        planned = ((part, replaced_files(target.store, part), "without deleted rows") for part in parts)
        return _planned_rows("materialize_deletion_vectors", target.store, planned)
    if parts:
        with span("compaction", table=target.name):
            messages = target.run(context.executor, materialize_job(target.store, parts))
            with on_failure(lambda: target.abort(messages)):
                messages = without_vectors(target.store, parts, messages)
            target.commit_or_abort(messages, CommitInfo(user=target.new_commit_user()))
    return [(True,)]


@procedure(result="string")
def compact_database(
    context: ProcedureContext,
    including_databases: str | None = None,
    including_tables: str | None = None,
    excluding_tables: str | None = None,
    options: str | None = None,
    dry_run: bool = False,
) -> Rows:
    """Compact every table with a full name `database.table` that matches `including_tables` and not `excluding_tables`,
    in databases that match `including_databases`; all three are regular expressions.

    The result has the numbers of compacted and failed tables; failures are logged with the reason. With `dry_run`
    nothing changes: the result has the rows of a dry run of `compact` for each table, and for each table that a dry run
    cannot show a row with the reason.
    """
    databases = Pattern.of("including_databases", including_databases or ".*")
    including = Pattern.of("including_tables", including_tables or ".*")
    excluding = Pattern.of("excluding_tables", excluding_tables) if excluding_tables else None
    known = list(context.catalog.list_databases())
    found, unlisted = of_each(list(compress(known, databases.matches(known))), context.tables, "listed")
    every = [t for tables in found for t in tables]
    chosen = list(compress(every, including.matches([str(t) for t in every])))
    if excluding:
        out = excluding.matches([str(t) for t in chosen])
        chosen = [t for t, left_out in zip(chosen, out, strict=True) if not left_out]

    if dry_run:
        return DryRunRows(row for table in chosen for row in _dry_rows_of(context, table, options))

    def compact_one(table: Identifier) -> None:
        compact.call(context, {"table": quoted(table), "options": options})

    done, errors = of_each(chosen, compact_one, "compacted")
    return [(f"Compact database finished. Success: {len(done)}, Failed: {len(errors) + len(unlisted)}",)]


def _dry_rows_of(context: ProcedureContext, table: Identifier, options: str | None) -> Iterator[tuple[Any, ...]]:
    work = f"compact {table}"
    try:
        for _, *row in compact.call(context, {"table": quoted(table), "options": options, "dry_run": True}):
            yield work, *row
    except PaimonError as error:
        yield work, None, None, None, None, None, str(error)


def _order(
    context: ProcedureContext, table: Table, strategy: str | None, order_by: str | None
) -> tuple[Curve, tuple[str, ...]] | None:
    """Return the curve and the columns to sort by, None if the call does not sort."""
    strategy, order_by = given(strategy), given(order_by)
    if strategy is None and order_by is not None:
        raise InvalidOptionError("order_by needs an order_strategy: order, zorder or hilbert.")
    if strategy is None or strategy.lower() == "none":
        return None
    fields, case_sensitive = table.schema.fields, context.case_sensitive
    found = columns_named("order_by", order_by or "", fields, table.name, case_sensitive=case_sensitive)
    columns = tuple(f.name for f in found)
    check_order(table.store, columns)
    if strategy.lower() not in tuple(Curve):
        raise InvalidOptionError(f"order_strategy cannot be {strategy!r}: use one of none, {', '.join(Curve)}.")
    return Curve(strategy.lower()), columns


def _strategy(kind: _Kind, given: str | None) -> Strategy:
    if given is None or not given.strip():
        return kind.default
    if given.strip().lower() not in STRATEGIES:
        raise InvalidOptionError(f"compact_strategy cannot be {given!r}: it only supports 'full' or 'minor'.")
    return Strategy(given.strip().lower())


def _bucket_numbers(table: Table, text: str) -> frozenset[int]:
    """Return the bucket numbers of a text such as `0-9,12`."""
    count = table.store.options[BUCKET]
    if count < 1:
        raise InvalidOptionError(
            f"buckets is for tables with fixed buckets, and table {table.name} has 'bucket' = '{count}': leave it out."
        )
    numbers: set[int] = set()
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (0, -1)
        if not low <= high < count:
            raise InvalidOptionError(f"buckets cannot be {text!r}: write it as '0-9,12', below {count}.")
        numbers.update(range(low, high + 1))
    return frozenset(numbers)


@procedure(result="boolean")
def rescale(
    context: ProcedureContext,
    table: str,
    bucket_num: Int | None = None,
    partitions: str | None = None,
    where: str | None = None,
    dry_run: bool = False,
) -> Rows:
    """Divide the rows of a table, or of some partitions, among `bucket_num` buckets (default: the table's option
    `bucket`). Partitions are named (`dt=2024-01-01;dt=2024-01-02`), or satisfy `where`.

    It is one commit, an overwrite of the same rows, and fails if another commit comes in between. A number that differs
    from the option changes the option, and requires all partitions. The result is true. With `dry_run` nothing changes:
    the result has a row for each partition that would be rewritten, with its data files, bytes and rows.
    """
    target = context.load_table(table)
    target.check_writable()
    own = target.store.options[BUCKET]
    if bucket_num is None and own == POSTPONED:
        raise InvalidOptionError(
            f"Table {target.name} has postponed buckets: you must provide the resulting bucket number, bucket_num."
        )
    buckets = own if bucket_num is None else int(bucket_num)
    if own < 1 and own != POSTPONED:
        raise UnsupportedFeatureError(
            f"Table {target.name} cannot be rescaled: 'bucket' = '{own}' is not a fixed number of buckets. "
            "Name a table with fixed buckets."
        )
    if buckets < 1:
        raise InvalidOptionError(f"bucket_num cannot be {buckets}: use 1 or more.")
    changes_option = own != POSTPONED and buckets != own
    if changes_option and (partitions is not None or where is not None):
        raise InvalidOptionError(
            f"Some partitions of table {target.name} cannot have {buckets} buckets: its option '{BUCKET.key}' is "
            f"{own}, and writes to them would fail. Alter the option first, or rescale all partitions."
        )
    target = target.for_write()
    snapshot = target.latest_snapshot()
    if snapshot is None:
        raise InvalidOptionError(f"Table {target.name} has no snapshot: there is nothing to rescale.")
    chosen = chosen_partitions(context, target, snapshot, partitions, where)
    if dry_run:
        moved = [e for e in live_files(target.store, snapshot, chosen).values() if _moves(e, buckets)]
        return rows_of_partitions("rescale", target.store, moved, f"{buckets} buckets")
    moves = target.bucket_moves(context.executor, f"rescale {target.name}")
    messages = moves.rescale(chosen, buckets)
    if messages:
        _commit_rescaled(context, table, target, messages, buckets if changes_option else None)
    return [(True,)]


def _moves(entry: ManifestEntry, buckets: int) -> bool:
    """Return whether a rescale moves the rows of a file: postponed rows stay."""
    return entry.bucket != POSTPONED and entry.total_buckets != buckets


def _commit_rescaled(
    context: ProcedureContext, name: str, table: Table, messages: Sequence[CommitMessage], buckets: int | None
) -> None:
    """Commit rows in new buckets, under a schema with that number of buckets; None keeps the schema.

    A schema and a snapshot are two files, and no storage creates both at once. The schema comes first. If only the
    schema is published, rows are read as before, writes are refused, and a second call moves the rows.
    """
    info = CommitInfo(user=table.new_commit_user(), operation=Operation.OVERWRITE)
    if buckets is None:
        table.commit_or_abort(messages, info)
        return
    identifier, before = context.identifier(name), str(table.store.options[BUCKET])
    with on_failure(lambda: table.abort(messages)):  # no commit refers to their files yet
        context.catalog.alter_table(identifier, [SetOption(BUCKET.key, str(buckets))])
    again = f"Table {table.name} has 'bucket' = '{buckets}': run CALL sys.rescale again"
    try:
        with on_failure(lambda: table.abort(messages)):
            altered = context.load_table(name).for_write()
        altered.commit_or_abort(messages, info)
    except CommitUnknownError as error:
        raise CommitUnknownError(f"{error} {again}, which moves the rows if this call did not.") from error
    except PaimonError as error:
        try:
            context.catalog.alter_table(identifier, [SetOption(BUCKET.key, before)])
        except PaimonError as other:
            raise CommitUnknownError(
                f"The rows of table {table.name} stay in {before} buckets ({error}), and the option could not be set "
                f"back ({other}). {again}, or set the option to '{before}'."
            ) from error
        raise


@procedure(result="boolean")
def compact_manifest(
    context: ProcedureContext,
    table: str,
    options: str | None = None,
    dry_run: bool = False,
    manifest_sort_enabled: bool | None = None,
    manifest_sort_partition_field: str | None = None,
    manifest_sort_max_rewrite_size: str | None = None,
) -> Rows:
    """Rewrite the table's manifests into few, without entries of deleted files.

    `manifest_sort_enabled`, `…_partition_field` and `…_max_rewrite_size` are the options `manifest-sort.…`: rewritten
    entries are sorted by a partition column. The result is true. With `dry_run` nothing changes: the result has the
    manifests that would be rewritten.
    """
    target, field = context.load_table(table), manifest_sort_partition_field
    keys = {key: key for key in target.schema.partition_keys}
    sort = {
        MANIFEST_SORT_ENABLED.key: None if manifest_sort_enabled is None else str(manifest_sort_enabled).lower(),
        MANIFEST_SORT_FIELD.key: column_named(field or "", keys, case_sensitive=context.case_sensitive) or field,
        MANIFEST_SORT_SIZE.key: manifest_sort_max_rewrite_size,
    }
    given = call_options(options) | {key: value for key, value in sort.items() if value is not None}
    target = target.with_options(given)
    target.check_writable()
    if dry_run:
        due = due_manifests(target.store, target.latest_snapshot())
        size = sum(m.file_size for m in due)
        return DryRunRows([("compact_manifest", None, None, len(due), size, None, "fewer manifests")] if due else [])
    compact_manifests(target.store, CommitInfo(user=target.new_commit_user()), target.publisher)
    return [(True,)]
