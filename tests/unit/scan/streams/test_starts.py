"""Where streams start that have no checkpoint."""

from __future__ import annotations

from paimon_core.scan.streams.options import ReadLimits
from paimon_core.scan.streams.stream import TableStream
from tests.support import stored
from tests.support.streamed import write

ALL = ReadLimits()


def test_compacted_full_starts_with_the_latest_compacted_snapshot(warehouse: str) -> None:
    stored.create_table(warehouse, primary_key="k", bucket="1")
    write(warehouse, [(1, "a")])
    stored.compact(stored.open_table(warehouse))
    write(warehouse, [(2, "b")])
    running = TableStream(stored.open_table(warehouse).with_options({"scan.mode": "compacted-full"}).store)
    start = running.initial()
    assert (start.snapshot_id, start.scan) == (2, True)
    end = running.latest(start, ALL)
    assert sum(s.row_count for s in running.plan(start, end).splits) == 1
    last = running.latest(end, ALL)
    assert last.snapshot_id == 3 and sum(s.row_count for s in running.plan(end, last).splits) == 1
