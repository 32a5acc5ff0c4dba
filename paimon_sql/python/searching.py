"""The rows of a scan with the vectors nearest to another one, or with the texts that match a query best."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.nearest import SEARCH_SCORE, Floats, VectorQuery, merged, nearest
from paimon_core.arrow.types import ROW_ID
from paimon_core.errors import ColumnNotFoundError, InvalidOptionError, reason
from paimon_core.indexes.full_text import TextQuery
from paimon_core.scan.index_search import splits_with, with_scores
from paimon_core.scan.plan import Plan
from paimon_core.scan.text_search import check_has_ids, probe_ids, rest_ids, route_search
from paimon_core.scan.vector_search import indexed_search, search_file
from paimon_core.spec.split import DataSplit
from paimon_core.spec.types import DataField
from paimon_sql.python.reading import RowReader, divided, of_each
from paimon_sql.python.scan import TableScan, scan_fields


def vector_query(
    scan: TableScan,
    column: str,
    vector: Sequence[float],
    k: int,
    metric: str | None,
    options: Mapping[str, str] | None,
) -> VectorQuery:
    """Return the query of `TableScan.nearest`. Raises `ColumnNotFoundError`, `InvalidOptionError`."""
    field = _searched(scan, column)
    given = {**({} if metric is None else {"metric": metric}), **(options or {})}
    return VectorQuery.of(field, vector, k, given, scan.table.store.options.values)


def text_query(scan: TableScan, column: str, query: str | Mapping[str, Any], k: int) -> TextQuery:
    """Return the query of `TableScan.matching`. Raises the errors of `TableScan.matching`."""
    field = _searched(scan, column)
    check_has_ids(scan.table.store, "search_text")
    try:
        text = query if isinstance(query, str) else json.dumps(query)
    except (TypeError, ValueError, RecursionError) as e:
        raise InvalidOptionError(f"A search for texts cannot have this query: {reason(e)}. Give JSON or a dict.") from e
    return TextQuery.of(field, text, k, scan.table.store.options.values)


def _searched(scan: TableScan, column: str) -> DataField:
    field = next((f for f in scan_fields(scan.table, scan.derived) if f.name == column), None)
    if field is None:
        raise ColumnNotFoundError(
            f"Table {scan.table.name} has no column {column!r} to search in. Name one of its columns."
        )
    if scan.limit is not None:
        raise InvalidOptionError(f"A scan with limit {scan.limit} cannot be searched: give the number of rows as k.")
    return field


def compared_rows(scan: TableScan, query: VectorQuery, asked: Sequence[str]) -> pa.Table:
    """Return the requested columns of the nearest rows of a scan. The scan must also have the column of the vectors."""
    return _nearest_of(scan._plan.splits, scan._reader, query).select([*asked, SEARCH_SCORE])


def _nearest_of(splits: Sequence[DataSplit], reader: RowReader, query: VectorQuery) -> pa.Table:
    """Return the nearest rows of splits. Each thread compares the vectors that it reads."""
    threads, empty = pa.cpu_count(), nearest((), query, reader.schema)
    parts = of_each(reader, divided(splits, threads), threads, lambda rows: nearest(rows, query, reader.schema))
    return merged([empty, *parts], query.limit)


def indexed_rows(
    scan: TableScan, plan: Plan, reader: RowReader, query: VectorQuery, asked: Sequence[str], *, has_condition: bool
) -> pa.Table:
    """Return the requested columns of the nearest rows of a scan. Use indexes for the rows that they cover."""
    found = indexed_search(scan.table.store, plan, query)
    compared = _nearest_of(found.rest, reader, found.query).select([*asked, SEARCH_SCORE])
    if not found.probes:
        return compared

    rows = partial(_rows, scan, reader)
    with ThreadPoolExecutor(pa.cpu_count()) as pool:
        search = partial(search_file, scan.table.store, found.query, rows, has_condition)
        ids, scores = found.chosen(list(pool.map(search, found.probes)))
    indexed = _with_scores(scan, reader, found.splits_of(ids), asked, ids, scores)
    return merged([compared, indexed.select(compared.schema.names).cast(compared.schema)], query.limit)


def matching_rows(
    scan: TableScan, plan: Plan, reader: RowReader, query: TextQuery, asked: Sequence[str], *, has_condition: bool
) -> pa.Table:
    """Return the requested columns of the rows with the texts that match best. Use indexes for the rows that they
    cover.
    """
    store, rows = scan.table.store, partial(_rows, scan, reader)
    found = route_search(store, plan, query)
    with ThreadPoolExecutor(pa.cpu_count()) as pool:
        probed = list(pool.map(partial(probe_ids, store, found.query, rows, has_condition), found.probes))
        others = list(pool.map(partial(rest_ids, found.query, rows), found.rest))
    ids, scores = found.chosen([*probed, *others])
    matching = _with_scores(scan, reader, splits_with(plan.splits, ids), asked, ids, scores)
    return merged([matching.select([*asked, SEARCH_SCORE])], query.limit)


def _rows(scan: TableScan, reader: RowReader, split: DataSplit, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield columns of the rows of a split that satisfy the condition of a scan."""
    return replace(reader, schema=replace(scan, columns=tuple(names)).schema).batches(split)


def _with_scores(
    scan: TableScan,
    reader: RowReader,
    splits: Sequence[DataSplit],
    asked: Sequence[str],
    ids: NDArray[np.int64],
    scores: Floats,
) -> pa.Table:
    """Return the requested columns of the rows with these ids, with their scores. `splits` contain the rows."""
    names = [*(c for c in asked if c != ROW_ID), ROW_ID]
    batches = [b for split in splits for b in _rows(scan, reader, split, names)]
    return with_scores(pa.Table.from_batches(batches, replace(scan, columns=tuple(names)).schema), ids, scores)
