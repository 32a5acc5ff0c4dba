"""Undo steps after a failure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from paimon_core.errors import CommitUnknownError, PaimonError


@contextmanager
def on_failure(undo: Callable[[], object]) -> Iterator[None]:
    """Call `undo` if the block raises any exception, even if the task is killed, and raise the exception again."""
    try:
        yield
    except BaseException:
        undo()
        raise


@contextmanager
def on_certain_failure(undo: Callable[[], object], *more: type[Exception]) -> Iterator[None]:
    """Call `undo` if a block that commits raises a `PaimonError` or one of `more`, and raise the error again.

    `CommitUnknownError` does not call `undo`: the commit may be visible and need the written files. Any other exception
    does not call it either, because it may come from anywhere in the commit.
    """
    certain: tuple[type[Exception], ...] = (PaimonError, *more)
    try:
        yield
    except CommitUnknownError:
        raise
    except certain:
        undo()
        raise
