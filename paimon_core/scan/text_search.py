"""Search for texts by full-text indexes, and combine the scores of several searches.

Rows without an index are searched by a temporary index, or left out with `full-text-index.search-mode` = `fast`. Rows
are found by their ids: the table must have data evolution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.nearest import Floats, VectorQuery, largest
from paimon_core.arrow.types import ROW_ID
from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError, UnfamiliarFormError, UnsupportedFeatureError
from paimon_core.indexes.full_text import FULL_TEXT, TextQuery, search_full_text, search_texts
from paimon_core.options import (
    DATA_EVOLUTION,
    FULL_TEXT_SEARCH_MODE,
    GLOBAL_INDEX_ENABLED,
    GLOBAL_INDEX_SEARCH_MODE,
)
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
from paimon_core.scan.vector_search import compared_ids, indexed_search, search_file
from paimon_core.spec.index_manifest import IndexManifestEntry
from paimon_core.spec.json_object import decode_json_object
from paimon_core.spec.split import DataSplit
from paimon_core.store.indexes.global_indexes import IndexInput, covered
from paimon_core.store.table_store import TableStore

RANKERS = ("rrf", "weighted_score", "mrr")
_RRF_RANKS = np.float32(60)
# A FLOAT can hold larger weights, but their sums would be infinite.
_LEAST_WEIGHT, _LARGEST_WEIGHT = 1e-30, 1e30
Query = VectorQuery | TextQuery


@dataclass(frozen=True)
class HybridQuery:
    """Several searches, each with the weight of its scores, the number of rows to return, and how to rank them."""

    routes: tuple[tuple[Query, float], ...]
    limit: int
    ranker: str

    @staticmethod
    def of(routes: Sequence[tuple[Query, float]], limit: int, ranker: str) -> HybridQuery:
        """Return a query. Raises `InvalidOptionError`."""
        spelled = ranker.strip().lower() or RANKERS[0]
        if spelled not in RANKERS:
            raise InvalidOptionError(f"Ranker {ranker!r} is unknown: use one of {', '.join(RANKERS)}.")
        if not routes:
            raise InvalidOptionError("A hybrid search needs a search for a vector or for texts: it has none.")
        if limit < 1:
            raise InvalidOptionError(f"A search cannot return {limit} rows: ask for 1 row or more.")
        for _, weight in routes:
            if not _LEAST_WEIGHT <= weight <= _LARGEST_WEIGHT:
                raise InvalidOptionError(
                    f"The weight {weight} of a search is invalid: use a number from {_LEAST_WEIGHT:g} to "
                    f"{_LARGEST_WEIGHT:g}."
                )
        return HybridQuery(tuple(routes), limit, spelled)


@dataclass(frozen=True, slots=True)
class Ranked:
    """The rows that one search found, and the weight of their scores."""

    ids: NDArray[np.int64]
    scores: Floats
    weight: float


def check_has_ids(store: TableStore, function: str) -> None:
    """Raise `UnsupportedFeatureError` if a table has no row ids to search by."""
    if not store.options[DATA_EVOLUTION]:
        raise UnsupportedFeatureError(
            f"{function} cannot search table {store.name}: it finds rows by ids, so that the table must have "
            f"'{DATA_EVOLUTION.key}' = 'true'. vector_search searches other tables, too."
        )


def route_search(store: TableStore, plan: Plan, query: Query) -> IndexedSearch[Query]:
    """Divide a search in a plan between indexes of the column and the rows without an index.

    Raises `CorruptFileError`, `DataFileMissingError`, `StorageError`."""
    found = indexed_search(store, plan, query) if isinstance(query, VectorQuery) else _text_search(store, plan, query)
    return IndexedSearch[Query](found.query, found.probes, found.rest)


def probe_ids(store: TableStore, query: Query, rows: Rows, has_condition: bool, probe: IndexProbe) -> FoundIds:
    """Return the best rows that a file of an index covers; see `search_file` and `search_full_text`."""
    if isinstance(query, VectorQuery):
        return search_file(store, query, rows, has_condition, probe)
    start, end = probe.span
    allowed = allowed_rows(store, rows, has_condition, probe)
    fetch = IndexInput(store, probe.path, probe.file.file_size)
    chosen = None if allowed.all() else allowed
    ids, scores = search_full_text(probe.path, probe.file.file_size, end - start, fetch, query, chosen)
    return FoundIds.of(ids + start, scores)


def rest_ids(query: Query, rows: Rows, split: DataSplit) -> FoundIds:
    """Return the best rows of a split without an index. Raises the errors of reading, and of `search_texts`."""
    if isinstance(query, VectorQuery):
        return compared_ids(query, rows, [split])
    batches = list(rows(split, [ROW_ID, query.column]))
    if not batches:
        return FoundIds(b"", b"")
    table = pa.Table.from_batches(batches)
    positions, scores = search_texts(query, table.column(query.column))
    return FoundIds.of(table.column(ROW_ID).to_numpy()[positions], scores)


def ranked(ranker: str, found: Sequence[Ranked], limit: int) -> tuple[NDArray[np.int64], Floats]:
    """Combine the answers of several searches. Return the ids and scores of the best rows, the best first. If scores
    are equal, the smaller id is first.

        rrf             the sum of weight / (60 + rank), where the first rank is 1
        mrr             the sum of weight / rank
        weighted_score  the sum of weight * score, with the scores of a search scaled to 0 up to 1

    Source: Java's `HybridSearchRanker`.
    """
    ids = np.unique(np.concatenate([f.ids for f in found] or [np.zeros(0, np.int64)]))
    total: Floats = np.zeros(len(ids), dtype=np.float32)
    for of in found:
        if len(of.ids):
            total[np.searchsorted(ids, of.ids)] += _shares(ranker, of)
    chosen = largest(total, limit)
    return ids[chosen], total[chosen]


def _shares(ranker: str, found: Ranked) -> Floats:
    """Return the share of each row in the score of a search, in the arithmetic of Java."""
    weight = np.float32(found.weight)
    if ranker == "weighted_score":
        low, high = found.scores.min(), found.scores.max()
        ones: Floats = np.ones(len(found.scores), dtype=np.float32)
        return weight * ((found.scores - low) / (high - low) if high > low else ones)
    ranks: Floats = np.empty(len(found.ids), dtype=np.float32)
    ranks[np.lexsort((found.ids, -found.scores))] = np.arange(1, len(found.ids) + 1, dtype=np.float32)
    shares: Floats = weight / (ranks if ranker == "mrr" else ranks + _RRF_RANKS)
    return shares


def _text_search(store: TableStore, plan: Plan, query: TextQuery) -> IndexedSearch[TextQuery]:
    options, field = store.options, store.schema.field_by_name.get(query.column)
    usable = options[GLOBAL_INDEX_ENABLED] and plan.snapshot is not None and field is not None
    if not usable or field is None or not plan.splits or any(s.branch for s in plan.splits):
        return IndexedSearch(query, (), plan.splits)
    entries = entries_by_type(store, plan, field, (FULL_TEXT,)).get(FULL_TEXT, [])
    if not entries:
        return IndexedSearch(query, (), plan.splits)
    is_fast = (options[FULL_TEXT_SEARCH_MODE] or options[GLOBAL_INDEX_SEARCH_MODE]) == FAST
    rest = () if is_fast else not_covered(plan.splits, entries)
    if rest:  # words are found as in the index
        query = replace(query, settings=_settings(store, entries))
    return IndexedSearch(query, probes_of(store, plan.splits, entries), rest)


def _settings(store: TableStore, entries: Sequence[IndexManifestEntry]) -> tuple[tuple[str, str], ...]:
    """Return the settings of the index file with the most rows."""
    largest_file = max(entries, key=lambda e: sum(end - start for start, end in covered([e.file])))
    meta = largest_file.file.global_index
    path = path_of(store, largest_file)
    found = decode_json_object(path, meta.index_meta) if meta is not None and meta.index_meta else {}
    if not all(isinstance(value, str) for value in found.values()):
        raise UnfamiliarFormError(path, "as an index of texts, its settings are not texts")
    return tuple(sorted(found.items()))
