"""The rows of a scan with the vectors nearest to another one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import pyarrow as pa

from paimon_core.arrow.nearest import SEARCH_SCORE, VectorQuery, merged, nearest
from paimon_core.arrow.types import ROW_ID
from paimon_core.errors import ColumnNotFoundError, InvalidOptionError
from paimon_core.scan.index_search import with_scores
from paimon_core.scan.plan import Plan
from paimon_core.scan.splits import spread
from paimon_core.scan.vector_search import indexed_search, search_file
from paimon_core.spec.split import DataSplit
from paimon_sql.python.reading import RowReader, in_order
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
    field = next((f for f in scan_fields(scan.table, scan.derived) if f.name == column), None)
    if field is None:
        raise ColumnNotFoundError(f"Table {scan.table.name} has no column {column!r} to search in.")
    if scan.limit is not None:
        raise InvalidOptionError(f"A scan with limit {scan.limit} cannot be searched: give the number of rows as k.")
    given = {**({} if metric is None else {"metric": metric}), **(options or {})}
    return VectorQuery.of(field, vector, k, given, scan.table.store.options.values)


def compared_rows(scan: TableScan, query: VectorQuery, asked: Sequence[str]) -> pa.Table:
    """Return the asked columns of the nearest rows of a scan, which has the column of the vectors, too."""
    return nearest(scan.to_batches(), query, scan.schema).select([*asked, SEARCH_SCORE])


def indexed_rows(
    scan: TableScan, plan: Plan, reader: RowReader, query: VectorQuery, asked: Sequence[str], *, has_condition: bool
) -> pa.Table:
    """Return the asked columns of the nearest rows of a scan, by indexes where they cover the rows."""
    found = indexed_search(scan.table.store, plan, query)
    splits = list(spread(found.rest, pa.cpu_count()))
    compared = nearest(in_order(reader, splits, pa.cpu_count()), found.query, scan.schema)
    compared = compared.select([*asked, SEARCH_SCORE])
    if not found.probes:
        return compared

    def rows(split: DataSplit, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        return replace(reader, schema=replace(scan, columns=tuple(names)).schema).batches(split)

    with ThreadPoolExecutor(pa.cpu_count()) as pool:
        search = partial(search_file, scan.table.store, found.query, rows, has_condition)
        ids, scores = found.chosen(list(pool.map(search, found.probes)))
    names = [*(c for c in asked if c != ROW_ID), ROW_ID]
    batches = [b for split in found.splits_of(ids) for b in rows(split, names)]
    schema = replace(scan, columns=tuple(names)).schema
    indexed = with_scores(pa.Table.from_batches(batches, schema), ids, scores)
    return merged([compared, indexed.select(compared.schema.names).cast(compared.schema)], query.limit)
