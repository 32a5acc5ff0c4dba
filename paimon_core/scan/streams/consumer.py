"""The consumer of a stream: its progress in the table, for which snapshots are kept from expiry.

consumer/consumer-ID             the next snapshot, as other engines keep it too
consumer/consumer-ID-full-scan   the snapshot whose rows are read first, while they are. Under a name of its own: a
                                 stream that starts at the consumer reads changes only, and would miss these rows
"""

from __future__ import annotations

from dataclasses import dataclass, field

from paimon_core.scan.streams.position import Position
from paimon_core.scan.streams.starts import consumer_of
from paimon_core.spec.paths import check_name
from paimon_core.store.consumers import delete_consumer, write_consumer
from paimon_core.store.table_store import TableStore

_FULL_SCAN = "-full-scan"


@dataclass
class StreamConsumer:
    """See the module."""

    store: TableStore
    name: str
    written: dict[str, int] = field(default_factory=dict)
    is_full_scan_over: bool = False

    @staticmethod
    def of(store: TableStore) -> StreamConsumer | None:
        """The consumer that the table's options name. Raises `InvalidNameError`."""
        name = consumer_of(store)
        return None if name is None else StreamConsumer(store, check_name("consumer", name))

    def start(self, position: Position) -> None:
        """Keep what a stream reads first."""
        self._write(self.name + _FULL_SCAN if position.scan else self.name, position.snapshot_id)

    def move(self, position: Position) -> None:
        """Keep what comes after a position. In the middle of a snapshot's rows nothing moves."""
        if position.scan and not position.is_complete:
            return
        self._write(self.name, position.next_snapshot)
        if not self.is_full_scan_over:
            delete_consumer(self.store, self.name + _FULL_SCAN)
            self.is_full_scan_over = True

    def _write(self, name: str, next_snapshot: int) -> None:
        if self.written.get(name) != next_snapshot:
            write_consumer(self.store, name, next_snapshot)
            self.written[name] = next_snapshot
