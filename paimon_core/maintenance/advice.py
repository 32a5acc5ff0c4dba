"""Advice on the upkeep of a table: a fact about its files, why the fact matters, and the statement that mends it.

Facts come from the latest snapshot, its manifests and the list of snapshots; no data file is read. A rule gives advice
only if its statement would change something, by the same limits as the statement itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.clock import now_millis
from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError
from paimon_core.indexes.file_index.options import PREFIX, indexed_names
from paimon_core.indexes.file_index.registry import BLOOM_FILTER, INDEX_TYPES
from paimon_core.lsm.strategy import hides_level_0
from paimon_core.maintenance.contradictions import Contradiction, contradiction_of
from paimon_core.maintenance.idle_options import TableTraits, idle_options, unread_indexes
from paimon_core.maintenance.orphans.search import DEFAULT_AGE, find_orphans
from paimon_core.maintenance.snapshot_expiry import retention_of
from paimon_core.options import (
    BUCKET,
    CHANGELOG_PRODUCER,
    COMMIT_UNSAFE_STORAGE,
    CONSUMER_CHANGELOG_ONLY,
    DATA_EVOLUTION,
    DELETION_VECTORS,
    FILE_INDEX_READ,
    MERGE_ENGINE,
    MIN_FILE_NUM,
    NUM_SORTED_RUN_TRIGGER,
    POSTPONED,
    SMALL_FILE_RATIO,
    TAG_AUTOMATIC_CREATION,
    WRITE_ONLY,
    TableOptions,
)
from paimon_core.options.support import OPTIONS
from paimon_core.seen_filters import SeenFilter
from paimon_core.spec.identifier import Identifier, sql_name, sql_string
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.consumers import list_consumers
from paimon_core.store.features import check_selectable
from paimon_core.store.indexes.index_files import deletion_files
from paimon_core.store.live_table import live_table, run_counts
from paimon_core.store.manifests import data_manifests, live_columns
from paimon_core.store.snapshots import find_snapshot, history_ids, latest_snapshot
from paimon_core.store.statistics import read_statistics
from paimon_core.store.table_store import TableStore
from paimon_core.write.files.data_files import target_file_size

_MIB = 2**20
LARGEST_BUCKET = 2048 * _MIB  # bytes; Paimon's documentation recommends 200 MB to 1 GB a bucket
SMALLEST_BUCKET = 8 * _MIB
FEW_BUCKETS = 4  # that many never are too many
ADVISED_BUCKET = 512 * _MIB
MANY_DELETED = 0.2  # of the rows that data files hold
SKEWED = 4  # sizes of an average bucket
MANY_SCANS = 3  # with a filter on a column
MANY_FILES = 4  # that such a scan reads
FEW_VALUES = 1000  # of a column: most files have all of them, so that a file index skips none
MANY_ROWS = 1_000_000  # from here on, plans of joins gain by statistics


@dataclass(frozen=True, slots=True)
class Advice:
    """A fact, the reason why it matters, and the statement that mends it.

    `statement` has the fields `{call}`, CALL with the namespace of procedures, `{name}`, the table's name as a string
    for procedures, and `{table}`, its name in SQL.
    """

    fact: str
    reason: str
    statement: str

    def for_table(self, catalog: str, identifier: Identifier) -> str:
        """Return the statement for a table of a catalog."""
        names = identifier.database, identifier.name
        return self.statement.format(
            call=f"CALL {sql_name(catalog, 'sys')}",
            name=sql_string(sql_name(*names)),
            table=sql_name(catalog, *names),
        )


@dataclass(frozen=True, slots=True)
class Figures:
    """The state of a table, as far as rules need it.

    `files` are the live data files of the latest snapshot, as `live_table` returns them. `target_size` is the size in
    bytes at which a data file ends. `deleted` rows of the files are marked by deletion vectors. `waiting` are the files
    of postponed buckets, which queries do not see yet. `expires`: an expiry would remove a snapshot. `holder` is the
    consumer that keeps an expiry from removing snapshots. `orphans` are the number and the bytes of files that no
    version needs, None without a search. `unindexed` are the filters that this process has seen on columns that could
    have a file index and have none. `has_partitions`: the table has partition columns. `contradiction` is one of its
    options.
    """

    options: TableOptions
    has_primary_key: bool
    files: pa.Table
    target_size: int
    deleted: int = 0
    waiting: int = 0
    snapshots: int = 0
    expires: bool = False
    holder: str | None = None
    rows: int = 0
    has_statistics: bool = False
    unindexed: tuple[SeenFilter, ...] = ()
    orphans: tuple[int, int] | None = None
    has_partitions: bool = False
    contradiction: Contradiction | None = None

    @property
    def traits(self) -> TableTraits:
        return TableTraits(self.options, self.has_primary_key, self.has_partitions)


def figures_of(store: TableStore, *, with_orphans: bool = False) -> Figures:
    """Return the figures of a table. `with_orphans` lists all files of the table to find those that no version needs.

    Raises the errors of `check_selectable`, and `CorruptFileError`, `StorageError`.
    """
    check_selectable(store)
    snapshot = latest_snapshot(store)
    figures = Figures(
        *(store.options, store.has_primary_key, live_table(store, snapshot), target_file_size(store)),
        has_partitions=bool(store.schema.partition_keys),
        contradiction=contradiction_of(store.schema),
    )
    if with_orphans:
        found = find_orphans(store, now_millis() - DEFAULT_AGE)
        figures = replace(figures, orphans=(len(found.paths), found.size))
    if snapshot is None:
        return figures
    vectors = deletion_files(store, snapshot) if store.options[DELETION_VECTORS] else {}
    deleted = [file.vector.cardinality or 0 for bucket in vectors.values() for file in bucket.values()]
    return replace(
        figures,
        deleted=sum(deleted),
        waiting=_waiting(store, snapshot),
        **_expiry(store),
        rows=snapshot.total_record_count,
        has_statistics=snapshot.statistics is not None,
        unindexed=_unindexed(store, snapshot),
    )


def _waiting(store: TableStore, snapshot: Snapshot) -> int:
    """Return the number of files in postponed buckets."""
    if store.options[BUCKET] != POSTPONED:
        return 0
    found = live_columns(store, data_manifests(store, snapshot))
    return sum(int((manifest.buckets[rows] == POSTPONED).sum()) for manifest, rows in found)


def _unindexed(store: TableStore, snapshot: Snapshot) -> tuple[SeenFilter, ...]:
    """Return the filters on columns that lack a file index and can have one."""
    if store.options[DATA_EVOLUTION] or not store.options[FILE_INDEX_READ]:
        return ()
    fields = {f.name: f for f in store.schema.fields if not set(f.name) & set(",[]") and f.name == f.name.strip()}
    passed = {*store.schema.partition_keys, *store.schema.primary_keys, *indexed_names(store.options)}
    found = [s for s in store.filters.of_table(store.root) if s.column in fields and s.column not in passed]
    found = [s for s in found if INDEX_TYPES[BLOOM_FILTER].admits(fields[s.column].type)]
    statistics = read_statistics(store, snapshot) if found else None
    known = {} if statistics is None else statistics.columns
    return tuple(s for s in found if known.get(s.column, {}).get("distinctCount", FEW_VALUES) >= FEW_VALUES)


def _expiry(store: TableStore) -> dict[str, Any]:
    """Return the figures about expiry, by the decision of the expiry itself."""
    ids = history_ids(store)
    try:
        retention = replace(retention_of(store.options, now_millis()), limit=1)
    except InvalidOptionError:  # an invalid value by another writer: an expiry raises this error
        return {"snapshots": len(ids)}

    def time_of(number: int) -> int | None:
        read = find_snapshot(store, number)
        return None if read is None else read.time_millis

    def expires(first_read: int | None) -> bool:
        return bool(ids) and retention.first_kept(ids, time_of, first_read) > ids[0]

    consumers = {} if store.options[CONSUMER_CHANGELOG_ONLY] else list_consumers(store)
    holder = min(consumers, key=lambda name: consumers[name], default=None)
    if not expires(None):
        return {"snapshots": len(ids)}
    is_free = holder is None or expires(consumers[holder])
    return {"snapshots": len(ids), "expires": is_free, "holder": None if is_free else holder}


def advise(figures: Figures) -> list[Advice]:
    """Return the advice for a table."""
    return [advice for rule in _RULES for advice in rule(figures)]


def _misspelled_options(figures: Figures) -> Iterator[Advice]:
    for key in sorted(figures.options.values):
        near = [] if key in OPTIONS else get_close_matches(key, OPTIONS, n=1, cutoff=0.9)
        if near:
            yield Advice(
                f"option '{key}' is not an option of Paimon",
                f"it does nothing; did you mean '{near[0]}'?",
                _unset(key),
            )


def _contradicting_options(figures: Figures) -> Iterator[Advice]:
    found = figures.contradiction
    if found is not None:
        yield Advice(
            f"options contradict one another: {found.reason.rstrip('.')}",
            "another engine has set them; engines may follow either, and changes of the table's definition are refused",
            _unset(*found.keys),
        )


def _without_fields(text: str) -> str:
    """Escape the braces in a text that becomes a part of an advice's statement."""
    return text.replace("{", "{{").replace("}", "}}")


