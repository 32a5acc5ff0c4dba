"""Thrift structures in the compact protocol as trees that can be changed: Parquet's footers and page indexes.

A structure is `Fields`: the kind and the value of each field by its id. Values are numbers, bytes (also for texts and
doubles), booleans, structures, and the `Items` of lists, sets and maps. Unknown fields survive a change of other
fields. Source: Thrift, "compact protocol".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.spec.encodings.varints import encode_varint, zigzag

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
Fields = dict[int, tuple[int, Any]]
# The fields of a structure to decode, and of the structures in them. None: all fields. `WHOLE` is the structure itself.
Wanted = Mapping[int, Any] | None
WHOLE = 0  # instead of the number of a field: the encoded bytes of the structure, to decode more fields of it later

_INTEGERS = (I16, I32, I64)
_WIDTHS = {TRUE: 1, FALSE: 1, BYTE: 1, DOUBLE: 8}  # bytes of an element; booleans of fields are in their headers
_DEEPEST = 32
_LONG_LIST = 15
_LAST_SHIFT = 63  # of the tenth byte of a number
_TOO_SHORT = "its metadata ends too early"


@dataclass(frozen=True, slots=True)
class Items:
    """The elements of a list or set, or the alternating keys and values of a map.

    `kinds` has one kind, or the kinds of keys and values."""

    kinds: tuple[int, ...]
    values: list[Any]


def decode(data: bytes, wanted: Wanted = None) -> Fields:
    """Return the structure at the beginning of the bytes, or its wanted fields: skipping the others takes less time.

    Raises `ValueError` for other bytes."""
    return decode_at(data, wanted)[0]


def decode_at(data: bytes, wanted: Wanted = None) -> tuple[Fields, int]:
    """Decode like `decode`, and also return the size of the structure: other bytes may follow."""
    try:
        return _structure(data, 0, 0, wanted)
    except IndexError as e:
        raise ValueError(_TOO_SHORT) from e


def encode(fields: Fields) -> bytes:
    """Encode a structure: the reverse of `decode`."""
    result = bytearray()
    _write_structure(result, fields)
    return bytes(result)


@contextmanager
def checked_structure() -> Iterator[None]:
    """Raise `ValueError` if the `with` block finds that a part of a structure is missing or has another type."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, StopIteration) as e:
        raise ValueError(f"parts of its metadata are missing or have other types ({e!r})") from e


# These functions return a value and the offset behind it. They raise `IndexError` if the bytes end before.
def _structure(data: bytes, at: int, depth: int, wanted: Wanted) -> tuple[Fields, int]:
    if depth > _DEEPEST:
        raise ValueError("its metadata is nested too deeply")
    fields: Fields = {}
    number, start = 0, at
    while header := data[at]:
        at += 1
        kind = header & 15
        if header > 15:  # noqa: PLR2004  the high half is the step from the field before
            number += header >> 4
        else:
            number, at = _integer(data, at)
        value: Any
        if wanted is not None and number not in wanted:
            if kind not in (TRUE, FALSE):
                at = _end_of(data, at, kind, depth)
            continue
        if kind in _INTEGERS:
            byte = data[at]
            value, at = (byte >> 1 ^ -(byte & 1), at + 1) if byte < 0x80 else _integer(data, at)  # spares most calls
        elif kind in (TRUE, FALSE):
            value = kind == TRUE
        elif kind == STRUCT:
            value, at = _structure(data, at, depth + 1, None if wanted is None else wanted[number])
        else:
            value, at = _value(data, at, kind, depth, None if wanted is None else wanted[number])
        fields[number] = kind, value
    if wanted is not None and WHOLE in wanted:
        fields[WHOLE] = BINARY, data[start : at + 1]
    return fields, at + 1


def _value(data: bytes, at: int, kind: int, depth: int, wanted: Wanted) -> tuple[Any, int]:
    if kind == STRUCT:
        return _structure(data, at, depth + 1, wanted)
    if kind in _INTEGERS:
        return _integer(data, at)
    if kind == BINARY:
        size, at = _number_at(data, at)
        return _bytes(data, at, size)
    if kind in (LIST, SET):
        header, at = data[at], at + 1
        count, at = _number_at(data, at) if header >> 4 == _LONG_LIST else (header >> 4, at)
        return _items(data, at, (header & 15,), count, depth, wanted)
    if kind == MAP:
        count, at = _number_at(data, at)
        kinds, at = (data[at], at + 1) if count else (0, at)
        return _items(data, at, (kinds >> 4, kinds & 15), count, depth, wanted)
    if kind in _WIDTHS:
        return _bytes(data, at, _WIDTHS[kind])
    raise ValueError(f"its metadata has a value of the unknown kind {kind}")


