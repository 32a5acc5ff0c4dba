"""CSV, JSON and text files: one line per row, with all values as text. A file is compressed as a whole.

    data-UUID-N.csv[.gz|.bz2|.zst]     values in the order of the columns
    data-UUID-N.json[.gz|.bz2|.zst]    an object per line, values by column name
    data-UUID-N.text[.gz|.bz2|.zst]    the only column

They have no statistics and no field ids: the columns of a file are the columns of the schema it was written with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import SEEK_SET, RawIOBase

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paimon_core.arrow.types import arrow_schema
from paimon_core.errors import (
    CorruptFileError,
    InvalidDataError,
    PaimonError,
    UnfamiliarFormError,
    UnsupportedFeatureError,
)
from paimon_core.formats.codecs import codec
from paimon_core.formats.file_format import ReadRequest, WrittenFile
from paimon_core.formats.output import OutputFile
from paimon_core.formats.reading import check_row_count, conform_batch, read_errors, request_sources
from paimon_core.formats.text.lines import Malformed, TextLayout
from paimon_core.formats.text.values import from_text, text_type, to_text, value_of_text
from paimon_core.formats.writers import naming_writer
from paimon_core.io.file_io import FileIO, storage_errors
from paimon_core.options import TableOptions
from paimon_core.spec.types import DataField, DataType

CODECS = {"none": None, "gzip": "gzip", "bzip2": "bz2", "zstd": "zstd"}
_BY_ENDING = {"gz": "gzip", "bz2": "bz2", "zst": "zstd"}
_UNREADABLE = ("deflate", "snappy", "lz4")


class TextFormat:
    """`file.format = csv`, `json` and `text`."""

    def __init__(self, layout: TextLayout) -> None:
        self._layout, self.extension = layout, layout.name

    def check(self, fields: Sequence[DataField], options: TableOptions) -> None:
        self._layout.check(fields, options)
        codec(options, CODECS, "text")

    def open_writer(self, io: FileIO, path: str, fields: Sequence[DataField], options: TableOptions) -> TextFileWriter:
        self.check(fields, options)  # before there is a file
        return TextFileWriter(self._layout, OutputFile(io, path), fields, options)

    def read(self, io: FileIO, request: ReadRequest) -> Iterator[pa.RecordBatch]:
        stored = tuple(request.stored()) or request.fields
        schema, target = pa.schema([(f.name, text_type(f.type)) for f in stored]), arrow_schema(stored)
        path = request.path
        with naming_writer(io, path), _read_errors(self.extension, path), _open(io, path) as stream:
            sources = request_sources(list(target), request)
            rows = 0
            for batch in self._layout.decode(stream, schema, request.options):
                rows += batch.num_rows
                if request.row_count is not None and rows > request.row_count:
                    break  # stop: the exact number of rows of a wrong file is not needed
                # without any column, rows would not be counted
                wanted = [i for i, f in enumerate(stored) if f.name in sources] or [0]
                found = _values(batch, stored, wanted, self._layout.malformed(request.options))
                if found.num_rows:
                    yield conform_batch(found, sources, request)
            check_row_count(request, rows)


class TextFileWriter:
    """Writes one CSV, JSON or text file."""

    def __init__(
        self, layout: TextLayout, output: OutputFile, fields: Sequence[DataField], options: TableOptions
    ) -> None:
        self._layout, self._output, self._fields, self._options = layout, output, tuple(fields), options
        name, self.row_count = codec(options, CODECS, "text"), 0
        self._stream = pa.CompressedOutputStream(output.sink, name) if name else output.sink
        with storage_errors("write", output.path):
            self._stream.write(layout.header([f.name for f in fields], options))

    def write(self, rows: pa.Table) -> None:
        self.row_count += rows.num_rows
        for batch in rows.to_batches():
            texts = [to_text(c, f.type) for c, f in zip(batch.columns, self._fields, strict=True)]
            content = self._layout.encode(
                pa.RecordBatch.from_arrays(texts, [f.name for f in self._fields]), self._options
            )
            with storage_errors("write", self._output.path):
                self._stream.write(content)

    @property
    def size(self) -> int:
        return self._output.size

    def close(self) -> WrittenFile:
        with storage_errors("write", self._output.path):
            if self._stream is not self._output.sink:
                self._stream.close()
        size = self._output.finish()
        return WrittenFile(self._output.path, size, self.row_count)

    def abort(self) -> None:
        with suppress(Exception):
            self._stream.close()
        self._output.abort()


def _values(
    batch: pa.RecordBatch, stored: Sequence[DataField], wanted: Sequence[int], malformed: Malformed
) -> pa.RecordBatch:
    """Parse texts to values. `malformed` decides about texts that do not parse."""
    schema = pa.schema([arrow_schema([stored[i]]).field(0) for i in wanted])
    bad = np.zeros(batch.num_rows, dtype=np.bool_)
    columns = []
    for i, field in zip(wanted, schema, strict=True):
        if malformed in (Malformed.ERROR, Malformed.NULL):
            parse = value_of_text if malformed is Malformed.ERROR else _null_where_failing
            columns.append(from_text(batch.column(i), stored[i].type, field.type, parse))
            continue
        column, failed = _tolerant(batch.column(i), stored[i].type, field.type)
        bad |= failed
        columns.append(pc.if_else(pa.array(bad), pa.scalar(None, field.type), column) if bad.any() else column)
    found = pa.RecordBatch.from_arrays(columns, schema=schema)
    return found.filter(pa.array(~bad)) if malformed is Malformed.NO_ROW and bad.any() else found


def _null_where_failing(column: pa.Array, data_type: DataType, target: pa.DataType) -> pa.Array:
    return _tolerant(column, data_type, target)[0]


def _tolerant(column: pa.Array, data_type: DataType, target: pa.DataType) -> tuple[pa.Array, NDArray[np.bool_]]:
    """Return the values of texts, with NULL for texts that do not parse, and a mask of the texts that do not parse.

    The texts that do not parse are found by halving: parse all, and if that fails, each half.
    """
    try:
        return value_of_text(column, data_type, target), np.zeros(len(column), dtype=np.bool_)
    except (pa.ArrowException, ValueError, InvalidDataError):
        if len(column) == 1:
            return pa.nulls(1, target), np.ones(1, dtype=np.bool_)
    middle = len(column) // 2
    halves = [_tolerant(part, data_type, target) for part in (column.slice(0, middle), column.slice(middle))]
    return pa.concat_arrays([h[0] for h in halves]), np.concatenate([h[1] for h in halves])


@contextmanager
def _open(io: FileIO, path: str) -> Iterator[pa.NativeFile]:
    """Open the bytes of a file. Text has no end mark, so a file that ends before its size raises `CorruptFileError`."""
    ending = path.rpartition(".")[2].lower()
    with io.open_input(path) as source:
        if ending in _UNREADABLE:
            raise UnsupportedFeatureError(f"File {path} cannot be read: this version does not know its compression.")
        counted, size = _Counted(source), source.size()
        try:
            with pa.PythonFile(counted, mode="r") as stream:
                if ending not in _BY_ENDING:
                    yield stream
                else:
                    with pa.CompressedInputStream(stream, _BY_ENDING[ending]) as decoded:
                        yield decoded
        finally:  # lines of a file that ends early may not parse
            if counted.has_ended and counted.given < size:
                raise CorruptFileError(path, f"only {counted.given} of its {size} bytes could be read")


class _Counted(RawIOBase):
    """A file that is read once from its start.

    `given` counts the bytes that were read; `has_ended` says whether a read returned fewer bytes than it asked for.
    """

    def __init__(self, source: pa.NativeFile) -> None:
        self._source, self.given, self.has_ended = source, 0, False

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        return int(self._source.seek(offset, whence))

    def tell(self) -> int:
        return int(self._source.tell())

    def read(self, size: int | None = -1) -> bytes:
        found: bytes = self._source.read(None if size is None or size < 0 else size)
        self.given += len(found)
        self.has_ended |= size is None or size < 0 or len(found) < size
        return found


@contextmanager
def _read_errors(name: str, path: str) -> Iterator[None]:
    """Raise errors of decompression as `CorruptFileError`, and lines that do not fit the columns as
    `UnfamiliarFormError`: nothing in a line shows whether it is damaged.
    """
    with read_errors(name.upper(), path):
        try:
            yield
        except (PaimonError, OSError):
            raise
        except (pa.ArrowInvalid, ValueError, TypeError, RecursionError, OverflowError) as e:
            advice = f"compare its lines with the columns of the table and with the table's options '{name}.…'"
            raise UnfamiliarFormError(path, f"as a {name.upper()} file, {e}", advice) from e
