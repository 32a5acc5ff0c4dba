"""The consumer of a stream: its progress in the table, for which snapshots are kept from expiry.

consumer/consumer-ID         the next snapshot, as other engines keep it too
consumer/consumer-ID-kept    an earlier one that is still needed: the snapshot whose rows are read first, while
                             they are; and where a stream reads what overwrites changed, the one to compare
                             with. It has a name of its own, as who starts at the consumer reads the changes
                             from there on
"""

from __future__ import annotations

from dataclasses import dataclass, field

from paimon_core.scan.streams.history import History
from paimon_core.scan.streams.position import Position
from paimon_core.scan.streams.starts import consumer_of
from paimon_core.store.consumers import delete_consumer, write_consumer

_KEPT = "-kept"


@dataclass
class StreamConsumer:
    """See the module. `written` is what this process wrote last, by name; None: nothing is kept under it."""

    history: History
    name: str
    written: dict[str, int | None] = field(default_factory=dict)

    @staticmethod
    def of(history: History) -> StreamConsumer | None:
        """The consumer that the table's options name. Raises `InvalidNameError`."""
        name = consumer_of(history.store)
        return None if name is None else StreamConsumer(history, name)

    def start(self, position: Position) -> None:
        """Keep what a stream reads first."""
        self._keep_before(position)
        if not position.scan:
            self._write(self.name, position.snapshot_id)

    def move(self, position: Position) -> None:
        """Keep what comes after a position. In the middle of a snapshot's rows nothing moves."""
        if position.scan and not position.is_complete:
            return
        self._write(self.name, position.next_snapshot)
        self._keep_before(position)

    def _keep_before(self, position: Position) -> None:
        if position.scan and not position.is_complete:
            self._write(self.name + _KEPT, position.snapshot_id)
        elif self.history.reads_overwrites and position.next_snapshot > 1:
            self._write(self.name + _KEPT, position.next_snapshot - 1)
        else:
            self._write(self.name + _KEPT, None)

    def _write(self, name: str, snapshot_id: int | None) -> None:
        if name in self.written and self.written[name] == snapshot_id:
            return
        if snapshot_id is None:
            delete_consumer(self.history.store, name)
        else:
            write_consumer(self.history.store, name, snapshot_id)
        self.written[name] = snapshot_id