def _sorted_runs(figures: Figures) -> Iterator[Advice]:
    """Buckets of a primary-key table with as many sorted runs as a compaction merges."""
    if not figures.has_primary_key:
        return
    counts, trigger = run_counts(figures.files).values(), figures.options[NUM_SORTED_RUN_TRIGGER]
    due = [count for count in counts if count >= trigger]
    if due:
        yield Advice(
            f"{len(due)} of {len(counts)} buckets have {trigger} or more sorted runs, up to {max(due)}",
            "each read merges all runs of a bucket",
            "{call}.compact(table => {name})",
        )


def _small_files(figures: Figures) -> Iterator[Advice]:
    """Buckets of an append table with as many small files as a compaction joins."""
    if figures.has_primary_key:
        return
    bound = int(figures.target_size * figures.options[SMALL_FILE_RATIO])
    small = figures.files.filter(pc.less(figures.files["size"], bound))
    counts = small.group_by(["partition", "bucket"]).aggregate([("size", "count")])["size_count"]
    due = counts.filter(pc.greater_equal(counts, figures.options[MIN_FILE_NUM]))
    if len(due):
        most = pc.max(due).as_py()
        yield Advice(
            f"{pc.sum(due).as_py()} files are smaller than {bound // _MIB} MiB, up to {most} in a bucket",
            "each file costs a request and a task's time when it is read",
            "{call}.compact(table => {name})",
        )


