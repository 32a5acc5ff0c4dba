"""Connections whose clients have not asked anything yet."""

from __future__ import annotations

from paimon_sql.server.waiting import Waiting


def test_connections_that_are_late_are_closed() -> None:
    clock, closed = [0.0], []
    waiting = Waiting(10, now=lambda: clock[0])
    for number in range(3):
        clock[0] = float(number)
        waiting.add("an address", number, lambda n=number: closed.append(n))
    waiting.add("an address", 0, lambda: closed.append("twice"))
    waiting.discard("an address", 1)
    clock[0] = 11.0
    waiting.end_late(10)
    assert closed == [0]
    clock[0] = 12.0
    waiting.end_late(10)
    assert closed == [0, 0, 2], "closing twice is harmless; who closes a connection discards it"
