"""Search for the nearest vectors by indexes: which files of a version's indexes a search reads, and what they find.

Rows without an index are compared one by one, or left out with `vector-index.search-mode` = `fast`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from paimon_core.arrow.nearest import SEARCH_SCORE, VectorQuery, nearest
from paimon_core.arrow.types import ROW_ID
from paimon_core.errors import UnsupportedFeatureError
from paimon_core.indexes.global_index.grouped_rows import RowIds, encode_row_ids
from paimon_core.indexes.vector_index.files import VectorIndexFile, open_vector_index
from paimon_core.indexes.vector_index.layout import VECTOR_INDEXES
from paimon_core.options import DATA_EVOLUTION, GLOBAL_INDEX_ENABLED, GLOBAL_INDEX_SEARCH_MODE, VECTOR_SEARCH_MODE
from paimon_core.scan.index_search import (
    FAST,
    FoundIds,
    IndexedSearch,
    IndexProbe,
    Rows,
    allowed_rows,
    entries_by_type,
    not_covered,
    path_of,
    probes_of,
)
from paimon_core.scan.plan import Plan
from paimon_core.spec.index_manifest import IndexFileMeta
from paimon_core.spec.split import DataSplit
from paimon_core.store.indexes.global_indexes import IndexInput, covered
from paimon_core.store.table_store import TableStore


def indexed_search(store: TableStore, plan: Plan, query: VectorQuery) -> IndexedSearch[VectorQuery]:
    """Divide the search in a plan between indexes of the column and the rows without an index.

    Raises `CorruptFileError`, `DataFileMissingError`, `StorageError`."""
    field = store.schema.field_by_name.get(query.column)
    usable = store.options[DATA_EVOLUTION] and store.options[GLOBAL_INDEX_ENABLED] and plan.snapshot is not None
    if not usable or field is None or not plan.splits or any(s.branch for s in plan.splits):
        return IndexedSearch(query, (), plan.splits)
    by_type = entries_by_type(store, plan, field, VECTOR_INDEXES)
    if not by_type:
        return IndexedSearch(query, (), plan.splits)
    chosen = max(by_type.values(), key=lambda of: sum(end - start for start, end in covered(e.file for e in of)))
    metric = _open(store, chosen[0].file, path_of(store, chosen[0])).head.metric
    if query.by_index:
        query = replace(query, metric=metric)
    elif metric != query.metric:
        return IndexedSearch(query, (), plan.splits)
    options = store.options
    is_fast = (options[VECTOR_SEARCH_MODE] or options[GLOBAL_INDEX_SEARCH_MODE]) == FAST
    return IndexedSearch(
        query, probes_of(store, plan.splits, chosen), () if is_fast else not_covered(plan.splits, chosen)
    )


def search_file(store: TableStore, query: VectorQuery, rows: Rows, has_condition: bool, probe: IndexProbe) -> FoundIds:
    """Return the nearest rows that a file of an index covers.

    `rows` yields columns of the rows of a split that satisfy the condition of the search, if it has one. If the file
    has another metric, its library is missing, or the search refines its result, vectors are compared. Raises
    `CorruptFileError`, `DataFileMissingError`, `StorageError`, `InvalidDataError`.
    """
    start, end = probe.span
    allowed = allowed_rows(store, rows, has_condition, probe)
    try:
        file = _open(store, probe.file, probe.path)
        if (file.head.metric, file.head.length) != (query.metric, len(query.vector)):
            return _compared(query, rows, probe.splits, RowIds(np.flatnonzero(allowed) + start))
        limit = query.limit * max(query.refine, 1)
        ids, scores = file.nearest(
            np.asarray(query.vector, dtype=np.float32), limit, query.width, None if allowed.all() else allowed
        )
    except UnsupportedFeatureError:  # the library is not installed here
        return _compared(query, rows, probe.splits, RowIds(np.flatnonzero(allowed) + start))
    if query.refine and len(ids):
        return _compared(query, rows, probe.splits, RowIds(ids + start))
    return FoundIds.of(ids + start, scores)


def _open(store: TableStore, file: IndexFileMeta, path: str) -> VectorIndexFile:
    covers = file.global_index
    assert covers is not None
    rows = covers.row_range_end - covers.row_range_start + 1
    return open_vector_index(path, file.index_type, file.file_size, rows, IndexInput(store, path, file.file_size))


def _compared(query: VectorQuery, rows: Rows, splits: Sequence[DataSplit], ids: RowIds) -> FoundIds:
    """Compare the vectors of rows with these ids."""
    return compared_ids(query, rows, [replace(s, row_ids=encode_row_ids(ids)) for s in splits] if ids else [])


def compared_ids(query: VectorQuery, rows: Rows, splits: Sequence[DataSplit]) -> FoundIds:
    """Compare the vectors of the rows of splits. Raises `InvalidDataError`, and the errors of reading."""
    batches = [b for split in splits for b in rows(split, [ROW_ID, query.column])]
    if not batches:
        return FoundIds(b"", b"")
    found = nearest(batches, query, batches[0].schema)
    scores = found.column(SEARCH_SCORE).to_numpy()
    return FoundIds.of(found.column(ROW_ID).to_numpy(), scores)