def _items(data: bytes, at: int, kinds: tuple[int, ...], count: int, depth: int, wanted: Wanted) -> tuple[Items, int]:
    if depth > _DEEPEST or count > len(data):
        raise ValueError("its metadata is nested too deeply, or ends too early")
    values = list[Any]()
    if kinds == (STRUCT,):
        for _ in range(count):
            value, at = _structure(data, at, depth + 2, wanted)
            values.append(value)
        return Items(kinds, values), at
    for _ in range(count):
        for kind in kinds:
            value, at = _value(data, at, kind, depth + 1, wanted)
            values.append(value)
    return Items(kinds, values), at


def _integer(data: bytes, at: int) -> tuple[int, int]:
    code, at = _number_at(data, at)
    return code >> 1 ^ -(code & 1), at


def _bytes(data: bytes, at: int, size: int) -> tuple[bytes, int]:
    end = at + size
    if end > len(data):
        raise ValueError(_TOO_SHORT)
    return data[at:end], end


def _number_at(data: bytes, at: int) -> tuple[int, int]:
    """Return a number like `varint_at`; a footer has thousands."""
    number = shift = 0
    while (byte := data[at]) > 127:
        number |= (byte & 127) << shift
        shift += 7
        at += 1
        if shift > _LAST_SHIFT:
            raise ValueError("its metadata has a number of more than 64 bits")
    return number | byte << shift, at + 1


def _end_of(data: bytes, at: int, kind: int, depth: int) -> int:
    """Return the offset behind a value. Raises `IndexError` or `ValueError` if it does not end within the bytes."""
    if kind in _INTEGERS:
        while data[at] > 127:
            at += 1
        return at + 1
    if kind == STRUCT:
        if depth > _DEEPEST:
            raise ValueError("its metadata is nested too deeply")
        while header := data[at]:
            at = at + 1 if header >> 4 else _end_of(data, at + 1, I16, depth)
            field = header & 15
            if field in _INTEGERS and data[at] < 128:  # spares most calls
                at += 1
            elif field not in (TRUE, FALSE):
                at = _end_of(data, at, field, depth + 1)
        return at + 1
    if kind == BINARY:
        size, at = _number_at(data, at)
        return at + size
    if kind in _WIDTHS:
        return at + _WIDTHS[kind]
    return _end_of_items(data, at, kind, depth)


def _end_of_items(data: bytes, at: int, kind: int, depth: int) -> int:
    if kind in (LIST, SET):
        header, at = data[at], at + 1
        count, at = _number_at(data, at) if header >> 4 == _LONG_LIST else (header >> 4, at)
        kinds: tuple[int, ...] = (header & 15,)
    elif kind == MAP:
        count, at = _number_at(data, at)
        kinds, at = ((data[at] >> 4, data[at] & 15), at + 1) if count else ((), at)
    else:
        raise ValueError(f"its metadata has a value of the unknown kind {kind}")
    if depth > _DEEPEST or count > len(data):
        raise ValueError("its metadata is nested too deeply, or ends too early")
    for _ in range(count):  # no tuple of all kinds: nested lists may claim as many elements as the file has bytes
        for element in kinds:
            at = _end_of(data, at, element, depth + 1)
    return at


def _write_structure(result: bytearray, fields: Fields) -> None:
    last = 0
    for number in sorted(fields):
        kind, value = fields[number]
        if kind in (TRUE, FALSE):
            kind = TRUE if value else FALSE
        step = number - last
        if 0 < step <= 15:
            result.append(step << 4 | kind)
        else:
            result.append(kind)
            _write_integer(result, number)
        last = number
        if kind not in (TRUE, FALSE):
            _write_value(result, kind, value)
    result.append(0)


def _write_value(result: bytearray, kind: int, value: Any) -> None:
    if kind in _INTEGERS:
        _write_integer(result, value)
    elif kind == STRUCT:
        _write_structure(result, value)
    elif isinstance(value, Items):
        _write_items(result, kind, value)
    else:
        if kind == BINARY:
            _write_number(result, len(value))
        result += value


def _write_items(result: bytearray, kind: int, items: Items) -> None:
    count = len(items.values) // len(items.kinds)
    if kind == MAP:
        _write_number(result, count)
        if count:
            result.append(items.kinds[0] << 4 | items.kinds[1])
    else:
        result.append(min(count, _LONG_LIST) << 4 | items.kinds[0])
        if count >= _LONG_LIST:
            _write_number(result, count)
    for i, value in enumerate(items.values):
        _write_value(result, items.kinds[i % len(items.kinds)], value)


def _write_integer(result: bytearray, number: int) -> None:
    _write_number(result, zigzag(number))


def _write_number(result: bytearray, number: int) -> None:
    if number < 0x80:  # most numbers: spares a call
        result.append(number)
    else:
        result += encode_varint(number)
