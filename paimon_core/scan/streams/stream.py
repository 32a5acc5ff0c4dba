"""TableStream: one reader that follows a table, from the position in its checkpoint.

For each batch, an engine requests the end of the batch (`latest`) and the splits between two positions (`plan`), and
reports a finished batch (`committed`). Positions and splits depend only on the history and the limits, so a batch that
is read again after a crash has the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import tzinfo

from paimon_core.clock import now_millis
from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidDataError
from paimon_core.scan.plan import Plan
from paimon_core.scan.streams.consumer import StreamConsumer
from paimon_core.scan.streams.history import History, Step
from paimon_core.scan.streams.java_offsets import taken_over
from paimon_core.scan.streams.options import ReadLimits, check_stream_options
from paimon_core.scan.streams.packing import Admitted, admit, packed, waits
from paimon_core.scan.streams.position import Position, check_same_history, check_same_table, table_identity
from paimon_core.scan.streams.starts import starting_position
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.split import DataSplit
from paimon_core.store.snapshots import find_snapshot, latest_snapshot
from paimon_core.store.table_store import TableStore

_IDLE = 5  # after so many snapshots without changes, the position moves on, because it must not stay at an expired one


@dataclass(frozen=True, slots=True)
class Progress:
    """The report of a stream.

    It has the rows, files and bytes of the last batch by metadata; the distance to the table's latest snapshot, in
    snapshots and in milliseconds between their commits; and the number of skipped snapshots that replaced rows."""

    rows: int = 0
    files: int = 0
    size: int = 0
    snapshots_behind: int = 0
    millis_behind: int = 0
    skipped_overwrites: int = 0


class TableStream:
    """One stream of a table. `warn` gets messages for operators. `by_snapshot`: no split has changes of two snapshots.
    `commits_end`: if a run ends at the table's current end, the stream itself records the last batch as finished,
    because the engine does not report it.
    """

    def __init__(
        self,
        store: TableStore,
        zone: tzinfo | None = None,
        warn: Callable[[str], None] = lambda _: None,
        *,
        by_snapshot: bool = False,
        commits_end: bool = True,
    ) -> None:
        check_stream_options(store.name, store.options)
        self.store, self.history, self.consumer = store, History(store), StreamConsumer.of(History(store))
        self._zone, self._warn, self._by_snapshot = zone, warn, by_snapshot
        self._commits_end = commits_end
        self._identity = table_identity(store)
        self._until: int | None = None  # the end of a run that reads only what exists when it starts
        self._last_batch = 0.0  # epoch milliseconds
        self._seen: Snapshot | None = None  # the latest snapshot when the history was last compared
        self._open: Step | None = None  # the last step that was read, because a batch may end within it
        # after this position, snapshots up to this one changed nothing
        self._idle: tuple[Position, Snapshot] | None = None
        self._batch: tuple[Position, Position, tuple[DataSplit, ...]] | None = None
        self._admitted, self._skipped = Admitted(), set[int]()

    # -- what engines ask ---------------------------------------------------------------------------------------------
    def initial(self) -> Position:
        """Return the start of a stream without a checkpoint; see `starts`.

        The stream's consumer then keeps the snapshots to read first.
        """
        position = self._ours(starting_position(self.history, self._zone))
        if self.consumer is None:
            return position
        self.consumer.start(position)
        # if the snapshot expired before the consumer kept it, start with another
        return self._ours(starting_position(self.history, self._zone)) if self._is_gone(position) else position

    def end_at_latest(self) -> None:
        """Stop reading at the table's current end."""
        latest = latest_snapshot(self.store)
        self._until = 0 if latest is None else latest.id

    def latest(self, start: Position, limits: ReadLimits) -> Position:
        """Return the end of the next batch, or `start` if there are not enough rows to read yet.

        Raises `SnapshotNotFoundError`, `InvalidDataError` and `InvalidSchemaError` if the stream cannot go on.
        """
        start, latest = self._checked(start)
        until = -1 if latest is None else latest.id
        until = until if self._until is None else min(until, self._until)
        end, taken, admitted = start, list[DataSplit](), Admitted()
        passed: Step | None = None
        for step in self._steps(start, until):
            first = self._first(start, step)
            count, admitted = admit(admitted, step.splits[first:], limits)
            taken += step.splits[first : first + count]
            if count:
                end = self._at(step, first + count - 1)
            passed = step
            if first + count < len(step.splits) or (step.scan and count):
                break
        waited = now_millis() - self._last_batch
        if taken and self._until is None and waits(admitted, limits, waited):
            return start
        if not taken:
            if self._until is not None and self._commits_end:  # no later batch will report that this one is done
                self.committed(start)
            return start if passed is None else self._moved(start, passed)
        self._last_batch = now_millis()
        self._batch, self._admitted, self._idle = (start, end, tuple(taken)), admitted, None
        return end

    def plan(self, start: Position, end: Position) -> Plan:
        """Return the plan of the splits between two positions. Raises the same errors as `latest`."""
        start, _ = self._checked(start)
        end = self._taken_over(end)
        if self._batch is not None and self._batch[:2] == (start, end):
            splits = self._batch[2]
        else:
            splits = tuple(s for step in self._between(start, end) for s in step.splits)
        whole = tuple(packed(self.store, splits, by_snapshot=self._by_snapshot))
        return Plan(table=self.store.name, snapshot=None, splits=whole, files_total=sum(len(s.files) for s in whole))

    def committed(self, end: Position) -> None:
        """Record that a batch is finished: the consumer moves forward."""
        if self.consumer is not None:
            self.consumer.move(self._taken_over(end))

    def progress(self, consumed: Position | None) -> Progress:
        """Report the progress. `consumed` is the end of the last batch, None before the first batch."""
        latest = latest_snapshot(self.store)
        is_last = self._batch is not None and consumed == self._batch[1]
        done = self._admitted if is_last else Admitted()
        behind, millis = 0, 0
        if latest is not None and consumed is not None:
            read = consumed.snapshot_id - (not consumed.is_complete)
            if self._idle is not None and self._idle[0] == consumed:
                read = max(read, self._idle[1].id)
            behind = max(0, latest.id - read)
            known = self.history.changes(max(read, self.history.first_changes())) if behind else None
            millis = 0 if known is None else latest.time_millis - known.time_millis
        return Progress(done.rows, done.files, done.size, behind, millis, len(self._skipped))

    @property
    def admitted(self) -> tuple[int, int]:
        """The numbers of rows and bytes, by metadata, of the last batch that `latest` ended."""
        return self._admitted.rows, self._admitted.size

    # -- positions ----------------------------------------------------------------------------------------------------
    def _ours(self, position: Position) -> Position:
        return replace(position, table=self._identity)

    def _at(self, step: Step, index: int) -> Position:
        snapshot = step.snapshot
        return Position(snapshot.id, index, step.scan, len(step.splits), self._identity, snapshot.identity)

    def _taken_over(self, position: Position) -> Position:
        return self._ours(taken_over(self.history, position)) if position.is_of_java else position

    def _checked(self, start: Position) -> tuple[Position, Snapshot | None]:
        """Check that the position is part of this table's history.

        Return the position, and the table's latest snapshot.
        """
        latest = latest_snapshot(self.store)
        if self._seen is None or latest != self._seen:
            known = self._ours(start) if start.is_of_java else start
            found = find_snapshot(self.store, start.snapshot_id)
            check_same_table(self.store, known, table_identity(self.store), found)
            check_same_history(self.store, known, found, latest)
            if self._idle is not None and find_snapshot(self.store, self._idle[1].id) != self._idle[1]:
                self._idle = None  # rolled back, or expired
            self._seen = latest
        return self._taken_over(start), latest

    def _moved(self, start: Position, passed: Step) -> Position:
        """Return the position after snapshots without changes. The last of them is in `passed`."""
        self._idle = start, passed.snapshot
        if passed.snapshot.id - start.next_snapshot < _IDLE and not passed.scan:
            return start
        return self._at(replace(passed, splits=()), 0).whole()

    def _is_gone(self, position: Position) -> bool:
        if position.scan:
            return find_snapshot(self.store, position.snapshot_id) is None
        return position.snapshot_id < self.history.first_changes()

    # -- steps --------------------------------------------------------------------------------------------------------
    def _steps(self, start: Position, until: int) -> Iterator[Step]:
        known = self._open
        now = now_millis()
        inside = not start.is_complete and not start.is_start
        if inside and known is not None and (known.snapshot.id, known.scan) == (start.snapshot_id, start.scan):
            yield known
            start = start.whole()
        if self._idle is not None and self._idle[0] == start:
            start = Position(self._idle[1].id, 0, total=1)
        for step in self.history.steps(start, until, now):
            if step.skips_overwrite:
                self._tell_of_overwrite(step.snapshot.id)
            self._open = step
            yield step

    def _first(self, start: Position, step: Step) -> int:
        """Return the index of the first split to read of a step.

        Raises `InvalidDataError` if the step has other splits now.
        """
        if start.is_start or start.is_complete or (step.snapshot.id, step.scan) != (start.snapshot_id, start.scan):
            return 0
        if start.total != len(step.splits):
            raise InvalidDataError(
                f"The checkpoint counts {start.total} splits in snapshot {step.snapshot.id} of table "
                f"{self.store.name}, but the snapshot has {len(step.splits)} with this query's options: start the "
                "query with the options that it had before."
            )
        return start.index + 1

    def _between(self, start: Position, end: Position) -> Iterator[Step]:
        for step in self._steps(start, end.snapshot_id - (end.is_start and not end.scan)):
            first = self._first(start, step)
            is_last = step.snapshot.id == end.snapshot_id and step.scan == end.scan
            last = self._first(end, step) if is_last and not end.is_complete else len(step.splits)
            yield replace(step, splits=step.splits[first:last])
            if is_last:
                return

    def _tell_of_overwrite(self, snapshot_id: int) -> None:
        if snapshot_id in self._skipped:
            return
        self._skipped.add(snapshot_id)
        option = "streaming-read-overwrite" if self.store.has_primary_key else "streaming-read-append-overwrite"
        self._warn(
            f"Snapshot {snapshot_id} of table {self.store.name} replaced rows (INSERT OVERWRITE, or DELETE, UPDATE or "
            "MERGE INTO of a table without keys). The stream skips it. To read the changes of such snapshots, set "
            f"'{option}' = 'true'."
        )
