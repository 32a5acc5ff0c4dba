"""Compaction behind the epochs of a stream: in a thread of its own, so that the next epoch need not wait for it.

One compaction runs at a time. The files of later epochs wait, and the next compaction takes them together. The number
of waiting epochs is limited, see `most_waiting`. At the limit the stream waits, too, so buckets stay bounded however
fast it writes. The thread ends when nothing is left to do, and an interpreter that ends waits for it. If the process is
killed, the next write to the table does the rest.
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
_DEFAULT_ROOM = 3  # runs between the start of a compaction and the stop of writers, as in Paimon
_LOG = logging.getLogger(__name__)


def is_waited_for(store: TableStore) -> bool:
    """Whether an epoch shows, or has its changelog, only once it is compacted, and is to wait for that."""
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
        """Queue the files of an epoch for compaction. Waits while `most` epochs are queued already."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._waiting) < most)
            self._waiting.append(written)
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._run, args=(compact,), name="paimon-compaction").start()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until nothing is left to do. Returns false if `seconds` pass before."""
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
                _LOG.warning("A compaction behind a stream failed: %s", error)
