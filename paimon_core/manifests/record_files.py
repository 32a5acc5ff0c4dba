"""Records of metadata (manifests and their lists) as files in the format of `manifest.format`; Avro in every codec.

Parquet and ORC have the same columns as the Avro records; field ids count from 0, but `_VERSION`, the first, has -1.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core import compute as pc
from paimon_core.arrow.evolution import conform, sources_of
from paimon_core.arrow.types import arrow_schema
from paimon_core.errors import (
    CorruptFileError,
    InvalidOptionError,
    PaimonError,
    UnfamiliarFormError,
    UnreadableFileError,
    UnsupportedVersionError,
    reason,
)
from paimon_core.formats.avro.codecs import InflatedError, UnknownCodecError, most_content
from paimon_core.formats.avro.container import SHORT_SCHEMA, ContainerReader
from paimon_core.formats.avro.plain_values import PlainValues
from paimon_core.formats.codecs import ORC_CODECS, known_codec
from paimon_core.formats.parquet.page_checks import checked_footer
from paimon_core.formats.parquet.settings import CODECS as PARQUET_CODECS
from paimon_core.formats.writers import writer_of
from paimon_core.lazy import ImportedOnCall
from paimon_core.manifests.avro_resolution import Resolution, resolve
from paimon_core.options import MANIFEST_COMPRESSION, MANIFEST_FORMAT, TableOptions
from paimon_core.spec.avro_types import AvroType, UnfamiliarSchemaError
from paimon_core.spec.records import Column, Record
from paimon_core.spec.types import (
    BIGINT,
    BYTES,
    INT,
    STRING,
    TINYINT,
    CollectionType,
    DataField,
    DataType,
    Kind,
    RowType,
    TimeType,
)

if TYPE_CHECKING:
    from pyarrow.orc import ORCFile
    from pyarrow.orc import write_table as write_orc

    from paimon_core.formats.avro.records import write_records
    from paimon_core.formats.orc.data_files import stored_schema
    from paimon_core.formats.orc.layout import check_tail, unpacks_to_more
    from paimon_core.formats.orc.stripe_checks import check_stripe
else:
    ORCFile = ImportedOnCall("pyarrow.orc", "ORCFile")
    write_orc = ImportedOnCall("pyarrow.orc", "write_table")
    write_records = ImportedOnCall("paimon_core.formats.avro.records", "write_records")
    stored_schema = ImportedOnCall("paimon_core.formats.orc.data_files", "stored_schema")
    check_tail = ImportedOnCall("paimon_core.formats.orc.layout", "check_tail")
    unpacks_to_more = ImportedOnCall("paimon_core.formats.orc.layout", "unpacks_to_more")
    check_stripe = ImportedOnCall("paimon_core.formats.orc.stripe_checks", "check_stripe")

VERSION = Column("_VERSION", "version", "int")
_VERSION = DataField(id=-1, name="_VERSION", type=INT.with_nullable(False))
_PLAIN: Mapping[str, DataType] = MappingProxyType({"string": STRING, "int": INT, "long": BIGINT, "bytes": BYTES})
COLUMNAR = (b"PAR1", b"ORC")  # the first bytes of Parquet and ORC files
_AVRO_CODECS = {"zstd": "zstandard", "snappy": "snappy", "deflate": "deflate", "none": "null", "null": "null"}
_CODECS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {"avro": _AVRO_CODECS, "parquet": PARQUET_CODECS, "orc": ORC_CODECS}
)
_ROWS = 256  # rows in a batch of columns
_TINY = ("_KIND", "_FILE_SOURCE")  # TINYINT, a type that Avro does not have


def record_format(options: TableOptions) -> tuple[str, str]:
    """Return the format of new files, and its codec. Raises `InvalidOptionError`."""
    format_name = options[MANIFEST_FORMAT]
    if format_name not in _CODECS:
        raise InvalidOptionError(
            f"Option '{MANIFEST_FORMAT.key}' cannot be {format_name!r}. Use one of {', '.join(_CODECS)}."
        )
    codec = options[MANIFEST_COMPRESSION]
    _codec(format_name, codec)
    return format_name, codec


def _codec(format_name: str, name: str) -> str:
    """Return the name of a codec in the format."""
    return known_codec(MANIFEST_COMPRESSION.key, name, _CODECS[format_name], format_name)


def encode_columns(record: Record[Any], version: int, values: Iterable[Any], format_name: str, codec: str) -> bytes:
    """Encode values as a Parquet or ORC file (`format_name`). Raises `InvalidOptionError` for an unsupported codec."""
    coded = _codec(format_name, codec)
    rows = [{_VERSION.name: version, **record.to_avro(v)} for v in values]
    schema = arrow_schema([_VERSION, *_fields(record)])
    sink = pa.BufferOutputStream()
    if format_name == "orc":
        write_orc(pa.Table.from_pylist(rows, stored_schema(schema)), sink, compression=coded)
    else:
        table = pa.Table.from_pylist(rows, schema)
        pq.write_table(table, sink, compression=coded, store_schema=False, write_page_checksum=True)
    return bytes(sink.getvalue())


def encode_avro(record: Record[Any], version: int, values: Iterable[Any], codec: str) -> bytes:
    """Encode values as an Avro file. Raises the same errors as `encode_columns`."""
    schema, coded = record.avro(), _codec("avro", codec)
    schema["fields"] = [{"name": _VERSION.name, "type": "int"}, *schema["fields"]]
    return write_records(schema, ({_VERSION.name: version, **record.to_avro(v)} for v in values), coded)


def decode_file(record: Record[Any], version: int, path: str, data: bytes) -> Iterator[Any]:
    """Yield the values in a file of any of the formats. Raises the same errors as `decode_columns`."""
    return (decode_columns if data.startswith(COLUMNAR) else _decode_avro)(record, version, path, data)


def decode_columns(record: Record[Any], version: int, path: str, data: bytes) -> Iterator[Any]:
    """Yield the values in a Parquet or ORC file. Raises `UnreadableFileError`."""
    with _errors(record, path, data):
        found = _bounded_columns(data)
        for number in set(_versions(found)):
            _check_version(record, version, path, number)
        _check_unread(record, found)
        fields = _fields(record)
        target, rows = arrow_schema(fields), found.drop_columns([_VERSION.name]).combine_chunks()
        names = sources_of(list(rows.schema), [(f.name, f.id) for f in fields])
        there = [(name, f) for name, f in zip(names, target, strict=True) if name is not None]
        if missing := [f.name for name, f in zip(names, target, strict=True) if name is None and not f.nullable]:
            raise UnfamiliarSchemaError(f"column {missing[0]} is missing")
        columns = [_column(rows.column(name).combine_chunks(), f) for name, f in there]
        table = pa.Table.from_arrays(columns, names=[f.name for _, f in there])
        table.validate(full=True)
        yield from map(record.from_avro, table.to_pylist())


def _versions(rows: pa.Table) -> list[int]:
    """Return the versions of the records in a file. Raises `UnfamiliarSchemaError` if a record has no version."""
    if _VERSION.name not in rows.column_names:
        raise UnfamiliarSchemaError(f"column {_VERSION.name} is missing")
    found = rows.column(_VERSION.name)
    if found.null_count or not pa.types.is_integer(found.type):
        raise UnfamiliarSchemaError(f"column {_VERSION.name} is of type {found.type}, or NULL")
    versions: list[int] = found.to_pylist()
    return versions


def _check_unread(record: Record[Any], rows: pa.Table) -> None:
    """Check the columns of a record's nested records, like `Record.check_unread`."""
    for column in (c for c in record.columns if c.record and not c.repeated and c.name in rows.column_names):
        found = rows.column(column.name).combine_chunks()
        if column.record and pa.types.is_struct(found.type):
            named = (n for n in column.record.unread if found.type.get_field_index(n) >= 0)
            column.record.check_unread(n for n in named if found.field(n).null_count < len(found))


