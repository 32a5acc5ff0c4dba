"""Times of Parquet files that are INT96: nanoseconds of a day, int64, and the number of the day, int32, little endian.

Java's connector writes them for TIMESTAMP(7) and more, with negative nanoseconds before 1970. pyarrow reads and writes
days and nanoseconds as 64 bits, where they overflow. So these columns are values of 12 bytes (`STORED_TIME`), which
lie in a file in the same way, behind a footer that calls them so. Source: parquet-format, `parquet.thrift`.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from paimon_core.formats.arrow_types import STORED_TIME
from paimon_core.formats.columns import fixed_array, fixed_values, validity
from paimon_core.formats.parquet_footer import (
    chunk_metadata,
    column_chunks,
    file_end,
    read_footer,
    row_groups,
    schema_elements,
)
from paimon_core.formats.parquet_settings import leaves
from paimon_core.formats.refooted import RefootedFile
from paimon_core.formats.thrift import I32, Fields, decode, expected_form

_PARTS = np.dtype([("nanos", "<i8"), ("day", "<i4")])
_EPOCH_DAY = 2_440_588  # 1970-01-01
_SECONDS_PER_DAY = 86_400
_NANOS_PER_DAY = _SECONDS_PER_DAY * 10**9
_MICROS_PER_DAY = _SECONDS_PER_DAY * 1_000_000
_MOST_DAYS = 2**62 // _MICROS_PER_DAY
# of a schema element the type and its length, of a chunk's metadata the type
_TYPE, _LENGTH = 1, 2
_INT96, _FIXED, _TWELVE = (I32, 3), (I32, 7), (I32, 12)


def has_int96(file: pq.ParquetFile) -> bool:
    """Whether a file has such times."""
    schema = file.metadata.schema
    return any(schema.column(i).physical_type == "INT96" for i in range(len(schema)))


def times(column: pa.FixedSizeBinaryArray, target: pa.TimestampType) -> pa.Array:
    """The bytes as microseconds, cast to the target where that reaches them. Raises `pa.ArrowInvalid`."""
    days, nanos, valid = _parts(column)
    if (np.abs(days) > _MOST_DAYS).any():
        raise pa.ArrowInvalid("it has days that microseconds do not reach")
    micros = days * _MICROS_PER_DAY + nanos // 1000
    exact = fixed_array(micros, pa.timestamp("us", target.tz), valid).cast(target)
    if target.unit != "ns":
        return exact
    return fixed_array(micros * 1000 + nanos % 1000, target, valid)


def finest_times(column: pa.FixedSizeBinaryArray, zone: str | None) -> pa.Array:
    """The bytes as nanoseconds, as microseconds where those do not reach all of them. Raises `pa.ArrowInvalid`."""
    try:
        return times(column, pa.timestamp("ns", zone))
    except pa.ArrowInvalid:
        return times(column, pa.timestamp("us", zone))


def stored(column: pa.Array) -> pa.Array:
    """Times of any unit, or such bytes, as bytes with nanoseconds from 0 on: the same ones for the same time."""
    if column.type.equals(STORED_TIME):
        days, nanos, valid = _parts(column)
    else:
        units = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[column.type.unit]
        days, rest = np.divmod(fixed_values(column, np.int64), _SECONDS_PER_DAY * units)
        nanos, valid = rest * (10**9 // units), validity(column)
    parts = np.empty(len(column), _PARTS)
    parts["day"], parts["nanos"] = days + nanos // _NANOS_PER_DAY + _EPOCH_DAY, nanos % _NANOS_PER_DAY
    return fixed_array(parts, STORED_TIME, valid)


def _parts(column: pa.FixedSizeBinaryArray) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Days since 1970, nanoseconds of the day, and where there are any."""
    valid = validity(column)
    if not valid.any():
        return np.zeros(len(column), np.int64), np.zeros(len(column), np.int64), valid
    parts = np.frombuffer(column.buffers()[1], _PARTS)[column.offset : column.offset + len(column)]
    nanos, days = (np.where(valid, parts[n], 0).astype(np.int64) for n in ("nanos", "day"))
    return np.where(valid, days - _EPOCH_DAY, 0), nanos, valid


def with_bytes(source: pa.NativeFile) -> RefootedFile:
    """The file in which INT96 columns are of 12 bytes. Raises `ValueError`."""
    file, start = read_footer(source)
    with expected_form():
        _to_bytes(file)
    return RefootedFile(source, start, file_end(file))


class Int96Sink(io.RawIOBase):
    """Where a Parquet file is written to whose columns of 12 bytes become INT96. `leaves` are the places of these.

    What comes behind `hold` is the end of the file, with its footer, and is written by `release`.
    """

    def __init__(self, sink: pa.NativeFile, leaves: Sequence[int], count: int) -> None:
        self._sink, self._leaves, self._count = sink, frozenset(leaves), count
        self._held: bytearray | None = None

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        content = memoryview(data).cast("B")  # type: ignore[arg-type]
        if self._held is None:
            self._sink.write(content)
        else:
            self._held += content
        return len(content)

    def hold(self) -> None:
        self._held = bytearray()

    def release(self) -> None:
        held = bytes(self._held or b"")
        start = len(held) - 8 - int.from_bytes(held[-8:-4], "little")
        file = decode(held[start:])
        _to_int96(file, self._leaves, self._count)
        self._sink.write(held[:start] + file_end(file))


def stored_leaves(schema: pa.Schema) -> tuple[list[int], int]:
    """The places of columns of such bytes among the leaves of all columns, and how many leaves there are."""
    found = leaves(schema)
    return [i for i, (_, arrow) in enumerate(found) if arrow.equals(STORED_TIME)], len(found)


@lru_cache(maxsize=4096)  # asked for with each batch
def holds_stored_times(arrow: pa.DataType) -> bool:
    """Whether a type is that of such bytes or has it within."""
    return bool(stored_leaves(pa.schema([("", arrow)]))[0])


def _to_bytes(file: Fields) -> None:
    for element in schema_elements(file):
        if element.get(_TYPE) == _INT96:
            element[_TYPE], element[_LENGTH] = _FIXED, _TWELVE
    for chunk in _chunks(file):
        if chunk[_TYPE] == _INT96:
            chunk[_TYPE] = _FIXED


def _to_int96(file: Fields, leaves: frozenset[int], count: int) -> None:
    for place, element in enumerate(e for e in schema_elements(file) if _TYPE in e):
        if place in leaves:
            element[_TYPE] = _INT96
            del element[_LENGTH]
    for place, chunk in enumerate(_chunks(file)):
        if place % count in leaves:
            chunk[_TYPE] = _INT96


def _chunks(file: Fields) -> Iterator[Fields]:
    """The metadata of all column chunks."""
    return (chunk_metadata(chunk) for group in row_groups(file) for chunk in column_chunks(group))
