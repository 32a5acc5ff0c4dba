"""The commits of this process that failed because of a conflict, by table and by the version that they conflicted with.

A failed commit leaves no trace in its table. Pictures of commits show these counts. They exist in memory only, until
the process ends.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Mapping

_MOST_TABLES = 1000
_MOST_VERSIONS = 1000


class SeenConflicts:
    """Counts of conflicts. Safe for threads. It keeps the tables with the latest conflicts, and the latest versions of
    each. Pickled counts become the counts of the other process.
    """

    def __init__(self) -> None:
        self._tables: OrderedDict[str, Counter[str]] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, table: str, version: str) -> None:
        """Count a commit to a table that conflicted with a version, which is named by `Snapshot.identity`."""
        with self._lock:
            seen = self._tables.setdefault(table, Counter())
            self._tables.move_to_end(table)
            seen[version] = seen.pop(version, 0) + 1  # the newest is last
            if len(seen) > _MOST_VERSIONS:
                del seen[next(iter(seen))]
            if len(self._tables) > _MOST_TABLES:
                self._tables.popitem(last=False)

    def of_table(self, table: str) -> Mapping[str, int]:
        """Return the number of conflicts of a table by versions."""
        with self._lock:
            return dict(self._tables.get(table, {}))

    def __reduce__(self) -> tuple[object, tuple[()]]:
        return _conflicts_of_process, ()


CONFLICTS = SeenConflicts()


def _conflicts_of_process() -> SeenConflicts:
    return CONFLICTS
