"""BinaryRow: the bytes of one row. Manifests store partitions, keys and statistics in this form, and bucket hashes use
it.

Layout (all little endian), source: specification, "Manifest", appendix BinaryRow:

    | header: 1 byte row kind + null bits, in whole 8-byte words | 8 bytes per field | variable part, 8-byte aligned |

Null bit of field i is bit i + 8. A field of up to 8 bytes is stored in its slot. So are strings and bytes of up to 7
bytes: data in bytes 0 to 6, byte 7 = 0x80 | length. The slot of longer ones is `offset << 32 | length`, the offset from
the row's start. The slot of a timestamp of precision > 3 is `offset << 32 | nanoseconds of the millisecond`, with 8
bytes of epoch milliseconds in the variable part. The slot of a DECIMAL of precision > 18 is `offset << 32 | length`,
with 16 bytes of big-endian two's complement there. These 16 and 8 bytes are reserved even for NULL.

pypaimon 1.3.2 has no variable part for either. The slot of a DECIMAL is the unscaled number. The slot of a timestamp is
epoch milliseconds by the clock of the writer's machine, from which the value cannot be recovered. Such a row is shorter
than its values need, by which it is recognized.

Manifests put the number of fields before a row, as a big-endian INT32: `encode_row` and `decode_row` include it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from typing import Any

from paimon_core.errors import UnfamiliarFormError, UnsupportedFeatureError
from paimon_core.spec.kinds import BINARIES, MOMENTS, STRINGS, TEXTS, KindColumn
from paimon_core.spec.types import BIGINT, DataType, DecimalType, Kind, TimeType

_SLOT: KindColumn[str] = KindColumn(
    {
        Kind.BOOLEAN: "<?7x",
        Kind.TINYINT: "<b7x",
        Kind.SMALLINT: "<h6x",
        Kind.INT: "<i4x",
        Kind.BIGINT: "<q",
        Kind.FLOAT: "<f4x",
        Kind.DOUBLE: "<d",
        Kind.DATE: "<i4x",
        Kind.TIME: "<i4x",
    },
    others="DECIMAL CHAR VARCHAR BINARY VARBINARY BLOB TIMESTAMP TIMESTAMP_LTZ ARRAY MAP MULTISET ROW VARIANT",
)
_EPOCH = datetime(1970, 1, 1)
_EPOCH_DAY = date(1970, 1, 1)
_MILLISECOND = timedelta(milliseconds=1)
_EXACT = Context(prec=80)
_MAX_INLINE = 7  # bytes of a string in its slot
_NANOS_PER_MILLI = 1_000_000
_DECIMAL_SIZE = 16


def header_size(arity: int) -> int:
    """Return the number of bytes of the row kind and the null bits."""
    return (arity + 63 + 8) // 64 * 8


def is_stored_inline(data_type: DataType) -> bool:
    """Return whether values of the type are always stored in their 8-byte slot."""
    match data_type:
        case DecimalType(precision=precision):
            return precision <= DecimalType.MAX_COMPACT_PRECISION
        case TimeType(kind=Kind.TIMESTAMP | Kind.TIMESTAMP_LTZ, precision=precision):
            return precision <= 3
        case _:
            return data_type.kind in _SLOT


def encode_row(types: Sequence[DataType], values: Sequence[Any]) -> bytes:
    """Return the bytes of one row with its leading field count.

    Values are Python's: int, float, str, bytes, Decimal, date, datetime. A DATE may also be its epoch days, a TIME is
    the milliseconds of the day, a timestamp a naive UTC datetime or (millis, nanos)."""
    return struct.pack(">i", len(types)) + encode_body(types, values)


def encode_body(types: Sequence[DataType], values: Sequence[Any]) -> bytes:
    """Return the bytes of one row without the field count. These bytes are hashed."""
    header = bytearray(header_size(len(types)))
    slots, tail = bytearray(), bytearray()
    start = len(header) + 8 * len(types)
    for i, (data_type, value) in enumerate(zip(types, values, strict=True)):
        if value is None:
            header[(i + 8) // 8] |= 1 << (i % 8)
        slot, variable = _encode_value(data_type, value, start + len(tail))
        slots += slot
        tail += variable
    return bytes(header + slots + tail)


def row_of_slots(types: Sequence[DataType], values: Sequence[Any]) -> bytes:
    """Return the row in the form of pypaimon 1.3.2, with wide DECIMALs in their slots.

    Raises `struct.error` for a number that does not fit into a slot."""
    pairs = zip(types, values, strict=True)
    numbers = [unscaled_of(t, v) if isinstance(t, DecimalType) and v is not None else v for t, v in pairs]
    return encode_row([BIGINT if isinstance(t, DecimalType) else t for t in types], numbers)


def decode_row(types: Sequence[DataType], data: bytes) -> tuple[Any, ...]:
    """Return the values of a row with leading field count, one per type; () for an empty row.

    Timestamps come as (epoch milliseconds, nanoseconds of the millisecond), DATE as epoch days, TIME as milliseconds.
    Raises `ValueError` for another field count, or bytes that are not a row of these types, and
    `UnfamiliarFormError` for a timestamp of pypaimon 1.3.2.
    """
    if len(data) < 4:
        raise ValueError(f"a BinaryRow has at least 4 bytes, not {len(data)}")
    arity = int.from_bytes(data[:4], "big")
    if arity != len(types):
        raise ValueError(f"the BinaryRow has {arity} fields, {len(types)} expected")
    return decode_body(types, data[4:])


def decode_body(types: Sequence[DataType], body: bytes) -> tuple[Any, ...]:
    """Decode a row like `decode_row`, from bytes without the field count."""
    header = header_size(len(types))
    if len(body) < header + 8 * len(types):
        raise ValueError(f"a BinaryRow of {len(types)} fields does not fit {len(body)} bytes")
    return tuple(
        None if body[(i + 8) // 8] >> (i % 8) & 1 else _decode_value(t, body, header + 8 * i, types)
        for i, t in enumerate(types)
    )


def decode_hints(types: Sequence[DataType], data: bytes) -> tuple[Any, ...]:
    """Decode values that a reader does not need, like `decode_row`, with None for each value that does not decode.

    Other writers use other forms: pypaimon 1.3.2 puts 8 bytes of a wide DECIMAL into the slot. Such a slot may look
    like an offset, so an offset into the header or the slots does not decode either.
    """
    header, arity = header_size(len(types)), int.from_bytes(data[:4], "big")
    body, start = data[4:], header + 8 * len(types)
    if arity != len(types) or len(body) < start:
        return (None,) * len(types)
    hints: list[Any] = []
    for i, data_type in enumerate(types):
        is_null = body[(i + 8) // 8] >> (i % 8) & 1
        hints.append(None if is_null else _decode_hint(data_type, body, header + 8 * i, start))
    return tuple(hints)


def _encode_value(data_type: DataType, value: Any, offset: int) -> tuple[bytes, bytes]:
    kind = data_type.kind
    if isinstance(data_type, DecimalType):
        return _encode_decimal(data_type, value, offset)
    if kind in MOMENTS:
        return _encode_timestamp(data_type, value, offset)
    if value is None:
        return bytes(8), b""
    if kind in _SLOT:
        return struct.pack(_SLOT[kind], (value - _EPOCH_DAY).days if isinstance(value, date) else value), b""
    if kind in STRINGS:
        data = value.encode() if isinstance(value, str) else bytes(value)
        if len(data) <= _MAX_INLINE:
            return data.ljust(_MAX_INLINE, b"\0") + bytes([0x80 | len(data)]), b""
        return struct.pack("<ii", len(data), offset), data + bytes(-len(data) % 8)
    raise UnsupportedFeatureError(
        f"A value of type {data_type} cannot be a key, a partition or a statistic. "
        "Choose a column without nested values."
    )


def unscaled_of(data_type: DecimalType, value: Any) -> int:
    """Return the unscaled value of a decimal, with the scale of its type."""
    return int(Decimal(value).scaleb(data_type.scale, _EXACT))


def shortest_bytes(number: int) -> bytes:
    """Return a number in the fewest bytes, big-endian, in two's complement."""
    return number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True)


