"""ORC data files: columns carry their field id as attribute `paimon.id`; TIME is an INT, text of any kind a STRING."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from io import RawIOBase
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc as po

from paimon_core.arrow.evolution import conform
from paimon_core.arrow.shredded_maps import SelectedKeys, field_metadata
from paimon_core.arrow.types import FIELD_ID, ORC_FIELD_ID, arrow_schema
from paimon_core.errors import InvalidDataError, InvalidOptionError, UnsupportedFeatureError
from paimon_core.formats.codecs import ORC_CODECS, codec
from paimon_core.formats.file_format import ReadRequest, WrittenFile
from paimon_core.formats.orc.layout import check_tail, read_tail, with_metadata
from paimon_core.formats.orc.nested import without_char_spaces
from paimon_core.formats.orc.stripe_checks import check_stripe
from paimon_core.formats.orc.timestamps import (
    has_old_clocks,
    is_found_by_rules,
    is_utc,
    moments_without_zone,
    stripe_times,
    times_as_numbers,
)
from paimon_core.formats.output import OutputFile
from paimon_core.formats.reading import (
    check_row_count,
    conform_batch,
    keys_to_read,
    read_errors,
    request_sources,
)
from paimon_core.formats.shared_maps import SharedMaps, shared_maps
from paimon_core.formats.stats import ValueStats
from paimon_core.formats.writers import naming_writer
from paimon_core.io.file_io import FileIO, storage_errors
from paimon_core.options import (
    FILE_BLOCK_SIZE,
    NO_NAMES,
    ZSTD_LEVEL,
    Option,
    TableOptions,
    decimal_number,
    integer,
    memory_size,
    names,
    one_of,
)
from paimon_core.spec.types import DataField, Kind, nested_types

_STRIPE_SIZE = Option("orc.stripe.size", memory_size, 64 * 2**20, "Bytes of a stripe.")
_COMPRESS_SIZE = Option("orc.compress.size", memory_size, 256 * 2**10, "Bytes that are compressed at once.")
_ROW_INDEX_STRIDE = Option("orc.row.index.stride", integer, 10_000, "Rows per entry of the row index.")
_DICTIONARY = Option(
    "orc.dictionary.key.threshold", decimal_number, 0.8, "Largest share of distinct values for a dictionary."
)
_COMPRESS = Option("orc.compress", str, "", "Codec of ORC files; overrides `file.compression`.")
_STRATEGY = Option("orc.compression.strategy", one_of("speed", "compression"), "", "What compression is optimized for.")
_ZSTD_LEVEL = Option("orc.compression.zstd.level", integer, 0, "Level; overrides `file.compression.zstd-level`.")
_BLOOM_COLUMNS = Option("orc.bloom.filter.columns", names, NO_NAMES, "Columns with bloom filters.")
_BLOOM_FPP = Option("orc.bloom.filter.fpp", decimal_number, 0.01, "Share of absent values that a filter lets pass.")
_LARGEST_VALUE = 64 * 2**20  # bytes of one value
_ENCODED_SHARE = 4  # bytes in memory that become one in a file, roughly


class OrcFormat:
    """`file.format = orc`."""

    extension = "orc"

    def check(self, fields: Sequence[DataField], options: TableOptions) -> None:
        _settings(options, stored_schema(arrow_schema(fields)))
        for field in fields:
            if any(t.kind is Kind.VARIANT for t in nested_types(field.type)):
                raise UnsupportedFeatureError(f"Column {field.name!r}: ORC files cannot hold VARIANT; use Parquet.")

    def open_writer(self, io: FileIO, path: str, fields: Sequence[DataField], options: TableOptions) -> OrcFileWriter:
        self.check(fields, options)
        return OrcFileWriter(io, path, fields, options)

    def read(self, io: FileIO, request: ReadRequest) -> Iterator[pa.RecordBatch]:
        path = request.path
        with naming_writer(io, path), read_errors("ORC", path), io.open_input(path, request.size) as source:
            tail = check_tail(source)
            file = po.ORCFile(source)
            check_row_count(request, file.nrows)
            sources = request_sources(list(file.schema), request)
            metadata = field_metadata(file.schema)
            keys = _keys(file.schema, metadata, sources, request)
            names = _selection(file.schema, [s for s in sources if s is not None], keys)
            moments = moments_without_zone(file, tail, sources, request.fields)
            for i in range(file.nstripes):
                zone = check_stripe(source, tail, tail.stripes[i], near=io.is_near)
                own = frozenset() if is_utc(zone) else moments
                stripe = None if own or is_found_by_rules(zone) else _natively(file, i, names, zone)
                stripe = _by_rules(file, source, i, names, (request.path, own)) if stripe is None else stripe
                stripe.validate(full=True)  # ORC files have no checksums, so texts may be invalid UTF-8
                stripe = without_char_spaces(stripe, file.schema, tail)
                for name, selected in keys.items():
                    index = stripe.schema.get_field_index(name)
                    stripe = stripe.set_column(index, name, selected.maps(stripe.column(index)))
                if metadata:
                    fields = [f.with_metadata(metadata.get(f.name, f.metadata)) for f in stripe.schema]
                    stripe = pa.RecordBatch.from_arrays(stripe.columns, schema=pa.schema(fields))
                for start in range(0, stripe.num_rows, _step(stripe, request)):
                    yield conform_batch(stripe.slice(start, _step(stripe, request)), sources, request)


class OrcFileWriter:
    """One ORC file; stripes end when they are full."""

    def __init__(self, io: FileIO, path: str, fields: Sequence[DataField], options: TableOptions):
        self._fields, self._options, self._maps = tuple(fields), options, SharedMaps({})
        self._logical = self._schema = stored_schema(arrow_schema(fields))
        self._stats = ValueStats(fields)
        settings = _settings(options, self._schema)
        self._output = OutputFile(io, path)
        self._sink = _KeptSink(self._output.sink)
        self._writer = po.ORCWriter(self._sink, **settings)
        self._started = False
        self._flushed = self._unflushed = 0

    def write(self, rows: pa.Table) -> None:
        if not self._started:
            self._maps = shared_maps(self._fields, self._options, rows)
            self._schema = self._maps.schema(self._logical)
        for name, column in zip(self._schema.names, rows.columns, strict=True):
            for part in column.chunks:
                _check_times(name, part)
                _check_sizes(name, part)
        columns = [
            pa.chunked_array([_whole(conform(part, f.type)) for part in column.chunks], f.type)
            for column, f in zip(rows.columns, self._logical, strict=True)
        ]
        self._stats.add(rows)
        stored = self._maps.physical(pa.Table.from_arrays(columns, schema=self._logical))
        with storage_errors("write", self._output.path):
            self._writer.write(stored)
            self._sink.check()
        self._started = True
        self._unflushed += rows.nbytes
        if self._output.size != self._flushed:
            self._flushed, self._unflushed = self._output.size, 0

    @property
    def size(self) -> int:
        return self._output.size + self._unflushed // _ENCODED_SHARE

    def close(self) -> WrittenFile:
        with storage_errors("write", self._output.path):
            if not self._started:
                self._writer.write(self._schema.empty_table())
            if metadata := self._maps.metadata(self._schema):
                self._sink.hold()
            self._writer.close()
            self._sink.release(metadata)
            self._sink.check()
        size = self._output.finish()
        return WrittenFile(self._output.path, size, self._stats.row_count, self._stats.result())

    def abort(self) -> None:
        with suppress(Exception):
            self._writer.close()
        self._output.abort()


class _KeptSink(RawIOBase):
    """A file that accepts all bytes and stores the first error of the underlying file; `check` raises the error later.

    pyarrow's ORC writer ends the process if its file raises any exception, even an interrupt."""

    def __init__(self, sink: pa.NativeFile) -> None:
        self._sink, self._size = sink, 0
        self._error: BaseException | None = None
        self._held: bytearray | None = None

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._size

    def write(self, data: Any) -> int:
        self._size += len(data)
        try:
            if self._held is not None:
                self._held += data
            elif self._error is None:
                self._sink.write(data)
        except BaseException as error:
            self._error = error
        return len(data)

    def hold(self) -> None:
        """Keep the bytes from now on, which end the file."""
        self._held = bytearray()

    def release(self, metadata: Mapping[str, str]) -> None:
        """Write the kept bytes, with more metadata of the file."""
        if self._held is not None:
            held, self._held = bytes(self._held), None
            self.write(with_metadata(held, metadata))

    def check(self) -> None:
        if self._error is not None:
            raise self._error


