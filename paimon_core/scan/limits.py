"""The files that a part of the rows needs: enough rows for a LIMIT, the first rows in an order, or a sample. And the
order in which the files of a split give their rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from paimon_core.dataclass import dataclass
from paimon_core.lazy import ImportedOnCall
from paimon_core.lsm.runs import sections
from paimon_core.options import DATA_EVOLUTION, PK_CLUSTERING_OVERRIDE
from paimon_core.scan.plan import Plan
from paimon_core.scan.pruning.file_stats import FileStats
from paimon_core.spec.binary_row import decode_row
from paimon_core.spec.kinds import INTEGERS, MOMENTS
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.split import DataSplit, SplitKind
from paimon_core.spec.stats import UNKNOWN, ColumnStats
from paimon_core.spec.types import DataField, DataType, Kind, TimeType
from paimon_core.store.table_store import TableStore

if TYPE_CHECKING:
    from hashlib import blake2b
else:
    blake2b = ImportedOnCall("hashlib", "blake2b")  # loads OpenSSL

# SQL orders these types as their bounds are ordered
_ORDERED = INTEGERS | MOMENTS | {Kind.DATE, Kind.DECIMAL, Kind.VARCHAR}
_MICROSECONDS = 6
_NUMBERS = 2**32  # of hashes of four bytes


@dataclass(frozen=True, slots=True)
class Order:
    """The first column that rows are ordered by."""

    column: str
    descending: bool = False
    nulls_first: bool = True

    def describe(self) -> str:
        nulls = "FIRST" if self.nulls_first else "LAST"
        return f"{self.column} {'DESC' if self.descending else 'ASC'} NULLS {nulls}"


@dataclass(frozen=True, slots=True)
class _Extent:
    """The range of a file's values in an order.

    `first` and `last` are the outer values, None if unknown. At least `rows` rows are not NULL. `has_nulls`: some rows
    may be NULL. `is_null`: all rows are NULL."""

    first: Any
    last: Any
    rows: int
    has_nulls: bool
    is_null: bool


@dataclass(frozen=True, slots=True)
class _Part:
    """Files of the split with the index `split` that are read together. Their result has `rows` rows or more.

    `is_raw`: it is one file, and the number is exact. Else it is the whole split, with its files of postponed rows."""

    split: int
    files: tuple[DataFileMeta, ...]
    rows: int
    is_raw: bool


def has_sql_order(field: DataField) -> bool:
    """Return whether stored values of a column, if they are known, have the order of SQL.

    Spark orders nanoseconds by their microseconds: rows that tie there are ordered by the next column.
    """
    is_finer = isinstance(field.type, TimeType) and field.type.precision > _MICROSECONDS
    return field.type.kind in _ORDERED and not is_finer


def key_order(store: TableStore, splits: Iterable[DataSplit], columns: Collection[str]) -> tuple[str, ...]:
    """Return the columns of a read by which the rows of every split are sorted, in ascending order; none if rows may
    have another order.

    These are the first columns of the primary key. Values that SQL orders otherwise, such as -0.0 and 0.0, end the
    list. Files of an older schema may have keys of other types, so they have no known order.
    """
    schema = store.schema
    if not store.has_primary_key or schema.counts_equal_rows or store.options[PK_CLUSTERING_OVERRIDE]:
        return ()
    fields = takewhile(lambda f: f.name in columns and has_sql_order(f), schema.key_fields)
    names = tuple(f.name for f in fields)
    types = schema.types(schema.trimmed_primary_keys)
    return names if names and all(_ascends(split, schema.id, types) for split in splits) else ()


def _ascends(split: DataSplit, schema_id: int, key_types: Sequence[DataType]) -> bool:
    """Return whether the rows of a split are read in the order of their keys."""
    if split.kind is not SplitKind.ROWS or split.branch or any(f.schema_id != schema_id for f in split.files):
        return False
    if split.needs_merge or len(split.files) < 2:
        return True
    found = sections(split.files, key_types)  # in key order
    return all(len(runs) == 1 for runs in found) and [f for (run,) in found for f in run.files] == list(split.files)


def sample_of_files(store: TableStore, plan: Plan, low: float, high: float, seed: int) -> Plan:
    """Return a plan with the files that `seed` gives a number from `low` (included) to `high` (excluded). Numbers are
    between 0 and 1. They come from a strong hash: with CRC32, similar seeds would choose the same files, or exactly the
    other files. Files with rows to merge are kept or left out together.
    """

    def is_kept(name: str) -> bool:
        digest = blake2b(f"{seed} {name}".encode(), digest_size=4).digest()
        return low <= int.from_bytes(digest, "big") / _NUMBERS < high

    def parts() -> Iterable[_Part]:
        for i, split in enumerate(plan.splits):
            if split.needs_merge or split.kind is not SplitKind.ROWS or store.options[DATA_EVOLUTION]:
                yield _Part(i, (*split.files, *split.before), 0, is_raw=False)
            else:
                yield from (_Part(i, (file,), 0, is_raw=True) for file in split.files)

    return _with_parts(plan, (p for p in parts() if is_kept(p.files[0].file_name)))


def first_rows(store: TableStore, plan: Plan, count: int) -> Plan:
    """Return a plan with only as many files as are needed for `count` rows.

    Return the same plan if metadata does not decide."""
    if not plan.exact:
        return plan
    kept, rows = list[_Part](), 0
    for part in _parts(store, plan):
        if rows >= count:
            break
        if part.rows:
            kept.append(part)
            rows += part.rows
    return _with_parts(plan, kept) if rows >= count else plan


def top_rows(store: TableStore, plan: Plan, order: Order, count: int) -> Plan:
    """Return a plan without the files that come after `count` rows of other files.

    Return the same plan if neither partitions nor statistics show which files these are.
    """
    field = store.schema.field_by_name.get(order.column)
    if not plan.exact or field is None or not has_sql_order(field) or any(s.branch for s in plan.splits):
        return plan
    by_partition, stats = order.column in store.schema.partition_keys, FileStats(store, frozenset((order.column,)))
    extents = list[tuple[_Part, _Extent | None]]()
    for part in _parts(store, plan):
        extent = None
        if by_partition:
            extent = _of_partition(store, plan.splits[part.split], part, order)
        elif part.is_raw:
            (file,) = part.files
            extent = _extent(stats.of(file).get(order.column, UNKNOWN), file, part.rows, order)
        extents.append((part, extent))
    limit = _reached((e for _, e in extents if e is not None), order, count)
    if limit is None:
        return plan
    return _with_parts(plan, (p for p, extent in extents if extent is None or not _comes_after(extent, limit, order)))


def least_rows(store: TableStore, split: DataSplit) -> int:
    """Return a lower bound for the number of rows in the result of a split.

    A merge leaves one row of each key, unless the newest row is a delete. So files that share keys leave at least as
    many rows as their largest sorted run has, less the deletes.
    """
    if split.result_count is not None:
        return split.result_count
    schema, deletes = store.schema, [f.delete_row_count for f in split.files]
    is_merged = store.has_primary_key and split.kind is SplitKind.ROWS and not split.branch
    unknown = None in deletes or any(d.vector.cardinality is None for d in split.deletions)
    if not is_merged or unknown or schema.counts_equal_rows or store.options[PK_CLUSTERING_OVERRIDE]:
        return 0
    vectors = {name: d.vector.cardinality or 0 for name, d in split.deletions_by_file.items()}
    total = 0
    for runs in sections(split.files, schema.types(schema.trimmed_primary_keys)):
        removed = sum((f.delete_row_count or 0) + vectors.get(f.file_name, 0) for run in runs for f in run.files)
        total += max(0, max(sum(f.row_count for f in run.files) for run in runs) - removed)
    return total


def _parts(store: TableStore, plan: Plan) -> Iterable[_Part]:
    """Yield the single files of splits with a known number of rows, and the other splits as a whole."""
    for i, split in enumerate(plan.splits):
        if split.result_count is None:
            yield _Part(i, (*split.files, *split.before), least_rows(store, split), is_raw=False)
        else:
            yield from (_Part(i, (file,), _rows(split, file), is_raw=True) for file in split.files)


def _rows(split: DataSplit, file: DataFileMeta) -> int:
    deletion = split.deletions_by_file.get(file.file_name)
    return file.row_count - (0 if deletion is None else deletion.vector.cardinality or 0)


def _of_partition(store: TableStore, split: DataSplit, part: _Part, order: Order) -> _Extent:
    """Return the extent of rows with one value: the value of their partition."""
    schema = store.schema
    values = dict(
        zip(schema.partition_keys, decode_row(schema.types(schema.partition_keys), split.partition), strict=True)
    )
    value, is_null = values[order.column], values[order.column] is None
    return _Extent(value, value, 0 if is_null else part.rows, has_nulls=is_null, is_null=is_null)


def _extent(stats: ColumnStats, file: DataFileMeta, rows: int, order: Order) -> _Extent:
    first, last = (stats.maximum, stats.minimum) if order.descending else (stats.minimum, stats.maximum)
    nulls = rows if stats.null_count is None else stats.null_count
    return _Extent(first, last, max(0, rows - nulls), has_nulls=nulls > 0, is_null=stats.null_count == file.row_count)


def _reached(extents: Iterable[_Extent], order: Order, count: int) -> Any:
    """Return a value such that at least `count` rows come at or before it in the order, or None if statistics do not
    show such a value.
    """
    known = sorted((e for e in extents if e.last is not None), key=lambda e: e.last, reverse=order.descending)
    for extent in known:
        count -= extent.rows
        if count <= 0:
            return extent.last
    return None


def _comes_after(extent: _Extent, limit: Any, order: Order) -> bool:
    if extent.is_null:
        return not order.nulls_first
    if extent.first is None or (extent.has_nulls and order.nulls_first):
        return False
    return bool(extent.first < limit if order.descending else extent.first > limit)


def _with_parts(plan: Plan, kept: Iterable[_Part]) -> Plan:
    """Return the plan with only the parts `kept`, which are in the order of the plan."""
    by_split: dict[int, list[_Part]] = {}
    for part in kept:
        by_split.setdefault(part.split, []).append(part)
    return replace(plan, splits=tuple(_with(plan.splits[i], parts) for i, parts in by_split.items()))


def _with(split: DataSplit, parts: Sequence[_Part]) -> DataSplit:
    """Return a split with only some of its parts."""
    if not parts[0].is_raw or len(parts) == len(split.files):
        return split
    files = tuple(f for p in parts for f in p.files)
    names = {f.file_name for f in files}
    return replace(split, files=files, deletions=tuple(d for d in split.deletions if d.vector.data_file in names))