def _encode_decimal(data_type: DecimalType, value: Any, offset: int) -> tuple[bytes, bytes]:
    unscaled = 0 if value is None else unscaled_of(data_type, value)
    if data_type.precision <= DecimalType.MAX_COMPACT_PRECISION:
        return struct.pack("<q", unscaled), b""
    if value is None:
        return struct.pack("<ii", 0, offset), bytes(_DECIMAL_SIZE)
    data = shortest_bytes(unscaled)
    return struct.pack("<ii", len(data), offset), data.ljust(_DECIMAL_SIZE, b"\0")


def _encode_timestamp(data_type: DataType, value: Any, offset: int) -> tuple[bytes, bytes]:
    millis, nanos = (0, 0) if value is None else _timestamp_parts(value)
    if is_stored_inline(data_type):
        return struct.pack("<q", millis), b""
    return struct.pack("<ii", nanos, offset), struct.pack("<q", millis)


def _timestamp_parts(value: Any) -> tuple[int, int]:
    if isinstance(value, datetime):
        naive = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
        millis, rest = divmod(naive - _EPOCH, _MILLISECOND)
        return millis, rest.microseconds * 1000
    millis, nanos = value
    return millis, nanos


def _decode_value(data_type: DataType, body: bytes, at: int, types: Sequence[DataType] = ()) -> Any:
    """Return the value with its slot at an offset.

    With the `types` of the whole row, pypaimon 1.3's form is decoded, too.
    """
    kind = data_type.kind
    if kind in _SLOT:
        return struct.unpack_from(_SLOT[kind], body, at)[0]
    if isinstance(data_type, DecimalType):
        in_slot = data_type.precision <= DecimalType.MAX_COMPACT_PRECISION
        if in_slot or (types and _is_of_slots(types, body, at)):
            unscaled = struct.unpack_from("<q", body, at)[0]
        else:
            unscaled = int.from_bytes(_variable(body, at, _DECIMAL_SIZE), "big", signed=True)
        return Decimal(unscaled).scaleb(-data_type.scale, _EXACT)
    if kind in MOMENTS:
        if is_stored_inline(data_type):
            return struct.unpack_from("<q", body, at)[0], 0
        if types and _is_of_slots(types, body, at):
            raise UnfamiliarFormError(
                "<manifest>",
                f"a value of type {data_type} in a key or partition is cut to milliseconds of an unknown time zone",
                "with the program that wrote them, copy the rows into a table with keys and partitions of type "
                "TIMESTAMP(3)",
                "pypaimon 1.3",
            )
        nanos, offset = struct.unpack_from("<ii", body, at)
        if not 0 <= offset <= len(body) - 8:
            raise ValueError(f"offset {offset} is outside the BinaryRow")
        return struct.unpack_from("<q", body, offset)[0], nanos
    if kind in TEXTS:
        return _inline_or_variable(body, at).decode()
    if kind in BINARIES:
        return _inline_or_variable(body, at)
    raise ValueError(f"a BinaryRow field of type {data_type} cannot be decoded")