def _whole(column: pa.Array) -> pa.Array:
    """Copy the column to new buffers: pyarrow's ORC writer misreads the NULLs of slices of structs."""
    return pa.concat_arrays([column]) if pa.types.is_nested(column.type) else column


def holds_times(column: pa.Array) -> bool:
    """Return whether all times of a column can be stored so that every reader returns them unchanged.

    pyarrow stores a time before 1970 as seconds rounded up and negative nanoseconds. Paimon's Java can read this for
    whole milliseconds, and refuses the file otherwise. Java itself cannot store the last second of 1969.
    """
    if pa.types.is_timestamp(column.type):
        values, below = column.cast(pa.int64()), {"ms": 1, "us": 1000, "ns": 1_000_000}.get(column.type.unit, 1)
        rest = pc.subtract(values, pc.multiply(pc.divide(values, below), below))
        return below == 1 or not pc.any(pc.and_(pc.less(values, 0), pc.not_equal(rest, 0))).as_py()
    if not pa.types.is_nested(column.type):
        return True
    return all(map(holds_times, column.flatten() if pa.types.is_struct(column.type) else _children(column)))


def _check_times(name: str, column: pa.Array) -> None:
    if not holds_times(column):
        raise InvalidDataError(
            f"Column {name!r} has times before 1970 with microseconds, which ORC files cannot hold. Round them to "
            "milliseconds, or use Parquet ('file.format' = 'parquet')."
        )


