"""Add the table's name to errors about files that metadata names without a folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from paimon_core.errors import UnreadableFileError


@contextmanager
def files_of(table: str) -> Iterator[None]:
    """Add the table to an `UnreadableFileError` that has only the file's name, without its folder."""
    try:
        yield
    except UnreadableFileError as e:
        if "/" in e.path:
            raise
        raise e.changed(path=f"{e.path} of table {table}") from e
