"""A stream that follows a table, batch by batch, through the core."""

from __future__ import annotations

from typing import Any

from paimon_core.options import CONSUMER_ID
from paimon_core.scan.derived_tables import DerivedTable, read_derived
from paimon_core.scan.streams.options import ReadLimits
from paimon_core.scan.streams.stream import TableStream
from paimon_core.store.consumers import delete_consumer
from paimon_core.table import Table
from tests.interop.zoo.values import shown_rows

_KIND = "rowkind"
_CONSUMER = "zoo"
_ONE_FILE = ReadLimits(files=1)  # so that there are many batches


class Followed:
    """A stream from the latest rows on. Its consumer keeps the snapshots that the table's own options would expire."""

    def __init__(self, table: Table):
        self._stream = TableStream(table.with_options({CONSUMER_ID.key: _CONSUMER}).store)
        self._names = [_KIND, *(f.name for f in table.schema.fields)]
        self._position = self._stream.initial()

    def read(self) -> list[list[Any]]:
        """The changes until now, each a kind and the values of a row; those of a batch in an order of their own."""
        changes = []
        while (end := self._stream.latest(self._position, _ONE_FILE)) != self._position:
            for split in self._stream.plan(self._position, end).splits:
                batches = read_derived(self._stream.store, DerivedTable.AUDIT_LOG, split, self._names)
                changes += shown_rows(batches)
            self._stream.committed(end)
            self._position = end
        return changes

    def end(self) -> None:
        """Delete the consumer, so that expiry keeps no snapshot for the stream."""
        delete_consumer(self._stream.store, _CONSUMER)
