"""Connections of the REST server with a time limit: a client that sends only half a header cannot hold a connection for
long.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from paimon_sql.server.waiting import SECONDS, Waiting


def timely(waiting: Waiting, seconds: float = SECONDS) -> type[asyncio.Protocol]:
    """Return a protocol for uvicorn that closes a connection if its request takes more than `seconds` to arrive. If an
    address has too many waiting connections, it closes the oldest.
    """

    class TimelyProtocol(H11Protocol):
        _late: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._wait()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is None or self.cycle.response_complete:
                self._wait()
            else:
                self._asked()

        def connection_lost(self, exc: Exception | None) -> None:
            self._asked()
            super().connection_lost(exc)

        @property
        def _address(self) -> str:
            return str(self.client[0]) if self.client else ""

        def _wait(self) -> None:
            if self._late is None and not self.transport.is_closing():
                self._late = self.loop.call_later(seconds, self._close)
                waiting.add(self._address, self, self._close)

        def _asked(self) -> None:
            if self._late is not None:
                self._late.cancel()
                self._late = None
                waiting.discard(self._address, self)

        def _close(self) -> None:
            self.transport.abort()

    made: Any = TimelyProtocol
    return made  # type: ignore[no-any-return]
