"""The software that wrote a file, as the footers of Parquet and ORC files name it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core.errors import CorruptFileError, UnreadableFileError
from paimon_core.io.file_io import FileIO
from paimon_core.lazy import ImportedOnCall

if TYPE_CHECKING:
    from pyarrow.orc import ORCFile

    from paimon_core.formats.orc.layout import check_tail
else:
    ORCFile = ImportedOnCall("pyarrow.orc", "ORCFile")
    check_tail = ImportedOnCall("paimon_core.formats.orc.layout", "check_tail")

_MOST = 100  # characters of a name: a footer may hold any text


def writer_of(source: pa.NativeFile) -> str:
    """Return the software that wrote a file, or "" if the footer cannot be read or does not name it."""
    try:
        source.seek(0)
        if source.read(3) != b"ORC":
            return _plain(pq.read_metadata(source).created_by or "")
        check_tail(source)
        file = ORCFile(source)
        return _plain(file.software_version or file.writer)
    except (pa.ArrowException, OSError, ValueError, AttributeError):
        return ""


@contextmanager
def naming_writer(io: FileIO, path: str) -> Iterator[None]:
    """Add the software that wrote a file to errors about the file, and its size to errors about damage."""
    try:
        yield
    except UnreadableFileError as error:
        if error.writer or error.path != path:
            raise
        named: UnreadableFileError = error.changed(writer=_writer_at(io, path))
        raise _sized(io, named) from error.__cause__


def _sized(io: FileIO, error: UnreadableFileError) -> UnreadableFileError:
    try:
        return error.sized(io.status(error.path).size) if isinstance(error, CorruptFileError) else error
    except OSError:
        return error


def _writer_at(io: FileIO, path: str) -> str:
    try:
        with io.open_input(path) as source:
            return writer_of(source)
    except (OSError, ValueError):
        return ""


def _plain(name: str) -> str:
    return " ".join(name.split())[:_MOST] if name.isprintable() else ""
