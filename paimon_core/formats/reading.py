"""Read data files of any format: convert columns to the types of a request, and name the file in errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from paimon_core.arrow.evolution import (
    AmbiguousNameError,
    OutOfReachError,
    conform,
    has_known_kinds,
    have_names_only,
    missing_column,
    sources_of,
    spelled,
)
from paimon_core.arrow.shredded_maps import SelectedKeys, has_column_per_key, is_shredded_map, selected_keys, whole_maps
from paimon_core.arrow.types import KEY_PREFIX, SEQUENCE_NUMBER, VALUE_KIND, arrow_schema, without_ids
from paimon_core.errors import (
    CorruptFileError,
    InvalidDataError,
    PaimonError,
    UnfamiliarFormError,
    UnsupportedFeatureError,
)
from paimon_core.formats.file_format import ReadRequest
from paimon_core.io.file_io import storage_errors
from paimon_core.spec.types import DataField, Kind


@contextmanager
def read_errors(format_name: str, path: str) -> Iterator[None]:
    """Raise errors of pyarrow about a file's bytes as `CorruptFileError`, and features that pyarrow does not implement
    as `UnfamiliarFormError`; `FileNotFoundError` stays."""
    try:
        yield
    except (FileNotFoundError, PaimonError):
        raise
    except pa.ArrowNotImplementedError as error:
        raise UnfamiliarFormError(path, f"as a {format_name} file, {error}") from error
    except (pa.ArrowException, OSError, ValueError) as error:  # names that are not UTF-8 raise ValueError
        if isinstance(error, OSError) and error.errno:
            with storage_errors("read", path):
                raise
        if "not yet implemented" in str(error).lower():  # Parquet's words for encodings and codecs it lacks
            raise UnfamiliarFormError(path, f"as a {format_name} file, {error}") from error
        raise CorruptFileError(path, f"it is not a {format_name} file, or damaged ({error})") from error


def check_row_count(request: ReadRequest, found: int) -> None:
    """Raise `CorruptFileError` if the number of rows in a file differs from metadata."""
    if request.row_count not in (None, found):
        raise CorruptFileError(request.path, f"it has {found} rows, but metadata lists {request.row_count}")


def request_sources(found: Sequence[pa.Field], request: ReadRequest) -> list[str | None]:
    """Return the file's name of each field of the request, None for fields that the file does not have.

    Raises `InvalidDataError`."""
    try:
        if request.by_name:
            wanted = [(f.name, None) for f in request.fields]
            return sources_of(found, wanted, exact=request.case_sensitive)
        stored = request.stored() if have_names_only(found) else ()
        return sources_of(found, [(f.name, f.id) for f in request.fields], stored)
    except AmbiguousNameError as e:
        raise InvalidDataError(
            f"File {request.path} cannot be read by names: {e}. Rename one of them, or the column of the table."
        ) from e


def keys_to_read(found: pa.Field, wanted: DataField, request: ReadRequest) -> SelectedKeys | None:
    """Return the keys to read of a MAP that a file has with a column per key; None if the whole column is read.

    Raises `ValueError`, `UnsupportedFeatureError`.
    """
    keys = request.map_keys.get(wanted.id) if wanted.type.kind is Kind.MAP else None
    if keys is None or not has_column_per_key(found.type):
        return None
    return selected_keys(found.type, found.metadata, keys)


def conform_batch(batch: pa.RecordBatch, sources: Sequence[str | None], request: ReadRequest) -> pa.RecordBatch:
    """Convert rows of a file to the fields of a request. Raises `InvalidDataError`, `UnfamiliarFormError`."""
    target, arrays = arrow_schema(request.fields), []
    stored = _stored_types(batch.schema, request)
    for source, field in zip(sources, target, strict=True):
        if source is None:
            array = missing_column(request.missing(field.name), batch.num_rows, field.type)
        else:
            index = batch.schema.get_field_index(source)
            column = batch.column(index)
            if is_shredded_map(column.type, field.type):
                column = whole_maps(column, batch.schema.field(index).metadata)
            array = _column(column, stored.get(source), field, request)
        system = field.name.startswith(KEY_PREFIX) or field.name in (SEQUENCE_NUMBER, VALUE_KIND)
        if array.null_count and system and not field.nullable:
            raise UnfamiliarFormError(request.path, f"some of its rows have no {field.name}")
        if field.name == VALUE_KIND and not has_known_kinds(array):
            raise UnfamiliarFormError(request.path, f"some of its rows have an unknown {field.name}")
        arrays.append(array)
    if not arrays:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * batch.num_rows, pa.struct([])))
    return pa.RecordBatch.from_arrays(arrays, schema=target)


def _stored_types(found: pa.Schema, request: ReadRequest) -> dict[str, pa.DataType]:
    """Return, by the names in the file, the types with ids that columns without ids had when the file was written."""
    if request.by_name or not have_names_only(found):
        return {}
    stored = arrow_schema(request.stored())
    names = ((spelled(found.names, f.name, stored.names), f.type) for f in stored)
    return {name: arrow for name, arrow in names if name is not None}


def _column(column: pa.Array, stored: pa.DataType | None, field: pa.Field, request: ReadRequest) -> pa.Array:
    path = request.path
    try:
        if request.by_name:
            return conform(column, without_ids(field.type), exact=request.case_sensitive)
        return conform(column if stored is None else conform(column, stored), field.type)
    except OutOfReachError as e:
        raise UnsupportedFeatureError(
            f"Column {field.name!r} of file {path} has times outside of the years 1678 to 2261, which this version "
            "cannot compare or sort as TIMESTAMP(7) to TIMESTAMP(9). Change the column to TIMESTAMP(6)."
        ) from e
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, AmbiguousNameError) as e:
        raise InvalidDataError(
            f"Column {field.name!r} of file {path} has type {column.type} and cannot be read as {field.type}: {e}"
        ) from e
