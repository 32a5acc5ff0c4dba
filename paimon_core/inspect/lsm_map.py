"""The LSM tree of each bucket of a table with a primary key: sorted runs as spans of the bucket's key range."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import accumulate
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.lsm.compaction import CompactUnit, LevelRun, level_runs
from paimon_core.lsm.runs import KeyOrder, KeyRange, key_range
from paimon_core.lsm.strategy import Strategy
from paimon_core.options import PARTITION_DEFAULT_NAME, PK_CLUSTERING_OVERRIDE
from paimon_core.scan.time_travel import snapshot_of_options
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.split import DeletionFile
from paimon_core.store.features import check_selectable
from paimon_core.store.indexes.index_files import deletion_files
from paimon_core.store.live_table import live_table, run_counts
from paimon_core.store.manifests import data_manifests, live_columns
from paimon_core.store.table_store import TableStore
from paimon_core.system_tables.text import key_text, partition_path
from paimon_core.write.compaction.bucket import planned_unit

MOST_SPANS = 120  # of a run; neighbouring files beyond that share a span
MOST_RUNS = 40  # of a bucket
MOST_BUCKETS = 6
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class KeySpan:
    """A part of a bucket's key range with one data file, or several neighbouring files of a run.

    `start` and `end` are positions in the key range of the bucket, from 0 to 1. `size` is in bytes. `age` is the rank
    of its newest file among all files of the bucket, from 0 (the oldest) to 1. `is_due`: the next compaction takes one
    of the files.
    """

    start: float
    end: float
    first_key: str
    last_key: str
    files: int
    rows: int
    deleted: int
    size: int
    age: float
    is_due: bool


@dataclass(frozen=True, slots=True)
class Run:
    """A sorted run: its level, and its spans in key order."""

    level: int
    spans: tuple[KeySpan, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketMap:
    """A bucket: its runs from young to old, and how many runs a read of one key merges at most (`overlap`).

    `due` are the files that the next compaction takes, `output_level` is their new level. `hidden_runs` of the oldest
    runs are left out of `runs`. `then` is the bucket after a compaction, with the highest possible numbers of files,
    rows and bytes; None if the map shows no compaction.
    """

    partition: str
    bucket: int
    runs: tuple[Run, ...]
    hidden_runs: int
    files: int
    rows: int
    deleted: int
    size: int
    overlap: int
    due: int
    output_level: int | None
    then: BucketMap | None = None


@dataclass(frozen=True, slots=True)
class LsmMap:
    """Buckets of a version of a table, those with the most overlapping runs first, out of `bucket_count` buckets."""

    snapshot: int | None
    buckets: tuple[BucketMap, ...]
    bucket_count: int


def has_lsm_trees(store: TableStore) -> bool:
    """Return whether the files of a table have ranges of its primary key."""
    return store.has_primary_key and not store.options[PK_CLUSTERING_OVERRIDE]


def lsm_map(
    store: TableStore, partition: str | None = None, bucket: int | None = None, compaction: Strategy | None = None
) -> LsmMap:
    """Return the map of a table, or only of one partition (`a=1/b=2`, as `$partitions` shows it) or bucket. With a
    `compaction`, due files are the files that it takes, and each bucket has its state afterwards.

    Raises `UnsupportedFeatureError` for a table without a primary key, `InvalidOptionError` for a partition or bucket
    without files, and as `check_selectable`; `CorruptFileError`, `StorageError`.
    """
    check_selectable(store)
    if not has_lsm_trees(store):
        reason = "it has no primary key" if not store.has_primary_key else f"'{PK_CLUSTERING_OVERRIDE.key}' is set"
        raise UnsupportedFeatureError(
            f"Table {store.name} has no LSM trees with key ranges: {reason}. Draw its files instead."
        )
    snapshot = snapshot_of_options(store, store.zone)
    runs = run_counts(live_table(store, snapshot))
    chosen = _chosen(store, runs, partition, bucket)
    deletions = deletion_files(store, snapshot) if snapshot is not None else {}
    ranked = sorted(chosen, key=lambda key: (-runs[key], key[1], key[0]))[:MOST_BUCKETS]
    found = _files_of(store, snapshot, ranked)
    strategy = compaction or Strategy.WRITE
    maps = []
    for key in ranked:
        files, vectors = found[key], deletions.get(key, {})
        unit = planned_unit(store, files, vectors, strategy)
        made = _bucket_map(store, chosen[key], key[1], files, vectors, unit)
        if compaction is not None and unit is not None:
            made = replace(made, then=_bucket_map(store, chosen[key], key[1], _after(store, files, unit), {}, None))
        maps.append(made)
    return LsmMap(None if snapshot is None else snapshot.id, tuple(maps), len(chosen))


def _files_of(
    store: TableStore, snapshot: Snapshot | None, keys: Collection[tuple[bytes, int]]
) -> dict[tuple[bytes, int], list[DataFileMeta]]:
    """Return the files of some buckets. Only their entries become objects."""
    found: dict[tuple[bytes, int], list[DataFileMeta]] = {key: [] for key in keys}
    for manifest, rows in () if snapshot is None else live_columns(store, data_manifests(store, snapshot)):
        codes, buckets = manifest.partition_codes[rows], manifest.buckets[rows]
        numbers = {partition: code for code, partition in enumerate(manifest.partitions)}
        for partition, bucket in keys:
            mine = rows[(codes == numbers.get(partition, -1)) & (buckets == bucket)]
            found[partition, bucket] += [entry.file for entry in manifest.entries(mine)]
    return found


def _chosen(
    store: TableStore, found: Iterable[tuple[bytes, int]], partition: str | None, bucket: int | None
) -> dict[tuple[bytes, int], str]:
    """Return the chosen buckets with the names of their partitions."""
    fields, default = store.schema.partition_fields, store.options[PARTITION_DEFAULT_NAME]
    names = {key: partition_path(fields, key[0], default, store.zone) for key in found}
    chosen = {k: n for k, n in names.items() if partition in (None, n) and bucket in (None, k[1])}
    if names and not chosen:
        wanted = " and ".join(
            text
            for text, given in ((f"partition {partition!r}", partition), (f"bucket {bucket}", bucket))
            if given is not None
        )
        some = ", ".join(sorted({repr(n) for n in names.values()})[:5])
        raise InvalidOptionError(f"Table {store.name} has no files in {wanted}. It has files in partitions {some}.")
    return chosen


def _after(store: TableStore, files: Sequence[DataFileMeta], unit: CompactUnit) -> list[DataFileMeta]:
    """Return the files of a bucket after a compaction: its output is one file with all rows of its input, unless it
    rewrites each file by itself.
    """
    taken = {f.file_name for f in unit.files}
    kept = [f for f in files if f.file_name not in taken]
    if unit.separately:
        return [*kept, *(replace(f, level=unit.output_level) for f in unit.files)]
    types = [k.type for k in store.schema.key_fields]
    ranges = [key_range(f, types) for f in unit.files]
    low, high = min(ranges, key=lambda r: r.low), max(ranges, key=lambda r: r.high)
    made = replace(
        max(unit.files, key=_written),
        level=unit.output_level,
        min_key=low.file.min_key,
        max_key=high.file.max_key,
        file_size=sum(f.file_size for f in unit.files),
        row_count=sum(f.row_count for f in unit.files),
    )
    return [*kept, made]


def _bucket_map(
    store: TableStore,
    partition: str,
    bucket: int,
    files: Sequence[DataFileMeta],
    deletions: Mapping[str, DeletionFile],
    unit: CompactUnit | None,
) -> BucketMap:
    key_fields = store.schema.key_fields
    ranges = {f.file_name: key_range(f, [k.type for k in key_fields]) for f in files}
    place = _places(ranges.values())
    runs = level_runs(files)
    due = frozenset(f.file_name for f in unit.files) if unit is not None else frozenset()
    ages = {f.file_name: n / max(1, len(files) - 1) for n, f in enumerate(sorted(files, key=_written))}
    deleted = {f.file_name: _deleted(deletions.get(f.file_name)) for f in files}

    def span(some: Sequence[KeyRange]) -> KeySpan:
        names = [r.file.file_name for r in some]
        low, high = min(some, key=lambda r: r.low), max(some, key=lambda r: r.high)
        return KeySpan(
            place[low.low],
            place[high.high],
            key_text(key_fields, low.file.min_key) or "",
            key_text(key_fields, high.file.max_key) or "",
            len(some),
            sum(r.file.row_count for r in some),
            sum(deleted[n] for n in names),
            sum(r.file.file_size for r in some),
            max(ages[n] for n in names),
            any(n in due for n in names),
        )

    return BucketMap(
        partition=partition,
        bucket=bucket,
        runs=tuple(_run(run, ranges, span) for run in runs[:MOST_RUNS]),
        hidden_runs=max(0, len(runs) - MOST_RUNS),
        files=len(files),
        rows=sum(f.row_count for f in files),
        deleted=sum(deleted.values()),
        size=sum(f.file_size for f in files),
        overlap=_overlap(ranges.values()),
        due=len(due),
        output_level=None if unit is None else unit.output_level,
    )


def _run(run: LevelRun, ranges: Mapping[str, KeyRange], span: Any) -> Run:
    ordered = sorted((ranges[f.file_name] for f in run.files), key=lambda r: r.low)
    together = -(-len(ordered) // MOST_SPANS)
    return Run(run.level, tuple(span(ordered[i : i + together]) for i in range(0, len(ordered), together)))


def _deleted(deletion: DeletionFile | None) -> int:
    return 0 if deletion is None else deletion.vector.cardinality or 0


def _written(file: DataFileMeta) -> tuple[datetime, int]:
    return file.creation_time or _LONG_AGO, file.max_sequence_number


def _overlap(ranges: Iterable[KeyRange]) -> int:
    """Return how many key ranges share a key at most."""
    bounds = [(r.low, 0, 1) for r in ranges] + [(r.high, 1, -1) for r in ranges]
    return max(accumulate(step for _, _, step in sorted(bounds, key=lambda b: b[:2])), default=0)


def _places(ranges: Collection[KeyRange]) -> dict[KeyOrder, float]:
    """Return the position of each bound in the key range: by value for one numeric key, else by rank."""
    ordered = sorted({bound for r in ranges for bound in (r.low, r.high)})
    numbers: list[Any] = [_number(b) if len(b) == 1 else None for b in ordered]
    if any(n is None for n in numbers):
        numbers = list(range(len(ordered)))
    low, high = (numbers[0], numbers[-1]) if numbers else (0, 0)
    width = float(high - low) or 1.0
    return {b: float(n - low) / width for b, n in zip(ordered, numbers, strict=True)}


def _number(bound: KeyOrder) -> Any:
    """Return the first value of a bound (`bound_order`) as a finite number, or None."""
    value = bound[0]
    if isinstance(value, bool):
        return None
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.toordinal()
    if isinstance(value, tuple):  # a floating-point number, or a moment of nanoseconds
        return value[1] if value[0] is False and abs(value[1]) < 1e300 else None
    return value if isinstance(value, int | Decimal) else None
