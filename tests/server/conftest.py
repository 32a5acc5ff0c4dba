"""One server for the tests of all files that need no options of their own: its start takes longer than most of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.served import Server, served


@pytest.fixture(scope="session")
def common_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Start a server with a file of passwords and a token. Each test makes tables with names of its own."""
    with served(tmp_path_factory.mktemp("server")) as found:
        yield found
