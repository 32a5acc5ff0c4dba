"""The names of the tables of users and privileges, and whether a warehouse has them."""

from __future__ import annotations

from paimon_core.io.file_io import FileIO

USERS, GRANTS = "user.sys", "privilege.sys"


def has_users(io: FileIO, warehouse: str) -> bool:
    """Return whether a warehouse has users, which means both tables. The table of privileges is created last.

    Raises `StorageError`."""
    return all(io.exists(f"{warehouse}/{name}") for name in (GRANTS, USERS))
