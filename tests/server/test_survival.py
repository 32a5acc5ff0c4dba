"""A server whose driver runs out of memory: it ends, and says so."""

from __future__ import annotations

import urllib.error
from pathlib import Path

import pytest
from pyhive.exc import Error
from thrift.transport.TTransport import TTransportException

from tests.support.served import PATIENCE, answer, served

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_a_server_without_memory_ends(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        assert server.health_now()["status"] == "serving"
        cursor = server.client().cursor()  # nobody closes it: its server will be gone
        assert answer(cursor, "SELECT 1") == [(1,)]
        with pytest.raises((Error, TTransportException, OSError)):
            answer(cursor, "SELECT repeat('x', 1000000) AS x FROM range(3000)")
        assert server.process.wait(PATIENCE) == 1
        assert "The driver's JVM has ended" in server.log.read_text()
        with pytest.raises((urllib.error.URLError, OSError)):
            server.health_now()
