"""Reading data files, whatever their format: columns as a request wants them, and errors that name the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
from pyarrow.fs import LocalFileSystem

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
from paimon_core.arrow.shredded_maps import is_shredded_map, whole_maps
from paimon_core.arrow.types import KEY_PREFIX, SEQUENCE_NUMBER, VALUE_KIND, arrow_schema, without_ids
from paimon_core.errors import (
    CorruptFileError,
    InvalidDataError,
    PaimonError,
    UnfamiliarFormError,
    UnsupportedFeatureError,
)
from paimon_core.formats.file_format import ReadRequest
from paimon_core.io.file_io import FileIO, storage_errors


@contextmanager
def read_errors(format_name: str, path: str) -> Iterator[None]:
    """Raise what pyarrow finds wrong with a file's bytes as `CorruptFileError`, what pyarrow does not implement as
    `UnfamiliarFormError`; `FileNotFoundError` stays."""
    try:
        yield
    except (FileNotFoundError, PaimonError):
        raise
    except pa.ArrowNotImplementedError as error:
        raise UnfamiliarFormError(path, f"as a {format_name} file, {error}") from error
    except (pa.ArrowException, OSError, ValueError) as error:  # names that are no text are a ValueError
        if isinstance(error, OSError) and error.errno:
            with storage_errors("read", path):
                raise
        if "not yet implemented" in str(error).lower():  # Parquet's words for encodings and codecs it lacks
            raise UnfamiliarFormError(path, f"as a {format_name} file, {error}") from error
        raise CorruptFileError(path, f"it is not a {format_name} file, or damaged ({error})") from error


def is_near(io: FileIO) -> bool:
    """Whether a look at a few bytes of a file costs next to nothing: it is on a local disk, not a request away."""
    return isinstance(io.arrow(), LocalFileSystem)


def check_row_count(request: ReadRequest, found: int) -> None:
    """Raises `CorruptFileError` where a file has another number of rows than metadata says."""
    if request.row_count not in (None, found):
        raise CorruptFileError(request.path, f"it has {found} rows, metadata says {request.row_count}")


def request_sources(found: Sequence[pa.Field], request: ReadRequest) -> list[str | None]:
    """The name in the file of each field of the request, None where the file has none. Raises `InvalidDataError`."""
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


def conform_batch(batch: pa.RecordBatch, sources: Sequence[str | None], request: ReadRequest) -> pa.RecordBatch:
    """The rows of a file as a request wants them. Raises `InvalidDataError`, `CorruptFileError` naming the file."""
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
            raise UnfamiliarFormError(request.path, f"it has rows without {field.name}")
        if field.name == VALUE_KIND and not has_known_kinds(array):
            raise UnfamiliarFormError(request.path, f"it has rows of a {field.name} that there is not")
        arrays.append(array)
    if not arrays:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * batch.num_rows, pa.struct([])))
    return pa.RecordBatch.from_arrays(arrays, schema=target)


def _stored_types(found: pa.Schema, request: ReadRequest) -> dict[str, pa.DataType]:
    """The types that columns without ids had when they were written, with ids, by the names in the file."""
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
            f"Column {field.name!r} of file {path} has times of years that nanoseconds do not reach: of TIMESTAMP(7) "
            "and more this version compares and sorts the years 1678 to 2261. Change the column to TIMESTAMP(6)."
        ) from e
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, AmbiguousNameError) as e:
        raise InvalidDataError(
            f"Column {field.name!r} of file {path} has type {column.type} and cannot be read as {field.type}: {e}"
        ) from e
