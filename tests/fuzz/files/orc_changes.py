"""Changes of ORC files that know their structure: any field of the postscript, the footer and stripe footers."""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.orc as po

from paimon_core.formats.orc.layout import OrcTail, read_tail, stored, unpacked
from paimon_core.spec.encodings.varints import encode_varint, varint_at
from tests.fuzz.files.bytes_changes import ANY, hostile_number

Message = list[tuple[int, int, Any]]  # number, wire type and value of each field; a message within is a list

_STRIPES, _FOOTER_LENGTH, _STRIPE_FOOTER = 3, 1, 4
_REPEATS = 200
_LONG, _LONG_ROWS = 2**20, 300


def parsed(data: bytes, depth: int = 0) -> Message:
    """A message; bytes in it that look like a message are one. Raises `ValueError`."""
    found: Message = []
    offset = 0
    while offset < len(data):
        key, offset = varint_at(data, offset)
        number, wire = key >> 3, key & 7
        if not number or wire not in (0, 1, 2, 5):
            raise ValueError("no message")
        if wire == 0:
            value: Any
            value, offset = varint_at(data, offset)
        else:
            size = 8 if wire == 1 else 4
            if wire == 2:
                size, offset = varint_at(data, offset)
            if offset + size > len(data):
                raise ValueError("cut off")
            value = data[offset : offset + size]
            offset += size
            if wire == 2 and size and depth < 6:
                with suppress(ValueError):
                    value = parsed(value, depth + 1)
        found.append((number, wire, value))
    return found


def written(message: Message) -> bytes:
    parts = bytearray()
    for number, wire, value in message:
        parts += encode_varint(number << 3 | wire)
        if wire == 0:
            parts += encode_varint(value & (2**64 - 1))
            continue
        content = written(value) if isinstance(value, list) else value
        parts += (encode_varint(len(content)) if wire == 2 else b"") + content
    return bytes(parts)


def postscript(chance: Random, data: bytes) -> bytes:
    """Length of the footer, codec, size of blocks, version, …"""
    tail = _tail(data)
    message = parsed(tail.postscript)
    _change(chance, message)
    return with_tail(data, tail, tail.footer, written(message))


def footer(chance: Random, data: bytes) -> bytes:
    """Stripes, types, statistics and numbers of rows."""
    tail = _tail(data)
    message = parsed(tail.footer)
    for _ in range(chance.choice((1, 1, 2))):
        _change(chance, message)
    return with_tail(data, tail, written(message))


def types(chance: Random, data: bytes) -> bytes:
    """Columns that contain themselves, that are not there, or that are nested thousands of times."""
    tail = _tail(data)
    message = parsed(tail.footer)
    at = [i for i, (number, _, _) in enumerate(message) if number == 4]
    kind = chance.choice((10, 11, 12, 13))  # list, map, struct, union
    if chance.random() < 0.5:
        target = chance.choice((0, 1, len(at) - 1, len(at), 2**31, 2**32 - 1))
        node = [(1, 0, kind), *((2, 0, target) for _ in range(chance.choice((1, 2, 300)))), (3, 2, b"x")]
        message[chance.choice(at)] = (4, 2, node)
    else:
        count = chance.choice((100, 5000))
        message[at[-1] :] = [(4, 2, [(1, 0, 10), (2, 0, len(at) + i)]) for i in range(count)] + message[at[-1] :]
    return with_tail(data, tail, written(message))


def stripe_footer(chance: Random, data: bytes) -> bytes:
    """Streams, encodings and the time zone of the last stripe, in front of the footer."""
    tail = _tail(data)
    if not tail.stripes:
        return footer(chance, data)
    stripe = tail.stripes[-1]
    start, end = stripe.footer_start, stripe.footer_start + stripe.footer_size
    message = parsed(unpacked(tail.codec, tail.block_size, data[start:end]))
    for _ in range(chance.choice((1, 1, 2))):
        _change(chance, message)
    new = stored(tail.codec, tail.block_size, written(message))
    footer_message = parsed(tail.footer)
    last = max(i for i, (number, _, _) in enumerate(footer_message) if number == _STRIPES)
    known = footer_message[last][2]
    sized = [(n, w, len(new) if n == _STRIPE_FOOTER else v) for n, w, v in known]
    footer_message[last] = (_STRIPES, 2, sized)
    return data[:start] + new + _end(tail, written(footer_message), data[end : tail.footer_start])


def streams(chance: Random, data: bytes) -> bytes:
    """Bytes of a stripe changed: runs, lengths, dictionaries, times."""
    tail = _tail(data)
    end = tail.stripes[-1].footer_start if tail.stripes else len(data)
    new = chance.choice(ANY)(chance, data[3:end])[: end - 3].ljust(end - 3, b"\0")
    return data[:3] + new + data[end:]


def long_values(chance: Random, data: bytes) -> bytes:
    """A whole file of the same columns that unpacks to hundreds of times its size."""
    schema = po.ORCFile(pa.BufferReader(data)).schema
    sink = pa.BufferOutputStream()
    columns = [
        pa.array([b"x" * _LONG] * _LONG_ROWS, pa.binary()).cast(f.type)
        if pa.types.is_string(f.type) or pa.types.is_binary(f.type)
        else pa.nulls(_LONG_ROWS, f.type)
        for f in schema
    ]
    po.write_table(pa.Table.from_arrays(columns, schema=schema), sink, compression="zstd")
    return bytes(sink.getvalue())


ORC = (postscript, footer, footer, footer, types, stripe_footer, stripe_footer, streams, streams)
ORC_BOMBS = (long_values,)


def _tail(data: bytes) -> OrcTail:
    return read_tail(pa.BufferReader(data))


def with_tail(data: bytes, tail: OrcTail, new_footer: bytes, new_postscript: bytes | None = None) -> bytes:
    """The file with another footer; the postscript says how long it is, where none is given."""
    return data[: tail.footer_start] + _end(tail, new_footer, b"", new_postscript)


def _end(tail: OrcTail, new_footer: bytes, between: bytes, new_postscript: bytes | None = None) -> bytes:
    packed = stored(tail.codec, tail.block_size, new_footer)
    if new_postscript is None:
        known = parsed(tail.postscript)
        new_postscript = written([(n, w, len(packed) if n == _FOOTER_LENGTH else v) for n, w, v in known])
    return between + packed + new_postscript + bytes([len(new_postscript) & 0xFF])


def _change(chance: Random, message: Message) -> None:
    """Change one field, anywhere in a message."""
    places = list(_places(message))
    if not places:
        return
    within, i = chance.choice(places)
    number, wire, value = within[i]
    if chance.random() < 0.1:
        del within[i]
    elif chance.random() < 0.1:
        within[i:i] = [within[i]] * chance.choice((1, 5, _REPEATS))
    elif chance.random() < 0.05:
        within[i] = (chance.randrange(1, 12), wire, value)
    elif wire == 0:
        within[i] = (number, wire, hostile_number(chance, value) if chance.random() < 0.7 else chance.randrange(20))
    elif isinstance(value, list):
        _change(chance, value)
    else:
        new = chance.choice((b"", b"x" * 3000, b"../../../etc/passwd", chance.choice(ANY)(chance, value)))
        within[i] = (number, wire, new if wire == 2 else new[: len(value)].ljust(len(value), b"\xff"))


def _places(message: Message) -> list[tuple[Message, int]]:
    found = []
    for i, (_, _, value) in enumerate(message):
        found.append((message, i))
        if isinstance(value, list):
            found += _places(value)
    return found
