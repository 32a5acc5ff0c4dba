"""The nearest vectors, by a model in plain Python."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.arrow.nearest import METRICS, SEARCH_SCORE, VectorQuery, merged, nearest, nearest_of_each
from paimon_core.errors import InvalidDataError, InvalidOptionError
from paimon_core.spec.types import DOUBLE, FLOAT, INT, STRING, CollectionType, DataField, DataType, Kind, VectorType

PAIR = DataField(id=1, name="v", type=VectorType(Kind.ARRAY, element=FLOAT, length=2))
SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.list_(pa.float32()))])
NUMBERS = st.integers(-8, 8).map(lambda n: n / 4)  # exact in 32 bits, as are their products
PAIRS = st.tuples(NUMBERS, NUMBERS)


def of(field: DataField, vector: Sequence[float], limit: int, metric: str) -> VectorQuery:
    return VectorQuery.of(field, vector, limit, {"metric": metric}, {})


def score(metric: str, one: Sequence[float], other: Sequence[float]) -> float:
    product = sum(a * b for a, b in zip(one, other, strict=True))
    if metric == "inner_product":
        return product
    if metric == "l2":
        return 1 / (1 + sum((a - b) ** 2 for a, b in zip(one, other, strict=True)))
    lengths = math.hypot(*one) * math.hypot(*other)
    return product / lengths if lengths else 0.0


def batches_of(rows: list[tuple[int, object]], size: int) -> list[pa.RecordBatch]:
    parts = [rows[i : i + size] for i in range(0, len(rows), size)]
    return [pa.record_batch([[k for k, _ in p], pa.array([v for _, v in p], SCHEMA.types[1])], SCHEMA) for p in parts]


@pytest.mark.parametrize("metric", METRICS)
@given(
    vectors=st.lists(st.none() | PAIRS, max_size=12),
    target=PAIRS,
    limit=st.integers(1, 5),
    size=st.integers(1, 5),
)
def test_a_model(
    metric: str, vectors: list[tuple[float, float] | None], target: tuple[float, float], limit: int, size: int
) -> None:
    query = of(PAIR, target, limit, metric)
    found = nearest(batches_of(list(enumerate(vectors)), size), query, SCHEMA)
    known = [(k, score(metric, v, target)) for k, v in enumerate(vectors) if v is not None]
    expected = sorted(known, key=lambda row: -row[1])[:limit]
    assert found.schema.names == ["k", "v", SEARCH_SCORE]
    scores = found.column(SEARCH_SCORE).to_pylist()
    assert scores == pytest.approx([s for _, s in expected], rel=1e-5, abs=1e-6)
    by_row = dict(known)
    assert [by_row[k] for k in found.column("k").to_pylist()] == pytest.approx(scores, rel=1e-5, abs=1e-6)
    if metric != "cosine":  # these scores are exact, so that ties are ties
        assert found.column("k").to_pylist() == [k for k, _ in expected]


def test_results_of_parts_are_merged() -> None:
    rows = [(k, [float(k), 0.0]) for k in range(100)]
    query = of(PAIR, [40.0, 0.0], 3, "L2")
    parts = [nearest(batches_of(rows[i::3], 10), query, SCHEMA) for i in range(3)]
    assert sorted(merged(parts, 3).column("k").to_pylist()) == [39, 40, 41]
    assert merged(parts, 3).column(SEARCH_SCORE).to_pylist() == [1.0, 0.5, 0.5]


def test_many_vectors_equal_a_matrix_product() -> None:
    made = np.random.default_rng(7).standard_normal((5000, 64)).astype(np.float32)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(made.ravel()), 64).cast(SCHEMA.types[1])
    batch = pa.record_batch([pa.array(range(5000)), vectors], SCHEMA)
    field = DataField(id=1, name="v", type=VectorType(Kind.ARRAY, element=FLOAT, length=64))
    found = nearest([batch.slice(0, 1234), batch.slice(1234)], of(field, made[7], 10, "inner-product"), SCHEMA)
    expected = np.argsort(-(made @ made[7]), kind="stable")[:10]
    assert found.column("k").to_pylist() == expected.tolist()


def test_vectors_of_nan_are_last_and_doubles_are_compared() -> None:
    schema = pa.schema([("v", pa.list_(pa.float64()))])
    batch = pa.record_batch([pa.array([[math.nan, 1.0], [3.0, 4.0], [None, 1.0]], schema.types[0])], schema)
    field = DataField(id=1, name="v", type=CollectionType(Kind.ARRAY, element=DOUBLE))
    found = nearest([batch], of(field, [3, 4], 2, "cosine"), schema)
    assert found.column(SEARCH_SCORE).to_pylist()[0] == pytest.approx(1.0)
    assert math.isnan(found.column(SEARCH_SCORE).to_pylist()[1])


def test_vectors_of_nan_make_room_for_later_batches() -> None:
    schema = pa.schema([("v", pa.list_(pa.float64()))])
    batches = [pa.record_batch([pa.array([v], schema.types[0])], schema) for v in ([math.nan, 1.0], [3.0, 4.0])]
    field = DataField(id=1, name="v", type=CollectionType(Kind.ARRAY, element=DOUBLE))
    for order in (batches, batches[::-1]):
        found = nearest(order, of(field, [3, 4], 1, "l2"), schema)
        assert found.column(SEARCH_SCORE).to_pylist() == [1.0]


def test_settings_of_a_search_are_numbers() -> None:
    for text in ("0", "-1", "many", "1" * 5_000):
        with pytest.raises(InvalidOptionError, match=r"'ivf\.nprobe' of a search cannot be"):
            VectorQuery.of(PAIR, [1, 2], 1, {"ivf.nprobe": text}, {})


@pytest.mark.parametrize(
    ("data_type", "vector", "limit", "metric", "said"),
    [
        (PAIR.type, [1, 2], 1, "manhattan", "'manhattan' is unknown: use one of l2, cosine, inner_product"),
        (PAIR.type, [1, 2], 0, "l2", "cannot return 0 rows"),
        (PAIR.type, [1, 2, 3], 1, "l2", "has 3 elements, but the vectors of column 'v' have 2"),
        (PAIR.type, [1, math.inf], 1, "l2", "finite numbers"),
        (PAIR.type, [], 1, "l2", "finite numbers"),
        (INT, [1], 1, "l2", "'v' of type INT has no vectors"),
        (CollectionType(Kind.ARRAY, element=STRING), [1], 1, "l2", "has no vectors"),
        (CollectionType(Kind.MULTISET, element=INT), [1], 1, "l2", "has no vectors"),
    ],
    ids=str,
)
def test_what_cannot_be_searched(data_type: DataType, vector: list[float], limit: int, metric: str, said: str) -> None:
    with pytest.raises(InvalidOptionError, match=said):
        of(DataField(id=1, name="v", type=data_type), vector, limit, metric)


def test_arrays_of_another_length_are_named() -> None:
    field = DataField(id=1, name="v", type=CollectionType(Kind.ARRAY, element=FLOAT))
    query = of(field, [1, 2], 1, "l2")
    with pytest.raises(InvalidDataError, match="'v' has a vector of 1 elements, but the search is for a vector of 2"):
        nearest(batches_of([(1, [1.0, 2.0]), (2, [1.0])], 5), query, SCHEMA)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("limit", [1, 3, 40])
def test_the_nearest_rows_of_each_vector(metric: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search for several vectors finds the rows that a search for each finds, in blocks of any size."""
    random = np.random.default_rng(5)
    values, vectors = random.standard_normal((30, 4)), random.standard_normal((7, 4)).astype(np.float32)
    rows = [{"k": k, "v": None if k % 7 == 3 else v} for k, v in enumerate(values.tolist())]
    schema = pa.schema([("k", pa.int64()), ("v", pa.list_(pa.float32()))])
    batches = pa.Table.from_pylist(rows, schema).to_batches(max_chunksize=11)
    for block in (2**20, 7, 50):
        monkeypatch.setattr("paimon_core.arrow.nearest._MATRIX", block)
        asked = VectorQuery("v", (0.0,) * 4, limit, metric)
        counts, found = nearest_of_each(batches, asked, vectors, schema)
        assert counts.tolist() == [min(limit, 26)] * 7
        for number, vector in enumerate(vectors):
            alone = nearest(batches, VectorQuery("v", tuple(vector.tolist()), limit, metric), schema)
            part = found.slice(number * counts[0], counts[0])
            assert part.column("k").to_pylist() == alone.column("k").to_pylist()
            assert part.column(SEARCH_SCORE).to_pylist() == pytest.approx(
                alone.column(SEARCH_SCORE).to_pylist(), rel=1e-5, abs=1e-6
            )
    counts, found = nearest_of_each([], asked, vectors, schema)
    assert counts.tolist() == [0] * 7 and found.num_rows == 0
    counts, found = nearest_of_each(batches, asked, vectors[:0], schema)
    assert counts.tolist() == [] and found.num_rows == 0


