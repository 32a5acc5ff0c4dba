"""Turns: only one process at a time removes or replaces versions of a table and its branches.

Writers of one machine queue (`FileIO.writer_slot`), and the process with the slot has the turn. Elsewhere the turn is a
file:

    TABLE/upkeep/turn-N     the process with the turn; empty: the turn is over

The highest number is valid. A process takes the next turn with `create_exclusive` of the next number, so only one
process gets it. It may do so once the last turn is over, or was not renewed for `_LASTING` by the storage's clock: then
its process was killed. Only the process that made a file overwrites it. The highest file is never deleted, so no number
comes twice.

A process that is slow, but not dead, must not act once others may have taken its turn. So before it removes anything,
it checks its own clock (`Turn.check`), renews the turn if that is due, and gives up long before others would take it.
The rest of the time is left for requests that are under way.

A process that only adds (a commit, a new tag) needs no turn. It checks afterwards that the version below its own still
exists.
"""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import field, replace

from paimon_core.commit.publish import create_new
from paimon_core.dataclass import dataclass
from paimon_core.errors import CommitConflictError, StorageError, StorageRefusedError
from paimon_core.io.file_io import FileStatus
from paimon_core.maintenance.storage_clock import storage_now
from paimon_core.spec.paths import parse_turn
from paimon_core.store.table_store import TableStore

_LASTING = 600.0  # seconds until a turn ends without renewal: twice the longest time that a request may be under way
_RENEWED_AFTER, _GIVEN_UP_AFTER = _LASTING / 5, _LASTING / 2
_PATIENCE, _POLL = 30.0, 0.5  # seconds
_LOG = logging.getLogger(__name__)


@contextmanager
def upkeep_turn(store: TableStore, patience: float | None = None) -> Iterator[TableStore]:
    """Take the right to remove or replace the table's versions until the block ends.

    The yielded store deletes files only while the turn lasts. A turn within a turn is the same turn. Raises
    `CommitConflictError` if another process has the turn for `patience` seconds (default: half a minute).
    """
    if store.turn is not None:
        yield store
        return
    with store.io.writer_slot(store.root) as is_alone:
        if is_alone:
            yield replace(store, turn=_QUEUED)
            return
        turn = _wait(store, _PATIENCE if patience is None else patience)
        try:
            yield replace(store, turn=turn)
        finally:
            turn.end()


@dataclass(frozen=True, slots=True)
class _Queued:
    """The turn of a process that has the machine's writer slot."""

    is_alone: bool = True

    def check(self) -> None:
        pass


_QUEUED = _Queued()


@dataclass(slots=True)
class _Turn:
    """A turn that is a file."""

    store: TableStore
    number: int
    data: bytes
    is_alone: bool = False  # other commits continue meanwhile
    _renewed: tuple[float, float] = field(default_factory=lambda: clocks())

    @property
    def path(self) -> str:
        return self.store.paths.turn(self.number)

    def check(self) -> None:
        """Renew the turn if necessary. Raises `CommitConflictError` if another process may have the turn by now."""
        now = clocks()
        passed = max(n - r for n, r in zip(now, self._renewed, strict=True))
        if passed > _GIVEN_UP_AFTER:
            raise CommitConflictError(
                f"Upkeep of table {self.store.name} stopped: {passed:.0f} s passed between two of its steps, so "
                "another process may have taken its turn. Run the statement again."
            )
        if passed > _RENEWED_AFTER:
            self.store.io.write_bytes(self.path, self.data)
            self._renewed = now

    def end(self) -> None:
        """End the turn. This never raises: if the end is not written, the turn expires by itself."""
        try:
            self.store.io.write_bytes(self.path, b"")
        except (StorageError, FileNotFoundError) as error:
            _LOG.warning(
                "The next upkeep of table %s must wait up to ten minutes, because the end of this one was not "
                "recorded: %s",
                self.store.name,
                error,
                extra=self.store.log_fields(),
            )


def clocks() -> tuple[float, float]:
    """Return two clocks: one of them stops while the machine sleeps, the other may be set back."""
    return time.monotonic(), time.time()


def _wait(store: TableStore, patience: float) -> _Turn:
    deadline = time.monotonic() + patience
    while True:
        files = _files(store)
        held = files[-1][1] if files and files[-1][1].size else None
        if held is None or storage_now(store) - held.modified > _LASTING * 1000:
            turn = _begin(store, files[-1][0] + 1 if files else 1)
            if turn is not None:
                return turn
        if time.monotonic() >= deadline:
            raise CommitConflictError(
                f"Another process removes or replaces versions of table {store.name}: run the statement again when it "
                f"is done. If that process was killed, {store.paths.turn_dir} frees the table ten minutes after it "
                "began."
            )
        time.sleep(min(_POLL, patience))


def _begin(store: TableStore, number: int) -> _Turn | None:
    """Take a turn. Return None if another process was faster."""
    turn = _Turn(store, number, json.dumps({"id": uuid.uuid4().hex}).encode())
    if not _create(turn):
        return None
    numbers = [n for n, _ in _files(store)]
    is_ours = numbers[-1:] == [number]  # otherwise the number was used long ago, and its file was deleted
    with suppress(StorageError):  # the next turn deletes what remains
        for old in numbers[:-1] if is_ours else [number]:
            store.delete(store.paths.turn(old))
    return turn if is_ours else None


def _create(turn: _Turn) -> bool:
    io = turn.store.io
    try:
        return create_new(io, turn.path, turn.data)
    except StorageRefusedError:
        raise
    except StorageError:  # the file may exist: only this process writes these bytes
        with suppress(StorageError, FileNotFoundError):
            if io.read_bytes(turn.path) == turn.data:
                return True
        raise


def _files(store: TableStore) -> list[tuple[int, FileStatus]]:
    """Return the files of turns with their numbers, ascending."""
    found = ((parse_turn(f.name), f) for f in store.io.list(store.paths.turn_dir))
    return sorted(((n, f) for n, f in found if n is not None), key=lambda each: each[0])
