"""List the versions of a table while the table is being opened. A statement that plans right after that needs no other
listing.

The listing is part of the opened table. So it begins after the statement has begun, and sees all earlier commits. It is
valid only for a short time, less than a commit's chain of requests takes. So if a program opens a table, starts another
program, waits for that program's commit, and reads the table, it sees this commit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TypeVar

from paimon_core.errors import PaimonError
from paimon_core.io.file_io import FileIO, FileStatus
from paimon_core.io.side_by_side import both, outcome_of
from paimon_core.spec.paths import TablePaths, parse_snapshot_id
from paimon_core.store.cache import MetadataCache

T = TypeVar("T")
MOST_LISTED = 300  # versions: a longer listing takes more time than two small reads
_REQUESTS = 4  # a look counts for the time of so many requests; each commit takes more, one after the other
_LONGEST = 0.25  # seconds
Listed = Mapping[int, FileStatus]


class EarlyLook:
    """The listed versions of the table or branch at `root`, for one reader. `known` is the latest version that the
    session knew before; if the session has committed since, the look is outdated.
    """

    def __init__(self, root: str, known: int, began: float, listed: Listed) -> None:
        self._root, self._known, self._left = root, known, [listed]
        self._until = began + min(_LONGEST, _REQUESTS * (time.monotonic() - began))

    def take(self, root: str, known: int) -> Listed | None:
        """Return the versions, once; None if the look is outdated."""
        if (root, known) != (self._root, self._known) or time.monotonic() > self._until:
            return None
        try:
            return self._left.pop()
        except IndexError:
            return None


def listed_versions(io: FileIO, paths: TablePaths) -> Listed:
    """Return the files of all versions of a table or branch, by their numbers."""
    return {n: f for f in io.list(paths.snapshot_dir) if (n := parse_snapshot_id(f.name)) is not None}


def may_list(cache: MetadataCache, root: str) -> bool:
    """Return whether one listing shows the latest version of a table: the storage gives tags of files, and the table
    has few versions.
    """
    return 0 < (cache.version_counts.get(root) or 0) <= MOST_LISTED


def with_early_look(io: FileIO, root: str, cache: MetadataCache, act: Callable[[], T]) -> tuple[T, EarlyLook | None]:
    """Call `act`, which opens the table at `root`. If the session knows the table, list its versions in parallel."""
    known = cache.latest_numbers.get(root)
    if io.requests_at_once < 2 or known is None or not may_list(cache, root):
        return act(), None
    began = time.monotonic()
    result, listed = both(io, act, partial(outcome_of, partial(listed_versions, io, TablePaths(root))))
    with suppress(OSError, PaimonError):  # the reader looks again, and gets the error
        return result, EarlyLook(root, known, began, listed())
    return result, None
