"""Following a table: its rows, then its changes, in batches that a program acknowledges.

Positions and consumers are the same as those that Spark's streams use. Three rules keep a consumer from losing rows: a
consumer moves only over batches that are acknowledged without a gap. It moves over versions without changes only if all
batches before them are acknowledged. If a follower stopped within its first version, it reads this version again,
because later changes refer to rows of this version.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import field

import pyarrow as pa

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError
from paimon_core.options import CONSUMER_ID, CONSUMER_IGNORE_PROGRESS, SCAN_MODE, SCAN_SNAPSHOT_ID
from paimon_core.scan.streams.options import read_limits
from paimon_core.scan.streams.position import Position, parse_position
from paimon_core.scan.streams.starts import consumer_of
from paimon_core.scan.streams.stream import TableStream
from paimon_core.spec.split import DataSplit
from paimon_core.store.consumers import list_consumers
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_sql.python.scan import TableScan

_KEPT = "-kept"  # after a consumer's name: the consumer of its first version
_SHORTEST, _LONGEST = 0.05, 1.0  # seconds between two looks at the table


def following_options(store: TableStore, consumer: str | None, options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a follower: with its consumer, and with its first version if that was not read to the end.

    Raises `InvalidNameError`, `CorruptFileError`, `StorageError`.
    """
    named = {**options, **({} if consumer is None else {CONSUMER_ID.key: consumer})}
    found = store.with_options(named)
    name = consumer_of(found)
    if name is None or found.options[CONSUMER_IGNORE_PROGRESS]:
        return named
    known = list_consumers(store)
    if name in known or name + _KEPT not in known:
        return named
    return {**named, SCAN_MODE.key: "from-snapshot-full", SCAN_SNAPSHOT_ID.key: str(known[name + _KEPT])}


class Follower(Iterator["ChangeBatch"]):
    """Yields batches of changes: `PaimonTable.follow` makes one. Only one thread may request batches.

    `scan` has the columns and the condition. `wait` is how many seconds the follower waits for new changes; with 0 it
    ends at the version that is the latest when it begins.
    """

    def __init__(self, table: Table, scan: TableScan, after: str | None, wait: float) -> None:
        if wait < 0 or math.isnan(wait):
            raise InvalidOptionError(f"wait cannot be {wait}: give seconds, 0 or more.")
        self._scan, self._wait = scan, wait
        self._limits = read_limits(table.store.options)
        self._stream = TableStream(table.store, table.store.zone, commits_end=False)
        self._next = self._stream.initial() if after is None else parse_position(after)
        if not wait:
            self._stream.end_at_latest()
        self._progress = _Progress(self._stream)

    def __iter__(self) -> Follower:
        return self

    def __next__(self) -> ChangeBatch:
        """Return the next batch. Raises `StopIteration` at the end, `SnapshotNotFoundError` if changes expired before
        they were read, `InvalidSchemaError` if the columns changed, `InvalidDataError` if the table was rolled back."""
        patience, pause = time.monotonic() + self._wait, _SHORTEST
        while True:
            start, end = self._next, self._stream.latest(self._next, self._limits)
            splits = self._stream.plan(start, end).splits if end != start else ()
            self._next = end  # set only after the plan: if that fails, the next request must read these changes again
            if end != start:
                if splits:
                    return ChangeBatch(self._scan, splits, end.json(), self._progress.delivered(end), self._progress)
                self._progress.passed(end)
                continue
            left = patience - time.monotonic()
            if left <= 0:
                raise StopIteration
            time.sleep(min(pause, left))
            pause = min(pause * 2, _LONGEST)


@dataclass(frozen=True)
class ChangeBatch:
    """Changes of a table that a follower read at once. It may be read several times, and from any thread.

    `position` is the end of the batch, as JSON: `PaimonTable.follow(after=position)` goes on behind it.
    """

    scan: TableScan = field(repr=False)
    splits: tuple[DataSplit, ...] = field(repr=False)
    position: str
    number: int
    progress: _Progress = field(repr=False)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the changes."""
        return self.scan.schema

    def to_batches(self) -> pa.RecordBatchReader:
        """Return the changes as a stream, in the order of their versions. Raises the errors of
        `TableScan.to_batches`.
        """
        return self.scan.to_batches_of(self.splits)

    def to_arrow(self) -> pa.Table:
        """Return the changes in memory. Raises the errors of `TableScan.to_batches`."""
        return self.to_batches().read_all()

    def acknowledge(self) -> None:
        """Record that the batch is processed. The consumer moves over it as soon as all earlier batches are
        acknowledged, too. Without a consumer this does nothing. Raises `StorageError`."""
        self.progress.acknowledge(self.number)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_batches().__arrow_c_stream__(requested_schema)


class _Progress:
    """The batches that a consumer has not moved over yet, in their order."""

    def __init__(self, stream: TableStream) -> None:
        self._stream, self._lock = stream, threading.Lock()
        self._open: deque[tuple[int, Position]] = deque()
        self._done: set[int] = set()
        self._count = 0
        self._unstored: Position | None = None  # the end of acknowledged batches, if the consumer is not there yet

    def delivered(self, end: Position) -> int:
        """Add a batch, and return its number."""
        with self._lock:
            self._count += 1
            self._open.append((self._count, end))
            return self._count

    def passed(self, end: Position) -> None:
        """Add versions without changes, which count as acknowledged."""
        self.acknowledge(self.delivered(end))

    def acknowledge(self, number: int) -> None:
        with self._lock:
            self._done.add(number)
            while self._open and self._open[0][0] in self._done:
                done, self._unstored = self._open.popleft()
                self._done.discard(done)
            if self._unstored is not None:
                self._stream.committed(self._unstored)
                self._unstored = None
