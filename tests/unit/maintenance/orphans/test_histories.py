"""Random histories: whatever is done to a table, each remaining version reads the same as when it was made."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from paimon_core.maintenance.orphans.job import OrphanSearch
from paimon_core.maintenance.orphans.search import find_orphans, remove_orphans
from tests.support.histories import FOREVER, History, expire
from tests.support.orphan_tasks import Lost


@pytest.mark.parametrize("seed", range(12))
def test_versions_read_what_they_read_when_they_were_made(tmp_path: Path, seed: int) -> None:
    history = History(tmp_path, random.Random(seed))
    steps = []
    for _ in range(40):
        steps.append(history.step())
        try:
            history.check()
        except Exception as error:
            raise AssertionError(f"after {steps}") from error
        if len(steps) % 8 == 0:
            found = Lost(OrphanSearch(history.fresh(), FOREVER)).files
            assert tuple(sorted(found)) == find_orphans(history.fresh(), FOREVER).paths, steps
    expire(history.fresh(), 1)
    remove_orphans(history.fresh(), FOREVER)
    history.check()
    history.check_clean()
    assert find_orphans(history.fresh(), FOREVER).paths == ()
