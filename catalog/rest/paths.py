"""The addresses of the REST API below a server's URI, with one function per kind of object."""

from __future__ import annotations

from urllib.parse import quote

from paimon_core.spec.identifier import Identifier

CONFIG = "/v1/config"


def below(prefix: str, *parts: str) -> str:
    """Return an address of a catalog. The parts are escaped here."""
    return "/".join(("/v1", *(quote(part, safe="") for part in (prefix, *parts) if part)))


def database(prefix: str, name: str, *more: str) -> str:
    """Return the path of a database, or of an object in it."""
    return below(prefix, "databases", name, *more)


def table(prefix: str, identifier: Identifier, *more: str) -> str:
    """Return the path of a table or a branch, or of an object below it."""
    return database(prefix, identifier.database, "tables", _in_branch(identifier), *more)


def _in_branch(identifier: Identifier) -> str:
    return Identifier(identifier.database, identifier.table, identifier.branch).name
