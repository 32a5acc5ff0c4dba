"""Keys: the values of a column in file indexes, as whole numbers or bytes, in the order of the values.

    BOOLEAN, TINYINT                    1 byte
    SMALLINT                            2 bytes
    INT, DATE, TIME                     4 bytes
    BIGINT, TIMESTAMP, DECIMAL          8 bytes: milliseconds up to precision 3, else microseconds; the unscaled number
    FLOAT, DOUBLE                       4 or 8 bytes, IEEE 754, one NaN
    CHAR, VARCHAR, BINARY, VARBINARY    length: int32 | bytes

All big endian. A floating key is the number of its bits, flipped if negative so that keys order like values: -0.0
before 0.0, NaN last. Source: specification, "File Index".
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paimon_core.dataclass import dataclass
from paimon_core.indexes.file_index.cursor import ByteCursor
from paimon_core.spec.kinds import FLOATS, KindColumn
from paimon_core.spec.types import DataType, DecimalType, Kind, LengthType, TimeType

Key = int | bytes
_WIDTHS: KindColumn[int] = KindColumn(
    {
        Kind.BOOLEAN: 1,
        Kind.TINYINT: 1,
        Kind.SMALLINT: 2,
        Kind.INT: 4,
        Kind.DATE: 4,
        Kind.TIME: 4,
        Kind.BIGINT: 8,
        Kind.TIMESTAMP: 8,
        Kind.TIMESTAMP_LTZ: 8,
        Kind.DECIMAL: 8,
        Kind.FLOAT: 4,
        Kind.DOUBLE: 8,
        Kind.CHAR: 0,
        Kind.VARCHAR: 0,
        Kind.BINARY: 0,
        Kind.VARBINARY: 0,
    },
    others="BLOB ARRAY MAP MULTISET ROW VARIANT",
)
_MOST_SPELLINGS = 256
_EXACT = Context(prec=77)


@dataclass(frozen=True, slots=True)
class ByteKeys:
    """Byte strings end to end: key `i` is `data[offsets[i]:offsets[i + 1]]`."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> bytes:
        return self.data[self.offsets[index] : self.offsets[index + 1]].tobytes()

    @staticmethod
    def of(values: Sequence[bytes]) -> ByteKeys:
        lengths = np.fromiter(map(len, values), dtype=np.int64, count=len(values))
        return ByteKeys(np.frombuffer(b"".join(values), dtype=np.uint8), np.append(0, np.cumsum(lengths)))


Keys = NDArray[np.int64] | ByteKeys


