"""CSV and JSON data files: a line per row, all values as text, compressed as a whole.

    data-UUID-N.csv[.gz|.bz2|.zst]     values in the order of the columns
    data-UUID-N.json[.gz|.bz2|.zst]    an object per line, values by column name

They have no statistics and no field ids: columns are those of the schema that the file was written with.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv

from paimon_core.errors import CorruptFileError, InvalidOptionError, UnsupportedFeatureError
from paimon_core.formats.arrow_types import arrow_schema
from paimon_core.formats.evolution import conform_batch, request_sources
from paimon_core.formats.file_format import ReadRequest, WrittenFile
from paimon_core.formats.input import read_errors
from paimon_core.formats.output import OutputFile
from paimon_core.formats.text_values import from_text, text_type, to_text
from paimon_core.io.file_io import FileIO, storage_errors
from paimon_core.options import FILE_COMPRESSION, Option, TableOptions, boolean
from paimon_core.spec.types import CollectionType, DataField, Kind, MapType, RowType, nested_types

CODECS = {"none": None, "gzip": "gzip", "bzip2": "bz2", "zstd": "zstd"}
_BY_ENDING = {"gz": "gzip", "bz2": "bz2", "zst": "zstd"}
_DELIMITER = Option("csv.field-delimiter", str, ",", "What stands between the values of a CSV line.")
_QUOTE = Option("csv.quote-character", str, '"', "What stands around CSV values with special characters.")
_ESCAPE = Option("csv.escape-character", str, "\\", "What stands before a quote in a CSV value.")
_NULL = Option("csv.null-literal", str, "", "What stands for NULL in CSV files.")
_HEADER = Option("csv.include-header", boolean, False, "Whether CSV files begin with the names of the columns.")
_LINES = 20_000


class TextForm(Protocol):
    """How rows become lines and lines rows."""

    @property
    def name(self) -> str:
        """The format's name, and what files end with."""

    def check(self, field: DataField) -> None:
        """Raises `UnsupportedFeatureError` for a column that such files cannot hold."""

    def encode(self, batch: pa.RecordBatch, options: TableOptions) -> bytes:
        """Lines of columns of texts."""

    def header(self, names: Sequence[str], options: TableOptions) -> bytes:
        """What a file begins with."""

    def decode(self, stream: pa.NativeFile, schema: pa.Schema, options: TableOptions) -> Iterator[pa.RecordBatch]:
        """Columns of texts from lines."""


