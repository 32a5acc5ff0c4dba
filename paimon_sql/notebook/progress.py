"""A bar for the tasks of a statement that takes longer than a second."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from IPython.display import HTML, ProgressBar, display

_FIRST, _EVERY = 1.0, 0.3  # seconds


@contextmanager
def progress_of(context: Any) -> Iterator[None]:
    """Shows, while the block lasts, how many tasks of the active stages are done; nothing stays."""
    ended = threading.Event()
    thread = threading.Thread(target=_show, args=(context.statusTracker(), ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(5)


def _show(tracker: Any, ended: threading.Event) -> None:
    if ended.wait(_FIRST):
        return
    bar = handle = None
    while not ended.is_set():
        done, total = tasks(tracker)
        if total:
            bar = bar or ProgressBar(total)
            bar.total, bar._progress = total, done  # its setter would display it again
            handle = handle or display(bar, display_id=True)
            if handle is None:  # not in a notebook
                return
            handle.update(bar)
        ended.wait(_EVERY)
    if handle is not None:
        handle.update(HTML(""))


def tasks(tracker: Any) -> tuple[int, int]:
    """The tasks of the active stages that are done, and all of them."""
    stages = [stage for number in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(number)) is not None]
    return sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)
