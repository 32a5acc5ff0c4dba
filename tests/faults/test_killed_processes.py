"""Writers and upkeep on one table, killed again and again, a small size of `python -m tests.stress`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stress.processes import kill_and_check
from tests.stress.rows import KINDS
from tests.stress.run import Run

# the dearer a commit, the fewer
COMMITS = {"append": 400, "keyed": 120, "dynamic": 64, "vectors": 32, "sums": 120}


@pytest.mark.slow
@pytest.mark.parametrize("table", list(KINDS))
def test_nothing_acknowledged_is_lost(tmp_path: Path, table: str) -> None:
    run = Run(folder=tmp_path, table=table, writers=8, commits=COMMITS[table], orphan_age=60)
    killed = kill_and_check(run, kill_every=1)
    assert killed.figures.acknowledged >= COMMITS[table] and killed.reads > 0
