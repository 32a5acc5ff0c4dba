"""Files that metadata names without their folders, in errors: by the table that they are of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from paimon_core.errors import CorruptFileError


@contextmanager
def files_of(table: str) -> Iterator[None]:
    """Let a `CorruptFileError` of a file that is told by its name alone say which table's it is."""
    try:
        yield
    except CorruptFileError as e:
        if "/" in e.path:
            raise
        raise type(e)(f"{e.path} of table {table}", e.cause, e.advice) from e
