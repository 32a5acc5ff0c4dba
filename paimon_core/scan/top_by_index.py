"""The first rows in an order, by a B-tree of the column: only blocks of the index with the first keys are read.

The result has every row that may be among the first rows, and possibly others: rows without the index, and rows with
the same key. The engine sorts them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from paimon_core.indexes.global_index.grouped_rows import RowIds, encode_row_ids, row_ids
from paimon_core.indexes.global_index.keys import KeyFormat
from paimon_core.indexes.global_index.reader import BTREE, BTreeFile
from paimon_core.options import DATA_EVOLUTION, GLOBAL_INDEX_ENABLED
from paimon_core.scan.limits import Order, has_sql_order
from paimon_core.scan.plan import Plan
from paimon_core.spec.index_manifest import IndexManifestEntry
from paimon_core.spec.row_ranges import row_ranges
from paimon_core.spec.split import DataSplit
from paimon_core.store.indexes.global_indexes import IndexInput, kept_its_type, of_column
from paimon_core.store.indexes.index_files import index_entries, index_path, read_deletions
from paimon_core.store.table_store import TableStore

_WORTH = 4  # the index must leave out three quarters of the rows: else whole files are read faster


def top_by_index(store: TableStore, plan: Plan, order: Order, count: int) -> Plan:
    """Return a plan with only the rows that may be among the first `count` rows, or the same plan if no index decides.

    Raises `CorruptFileError`, `DataFileMissingError`, `StorageError`."""
    field = store.schema.field_by_name.get(order.column)
    usable = store.options[DATA_EVOLUTION] and store.options[GLOBAL_INDEX_ENABLED] and plan.snapshot is not None
    if not usable or not plan.exact or field is None or not has_sql_order(field):
        return plan
    if any(s.branch or s.row_ids for s in plan.splits):
        return plan
    key_format, entries = KeyFormat.of(field.type), of_column(index_entries(store, plan.snapshot), field.id, (BTREE,))
    if key_format is None or not entries or not kept_its_type(store, field):
        return plan
    there = RowIds()
    for split in plan.splits:
        there |= _live(store, split)
    indexed, first = RowIds(), RowIds()
    for entry in entries:  # several files may divide the keys of the same rows
        covers = entry.file.global_index
        assert covers is not None
        own = RowIds()
        own.add_range(covers.row_range_start, covers.row_range_end + 1)
        own &= there
        if own:
            indexed |= own
            first |= _first(store, entry, key_format, own, order, count)
    wanted = (there - indexed) | first
    if len(wanted) * _WORTH > len(there):
        return plan
    return replace(plan, splits=tuple(_with_ids(plan.splits, wanted)))


def _live(store: TableStore, split: DataSplit) -> RowIds:
    """Return the ids of the rows of a split that are not deleted."""
    rows = RowIds()
    for of in row_ranges(split.files):
        rows.add_range(of.first, of.first + of.count)
        deletion = split.deletions_by_file.get(of.anchor.file_name)
        if deletion is not None:
            rows -= RowIds(read_deletions(store, deletion, of.count) + of.first)
    return rows


def _first(
    store: TableStore, entry: IndexManifestEntry, key_format: KeyFormat, own: RowIds, order: Order, count: int
) -> RowIds:
    """Return the rows of `own` that may be among the first rows in the order, by one index file that covers `own`."""
    covers = entry.file.global_index
    assert covers is not None
    path = index_path(store, entry.partition, entry.bucket, entry.file)
    file = BTreeFile(path, entry.file.file_size, key_format, IndexInput(store, path, entry.file.file_size))
    nulls = _shifted(file.nulls(), covers.row_range_start) & own
    if order.nulls_first and len(nulls) >= count:
        return nulls
    found, boundary = RowIds(), None
    for first, last, rows in file.blocks(descending=order.descending):
        if len(found) >= count and first != boundary:
            return found | nulls if order.nulls_first else found
        found |= _shifted(row_ids(rows), covers.row_range_start) & own
        boundary = last
    return found | nulls


def _shifted(rows: RowIds, first: int) -> RowIds:
    return rows.shift(first) if first else rows


def _with_ids(splits: Sequence[DataSplit], wanted: RowIds) -> Iterable[DataSplit]:
    """Yield the parts of splits with wanted rows."""
    for split in splits:
        ranges = row_ranges(split.files)
        kept = [r for r in ranges if wanted.range_cardinality(r.first, r.first + r.count)]
        if kept:
            anchors = {r.anchor.file_name for r in kept}
            yield replace(
                split,
                files=tuple(f for r in kept for f in r.all_files),
                deletions=tuple(d for d in split.deletions if d.vector.data_file in anchors),
                row_ids=encode_row_ids(RowIds(wanted)),
            )
