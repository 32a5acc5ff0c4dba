"""The consumer of a stream: its progress in the table, which protects snapshots from expiry.

consumer/consumer-ID         the next snapshot, as other engines store it, too
consumer/consumer-ID-kept    an earlier snapshot that is still needed: the snapshot of the first rows, while they
                             are read; or, if a stream reads the changes of overwrites, the snapshot to compare with. It
                             has its own name, because another stream that starts at the consumer must begin with the
                             changes of the next snapshot
"""

from __future__ import annotations

from dataclasses import field

from paimon_core.dataclass import dataclass
from paimon_core.scan.streams.history import History
from paimon_core.scan.streams.position import Position
from paimon_core.scan.streams.starts import consumer_of
from paimon_core.store.consumers import delete_consumer, write_consumer

_KEPT = "-kept"


@dataclass
class StreamConsumer:
    """The consumer of one stream, as the module describes.

    `written` has the last values that this process wrote, by name; None if nothing is kept under the name."""

    history: History
    name: str
    written: dict[str, int | None] = field(default_factory=dict)

    @staticmethod
    def of(history: History) -> StreamConsumer | None:
        """Return the consumer that the table's options name. Raises `InvalidNameError`."""
        name = consumer_of(history.store)
        return None if name is None else StreamConsumer(history, name)

    def start(self, position: Position) -> None:
        """Keep the snapshots that a stream reads first."""
        self._keep_before(position)
        if not position.scan:
            self._write(self.name, position.snapshot_id)

    def move(self, position: Position) -> None:
        """Keep the snapshots after a position. While the rows of a snapshot are being read, nothing changes."""
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
