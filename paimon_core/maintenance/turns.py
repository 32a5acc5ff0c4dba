"""Turns: one process at a time removes or replaces versions of a table, its branches included.

Writers of one machine queue (`FileIO.writer_slot`), and who has the slot has the turn. Elsewhere the turn is a file:

    TABLE/upkeep/turn-N     whose turn it is; empty: it is over

The highest number counts. The next turn begins with `create_exclusive` of the next number, so that one process gets it,
once the last turn is over, or was not renewed for `_LASTING` by the storage's clock: its process was killed. Only the
process that made a file overwrites it, and the highest one is never deleted, so no number comes twice.

A process that is slow, but not dead, must not act once others may have taken its turn. So before it removes anything
it looks at its own clock (`Turn.check`), renews the turn where that is due, and gives up long before others would take
it; what remains of the time is for a request that is on its way.

Who only adds (a commit, a new tag) needs no turn, and looks afterwards whether what it is built on is still there.
"""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from paimon_core.commit.publish import create_new
from paimon_core.errors import CommitConflictError, StorageError, StorageRefusedError
from paimon_core.io.file_io import FileStatus
from paimon_core.maintenance.storage_clock import storage_now
from paimon_core.spec.paths import parse_turn
from paimon_core.store.table_store import TableStore

_LASTING = 600.0  # seconds that a turn lasts unless it is renewed: the longest that a request may be on its way, twice
_RENEWED_AFTER, _GIVEN_UP_AFTER = _LASTING / 5, _LASTING / 2
_PATIENCE, _POLL = 30.0, 0.5  # seconds
_LOG = logging.getLogger(__name__)


@contextmanager
def upkeep_turn(store: TableStore, patience: float | None = None) -> Iterator[TableStore]:
    """The table with the right to remove or replace its versions until the block ends.

    What is deleted through the store that this gives is deleted only while the turn lasts. Raises `CommitConflictError`
    where others have the turn for `patience` seconds (default: half a minute). A turn within a turn is the same one.
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
    """The turn of who has the slot of writers."""

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
    is_alone: bool = False  # commits go on
    _renewed: tuple[float, float] = field(default_factory=lambda: _clocks())

    @property
    def path(self) -> str:
        return self.store.paths.turn(self.number)

    def check(self) -> None:
        """Renew the turn where that is due. Raises `CommitConflictError` where it may be another's by now."""
        now = _clocks()
        passed = max(n - r for n, r in zip(now, self._renewed, strict=True))
        if passed > _GIVEN_UP_AFTER:
            raise CommitConflictError(
                f"Upkeep of table {self.store.name} stopped: {passed:.0f} s passed between two of its steps, so that "
                "another process may have taken its turn. Run the statement again."
            )
        if passed > _RENEWED_AFTER:
            self.store.io.write_bytes(self.path, self.data)
            self._renewed = now

    def end(self) -> None:
        """Leave the turn to others. Never fails: a turn that is not ended is over by itself."""
        try:
            self.store.io.write_bytes(self.path, b"")
        except (StorageError, FileNotFoundError) as error:
            _LOG.warning("Upkeep of table %s goes on in ten minutes: %s", self.store.name, error)


def _clocks() -> tuple[float, float]:
    """Two clocks: one stands still while the machine sleeps, the other may be set back."""
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
                f"Another process removes or replaces versions of table {store.name}: run the statement again when "
                f"that is done. If it was killed, {store.paths.turn_dir} frees the table ten minutes after it began."
            )
        time.sleep(min(_POLL, patience))


def _begin(store: TableStore, number: int) -> _Turn | None:
    """Take a turn, None where another process was faster."""
    turn = _Turn(store, number, json.dumps({"id": uuid.uuid4().hex}).encode())
    if not _create(turn):
        return None
    numbers = [n for n, _ in _files(store)]
    is_ours = numbers[-1:] == [number]  # else the number was over long ago, and its file deleted
    with suppress(StorageError):  # what remains is deleted with the next one
        for old in numbers[:-1] if is_ours else [number]:
            store.delete(store.paths.turn(old))
    return turn if is_ours else None


def _create(turn: _Turn) -> bool:
    io = turn.store.io
    try:
        return create_new(io, turn.path, turn.data)
    except StorageRefusedError:
        raise
    except StorageError:  # it may be there: no other has these bytes
        with suppress(StorageError, FileNotFoundError):
            if io.read_bytes(turn.path) == turn.data:
                return True
        raise


def _files(store: TableStore) -> list[tuple[int, FileStatus]]:
    """The files of turns by their numbers, ascending."""
    found = ((parse_turn(f.name), f) for f in store.io.list(store.paths.turn_dir))
    return sorted(((n, f) for n, f in found if n is not None), key=lambda each: each[0])