def _deleted_rows(figures: Figures) -> Iterator[Advice]:
    """Deletion vectors that hide many rows of the files."""
    rows = pc.sum(figures.files["rows"]).as_py() or 0
    compact = "{call}.compact(table => {name}, compact_strategy => 'full')"
    if figures.options[DATA_EVOLUTION]:
        compact = "{call}.materialize_deletion_vectors(table => {name})"
    if rows and figures.deleted >= MANY_DELETED * rows:
        yield Advice(
            f"{figures.deleted} of {rows} rows in data files are deleted",
            "deleted rows are read and skipped, and keep their space",
            compact,
        )


def _bucket_sizes(figures: Figures) -> Iterator[Advice]:
    """Fixed buckets that are far larger or smaller than recommended."""
    buckets = figures.options[BUCKET]
    sizes = figures.files.group_by(["partition"]).aggregate([("size", "sum")])["size_sum"]
    largest, average = pc.max(sizes).as_py() or 0, int(pc.mean(sizes).as_py() or 0)
    where = "in the largest partition"
    if 0 < buckets < largest / LARGEST_BUCKET:
        reason = "a bucket is read and compacted by one task"
        where += f", and {average // _MIB} MiB in an average one" if largest >= SKEWED * average else ""
    elif buckets > FEW_BUCKETS and 0 < largest < buckets * SMALLEST_BUCKET:
        reason = "each write makes a small file in each bucket"
    else:
        return
    yield Advice(
        f"{buckets} buckets hold {largest // _MIB} MiB {where}",
        reason,
        f"{{call}}.rescale(table => {{name}}, bucket_num => {max(1, -(-largest // ADVISED_BUCKET))})",
    )


