"""Writers and upkeep on one table, killed again and again, a small size of `python -m tests.stress`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stress.processes import kill_and_check
from tests.stress.rows import KINDS
from tests.stress.run import Run

# of each of eight writers; the dearer a commit, the fewer
COMMITS = {"append": 50, "keyed": 15, "dynamic": 8, "vectors": 4, "sums": 15}


@pytest.mark.slow
@pytest.mark.parametrize("table", list(KINDS))
def test_nothing_acknowledged_is_lost(tmp_path: Path, table: str) -> None:
    run = Run(folder=tmp_path, table=table, writers=8, commits=COMMITS[table], orphan_age=60)
    killed = kill_and_check(run, kill_every=1)
    assert killed.figures.acknowledged >= 8 * COMMITS[table] and killed.reads > 0