ODD = [[math.nan, 1.0], [math.inf, 0.0], [-math.inf, math.inf], [None, 1.0], [1e300, 0.0]]  # not finite as FLOAT
LARGE = [[3e38, 3e38], [-1e30, 1e30], [1e-30, 0.0], [1.0, 2.0], [0.0, 0.0], [1e20, -1e20]]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("target", [(1.0, 2.0), (10.0, -10.0), (1e-30, 1e-30), (1e30, 1e30), (0.0, 0.0)])
def test_one_rule_for_elements_that_are_not_finite_and_for_large_ones(metric: str, target: tuple[float, float]) -> None:
    """A search for one vector and a search for several give the same scores and rows: NaN is last."""
    schema = pa.schema([("k", pa.int64()), ("v", pa.list_(pa.float64()))])
    rows = [{"k": k, "v": v} for k, v in enumerate([*ODD, *LARGE])]
    batches = pa.Table.from_pylist(rows, schema).to_batches(max_chunksize=4)
    query = VectorQuery("v", target, len(rows), metric)
    alone = nearest(batches, query, schema)
    counts, of_each = nearest_of_each(batches, query, np.array([target, target], np.float32), schema)
    assert counts.tolist() == [len(rows)] * 2
    scores = alone.column(SEARCH_SCORE).to_pylist()
    assert alone.column("k").to_pylist()[-len(ODD) :] == list(range(len(ODD)))
    assert [math.isnan(s) for s in scores] == [False] * len(LARGE) + [True] * len(ODD)
    with np.errstate(over="ignore"):
        narrow, aim = np.array(LARGE, np.float32).tolist(), np.array(target, np.float32).tolist()
        expected = [float(np.float32(score(metric, v, aim))) for v in narrow]
    by_row = dict(zip(alone.column("k").to_pylist(), scores, strict=True))
    assert [by_row[len(ODD) + i] for i in range(len(LARGE))] == pytest.approx(expected, rel=1e-5, abs=1e-6)
    for start in (0, len(rows)):
        part = of_each.slice(start, len(rows))
        assert sorted(part.column("k").to_pylist()[: len(LARGE)]) == list(range(len(ODD), len(rows)))
        assert part.column("k").to_pylist()[len(LARGE) :] == list(range(len(ODD)))
        found = dict(zip(part.column("k").to_pylist(), part.column(SEARCH_SCORE).to_pylist(), strict=True))
        assert found == pytest.approx(by_row, rel=1e-5, abs=1e-6, nan_ok=True)


def test_vectors_of_other_lengths_and_without_values_in_searches_for_several() -> None:
    schema = pa.schema([("v", pa.list_(pa.float32()))])
    asked, vectors = VectorQuery("v", (0.0, 0.0), 2), np.zeros((3, 2), np.float32)
    batch = pa.RecordBatch.from_pylist([{"v": [1.0, None]}, {"v": [9.0, 0.0]}, {"v": None}], schema)
    _, found = nearest_of_each([batch], asked, vectors, schema)
    assert found.column("v").to_pylist() == [[9.0, 0.0], [1.0, None]] * 3
    with pytest.raises(InvalidDataError, match="has a vector of 1 elements, but the search is for a vector of 2"):
        nearest_of_each([pa.RecordBatch.from_pylist([{"v": [1.0]}], schema)], asked, vectors, schema)
