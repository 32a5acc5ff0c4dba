"""What the server does about a driver that does not answer."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError

from paimon_core.errors import StorageError
from paimon_sql.server import serve
from paimon_sql.server.serve import StatementLog


class Silent:
    """A JVM that answers nothing."""

    def __init__(self, looks: int) -> None:
        self.looks = looks  # at it, until it has ended

    def __getattr__(self, name: str) -> Any:
        raise Py4JNetworkError(name)

    @property
    def has_ended(self) -> bool:
        self.looks -= 1
        return self.looks < 0


@pytest.mark.parametrize("looks", [0, 3], ids=["at once", "while it dies"])
def test_a_driver_that_has_ended_ends_the_server(looks: int) -> None:
    with pytest.raises(StorageError, match="The driver's JVM has ended.*--driver-memory"):
        serve._watch(Silent(looks), StatementLog(), pytest.fail)  # type: ignore[arg-type]


def test_a_driver_that_only_fails_is_not_called_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "_DYING", 0.2)
    with pytest.raises(Py4JNetworkError):
        serve._watch(Silent(10_000), StatementLog(), pytest.fail)  # type: ignore[arg-type]
