"""Avro data files, in which columns have only names. fastavro decodes records, and Arrow converts them column by
column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa

from paimon_core.arrow.types import arrow_schema
from paimon_core.errors import UnfamiliarFormError
from paimon_core.formats.avro.codecs import CODECS, UnknownCodecError
from paimon_core.formats.avro.columns import plain_fields, row_from_plain, struct_of, to_plain
from paimon_core.formats.avro.container import ContainerReader, ContainerWriter
from paimon_core.formats.avro.records import RecordCodec
from paimon_core.formats.avro.schema import plain_record, record_schema
from paimon_core.formats.codecs import codec
from paimon_core.formats.file_format import ReadRequest, WrittenFile
from paimon_core.formats.output import OutputFile
from paimon_core.formats.reading import check_row_count, conform_batch, read_errors, request_sources
from paimon_core.formats.stats import ValueStats
from paimon_core.formats.writers import naming_writer
from paimon_core.io.file_io import FileIO, storage_errors
from paimon_core.options import ZSTD_LEVEL, Option, TableOptions
from paimon_core.spec.avro_types import AvroType, UnfamiliarSchemaError, plain_schema
from paimon_core.spec.types import DataField, RowType

_CODECS = {"zstd": "zstandard", "none": "null"} | {c: c for c in CODECS}
_CODEC = Option("avro.codec", str, "", "Codec of Avro files; overrides `file.compression`.")
_BLOCK_BYTES = 256 * 1024
_BATCH_BYTES = 2**26  # coded, of the rows of a batch


class AvroFormat:
    """`file.format = avro`."""

    extension = "avro"

    def check(self, fields: Sequence[DataField], options: TableOptions) -> None:
        record_schema(fields)
        codec(options, _CODECS, "Avro", _CODEC)

    def open_writer(self, io: FileIO, path: str, fields: Sequence[DataField], options: TableOptions) -> AvroFileWriter:
        return AvroFileWriter(io, path, fields, options)

    def read(self, io: FileIO, request: ReadRequest) -> Iterator[pa.RecordBatch]:
        path, size = request.path, request.size
        with (
            naming_writer(io, path),
            read_errors("Avro", path),
            _schema_errors(path),
            io.open_input(path, size) as source,
        ):
            container = ContainerReader(source)
            decoder = _BlockDecoder(container.type, request)
            for records in _batches(container, decoder, request):
                yield conform_batch(decoder.batch(records), decoder.sources, request)


class AvroFileWriter:
    """Writes one Avro file, in blocks of about 256 KB."""

    def __init__(self, io: FileIO, path: str, fields: Sequence[DataField], options: TableOptions):
        schema, name = record_schema(fields), codec(options, _CODECS, "Avro", _CODEC)
        self._fields, self._stats = tuple(fields), ValueStats(fields)
        self._codec = RecordCodec(plain_record(schema))
        self._output = OutputFile(io, path)
        with storage_errors("write", path):
            self._container = ContainerWriter(self._output.sink, schema, name, options[ZSTD_LEVEL])

    def write(self, rows: pa.Table) -> None:
        self._stats.add(rows)
        with storage_errors("write", self._output.path):
            for batch in rows.to_batches():
                step = max(1, _BLOCK_BYTES * batch.num_rows // max(batch.nbytes, 1))
                for start in range(0, batch.num_rows, step):
                    self._write_block(batch.slice(start, step))

    def _write_block(self, batch: pa.RecordBatch) -> None:
        columns = zip(batch.columns, self._fields, strict=True)
        records = struct_of([to_plain(c, f.type) for c, f in columns], batch.num_rows)
        self._container.write(batch.num_rows, self._codec.encode(records.to_pylist()))

    @property
    def size(self) -> int:
        return self._output.size

    def close(self) -> WrittenFile:
        size = self._output.finish()
        return WrittenFile(self._output.path, size, self._stats.row_count, self._stats.result())

    def abort(self) -> None:
        with suppress(Exception):
            self._output.abort()


@contextmanager
def _schema_errors(path: str) -> Iterator[None]:
    try:
        yield
    except UnfamiliarSchemaError as e:
        raise UnfamiliarFormError(path, f"it is an Avro file that does not resolve to the table's columns ({e})") from e
    except UnknownCodecError as e:
        raise UnfamiliarFormError(path, f"as an Avro file, {e}") from e


class _BlockDecoder:
    """Decodes the blocks of one file. `sources` are the file's columns for the fields of the request."""

    def __init__(self, avro: AvroType, request: ReadRequest) -> None:
        found = [t for t in avro.branches if t.kind == "record"]  # Java makes a union of record and null
        if len(found) != 1:
            raise UnfamiliarSchemaError(f"its schema is of type {avro}, and must be a record")
        (record,) = found
        names = set(record.names)
        if len(names) < len(record.names):
            raise UnfamiliarSchemaError("several of its columns have the same name")
        stored = [f for f in request.stored() or request.fields if f.name in names]
        self.sources = request_sources(list(arrow_schema(stored)), request)
        # Without any column, rows would not be counted.
        fields = tuple(f for f in stored if f.name in self.sources) or tuple(stored[:1])
        self._avro, self._row = record, RowType(fields=fields)
        self._codec = RecordCodec(plain_schema(avro))
        self._plain, self._arrow = plain_fields(fields, record), pa.struct(list(arrow_schema(fields)))

    def records(self, count: int, content: bytes) -> list[Any]:
        """Return the records of a block."""
        return self._codec.decode(count, content)

    def batch(self, records: list[Any]) -> pa.RecordBatch:
        """Convert records to columns."""
        plain = pa.array(records, self._plain)
        return pa.RecordBatch.from_struct_array(row_from_plain(plain, self._row, self._avro, self._arrow))


def _batches(container: ContainerReader, decoder: _BlockDecoder, request: ReadRequest) -> Iterator[list[Any]]:
    pending, size, rows = list[Any](), 0, 0
    for count, content in container:
        rows += count
        if request.row_count is not None and rows > request.row_count:  # before records become values
            check_row_count(request, rows)
        pending += decoder.records(count, content)
        size += len(content)
        if len(pending) >= request.max_rows or size >= _BATCH_BYTES:
            yield pending
            pending, size = [], 0
    check_row_count(request, rows)
    if pending:
        yield pending
