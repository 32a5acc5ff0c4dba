"""Advice on the upkeep of a table: a fact about its files, why the fact matters, and the statement that mends it.

Facts come from the latest snapshot, its manifests and the list of snapshots; no data file is read. A rule gives advice
only if its statement would change something, by the same limits as the statement itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.clock import now_millis
from paimon_core.options import (
    BUCKET,
    DELETION_VECTORS,
    MIN_FILE_NUM,
    NUM_SORTED_RUN_TRIGGER,
    SMALL_FILE_RATIO,
    SNAPSHOT_NUM_RETAINED_MAX,
    SNAPSHOT_NUM_RETAINED_MIN,
    SNAPSHOT_TIME_RETAINED,
    TableOptions,
)
from paimon_core.options.support import OPTIONS
from paimon_core.spec.identifier import Identifier, sql_name, sql_string
from paimon_core.store.features import check_selectable
from paimon_core.store.indexes.index_files import deletion_files
from paimon_core.store.live_table import live_table
from paimon_core.store.snapshots import earliest_snapshot, latest_snapshot, snapshot_ids
from paimon_core.store.table_store import TableStore
from paimon_core.write.files.data_files import target_file_size

_MIB = 2**20
LARGEST_BUCKET = 2048 * _MIB  # bytes; Paimon's documentation recommends 200 MB to 1 GB a bucket
SMALLEST_BUCKET = 8 * _MIB
FEW_BUCKETS = 4  # that many never are too many
ADVISED_BUCKET = 512 * _MIB
MANY_DELETED = 0.2  # of the rows that data files hold
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
    bytes at which a data file ends. `deleted` rows of the files are marked by deletion vectors. `oldest` is the age of
    the oldest snapshot in milliseconds.
    """

    options: TableOptions
    has_primary_key: bool
    files: pa.Table
    target_size: int
    deleted: int = 0
    snapshots: int = 0
    oldest: int = 0
    rows: int = 0
    has_statistics: bool = False


def figures_of(store: TableStore) -> Figures:
    """Return the figures of a table. Raises as `check_selectable`, and `CorruptFileError`, `StorageError`."""
    check_selectable(store)
    snapshot = latest_snapshot(store)
    figures = Figures(store.options, store.has_primary_key, live_table(store, snapshot), target_file_size(store))
    oldest = earliest_snapshot(store)
    if snapshot is None or oldest is None:
        return figures
    vectors = deletion_files(store, snapshot) if store.options[DELETION_VECTORS] else {}
    deleted = [file.vector.cardinality or 0 for bucket in vectors.values() for file in bucket.values()]
    return replace(
        figures,
        deleted=sum(deleted),
        snapshots=len(snapshot_ids(store)),
        oldest=max(0, now_millis() - oldest.time_millis),
        rows=snapshot.total_record_count,
        has_statistics=snapshot.statistics is not None,
    )


def advise(figures: Figures) -> list[Advice]:
    """Return the advice for a table."""
    return [advice for rule in _RULES for advice in rule(figures)]


def _misspelled_options(figures: Figures) -> Iterator[Advice]:
    for key in sorted(figures.options.values):
        near = [] if key in OPTIONS else get_close_matches(key, OPTIONS, n=1, cutoff=0.9)
        if near:
            yield Advice(
                f"option '{key}' is not an option of Paimon",
                f"it does nothing; '{near[0]}' is one",
                f"ALTER TABLE {{table}} UNSET TBLPROPERTIES ({_without_fields(sql_string(key))})",
            )


def _without_fields(text: str) -> str:
    """Return a text for a statement of an advice, in which braces stay braces."""
    return text.replace("{", "{{").replace("}", "}}")


def _sorted_runs(figures: Figures) -> Iterator[Advice]:
    """Buckets of a primary-key table with as many sorted runs as a compaction merges."""
    if not figures.has_primary_key:
        return
    files = figures.files
    each = pa.array(range(-len(files), 0), pa.int64())  # a file of level 0 is a run by itself
    runs = files.append_column("run", pc.if_else(pc.equal(files["level"], 0), each, files["level"]))
    counts = runs.group_by(["partition", "bucket"]).aggregate([("run", "count_distinct")])["run_count_distinct"]
    trigger = figures.options[NUM_SORTED_RUN_TRIGGER]
    due = counts.filter(pc.greater_equal(counts, trigger))
    if len(due):
        yield Advice(
            f"{len(due)} of {len(counts)} buckets have {trigger} or more sorted runs, up to {pc.max(due).as_py()}",
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
    if rows and figures.deleted >= MANY_DELETED * rows:
        yield Advice(
            f"{figures.deleted} of {rows} rows in data files are deleted",
            "deleted rows are read and skipped, and keep their space",
            "{call}.compact(table => {name}, compact_strategy => 'full')",
        )


def _bucket_sizes(figures: Figures) -> Iterator[Advice]:
    """Fixed buckets that are far larger or smaller than recommended."""
    buckets = figures.options[BUCKET]
    sizes = figures.files.group_by(["partition"]).aggregate([("size", "sum")])["size_sum"]
    largest = pc.max(sizes).as_py() or 0
    if 0 < buckets < largest / LARGEST_BUCKET:
        reason = "a bucket is read and compacted by one task"
    elif buckets > FEW_BUCKETS and 0 < largest < buckets * SMALLEST_BUCKET:
        reason = "each write makes a small file in each bucket"
    else:
        return
    yield Advice(
        f"{buckets} buckets hold {largest // _MIB} MiB in the largest partition",
        reason,
        f"{{call}}.rescale(table => {{name}}, bucket_num => {max(1, -(-largest // ADVISED_BUCKET))})",
    )


def _old_snapshots(figures: Figures) -> Iterator[Advice]:
    """More snapshots than the options keep."""
    most, retained = figures.options[SNAPSHOT_NUM_RETAINED_MAX], figures.options[SNAPSHOT_TIME_RETAINED]
    if figures.snapshots > most:
        kept = f"at most {most}"
    elif figures.snapshots > figures.options[SNAPSHOT_NUM_RETAINED_MIN] and figures.oldest > retained:
        kept = f"the last {retained // 60_000} minutes"
    else:
        return
    yield Advice(
        f"there are {figures.snapshots} snapshots, and the options keep {kept}",
        "files of old snapshots keep their space",
        "{call}.expire_snapshots(table => {name})",
    )


def _missing_statistics(figures: Figures) -> Iterator[Advice]:
    if figures.rows >= MANY_ROWS and not figures.has_statistics:
        yield Advice(
            f"{figures.rows} rows have no statistics",
            "Spark guesses how many rows a filter and a join leave",
            "ANALYZE TABLE {table} COMPUTE STATISTICS FOR ALL COLUMNS",
        )


_RULES: tuple[Callable[[Figures], Iterator[Advice]], ...] = (
    _misspelled_options,
    _sorted_runs,
    _small_files,
    _deleted_rows,
    _bucket_sizes,
    _old_snapshots,
    _missing_statistics,
)
