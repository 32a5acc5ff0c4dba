"""What is undone where something fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from paimon_core.errors import CommitUnknownError, PaimonError


@contextmanager
def on_failure(undo: Callable[[], object]) -> Iterator[None]:
    """Call `undo` where the block raises, be it that the task is killed, and raise what it raised."""
    try:
        yield
    except BaseException:
        undo()
        raise


@contextmanager
def on_certain_failure(undo: Callable[[], object], *more: type[Exception]) -> Iterator[None]:
    """Call `undo` where a block that commits raises a `PaimonError`, or one of `more`, and raise what it raised.

    Not for `CommitUnknownError`: the commit may be visible then, and needs what was written. Nor for any other
    exception, which may come from anywhere in the commit.
    """
    certain: tuple[type[Exception], ...] = (PaimonError, *more)
    try:
        yield
    except CommitUnknownError:
        raise
    except certain:
        undo()
        raise
