"""What is undone where something fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def on_failure(undo: Callable[[], object]) -> Iterator[None]:
    """Call `undo` where the block raises, be it that the task is killed, and raise what it raised."""
    try:
        yield
    except BaseException:
        undo()
        raise