class CsvForm:
    """Values that hold a special character are quoted; a quote or escape in them follows an escape."""

    name = "csv"

    def check(self, field: DataField) -> None:
        if isinstance(field.type, CollectionType | MapType | RowType) or field.type.kind is Kind.VARIANT:
            raise UnsupportedFeatureError(f"Column {field.name!r}: CSV files hold no {field.type.kind.value}.")

    def encode(self, batch: pa.RecordBatch, options: TableOptions) -> bytes:
        cells = [_quoted(c, options).fill_null(options[_NULL]) for c in batch.columns]
        lines = pc.binary_join_element_wise(*cells, options[_DELIMITER])
        return _content(pc.binary_join_element_wise(lines, "", "\n"))

    def header(self, names: Sequence[str], options: TableOptions) -> bytes:
        row = pa.RecordBatch.from_arrays([pa.array([n]) for n in names], names=list(names))
        return self.encode(row, options) if options[_HEADER] else b""

    def decode(self, stream: pa.NativeFile, schema: pa.Schema, options: TableOptions) -> Iterator[pa.RecordBatch]:
        reader = pv.open_csv(
            stream,
            pv.ReadOptions(column_names=schema.names, skip_rows=int(options[_HEADER])),
            pv.ParseOptions(
                delimiter=options[_DELIMITER],
                quote_char=options[_QUOTE],
                escape_char=options[_ESCAPE],
                newlines_in_values=True,
                ignore_empty_lines=False,
            ),
            pv.ConvertOptions(
                column_types=schema,
                null_values=[options[_NULL]],
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )
        yield from reader


class JsonForm:
    """Objects of texts, arrays and objects; keys of maps are texts."""

    name = "json"

    def check(self, field: DataField) -> None:
        if any(t.kind in (Kind.VARIANT, Kind.MULTISET) for t in nested_types(field.type)):
            raise UnsupportedFeatureError(f"Column {field.name!r}: JSON files hold no {field.type}.")

    def encode(self, batch: pa.RecordBatch, options: TableOptions) -> bytes:
        encode = partial(json.dumps, ensure_ascii=False, separators=(",", ":"))
        return "".join(f"{line}\n" for line in map(encode, batch.to_pylist(maps_as_pydicts="strict"))).encode()

    def header(self, names: Sequence[str], options: TableOptions) -> bytes:
        return b""

    def decode(self, stream: pa.NativeFile, schema: pa.Schema, options: TableOptions) -> Iterator[pa.RecordBatch]:
        row_type, lines = pa.struct(list(schema)), stream.read().decode().split("\n")
        if lines[-1] == "":
            lines.pop()
        for start in range(0, len(lines), _LINES):
            text = f"[{','.join(lines[start : start + _LINES])}]"
            rows = json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
            if len(rows) != len(lines[start : start + _LINES]):
                raise ValueError("a line is no row")
            yield pa.RecordBatch.from_struct_array(pa.array(rows, row_type))


class TextFormat:
    """`file.format = csv` and `json`."""

    def __init__(self, form: TextForm) -> None:
        self._form, self.extension = form, form.name

    def open_writer(self, io: FileIO, path: str, fields: Sequence[DataField], options: TableOptions) -> TextFileWriter:
        for field in fields:
            self._form.check(field)
        _codec(options)  # before there is a file
        return TextFileWriter(self._form, OutputFile(io, path), fields, options)

    def read(self, io: FileIO, request: ReadRequest) -> Iterator[pa.RecordBatch]:
        stored = tuple(request.stored()) or request.fields
        schema, target = pa.schema([(f.name, text_type(f.type)) for f in stored]), arrow_schema(stored)
        with _read_errors(self.extension, request.path), _open(io, request.path) as stream:
            sources = request_sources(list(target), request)
            for batch in self._form.decode(stream, schema, request.options):
                wanted = [i for i, f in enumerate(stored) if f.name in sources]
                columns = [from_text(batch.column(i), stored[i].type, target.field(i).type) for i in wanted]
                found = pa.RecordBatch.from_arrays(columns, schema=pa.schema([target.field(i) for i in wanted]))
                yield conform_batch(found, sources, request)


class TextFileWriter:
    """One CSV or JSON file."""

    def __init__(self, form: TextForm, output: OutputFile, fields: Sequence[DataField], options: TableOptions) -> None:
        self._form, self._output, self._fields, self._options = form, output, tuple(fields), options
        codec, self.row_count = _codec(options), 0
        self._stream = pa.CompressedOutputStream(output.sink, codec) if codec else output.sink
        with storage_errors("write", output.path):
            self._stream.write(form.header([f.name for f in fields], options))

    def write(self, rows: pa.Table) -> None:
        self.row_count += rows.num_rows
        for batch in rows.to_batches():
            texts = [to_text(c, f.type) for c, f in zip(batch.columns, self._fields, strict=True)]
            content = self._form.encode(
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


def _quoted(column: pa.Array, options: TableOptions) -> pa.Array:
    quote, escape = options[_QUOTE], options[_ESCAPE]
    special = pa.array([False] * len(column))
    for character in (options[_DELIMITER], "\n", "\r", quote, escape):
        special = pc.or_(special, pc.match_substring(column, character).fill_null(False))
    escaped = pc.replace_substring(pc.replace_substring(column, escape, escape * 2), quote, escape + quote)
    return pc.if_else(special, pc.binary_join_element_wise(quote, escaped, quote, ""), column)


def _content(lines: pa.StringArray) -> bytes:
    """The texts of a column, one after the other."""
    return bytes(
        pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines), "")[0].as_buffer()
    )


def _codec(options: TableOptions) -> str | None:
    name = options[FILE_COMPRESSION].strip().lower() or "none"
    if name not in CODECS:
        known = ", ".join(CODECS)
        raise InvalidOptionError(f"Option '{FILE_COMPRESSION.key}' cannot be {name!r} for text. It is one of {known}.")
    return CODECS[name]


@contextmanager
def _open(io: FileIO, path: str) -> Iterator[pa.NativeFile]:
    ending = path.rpartition(".")[2].lower()
    with io.arrow().open_input_file(io.arrow_path(path)) as source:
        if ending in ("csv", "json"):
            yield source
        elif ending in _BY_ENDING:
            with pa.CompressedInputStream(source, _BY_ENDING[ending]) as stream:
                yield stream
        else:
            raise UnsupportedFeatureError(f"File {path} is compressed in a way that this version does not read.")


@contextmanager
def _read_errors(name: str, path: str) -> Iterator[None]:
    try:
        with read_errors(name.upper(), path):
            yield
    except (TypeError, RecursionError, OverflowError) as e:
        raise CorruptFileError(path, f"it is no {name} file, or damaged ({e})") from e
