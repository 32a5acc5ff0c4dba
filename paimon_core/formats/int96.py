"""Times of Parquet files that are INT96: nanoseconds of a day, int64, and the number of the day, int32, little endian.

Java's connector writes them for TIMESTAMP(7) and more, with negative nanoseconds before 1970; pyarrow reads days and
nanoseconds into 64 bits, where they overflow. So the footer is read as one that calls the columns 12 bytes, which are
stored in the same way. Source: parquet-format, `parquet.thrift`; Thrift, "compact protocol".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core.formats.columns import fixed_array, validity
from paimon_core.formats.refooted import RefootedFile

STORED = pa.binary(12)
_PARTS = np.dtype([("nanos", "<i8"), ("day", "<i4")])
_EPOCH_DAY = 2_440_588  # 1970-01-01
_MICROS_PER_DAY = 86_400 * 1_000_000
_MOST_DAYS = 2**62 // _MICROS_PER_DAY
_MAGIC = b"PAR1"
_I32, _BINARY, _LIST, _SET, _MAP, _STRUCT, _LAST = 5, 8, 9, 10, 11, 12, 12
_BOOLEANS = (1, 2)
_WIDTHS = {1: 0, 2: 0, 3: 1, 7: 8}  # booleans, which headers tell, bytes, doubles; others are variable
_DEEPEST, _LONGEST = 16, 63
_LONG_LIST = 15
# fields of FileMetaData: of a schema element the type and its length, of a chunk's metadata the type
_TYPE, _LENGTH, _CHUNK_TYPE = (2, 1), (2, 2), (4, 1, 3, 1)
_INT96, _FIXED, _TWELVE = b"\x06", b"\x0e", b"\x18"  # as zigzag numbers: 3, 7, 12


def has_int96(file: pq.ParquetFile) -> bool:
    """Whether a file has such times."""
    schema = file.metadata.schema
    return any(schema.column(i).physical_type == "INT96" for i in range(len(schema)))


def with_bytes(source: pa.NativeFile) -> RefootedFile:
    """The file in which INT96 columns are of 12 bytes. Raises `ValueError`."""
    size = source.size()
    length = int.from_bytes(source.read_at(4, size - 8), "little")
    start = size - 8 - length
    if start < len(_MAGIC):
        raise ValueError("its footer is longer than the file")
    footer = _edited(source.read_at(length, start))
    return RefootedFile(source, start, footer + len(footer).to_bytes(4, "little") + _MAGIC)


def times(column: pa.FixedSizeBinaryArray, target: pa.TimestampType) -> pa.Array:
    """The bytes as microseconds, cast to the target where that reaches them. Raises `pa.ArrowInvalid`."""
    if not len(column) or column.buffers()[1] is None:
        return pa.nulls(len(column), target)
    parts = np.frombuffer(column.buffers()[1], _PARTS)[column.offset : column.offset + len(column)]
    valid = validity(column)
    nanos, days = (np.where(valid, parts[n], 0).astype(np.int64) for n in ("nanos", "day"))
    days = np.where(valid, days - _EPOCH_DAY, 0)
    if (np.abs(days) > _MOST_DAYS).any():
        raise pa.ArrowInvalid("it has days that microseconds do not reach")
    micros = days * _MICROS_PER_DAY + nanos // 1000
    exact = fixed_array(micros, pa.timestamp("us", target.tz), valid).cast(target)
    if target.unit != "ns":
        return exact
    return fixed_array(micros * 1000 + nanos % 1000, target, valid)


@dataclass(frozen=True, slots=True)
class _Field:
    """A number in a Thrift structure: ids from the outermost one, and where its header, its value and the next are."""

    path: tuple[int, ...]
    header: int
    value: int
    end: int


def _edited(footer: bytes) -> bytes:
    result, done = bytearray(), 0
    fields = list(_Thrift(footer).fields())
    for field, following in zip(fields, [*fields[1:], None], strict=True):
        is_type = field.path in (_TYPE, _CHUNK_TYPE)
        if not is_type or footer[field.value : field.end] != _INT96:
            continue
        result += footer[done : field.value] + _FIXED
        done = field.end
        if field.path == _TYPE and following is not None:
            result += b"\x15" + _TWELVE
            done = following.end if following.path == _LENGTH else following.value
            if following.path != _LENGTH:  # headers tell how much larger their id is than the one before
                header = footer[following.header]
                step = (header >> 4) - 1 if header >> 4 else 0
                result += bytes([step << 4 | header & 15]) + footer[following.header + 1 : following.value]
    return bytes(result) + footer[done:]


class _Thrift:
    """A structure in Thrift's compact protocol. Raises `ValueError` where it ends too early."""

    def __init__(self, data: bytes) -> None:
        self._data, self._place = data, 0

    def fields(self, path: tuple[int, ...] = (), depth: int = 0) -> Iterator[_Field]:
        """The numbers and texts among the fields, also of structures in them, in their order."""
        last = 0
        while (header := self._byte()) != 0:
            start, kind = self._place - 1, header & 15
            last = last + (header >> 4) if header >> 4 else self._number() >> 1
            value = self._place
            yield from self._below(kind, (*path, last), depth)
            if kind == _I32:
                yield _Field((*path, last), start, value, self._place)

    def _below(self, kind: int, path: tuple[int, ...], depth: int) -> Iterator[_Field]:
        """Pass a value by."""
        if depth > _DEEPEST:
            raise ValueError("its footer is nested too deeply")
        if kind == _STRUCT:
            yield from self.fields(path, depth + 1)
        elif kind in (_LIST, _SET):
            header = self._byte()
            count = self._number() if header >> 4 == _LONG_LIST else header >> 4
            for _ in range(count):
                yield from self._element(header & 15, path, depth)
        elif kind == _MAP:
            count = self._number()
            kinds = self._byte() if count else 0
            for _ in range(count):
                yield from self._element(kinds >> 4, path, depth)
                yield from self._element(kinds & 15, path, depth)
        elif kind == _BINARY:
            self._skip(self._number())
        elif kind in _WIDTHS:
            self._skip(_WIDTHS[kind])
        elif kind < _LAST:
            self._number()
        else:
            raise ValueError(f"its footer has a value of the unknown kind {kind}")

    def _element(self, kind: int, path: tuple[int, ...], depth: int) -> Iterator[_Field]:
        if kind in _BOOLEANS:
            self._skip(1)
            return
        yield from self._below(kind, path, depth + 1)

    def _byte(self) -> int:
        self._skip(1)
        return self._data[self._place - 1]

    def _number(self) -> int:
        number = shift = 0
        while (byte := self._byte()) & 0x80:
            number |= (byte & 0x7F) << shift
            shift += 7
            if shift > _LONGEST:
                raise ValueError("its footer has a number of more than 64 bits")
        return number | byte << shift

    def _skip(self, count: int) -> None:
        self._place += count
        if self._place > len(self._data):
            raise ValueError("its footer ends too early")