def _check_sizes(name: str, column: pa.Array) -> None:
    """Raise `InvalidDataError` for a huge value: pyarrow's writer needs twenty times its memory, and ends the process
    if there is less.
    """
    if column.nbytes <= _LARGEST_VALUE:
        return
    if pa.types.is_nested(column.type):
        for child in column.flatten() if pa.types.is_struct(column.type) else _children(column):
            _check_sizes(name, child)
    elif _has_bytes(column.type) and (pc.max(pc.binary_length(column)).as_py() or 0) > _LARGEST_VALUE:
        raise InvalidDataError(
            f"Column {name!r} has a value of more than {_LARGEST_VALUE // 2**20} MB, which is too large for ORC files. "
            "Use Parquet ('file.format' = 'parquet'), or a BLOB column."
        )


def _has_bytes(kind: pa.DataType) -> bool:
    tests = (pa.types.is_binary, pa.types.is_string, pa.types.is_large_binary, pa.types.is_large_string)
    return any(test(kind) for test in tests)


def _children(column: pa.Array) -> list[pa.Array]:
    return [column.keys, column.items] if pa.types.is_map(column.type) else [column.flatten()]


def _settings(options: TableOptions, schema: pa.Schema) -> dict[str, Any]:
    """Return the arguments of `po.ORCWriter`. Raises `InvalidOptionError`."""
    filtered, numbers = options[_BLOOM_COLUMNS], _column_numbers(schema)
    for name in filtered:
        if name not in numbers:
            raise InvalidOptionError(
                f"Option '{_BLOOM_COLUMNS.key}' cannot name {name!r}: there is no such column. "
                "Name columns of the table."
            )
    for option in (_DICTIONARY, _BLOOM_FPP):
        if not 0 <= options[option] <= 1:
            raise InvalidOptionError(f"Option '{option.key}' cannot be {options[option]}: use a share from 0 to 1.")
    levels = options[_ZSTD_LEVEL] or options[ZSTD_LEVEL]
    return {
        "compression": codec(options, ORC_CODECS, "ORC", _COMPRESS),
        # pyarrow has these two strategies instead of levels
        "compression_strategy": options[_STRATEGY] or ("speed" if levels <= 1 else "compression"),
        "bloom_filter_columns": [numbers[name] for name in filtered] or None,
        "bloom_filter_fpp": options[_BLOOM_FPP],
        "stripe_size": options[FILE_BLOCK_SIZE] or options[_STRIPE_SIZE],
        "compression_block_size": options[_COMPRESS_SIZE],
        "row_index_stride": options[_ROW_INDEX_STRIDE],
        "dictionary_key_size_threshold": options[_DICTIONARY],
    }