def _old_snapshots(figures: Figures) -> Iterator[Advice]:
    """More snapshots than the options keep."""
    if figures.expires:
        yield Advice(
            f"there are {figures.snapshots} snapshots, more than the options keep",
            "files of old snapshots keep their space",
            f"{{call}}.expire_snapshots(table => {{name}}, max_deletes => {figures.snapshots})",
        )
    if figures.holder is not None:
        holder = _without_fields(sql_string(figures.holder))
        yield Advice(
            f"consumer {figures.holder!r} keeps snapshots that it has not read, of {figures.snapshots} snapshots",
            "if it does not read again, snapshots and their files stay for ever",
            f"{{call}}.reset_consumer(table => {{name}}, consumerId => {holder})",
        )


def _waiting_rows(figures: Figures) -> Iterator[Advice]:
    if figures.waiting:
        yield Advice(
            f"{figures.waiting} files have no bucket yet",
            "queries do not see their rows before a compaction assigns buckets to them",
            "{call}.compact(table => {name})",
        )


def _orphans(figures: Figures) -> Iterator[Advice]:
    if figures.orphans is not None and figures.orphans[0]:
        count, size = figures.orphans
        yield Advice(
            f"{count} files with {-(-size // _MIB)} MiB belong to no version, and are older than a day",
            "killed writers and rollbacks leave them, and they keep their space",
            "{call}.remove_orphan_files(table => {name})",
        )


def _options_without_effect(figures: Figures) -> Iterator[Advice]:
    """Options that this kind of table, or another option, makes useless."""
    for key, reason in idle_options(figures.traits):
        yield Advice(f"option '{key}' has no effect on this table", reason, _unset(key))
    for key, kind in unread_indexes(figures.traits, bool(indexed_names(figures.options))):
        yield Advice(
            f"writers build {kind}, and '{key}' = 'false' keeps scans from reading them",
            "building them takes time and space, and scans read the files that they would skip",
            _unset(key),
        )


def _unset(*keys: str) -> str:
    return f"ALTER TABLE {{table}} UNSET TBLPROPERTIES ({_without_fields(', '.join(map(sql_string, keys)))})"


def _rows_before_compaction(figures: Figures) -> Iterator[Advice]:
    """Rows that queries or streams see only after a compaction, if writers do not compact."""
    options = figures.options
    young = pc.sum(pc.equal(figures.files["level"], 0)).as_py() or 0
    if not (figures.has_primary_key and options[WRITE_ONLY] and young):
        return
    producer = options[CHANGELOG_PRODUCER]
    if hides_level_0(options):
        fact = f"{young} files are not compacted, and queries do not see their rows"
        cause = f"'{DELETION_VECTORS.key}'" if options[DELETION_VECTORS] else f"'{MERGE_ENGINE.key}' = 'first-row'"
    elif producer in ("lookup", "full-compaction"):
        fact = f"{young} files are not compacted, and streams do not see their changes"
        cause = f"'{CHANGELOG_PRODUCER.key}' = '{producer}'"
    else:
        return
    yield Advice(
        fact,
        f"with {cause} a compaction makes rows visible, and with '{WRITE_ONLY.key}' writers leave it to others",
        "{call}.compact(table => {name})",
    )


