"""Connections that wait for their first request. Their number per address is limited: the oldest is closed to make
room.

A client that sends a request leaves the queue in a moment. If a client opens many silent connections, the server closes
only these: other clients can still connect, even from the same address.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

MOST = 100  # the most connections of an address
SECONDS = 10.0  # seconds in which a client must send its request


class Waiting:
    """Connections that wait, by address. `now` returns a clock's time in seconds."""

    def __init__(self, most: int = MOST, now: Callable[[], float] = time.monotonic) -> None:
        self._most, self._now, self._lock = most, now, threading.Lock()
        self._by_address: dict[str, OrderedDict[Any, tuple[float, Callable[[], None]]]] = {}

    def add(self, address: str, connection: Any, close: Callable[[], None]) -> None:
        """Add a waiting connection. `close` ends it, and may be called from another thread."""
        oldest: Callable[[], None] | None = None
        with self._lock:
            found = self._by_address.setdefault(address, OrderedDict())
            if connection not in found and len(found) >= self._most:
                oldest = found.popitem(last=False)[1][1]
            found.setdefault(connection, (self._now(), close))
        if oldest is not None:
            oldest()

    def discard(self, address: str, connection: Any) -> None:
        """Remove a connection, because its request has come or it is closed."""
        with self._lock:
            found = self._by_address.get(address)
            if found is not None:
                found.pop(connection, None)
                if not found:
                    del self._by_address[address]

    def end_late(self, seconds: float) -> None:
        """Close the connections that have waited for `seconds`. A client that sends a byte now and then does not get
        more time.
        """
        with self._lock:
            until = self._now() - seconds
            late = [close for found in self._by_address.values() for began, close in found.values() if began <= until]
        for close in late:
            close()

    def __len__(self) -> int:
        with self._lock:
            return sum(map(len, self._by_address.values()))