def _column_numbers(schema: pa.Schema) -> dict[str, int]:
    """Return the numbers of the columns in a file. Nested columns have numbers, too; 0 is the row."""
    sizes = [_size(f.type) for f in schema]
    return {f.name: 1 + sum(sizes[:i]) for i, f in enumerate(schema)}


def _size(arrow: pa.DataType) -> int:
    if pa.types.is_map(arrow):
        return 1 + _size(arrow.key_type) + _size(arrow.item_type)
    return 1 + sum(_size(arrow.field(i).type) for i in range(arrow.num_fields))


def _by_rules(
    file: po.ORCFile, source: pa.NativeFile, index: int, names: list[str] | None, times: tuple[str, frozenset[int]]
) -> pa.RecordBatch:
    """Read a stripe, and compute its times here instead of by pyarrow. `times` are the file's path and the columns
    without a zone that have moments.
    """
    tail = read_tail(source)
    numbers = pa.PythonFile(times_as_numbers(source, tail, index), mode="r")
    stripe = po.ORCFile(numbers).read_stripe(index, columns=names)
    path, moments = times
    return stripe_times(path, source, tail, index, moments).restored(stripe, file.schema)


def _natively(file: po.ORCFile, index: int, names: list[str] | None, zone: str) -> pa.RecordBatch | None:
    """Read a stripe by pyarrow; None if pyarrow cannot read its times, or reads other times than Java wrote."""
    try:
        stripe = file.read_stripe(index, columns=names)
        return None if has_old_clocks(stripe, zone) else stripe
    except pa.ArrowException as e:
        if "out of range for nanosecond" in str(e) or "Time zone file" in str(e):
            return None
        raise


def _keys(
    found: pa.Schema, metadata: Mapping[str, dict[bytes, bytes]], sources: Sequence[str | None], request: ReadRequest
) -> dict[str, SelectedKeys]:
    """Return the keys to read of MAPs that have a column per key, by column of the file."""
    if not request.map_keys or _has_dots(found):
        return {}
    pairs = ((f, s) for f, s in zip(request.fields, sources, strict=True) if s is not None)
    keys = {s: keys_to_read(found.field(s).with_metadata(metadata.get(s)), f, request) for f, s in pairs}
    return {name: selected for name, selected in keys.items() if selected is not None}


def _has_dots(found: pa.Schema) -> bool:
    """Return whether pyarrow would read the name of a column as a path."""
    return any("." in n for n in found.names)


def _selection(found: pa.Schema, names: Sequence[str], keys: Mapping[str, SelectedKeys]) -> list[str] | None:
    """Return the columns to request, with paths of the MAPs that are read by keys; None for all."""
    if _has_dots(found):
        return None
    wanted = (part for name in names for part in (keys[name].parts(name) if name in keys else [name]))
    return list(dict.fromkeys(wanted)) or found.names[:1]


def _step(stripe: pa.RecordBatch, request: ReadRequest) -> int:
    """Return the rows per batch, so that a batch of long values stays within bounds."""
    return int(max(1, min(request.max_rows, request.max_bytes * stripe.num_rows // max(stripe.nbytes, 1))))


def stored_schema(schema: pa.Schema) -> pa.Schema:
    """Return the columns as ORC files store them."""
    return pa.schema([_stored_field(f) for f in schema])


def _stored_field(field: pa.Field) -> pa.Field:
    identity = (field.metadata or {}).get(FIELD_ID)
    metadata = None if identity is None else {ORC_FIELD_ID: identity}
    return pa.field(field.name, _stored_type(field.type), field.nullable, metadata)


def _stored_type(arrow: pa.DataType) -> pa.DataType:
    if pa.types.is_time(arrow):
        return pa.int32()
    if pa.types.is_struct(arrow):
        return pa.struct([_stored_field(f) for f in arrow])
    if pa.types.is_map(arrow):
        return pa.map_(_stored_field(arrow.key_field), _stored_field(arrow.item_field))
    if pa.types.is_list(arrow):
        return pa.list_(_stored_field(arrow.value_field))
    return arrow