@dataclass(frozen=True, slots=True)
class KeyType:
    """The encoding of keys of a type: each key has `width` bytes, or with 0 a length and bytes."""

    width: int
    floating: bool = False

    @staticmethod
    def of(data_type: DataType) -> KeyType | None:
        """Return the encoding for a type, None for a type without indexes."""
        width = _WIDTHS.get(data_type.kind)
        return None if width is None else KeyType(width, data_type.kind in FLOATS)

    def read(self, cursor: ByteCursor) -> Key:
        """Read the next key. Raises `CorruptFileError`."""
        if not self.width:
            return cursor.take(cursor.number(4))
        number = cursor.number(self.width)
        return self.flipped(number) if self.floating else number

    def spell(self, key: Key) -> bytes:
        """Encode a key: the reverse of `read`."""
        if isinstance(key, bytes):
            return len(key).to_bytes(4, "big") + key
        return (self.flipped(key) if self.floating else key).to_bytes(self.width, "big", signed=True)

    def sizes(self, keys: Keys) -> NDArray[np.int64]:
        """Return the number of bytes of each key."""
        if isinstance(keys, ByteKeys):
            return np.diff(keys.offsets) + 4
        return np.full(len(keys), self.width, dtype=np.int64)

    def bits(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the stored numbers of keys that are numbers."""
        if not self.floating:
            return keys
        flipped: NDArray[np.int64] = keys ^ ((keys >> 63) & np.int64(self._other_bits))
        return flipped

    @property
    def _other_bits(self) -> int:
        """The mask of all bits except the sign."""
        return (1 << (8 * self.width - 1)) - 1

    def flipped(self, number: int) -> int:
        """Convert a number of bits to a key, or a key to the number of its bits."""
        return number ^ (self._other_bits if number < 0 else 0)


def float_keys(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the keys of floating point numbers of 4 or 8 bytes, shape (rows,)."""
    width = values.dtype.itemsize
    one_nan = np.where(np.isnan(values), np.array(np.nan, values.dtype), values)
    bits = one_nan.view(np.int32 if width == 4 else np.int64).astype(np.int64)
    return KeyType(width, floating=True).bits(bits)


def join_entries(key_type: KeyType, keys: Keys, *numbers: NDArray[np.int64]) -> bytes:
    """Return adjacent entries, each with a key and int32 numbers after it."""
    if not len(keys):
        return b""
    tail = np.stack(numbers, axis=1).astype(">i4").view(np.uint8).reshape(len(keys), -1) if numbers else 0
    width = 4 * len(numbers)
    if not isinstance(keys, ByteKeys):
        stored = key_type.bits(keys).astype(">i8").view(np.uint8).reshape(-1, 8)[:, 8 - key_type.width :]
        return (np.hstack([stored, tail]) if numbers else stored).tobytes()
    lengths = np.diff(keys.offsets)
    starts = np.append(0, np.cumsum(lengths + 4 + width))[:-1]
    result = np.empty(int(lengths.sum()) + len(keys) * (4 + width), dtype=np.uint8)
    result[starts[:, None] + np.arange(4)] = lengths.astype(">i4").view(np.uint8).reshape(-1, 4)
    content = keys.data[keys.offsets[0] : keys.offsets[-1]]
    result[np.arange(len(content)) + np.repeat(starts + 4 - (keys.offsets[:-1] - keys.offsets[0]), lengths)] = content
    if numbers:
        result[(starts + 4 + lengths)[:, None] + np.arange(width)] = tail
    return result.tobytes()


def slice_keys(keys: Keys, start: int, end: int) -> Keys:
    """Return the keys from `start` to before `end`."""
    if isinstance(keys, ByteKeys):
        return ByteKeys(keys.data, keys.offsets[start : end + 1])
    return keys[start:end]


@dataclass(frozen=True, slots=True)
class LiteralKeys:
    """The ascending keys of values that equal a literal.

    Without `exact`, no key equals the literal: it lies at or above its key and below the next one. Without `ordered`,
    keys do not have the order of values.
    """

    keys: tuple[Key, ...]
    exact: bool = True
    ordered: bool = True


def literal_keys(value: Any, data_type: DataType) -> LiteralKeys | None:
    """Return the keys of a predicate's value, None if they are unknown."""
    try:
        return _literal_keys(value, data_type)
    except (TypeError, ValueError, OverflowError, ArithmeticError, AttributeError, struct.error):
        return None  # a value outside its column's type


def _literal_keys(value: Any, data_type: DataType) -> LiteralKeys | None:
    kind = data_type.kind
    if kind is Kind.CHAR and isinstance(data_type, LengthType):
        return _padded(value.rstrip(" "), data_type.length)
    if kind in (Kind.VARCHAR, Kind.BINARY, Kind.VARBINARY):
        return LiteralKeys((value.encode() if isinstance(value, str) else bytes(value),))
    if kind in FLOATS:
        return _floating(float(value), np.float32 if kind is Kind.FLOAT else np.float64)
    if isinstance(data_type, TimeType) and kind is not Kind.TIME:
        millis, nanos = value
        return _moment(millis, nanos, data_type.precision)
    if isinstance(data_type, DecimalType):
        scaled = Decimal(value).scaleb(data_type.scale, _EXACT)
        whole = scaled.to_integral_value(ROUND_FLOOR)
        return _number(int(whole), exact=whole == scaled)
    return _number(value) if isinstance(value, int) and kind in _WIDTHS else None


def _number(value: int, exact: bool = True) -> LiteralKeys | None:
    return LiteralKeys((int(value),), exact) if -(2**63) <= value < 2**63 else None


def _padded(text: str, length: int) -> LiteralKeys | None:
    """Return the key of a padded text: blanks at the end do not count."""
    spellings = max(length - len(text), 0) + 1
    if spellings > _MOST_SPELLINGS:
        return None
    return LiteralKeys(tuple((text + " " * n).encode() for n in range(spellings)), ordered=False)


def _floating(value: float, of: Any) -> LiteralKeys:
    equal = np.array([-0.0, 0.0] if value == 0 else [value], dtype=of)
    return LiteralKeys(tuple(float_keys(equal).tolist()), exact=value != value or float(equal[-1]) == value)


def _moment(millis: int, nanos: int, precision: int) -> LiteralKeys | None:
    if precision <= 3:
        return _number(millis, exact=nanos == 0)
    # In a column with nanoseconds, the keys are microseconds.
    return _number(millis * 1000 + nanos // 1000, exact=precision <= 6 and nanos % 1000 == 0)