def _is_of_slots(types: Sequence[DataType], body: bytes, at: int) -> bool:
    """Return whether a row has its wide DECIMALs and timestamps in slots, as pypaimon 1.3.2 writes them: only strings
    and bytes have variable parts, and the slot at `at` does not point to another part.
    """
    header = header_size(len(types))
    start = size = header + 8 * len(types)
    texts: list[tuple[int, int]] = []
    for i, data_type in enumerate(types):
        slot = header + 8 * i
        is_null = body[(i + 8) // 8] >> (i % 8) & 1
        if data_type.kind in STRINGS and not is_null and not body[slot + _MAX_INLINE] & 0x80:
            length, offset = struct.unpack_from("<ii", body, slot)
            size += (max(0, length) + 7) // 8 * 8
            texts.append((offset, offset + length))
    low, offset = struct.unpack_from("<ii", body, at)
    if types[(at - header) // 8].kind is Kind.DECIMAL:
        end, is_low = offset + low, 1 <= low <= _DECIMAL_SIZE  # zero has a byte, too
    else:
        end, is_low = offset + 8, 0 <= low < _NANOS_PER_MILLI
    is_part = is_low and start <= offset < size + _DECIMAL_SIZE * len(types)  # perhaps one that was cut off
    return len(body) == size and not (is_part and all(end <= begin or stop <= offset for begin, stop in texts))


def _decode_hint(data_type: DataType, body: bytes, at: int, start: int) -> Any:
    """Return a value, or None if it does not decode. Its variable part, if any, must not begin before `start`."""
    low, offset = struct.unpack_from("<ii", body, at)
    spills = not is_stored_inline(data_type) and not (data_type.kind in STRINGS and body[at + _MAX_INLINE] & 0x80)
    is_moment = data_type.kind in MOMENTS
    if spills and (offset < start or (is_moment and not 0 <= low < _NANOS_PER_MILLI)):
        return None
    try:
        return _decode_value(data_type, body, at)
    except ValueError:
        return None


def _inline_or_variable(body: bytes, at: int) -> bytes:
    mark = body[at + _MAX_INLINE]
    if not mark & 0x80:
        return _variable(body, at, len(body))
    if mark & 0x7F > _MAX_INLINE:
        raise ValueError(f"{mark & 0x7F} bytes do not fit a field of the BinaryRow")
    return body[at : at + (mark & 0x7F)]


def _variable(body: bytes, at: int, max_length: int) -> bytes:
    length, offset = struct.unpack_from("<ii", body, at)
    if not 0 <= length <= max_length or not 0 <= offset <= len(body) - length:
        raise ValueError(f"length {length} at offset {offset} is outside the BinaryRow")
    return body[offset : offset + length]


EMPTY_ROW = encode_row((), ())
