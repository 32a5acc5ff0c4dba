"""The answers of several searches that are put together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from paimon_core.arrow.nearest import VectorQuery
from paimon_core.errors import InvalidOptionError
from paimon_core.scan.index_search import FoundIds, best
from paimon_core.scan.text_search import HybridQuery, Ranked, ranked
from paimon_core.spec.types import FLOAT, DataField, Kind, VectorType


def found(answer: dict[int, float]) -> FoundIds:
    return FoundIds.of(np.array(list(answer)), np.array(list(answer.values()), np.float32))


@pytest.mark.parametrize(
    ("answers", "limit", "expected"),
    [
        ([{4: 0.5, 7: 0.25}, {4: 0.5, 9: 0.75}], 9, [(9, 0.75), (4, 0.5), (7, 0.25)]),
        ([{4: 0.5, 7: 0.25}, {4: 0.875, 7: 0.125}], 9, [(4, 0.875), (7, 0.25)]),
        ([{1: 1.0, 2: 0.5}, {1: 1.0, 2: 0.5}], 2, [(1, 1.0), (2, 0.5)]),
        ([{8: 0.5, 2: 0.5}, {5: 0.5}], 2, [(8, 0.5), (2, 0.5)]),
        ([{}, {}], 2, []),
        ([], 2, []),
    ],
)
def test_a_row_of_two_index_files_counts_once(answers: list[Any], limit: int, expected: list[Any]) -> None:
    ids, scores = best([found(a) for a in answers], limit)
    assert list(zip(ids.tolist(), scores.tolist(), strict=True)) == expected


@pytest.mark.parametrize("weight", [1e300, float("inf"), float("nan"), 0.0, -1.0, 1e-300])
def test_weights_that_are_no_numbers_of_scores_are_refused(weight: float) -> None:
    field = DataField(id=0, name="v", type=VectorType(Kind.ARRAY, element=FLOAT, length=1))
    query = VectorQuery.of(field, [1.0], 1, {}, {})
    with pytest.raises(InvalidOptionError, match=r"^The weight .* is invalid: use a number from 1e-30 to 1e\+30"):
        HybridQuery.of([(query, weight)], 1, "rrf")


@pytest.mark.parametrize("ranker", ["rrf", "mrr", "weighted_score"])
def test_the_largest_weights_give_scores(ranker: str) -> None:
    answer = Ranked(np.array([1, 2]), np.array([1.0, 0.5], np.float32), 1e30)
    ids, scores = ranked(ranker, [answer] * 8, 2)
    assert ids.tolist() == [1, 2] and np.isfinite(scores).all()
