"""Some rows of a file, by their positions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.columns import rows_at, without_rows
from paimon_core.formats.file_format import FileFormat, ReadRequest
from paimon_core.formats.parquet.data_files import ParquetFormat
from paimon_core.io.file_io import FileIO


def read_rows(
    file_format: FileFormat, io: FileIO, request: ReadRequest, rows: NDArray[np.int64] | None
) -> Iterator[pa.RecordBatch]:
    """Read the columns of a request in the rows at ascending positions, in all rows for None.

    The request's predicate is ignored. Parquet skips row groups without any of the rows. Raises as `FileFormat.read`.
    """
    if rows is None:
        return file_format.read(io, request)
    whole = replace(request, predicate=None)
    if isinstance(file_format, ParquetFormat):
        return file_format.read_rows(io, whole, rows)
    return rows_at(file_format.read(io, whole), rows)


def read_others(
    file_format: FileFormat, io: FileIO, request: ReadRequest, rows: NDArray[np.int64]
) -> Iterator[pa.RecordBatch]:
    """Read the columns of a request in all rows except the rows at ascending positions.

    Parquet skips row groups without a match. Raises as `FileFormat.read`.
    """
    if isinstance(file_format, ParquetFormat):
        return file_format.read_others(io, request, rows)
    return without_rows(file_format.read(io, replace(request, predicate=None)), rows)