def _tags_without_creator(figures: Figures) -> Iterator[Advice]:
    mode = figures.options[TAG_AUTOMATIC_CREATION]
    if figures.options[WRITE_ONLY] and mode in ("process-time", "watermark"):
        key = sql_string(TAG_AUTOMATIC_CREATION.key)
        yield Advice(
            f"'{TAG_AUTOMATIC_CREATION.key}' = '{mode}' creates no tags when writers commit",
            f"'{WRITE_ONLY.key}' leaves them to a compaction job of Flink; 'batch' keeps a tag for each day of writes",
            f"ALTER TABLE {{table}} SET TBLPROPERTIES ({key} = 'batch')",
        )


def _unsafe_commits(figures: Figures) -> Iterator[Advice]:
    if figures.options[COMMIT_UNSAFE_STORAGE]:
        yield Advice(
            f"option '{COMMIT_UNSAFE_STORAGE.key}' accepts a storage on which two writers may overwrite each other",
            "an acknowledged commit can be lost; without the option, such commits are refused",
            _unset(COMMIT_UNSAFE_STORAGE.key),
        )


def _skewed_buckets(figures: Figures) -> Iterator[Advice]:
    """A fixed bucket that is too large, although an average one is not."""
    buckets = figures.options[BUCKET]
    if buckets < 1 or not figures.files.num_rows:
        return
    each = figures.files.group_by(["partition", "bucket"]).aggregate([("size", "sum")])
    totals = each.group_by("partition").aggregate([("size_sum", "sum"), ("size_sum", "max")])
    largest = totals.sort_by([("size_sum_max", "descending")]).slice(0, 1).to_pylist()[0]
    size, average = largest["size_sum_max"], largest["size_sum_sum"] // buckets
    if size > LARGEST_BUCKET >= average and size >= SKEWED * average:
        yield Advice(
            f"one of {buckets} buckets holds {size // _MIB} MiB, and an average one {average // _MIB} MiB",
            "a bucket is read and compacted by one task, so the others wait for it",
            f"{{call}}.rescale(table => {{name}}, bucket_num => {-(-size // LARGEST_BUCKET) * buckets * 2})",
        )


def _missing_indexes(figures: Figures) -> Iterator[Advice]:
    """Columns that scans compare with values although this excludes few files."""
    seen = [s for s in figures.unindexed if s.scans >= MANY_SCANS]
    seen = [s for s in seen if s.read >= MANY_FILES * s.scans and s.read * 2 > s.files]
    if not seen:
        return
    said = (f"{s.scans} scans with a filter on {s.column!r} read {s.read} of {s.files} files" for s in seen)
    key = f"{PREFIX}{BLOOM_FILTER}.columns"
    had = (name.strip() for name in figures.options.values.get(key, "").split(","))
    columns = sql_string(",".join(name for name in [*had, *(s.column for s in seen)] if name))
    yield Advice(
        "; ".join(said),
        "a file index skips files that lack a value, if a column has many values; it comes with new files, and "
        "sys.rewrite_file_index adds it to others",
        f"ALTER TABLE {{table}} SET TBLPROPERTIES ({sql_string(key)} = {_without_fields(columns)})",
    )


def _missing_statistics(figures: Figures) -> Iterator[Advice]:
    if figures.rows >= MANY_ROWS and not figures.has_statistics:
        yield Advice(
            f"{figures.rows} rows have no statistics",
            "Spark guesses how many rows a filter and a join leave",
            "ANALYZE TABLE {table} COMPUTE STATISTICS FOR ALL COLUMNS",
        )


_RULES: tuple[Callable[[Figures], Iterator[Advice]], ...] = (
    _unsafe_commits,
    _misspelled_options,
    _contradicting_options,
    _options_without_effect,
    _tags_without_creator,
    _waiting_rows,
    _rows_before_compaction,
    _sorted_runs,
    _small_files,
    _deleted_rows,
    _bucket_sizes,
    _skewed_buckets,
    _old_snapshots,
    _orphans,
    _missing_statistics,
    _missing_indexes,
)
