"""Errors of Parquet files: damage, or an undamaged form that pyarrow cannot decode."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core.errors import CorruptFileError, UnfamiliarFormError
from paimon_core.formats.parquet.footer import bytes_at, read_footer
from paimon_core.formats.reading import read_errors
from paimon_core.formats.writers import naming_writer
from paimon_core.io.file_io import FileIO
from paimon_core.lazy import ImportedOnCall

if TYPE_CHECKING:
    from paimon_core.formats.parquet.shapes import Shapes, look
else:
    Shapes = ImportedOnCall("paimon_core.formats.parquet.shapes", "Shapes")
    look = ImportedOnCall("paimon_core.formats.parquet.shapes", "look")

# Codecs by their numbers in Parquet: none, Snappy, GZIP, Brotli, Hadoop's LZ4, Zstandard, raw LZ4.
_CODECS = frozenset((0, 1, 2, 4, 5, 6, 7))
_NAMES = {3: "LZO"}
_ENCODINGS = frozenset((0, 2, 3, 4, 5, 6, 7, 8, 9))
_ENCRYPTED = b"PARE"
_NO_STRUCTURE = "deserialize thrift"  # pyarrow's words for a footer that is not whole


@contextmanager
def parquet_errors(io: FileIO, path: str) -> Iterator[None]:
    """Raise errors of pyarrow about a file like `read_errors`.

    Raises `UnfamiliarFormError` if the footer is whole, and names a codec or an encoding that pyarrow does not support,
    or has a schema that pyarrow refuses.
    """
    try:
        with naming_writer(io, path), read_errors("Parquet", path):
            yield
    except CorruptFileError as error:
        cause = _unfamiliar_form(io, path)
        if cause is None:
            raise
        raise UnfamiliarFormError(path, cause, writer=error.writer) from error


def _unfamiliar_form(io: FileIO, path: str) -> str | None:
    try:
        with io.open_input(path) as source:
            if bytes_at(source, source.size() - len(_ENCRYPTED), len(_ENCRYPTED)) == _ENCRYPTED:
                return "it is encrypted"
            return _unfamiliar_footer(source)
    except (OSError, ValueError):
        return None


def _unfamiliar_footer(source: pa.NativeFile) -> str | None:
    """Return the unfamiliar part of a footer, or None if the footer is familiar. Raises `ValueError` for a footer that
    is not whole.
    """
    read_footer(source)
    try:
        source.seek(0)
        pq.ParquetFile(source).schema_arrow  # noqa: B018
    except (pa.ArrowException, OSError) as error:
        if (isinstance(error, OSError) and error.errno) or _NO_STRUCTURE in str(error):
            return None
        return f"its footer is whole, but has a schema that this version does not understand ({error})"
    found = look(source, source.size(), Shapes())
    if others := found.codecs - _CODECS:
        named = ", ".join(_NAMES.get(n, f"codec {n}") for n in sorted(others))
        return f"its columns are compressed by {named}, which this version cannot decompress"
    if others := found.encodings - _ENCODINGS:
        return f"its columns have encoding {min(others)}, which this version cannot decode"
    return None
