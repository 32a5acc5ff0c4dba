"""Changes that a server may have made although its answer was lost: one error for all catalogs, and one way to find
out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from paimon_core.errors import NotFoundError, StorageError

_T = TypeVar("_T")


class OutcomeUnknown(StorageError):
    """A catalog's server or database received a change and did not answer. It may or may not have made the change."""


def settle(change: Callable[[], _T], is_done: Callable[[], bool]) -> _T | None:
    """Make a change once and return its answer.

    If the answer is lost, `is_done` checks whether the change was made. If so, return None; else raise
    `OutcomeUnknown`. If the check does not find the object, the change was not made."""
    try:
        return change()
    except OutcomeUnknown as lost:
        try:
            done = is_done()
        except NotFoundError:
            raise lost from None
        if not done:
            raise
        return None
