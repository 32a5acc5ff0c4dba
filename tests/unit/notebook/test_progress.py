from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("IPython")

from paimon_sql.notebook import answer  # noqa: E402


def test_tasks_of_active_stages() -> None:
    stages = {1: SimpleNamespace(numTasks=4, numCompletedTasks=1), 2: SimpleNamespace(numTasks=6, numCompletedTasks=2)}
    tracker = SimpleNamespace(getActiveStageIds=lambda: [1, 2, 3], getStageInfo=stages.get)
    assert answer.tasks(tracker) == (3, 10)


def test_a_bar_moves_and_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    handle = SimpleNamespace(update=lambda value: shown.append(getattr(value, "progress", "nothing")))
    monkeypatch.setattr(answer, "display", lambda *_, **__: handle)
    monkeypatch.setattr(answer, "_FIRST", 0.0)
    monkeypatch.setattr(answer, "_EVERY", 0.01)
    stage = SimpleNamespace(numTasks=4, numCompletedTasks=0)

    def stage_info(_: int) -> Any:
        stage.numCompletedTasks = min(4, stage.numCompletedTasks + 1)
        return stage

    tracker = SimpleNamespace(getActiveStageIds=lambda: [1], getStageInfo=stage_info)
    with answer.progress_of(SimpleNamespace(statusTracker=lambda: tracker)):
        deadline = time.monotonic() + 10
        while len(shown) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert shown[:3] == [1, 2, 3] and shown[-1] == "nothing"
