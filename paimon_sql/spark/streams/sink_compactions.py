"""Compactions after the epochs of a stream: they run in another thread, so that the next epoch need not wait.

One compaction runs at a time. The files of later epochs wait, and the next compaction takes them together. The number
of waiting epochs is limited, see `most_waiting`. At the limit the stream waits, too, so buckets stay bounded however
fast it writes. The thread ends when no files wait, and the interpreter waits for the thread before it exits. If the
process is killed, the next write to the table runs the remaining compactions.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from paimon_core.options import CHANGELOG_PRODUCER, LOOKUP_WAIT, NUM_SORTED_RUN_STOP, NUM_SORTED_RUN_TRIGGER
from paimon_core.scan.plan import skips_level_0
from paimon_core.spec.message import CommitMessage
from paimon_core.store.table_store import TableStore

Compact = Callable[[Sequence[CommitMessage]], None]
_DEFAULT_ROOM = 3  # sorted runs between the start of a compaction and the stop of writers; Paimon's default
_LOG = logging.getLogger(__name__)


def is_waited_for(store: TableStore) -> bool:
    """Return whether an epoch must wait for its compaction, because its rows become visible or get a changelog only
    after it.
    """
    return store.options[LOOKUP_WAIT] and (skips_level_0(store) or store.options[CHANGELOG_PRODUCER] == "lookup")


def most_waiting(store: TableStore) -> int:
    """Return the number of epochs that may wait for the compaction of earlier epochs."""
    trigger, stop = store.options[NUM_SORTED_RUN_TRIGGER], store.options[NUM_SORTED_RUN_STOP]
    return _DEFAULT_ROOM if stop is None else max(stop - trigger, 1)


class SinkCompactions:
    """The compactions of one table that a stream writes to."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[Sequence[CommitMessage]] = []
        self._is_running = False

    def add(self, compact: Compact, written: Sequence[CommitMessage], most: int) -> None:
        """Add the files of an epoch to the queue for compaction. Wait while `most` epochs are in the queue."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._waiting) < most)
            self._waiting.append(written)
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._run, args=(compact,), name="paimon-compaction").start()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until no compaction runs or waits. Return False if that takes more than `seconds`."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._is_running, seconds)

    def _run(self, compact: Compact) -> None:
        while True:
            with self._changed:
                written = [m for messages in self._waiting for m in messages]
                self._waiting.clear()
                self._is_running = bool(written)
                self._changed.notify_all()
                if not written:
                    return
            try:
                compact(written)
            except Exception as error:  # the next epoch finds the due compaction again
                _LOG.warning("The compaction after an epoch of a stream failed: %s", error)
