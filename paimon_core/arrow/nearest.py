"""The rows with the vectors that are nearest to a query vector: exact, by comparing all of them.

A metric gives each vector a score, and the rows with the largest scores are the nearest:

    l2              1 / (1 + squared distance)
    cosine          the cosine of the angle, 0 for a vector of zeros
    inner_product   the sum of the products

Elements are compared as FLOAT. A vector with NaN, infinity or NULL among them has the score NaN, and comes after all
others. Rows with NULL in place of a vector are left out. Source: Java's `VectorSearchMetric`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paimon_core.arrow.columns import int64_array
from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidDataError, InvalidOptionError
from paimon_core.spec.types import VECTOR_ELEMENTS, CollectionType, DataField, Kind, VectorType

SEARCH_SCORE = "__paimon_search_score"
METRICS = ("l2", "cosine", "inner_product")
_BLOCK_BYTES = 2**18  # bytes of vectors that are compared at once: they stay in the processor's cache
_MATRIX = 2**20  # scores that are computed at once for several vectors
_TINY = np.finfo(np.float32).tiny
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class VectorQuery:
    """A search in a column: the vector to look for, the number of rows to return, and the metric.

    If `by_index`, an index with another metric is searched by its own metric. Two settings are for a search in an
    index: `width` is the number of lists or candidates to look at, None for a good number. With `refine`, the vectors
    of `refine` times `limit` candidates are compared."""

    column: str
    vector: tuple[float, ...]
    limit: int
    metric: str = "l2"
    by_index: bool = False
    width: int | None = None
    refine: int = 0

    @staticmethod
    def of(
        field: DataField,
        vector: Sequence[float],
        limit: int,
        given: Mapping[str, str],
        options: Mapping[str, str],
    ) -> VectorQuery:
        """Return a query on a column. `given` are options of the search, `options` are the table's.

        Raises `InvalidOptionError` for a vector, limit or setting that does not fit, and for a column without vectors.
        """
        named = named_metric(field.name, given)
        metric = named or metric_of(field.name, options)
        spelled = spelled_metric(metric)
        if spelled not in METRICS:
            raise InvalidOptionError(f"Metric {metric!r} is unknown: use one of {', '.join(METRICS)}.")
        if limit < 1:
            raise InvalidOptionError(f"A search cannot return {limit} rows: ask for 1 row or more.")
        found = field.type
        is_array = isinstance(found, CollectionType) and found.kind is Kind.ARRAY
        if not is_array or found.element.kind not in VECTOR_ELEMENTS:  # type: ignore[attr-defined]
            raise InvalidOptionError(
                f"Column {field.name!r} of type {found.sql()} has no vectors: search in a VECTOR column or an ARRAY of "
                "numbers."
            )
        try:
            values = np.asarray(vector, dtype=np.float32)
        except (TypeError, ValueError, OverflowError) as e:
            raise InvalidOptionError(f"The vector to search for must be a list of finite numbers ({e}).") from e
        if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
            raise InvalidOptionError("The vector to search for must be a list of finite numbers. Correct it.")
        if isinstance(found, VectorType) and len(values) != found.length:
            raise InvalidOptionError(
                f"The vector to search for has {len(values)} elements, but the vectors of column {field.name!r} have "
                f"{found.length}. Search for a vector of that length."
            )
        width = _number(given, "ivf.nprobe") or _number(given, "diskann.l_search")
        refine = _number(given, "ivf.refine_factor") or 0
        return VectorQuery(field.name, tuple(values.tolist()), limit, spelled, named is None, width, refine)


def _number(given: Mapping[str, str], key: str) -> int | None:
    """Return the positive number in an option, or None if it is not set. The case of keys is ignored. Raises
    `InvalidOptionError`.
    """
    text = next((value.strip() for name, value in given.items() if name.lower() == key), None)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and 0 < int(text) < 2**31):
        raise InvalidOptionError(f"Option '{key}' of a search cannot be {text!r}: use a number of 1 or more.")
    return int(text)


def nearest(batches: Iterable[pa.RecordBatch], query: VectorQuery, schema: pa.Schema) -> pa.Table:
    """Return the nearest rows, the nearest row first, with their scores in the column `SEARCH_SCORE`.

    `schema` are the columns of the batches. Of rows with the same score, earlier rows win. Raises `InvalidDataError`
    for a vector of another length than the query's.
    """
    whole = schema.append(pa.field(SEARCH_SCORE, pa.float32(), nullable=False))
    best = whole.empty_table()
    for batch in batches:
        scores, rows = _scores(batch.column(query.column), query)
        chosen = largest(scores, query.limit)
        if best.num_rows == query.limit:  # later rows must be nearer, and every row is nearer than one with NaN
            chosen = chosen[~(scores[chosen] <= best.column(SEARCH_SCORE)[-1].as_py())]
        if len(chosen):
            more = batch.take(int64_array(rows[chosen]))
            more = pa.Table.from_arrays([*more.columns, pa.array(scores[chosen], pa.float32())], schema=whole)
            best = merged([best, more], query.limit)
    return best


def merged(parts: Sequence[pa.Table], limit: int) -> pa.Table:
    """Return the nearest rows of several results, the nearest row first."""
    rows = pa.concat_tables(parts)
    scores = rows.column(SEARCH_SCORE).to_numpy()
    return rows.take(int64_array(largest(scores, limit))).combine_chunks()


def largest(scores: Floats, limit: int) -> NDArray[np.int64]:
    """Return the positions of the largest scores, the largest first; equal scores in their order, NaN last."""
    if len(scores) > limit:
        bound = np.partition(-scores, limit - 1)[limit - 1]
        candidates = np.arange(len(scores)) if np.isnan(bound) else np.flatnonzero(-scores <= bound)
    else:
        candidates = np.arange(len(scores))
    return candidates[np.argsort(-scores[candidates], kind="stable")[:limit]]


def _scores(column: pa.Array, query: VectorQuery) -> tuple[Floats, NDArray[np.int64]]:
    """Return the score of each vector, and the vector's row. Raises `InvalidDataError`."""
    vector = np.asarray(query.vector, dtype=np.float32)
    values, rows = _valid_vectors(column, query.column, len(vector))
    parts = [scores_of(block, vector, query.metric) for block in _blocks(values)]
    return (np.concatenate(parts) if parts else np.empty(0, np.float32)), rows


