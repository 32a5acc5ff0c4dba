"""A REST server of ours in this process, over any catalog."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from paimon_sql.catalog.base import SupportsDatabases
from paimon_sql.server.rest.app import RestApp
from paimon_sql.server.rest.run import serving
from paimon_sql.server.rest.users import Users, add_token


@dataclass(frozen=True)
class RestServer:
    """The address of a server, and `tokens` by user if it requires them."""

    port: int
    tokens: Mapping[str, str]

    @staticmethod
    @contextmanager
    def over(
        catalog: SupportsDatabases, users: Path | None = None, port: int = 0, *, read_only: bool = False
    ) -> Iterator[RestServer]:
        """Yield a server for a catalog. With a file of users, `writer` and `reader` have tokens.

        With `read_only`, no user may write.
        """
        tokens = {}
        if users is not None:
            tokens = {name: add_token(users, name, read_only=name == "reader") for name in ("writer", "reader")}
        app = RestApp(catalog, None if users is None else Users(users), read_only=read_only)
        with serving(app, "127.0.0.1", port) as listening:
            yield RestServer(listening, tokens)

    def options(self, user: str | None = None) -> dict[str, str]:
        """Return the options of a catalog on this server, for a user."""
        given = {"metastore": "rest", "uri": f"http://127.0.0.1:{self.port}"}
        return given if user is None else {**given, "token": self.tokens[user]}
