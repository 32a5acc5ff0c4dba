"""Reducing the steps of groups of all sizes, against loops over the groups."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from paimon_core.lsm.functions.steps import ROUNDS, Groups, Steps

SIZES = {
    "all single": [1] * 5,
    "small": [1, 3, 2, 1, 1, 4, 2],
    "one large": [1, 3, ROUNDS + 9, 1, 2],
    "at the limit": [ROUNDS - 1, ROUNDS, ROUNDS + 1, 1],
    "only large": [5 * ROUNDS],
}


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_groups_are_reduced_as_by_loops(sizes: list[int]) -> None:
    random = np.random.default_rng(len(sizes))
    bounds = np.cumsum([0, *sizes])
    count = int(bounds[-1])
    steps = Steps(random.permutation(count), Groups(bounds[:-1], count))
    parts = [slice(a, b) for a, b in pairwise(bounds.tolist())]
    numbers, mask = random.integers(-9, 9, count), random.random(count) < 0.3
    assert steps.reduced(np.add, numbers).tolist() == [numbers[p].sum() for p in parts]
    assert steps.reduced(np.minimum, numbers).tolist() == [numbers[p].min() for p in parts]
    assert steps.any(mask).tolist() == [mask[p].any() for p in parts]
    assert steps.counts(mask).tolist() == [mask[p].sum() for p in parts]
    chosen = [[i for i in range(p.start, p.stop) if mask[i]] for p in parts]
    assert steps.last(mask).tolist() == [max(found, default=-1) for found in chosen]
    assert steps.first(mask).tolist() == [min(found, default=count) for found in chosen]
    assert steps.of(numbers).tolist() == [numbers[r] for r in steps.rows]
