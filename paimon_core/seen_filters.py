"""The columns that scans of this process compared with values, by table, and the files that the scans still read.

Advice about file indexes uses these counts. They exist in memory only, until the process ends, and do not contain the
values in filters.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable

from paimon_core.dataclass import dataclass

_MOST_TABLES = 1000
_MOST_COLUMNS = 1000


@dataclass(frozen=True, slots=True)
class SeenFilter:
    """The scans with `column = value` or `column IN (…)`: their number, the files that they found in the partitions,
    and how many of these files they read.
    """

    column: str
    scans: int = 0
    files: int = 0
    read: int = 0


class SeenFilters:
    """Counts of filters by table. Safe for threads. It keeps the tables with the latest scans. Pickled counts become
    the counts of the other process.
    """

    def __init__(self) -> None:
        self._tables: OrderedDict[str, dict[str, SeenFilter]] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, table: str, columns: Iterable[str], files: int, read: int) -> None:
        """Count a scan of a table that compares columns with values."""
        with self._lock:
            seen = self._tables.setdefault(table, {})
            self._tables.move_to_end(table)
            for name in columns:
                old = seen.get(name) or SeenFilter(name)
                if old.scans or len(seen) < _MOST_COLUMNS:
                    seen[name] = SeenFilter(name, old.scans + 1, old.files + files, old.read + read)
            while len(self._tables) > _MOST_TABLES:
                self._tables.popitem(last=False)

    def of_table(self, table: str) -> tuple[SeenFilter, ...]:
        """Return the filters of a table, by the names of columns."""
        with self._lock:
            return tuple(sorted(self._tables.get(table, {}).values(), key=lambda seen: seen.column))

    def __reduce__(self) -> tuple[object, tuple[()]]:
        return _filters_of_process, ()


FILTERS = SeenFilters()


def _filters_of_process() -> SeenFilters:
    return FILTERS