def _column(found: pa.Array, field: pa.Field) -> pa.Array:
    """Convert a column to the type in records.

    Raises `UnfamiliarSchemaError` if its values have another type, or are NULL.
    """
    try:
        column = conform(_whole_millis(found), field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as e:
        raise UnfamiliarSchemaError(f"column {field.name} is of type {str(found.type)[:80]}: {reason(e)}") from e
    _check_nulls(column, field)
    return column


def _whole_millis(column: pa.Array) -> pa.Array:
    """Round the moments in a column down to milliseconds, the unit of manifests: Paimon 0.5 wrote nanoseconds into
    ORC.
    """
    if pa.types.is_timestamp(column.type) and column.type.unit in ("us", "ns"):
        return pc.floor_temporal(column, unit="millisecond")
    if not pa.types.is_struct(column.type) or not column.type.num_fields:
        return column
    children = [_whole_millis(column.field(i)) for i in range(column.type.num_fields)]
    nulls = pc.is_null(column) if column.null_count else None
    return pa.StructArray.from_arrays(children, fields=list(column.type), mask=nulls)


def file_resolution(record: Record[Any], container: ContainerReader) -> Resolution:
    """Resolve the schema of an Avro file. Raises `UnfamiliarSchemaError` if it cannot provide the records."""
    return _file_reading(record, container)[0]


def _file_reading(record: Record[Any], container: ContainerReader) -> tuple[Resolution, PlainValues]:
    short = len(container.schema_text) <= SHORT_SCHEMA  # the container parses such a text once
    return (_reading if short else _reading.__wrapped__)(record, container.type)


@lru_cache(maxsize=64)
def _reading(record: Record[Any], avro: AvroType) -> tuple[Resolution, PlainValues]:
    resolution = resolve(record, avro, (VERSION,))
    if not avro.least:
        raise UnfamiliarSchemaError("its records take no bytes")  # a few bytes could announce any number of them
    return resolution, PlainValues(resolution.plain)


def _decode_avro(record: Record[Any], version: int, path: str, data: bytes) -> Iterator[Any]:
    with _errors(record, path, data):
        container = ContainerReader(io.BytesIO(data))
        resolution, values = _file_reading(record, container)
        version_of = resolution.conversions.get((VERSION.name,), int)
        for count, content in container.bounded():
            for node in values.decode(count, content):
                if isinstance(node, dict) and VERSION.name in node:
                    _check_version(record, version, path, version_of(node[VERSION.name]))
                yield resolution.read(node)


def _check_version(record: Record[Any], known: int, path: str, found: int) -> None:
    if found > known:
        cause = f"it has {record.plural} of version {found}, this library supports versions up to {known}"
        raise UnsupportedVersionError(path, cause)
    if found < known:  # Java refuses these versions, too
        cause = f"it has {record.plural} of version {found}, and only version {known} is known"
        raise UnfamiliarFormError(path, cause, "Java does not read such tables, either: create the table anew")


def _bounded_columns(data: bytes) -> pa.Table:
    """Return all rows of a Parquet or ORC file. Raises `ValueError` for more than `most_content` of its bytes."""
    source, is_orc = pa.BufferReader(data), data.startswith(b"ORC")
    if is_orc:
        tail = check_tail(source)
        for stripe in tail.stripes:
            check_stripe(source, tail, stripe)
        if unpacks_to_more(source, most_content(len(data))):  # readers unpack whole stripes
            raise InflatedError
    file = ORCFile(source) if is_orc else pq.ParquetFile(source, page_checksum_verification=True)
    rows = file.nrows if is_orc else file.metadata.num_rows
    if rows > len(data):  # each row contains the name of a file
        raise ValueError(f"it claims {rows} rows in {len(data)} bytes")
    if not is_orc and (found := checked_footer(source, file.schema, file.metadata.num_row_groups)):
        for group in range(file.metadata.num_row_groups):
            found.check_pages(group, file.schema_arrow.names)
    parts, room = list[pa.RecordBatch](), most_content(len(data))
    for part in map(file.read_stripe, range(file.nstripes)) if is_orc else file.iter_batches(_ROWS):
        parts.append(part)
        room -= part.nbytes
        if room < 0:
            raise InflatedError
    return pa.Table.from_batches(parts, file.schema if is_orc else file.schema_arrow)


@contextmanager
def _errors(record: Record[Any], path: str, data: bytes) -> Iterator[None]:
    """Raise errors about a file of these bytes as `UnreadableFileError`.

    Errors of Parquet and ORC files name the file's writer, and errors about damage contain the file's size."""
    try:
        try:
            yield
        except PaimonError:
            raise
        except UnfamiliarSchemaError as e:
            raise UnfamiliarFormError(path, f"it does not have the columns of a file of {record.plural} ({e})") from e
        except UnknownCodecError as e:
            raise UnfamiliarFormError(path, f"as an Avro file, {e}") from e
        except pa.ArrowNotImplementedError as e:
            raise UnfamiliarFormError(path, f"as a file of {record.plural}, {e}") from e
        except (pa.ArrowException, OSError, ValueError, LookupError, TypeError, OverflowError, RecursionError) as e:
            raise CorruptFileError(path, f"it is not a file of {record.plural} ({reason(e)})").sized(len(data)) from e
    except UnreadableFileError as error:
        writer = writer_of(pa.BufferReader(data)) if data.startswith((b"ORC", b"PAR1")) else ""
        if not writer or error.writer:
            raise
        raise error.changed(writer=writer) from error.__cause__


def _fields(record: Record[Any]) -> tuple[DataField, ...]:
    return _row(record.avro()).fields


def _row(avro: Any) -> RowType:
    named = [(f["name"], f["type"]) for f in avro["fields"]]
    fields = tuple(DataField(id=i, name=n, type=_type(t, n)) for i, (n, t) in enumerate(named))
    return RowType(nullable=False, fields=fields)


def _type(avro: Any, name: str) -> DataType:
    if isinstance(avro, list):
        return _type(avro[1], name).with_nullable(True)
    if isinstance(avro, str):
        return (TINYINT if name in _TINY else _PLAIN[avro]).with_nullable(False)
    convert: Mapping[str, Callable[[], DataType]] = {
        "record": lambda: _row(avro),
        "array": lambda: CollectionType(Kind.ARRAY, False, _type(avro["items"], "")),
        "long": lambda: TimeType(Kind.TIMESTAMP, False, 3),
    }
    return convert[avro["type"]]()


def _check_nulls(column: pa.Array, field: pa.Field) -> None:
    if column.null_count and not field.nullable:
        raise UnfamiliarSchemaError(f"column {field.name} is NULL")
    if pa.types.is_struct(field.type):
        for child, inner in zip(column.flatten(), field.type, strict=True):
            if not column.null_count:
                _check_nulls(child, inner)
