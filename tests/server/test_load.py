"""What clients of each door leave behind in a server; benchmarks/server_load.py is the large run, with figures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.held_by_server import ROOM, RUN, ask, environment, more
from tests.support.ports import free_port
from tests.support.served import Server, answer, served
from tests.support.server_load import CLIENTS, SETTING_UP, address_of, in_a_process
from tests.support.spark_versions import spark_minor

pytest.importorskip("uvicorn", reason='needs pip install "paimon-sql[rest-server]"')

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SESSIONS = 24


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    with served(folder, "--rest", free_port(), run=RUN, **environment(folder)) as found:
        with found.client() as client, client.cursor() as cursor:
            for statement in SETTING_UP:
                answer(cursor, statement)
        yield found


@pytest.mark.parametrize("door", CLIENTS)
def test_clients_get_their_answers_and_leave_nothing_behind(server: Server, folder: Path, door: str) -> None:
    address = address_of(server, door)
    assert in_a_process(door, address, clients=8, statements=4, sessions=8).wrong == 0
    before = ask(folder)
    assert in_a_process(door, address, clients=8, statements=8, sessions=SESSIONS).wrong == 0
    after = ask(folder)
    left = more(before, after)
    if door == "connect" and spark_minor() == (4, 1):  # which itself makes a folder for models of ML in each session
        assert left.pop("temporary_files") <= 8 + SESSIONS + ROOM["temporary_files"]
    assert left == {}, (before, after)
    assert server.health_now()["sessions"] == server.health_now()["statements"] == 0
