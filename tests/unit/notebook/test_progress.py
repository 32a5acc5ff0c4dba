from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("IPython")

from paimon_sql.notebook import answer  # noqa: E402
from paimon_sql.shell import statement_progress  # noqa: E402
from tests.unit.shell.fakes import FakeTracker  # noqa: E402


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statement_progress, "_FIRST", 0.0)
    monkeypatch.setattr(statement_progress, "_EVERY", 0.01)


def test_a_bar_moves_and_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    shown, moved = list[str](), threading.Event()

    def update(value: Any) -> None:
        shown.append(value.data)
        if len(shown) == 3:
            moved.set()

    def display(value: Any, **_: Any) -> Any:
        shown.append(value.data)
        return SimpleNamespace(update=update)

    class Moving(FakeTracker):
        def getStageInfo(self, number: int) -> Any:
            self.stages[5].numCompletedTasks = min(4, self.stages[5].numCompletedTasks + 1)
            return super().getStageInfo(number)

    monkeypatch.setattr(answer, "display", display)
    with answer.progress_of(SimpleNamespace(statusTracker=Moving), "INSERT INTO t SELECT '<script>'"):
        assert moved.wait(30)
    for value, text in zip((2, 3, 4), shown, strict=False):
        assert f'<progress max="4" value="{value}"' in text and f"INSERT: stage 2 of 3, {value} of 4 tasks" in text
    assert shown[-1] == "" and "script" not in "".join(shown)


def test_without_a_notebook_nothing_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tried, first = list[Any](), threading.Event()

    def display(value: Any, **_: Any) -> None:
        tried.append(value)
        first.set()

    monkeypatch.setattr(answer, "display", display)
    with answer.progress_of(SimpleNamespace(statusTracker=FakeTracker), "SELECT 1"):
        assert first.wait(30)
    assert len(tried) == 1