def _valid_vectors(column: pa.Array, name: str, length: int) -> tuple[NDArray[np.generic], NDArray[np.int64]]:
    """Return the vectors of a column that are not NULL, as lines, and their rows. A NULL element is NaN.

    Raises `InvalidDataError` for a vector of another length."""
    lengths = pc.list_value_length(column)
    others = lengths.filter(pc.not_equal(lengths, length))
    if len(others):
        raise InvalidDataError(
            f"Column {name!r} has a vector of {others[0].as_py()} elements, but the search is for a vector of "
            f"{length}. Search for a vector of that length, or filter the rows."
        )
    rows = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
    return column.flatten().to_numpy(zero_copy_only=False).reshape(len(rows), length), rows


def _blocks(values: NDArray[np.generic]) -> Iterator[Floats]:
    step = max(1, _BLOCK_BYTES // (4 * values.shape[1]))
    for start in range(0, len(values), step):
        yield _as_floats(values[start : start + step])


def _as_floats(values: NDArray[np.generic]) -> Floats:
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(np.float32, copy=False)


def scores_of(vectors: Floats, query: Floats, metric: str) -> Floats:
    """Return the score of each vector. Where FLOAT is too small for a step, the step has double precision."""
    with np.errstate(over="ignore", invalid="ignore"):
        found, is_right = _float_scores(vectors, query, metric)
    rows = np.flatnonzero(~is_right)
    if len(rows):
        found[rows] = _score_matrix(vectors[rows], query[None, :].astype(np.float64), metric)[0]
    return found


def _float_scores(vectors: Floats, query: Floats, metric: str) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the score of each vector, and whether no step was out of the range of FLOAT."""
    if metric == "l2":
        apart = vectors - query
        near: Floats = np.float32(1) / (np.float32(1) + np.vecdot(apart, apart))
        return near, near > 0
    products: Floats = vectors @ query
    if metric == "inner_product":
        return products, np.isfinite(products)
    squares = np.vecdot(vectors, vectors)
    lengths = np.sqrt(squares) * np.sqrt(query @ query)
    cosines: Floats = np.divide(products, lengths, out=np.zeros_like(products), where=lengths != 0)
    return cosines, (squares > _TINY) & (lengths > _TINY) & np.isfinite(lengths)


def scores_of_distances(distances: Floats, metric: str) -> Floats:
    """Return the scores of distances: the square of the distance, 1 - the cosine, or the negative product."""
    if metric == "l2":
        near: Floats = np.float32(1) / (np.float32(1) + distances)
        return near
    found: Floats = np.float32(1) - distances if metric == "cosine" else -distances
    return found


def metric_of(column: str, *options: Mapping[str, str]) -> str:
    """Return the metric that options set for a column, as `named_metric`; `l2` if none does."""
    return named_metric(column, *options) or METRICS[0]


def named_metric(column: str, *options: Mapping[str, str]) -> str | None:
    """Return the metric that options set for a column, in the order of Java's search without an index; None if none
    does. The options of the search override the options of the table. The case of keys is ignored.
    """
    keys = (f"fields.{column}.distance.metric", f"fields.{column}.metric", "distance.metric", "metric")
    for given in options:
        any_case = {key.lower(): value for key, value in given.items()}
        for key in keys:
            named = given.get(key, any_case.get(key.lower()))
            if named is not None:
                return named
        others = {spelled_metric(v) for k, v in any_case.items() if k.endswith((".distance.metric", ".metric"))}
        known = others.intersection(METRICS)
        if len(known) == 1:
            return known.pop()
    return None


def spelled_metric(metric: str) -> str:
    """Return the name of a metric in its usual spelling."""
    return metric.strip().lower().replace("-", "_")


def nearest_of_each(
    batches: Iterable[pa.RecordBatch], query: VectorQuery, vectors: Floats, schema: pa.Schema
) -> tuple[NDArray[np.int64], pa.Table]:
    """Return the nearest rows of each of several vectors, as `nearest` does for the vector of the query: the numbers of
    rows of the vectors, and the rows in the order of the vectors.

    Products and distances are computed with double precision. Raises `InvalidDataError`.
    """
    found = _NearestOfEach(query, vectors.astype(np.float64), schema)
    for batch in batches:
        found.add(batch)
    return found.result()


class _NearestOfEach:
    """The nearest rows of each vector so far. For each vector, a line of `rows` has the positions of its nearest rows
    in `kept`, and a line of `scores` has their scores.
    """

    def __init__(self, query: VectorQuery, vectors: NDArray[np.float64], schema: pa.Schema) -> None:
        self.query, self.vectors, self.kept = query, vectors, schema.empty_table()
        self.rows: NDArray[np.int64] = np.zeros((len(vectors), 0), np.int64)
        self.scores: Floats = np.zeros((len(vectors), 0), np.float32)

    def add(self, batch: pa.RecordBatch) -> None:
        """Compare the vectors of a batch."""
        values, rows = _valid_vectors(batch.column(self.query.column), self.query.column, self.vectors.shape[1])
        step = max(1, _MATRIX // max(1, len(self.vectors)))
        for start in range(0, len(values), step):
            self._compare(batch, values[start : start + step], rows[start : start + step])

    def _compare(self, batch: pa.RecordBatch, values: NDArray[np.generic], rows: NDArray[np.int64]) -> None:
        scores = _score_matrix(_as_floats(values), self.vectors, self.query.metric)
        at = np.broadcast_to(np.arange(len(rows)) + self.kept.num_rows, scores.shape)
        scores, at = np.hstack([self.scores, scores]), np.hstack([self.rows, at])
        order = np.argsort(-scores, axis=1, kind="stable")[:, : self.query.limit]
        self.scores, chosen = np.take_along_axis(scores, order, 1), np.take_along_axis(at, order, 1)
        used, places = np.unique(chosen, return_inverse=True)
        self.rows = places.reshape(chosen.shape).astype(np.int64)
        new = used >= self.kept.num_rows
        old = self.kept.take(int64_array(used[~new]))
        more = batch.take(int64_array(rows[used[new] - self.kept.num_rows]))
        self.kept = pa.concat_tables([old, pa.Table.from_batches([more], self.kept.schema)]).combine_chunks()

    def result(self) -> tuple[NDArray[np.int64], pa.Table]:
        counts = np.full(len(self.vectors), self.rows.shape[1], np.int64)
        score = pa.field(SEARCH_SCORE, pa.float32(), nullable=False)
        rows = self.kept.take(int64_array(self.rows.ravel()))
        return counts, rows.append_column(score, pa.array(self.scores.ravel(), pa.float32()))


def _score_matrix(floats: Floats, vectors: NDArray[np.float64], metric: str) -> Floats:
    """Return the score of each value, a column, for each vector, a line; NaN for a value with an element that is not a
    finite number.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        values = floats.astype(np.float64)
        products, squares = vectors @ values.T, np.einsum("ij,ij->i", values, values)[None, :]
        if metric == "inner_product":
            found = products
        elif metric == "l2":
            apart = np.einsum("ij,ij->i", vectors, vectors)[:, None] + squares - 2 * products
            found = 1 / (1 + np.maximum(apart, 0))
        else:
            both = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None] * np.sqrt(squares)
            found = np.divide(products, both, out=np.zeros_like(products), where=both != 0)
        scores: Floats = found.astype(np.float32)
    scores[:, ~np.isfinite(squares[0])] = np.nan  # FLOATs have finite squares with double precision
    return scores
