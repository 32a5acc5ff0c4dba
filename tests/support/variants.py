"""VARIANTs one value at a time, as Python values: what the code that takes whole columns is compared with."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa

_NUMBERS = {3: "<b", 4: "<h", 5: "<i", 6: "<q", 7: "<d", 11: "<i", 12: "<q", 13: "<q", 14: "<f"}


def encode_metadata(keys: list[str]) -> bytes:
    texts = [k.encode() for k in keys]
    offsets = [sum(map(len, texts[:i])) for i in range(len(texts) + 1)]
    numbers = b"".join(n.to_bytes(2, "little") for n in (len(keys), *offsets))
    return bytes([1 | 1 << 6]) + numbers + b"".join(texts)


def encode(value: Any, keys: list[str]) -> bytes:
    """Objects, arrays, text, whole numbers, floats, booleans and None; `keys` as in the metadata."""
    match value:
        case None | True | False:
            return bytes([{None: 0, True: 1, False: 2}[value] << 2])
        case int():
            return bytes([6 << 2]) + struct.pack("<q", value)
        case float():
            return bytes([7 << 2]) + struct.pack("<d", value)
        case str():
            text = value.encode()
            return (bytes([len(text) << 2 | 1]) if len(text) < 64 else b"\x40" + struct.pack("<i", len(text))) + text
        case dict():
            members, head = sorted(value.items(), key=lambda m: m[0].encode()), 2 | (3 << 2 | 3 << 4 | 1 << 6)
            ids = b"".join(struct.pack("<i", keys.index(k)) for k, _ in members)
        case _:
            members, head, ids = [("", v) for v in value], 3 | (3 << 2 | 1 << 4), b""
    parts = [encode(v, keys) for _, v in members]
    offsets = [sum(map(len, parts[:i])) for i in range(len(parts) + 1)]
    numbers = struct.pack(f"<{len(offsets)}i", *offsets)
    return bytes([head]) + struct.pack("<i", len(parts)) + ids + numbers + b"".join(parts)


def decode(value: bytes, metadata: bytes) -> Any:
    """The value; numbers of any type by value, bytes of decimals as `Decimal`."""
    width = (metadata[0] >> 6) + 1
    numbers = [int.from_bytes(metadata[i : i + width], "little") for i in range(1, len(metadata), width)]
    ends = numbers[1 : numbers[0] + 2]
    texts = metadata[1 + width * (numbers[0] + 2) :]
    return _decode(value, [texts[a:b].decode() for a, b in zip(ends, ends[1:], strict=False)])


def _decode(value: bytes, keys: list[str]) -> Any:
    kind, head = value[0] & 3, value[0] >> 2
    if kind == 0:
        return _primitive(head, value[1:])
    if kind == 1:
        return value[1 : 1 + head].decode()
    offset_width, large = (head & 3) + 1, head >> (4 if kind == 2 else 2) & 1
    id_width, offset = (head >> 2 & 3) + 1 if kind == 2 else 0, 5 if large else 2
    count = int.from_bytes(value[1:offset], "little")
    ids = [int.from_bytes(value[offset + i * id_width :][:id_width], "little") for i in range(count)]
    offset += count * id_width
    offsets = [int.from_bytes(value[offset + i * offset_width :][:offset_width], "little") for i in range(count + 1)]
    body = value[offset + (count + 1) * offset_width :]
    assert len(body) >= offsets[-1]
    members = [_decode(body[o:], keys) for o in offsets[:-1]]
    if kind == 3:
        return members
    names = [keys[i] for i in ids]
    assert names == sorted(names, key=str.encode)
    return dict(zip(names, members, strict=True))


def _primitive(kind: int, body: bytes) -> Any:
    if kind <= 2:
        return (None, True, False)[kind]
    if kind in (8, 9, 10):
        unscaled = int.from_bytes(body[1 : 1 + (4, 8, 16)[kind - 8]], "little", signed=True)
        return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -body[0]))
    if kind in (15, 16):
        content = body[4 : 4 + int.from_bytes(body[:4], "little")]
        return content if kind == 15 else content.decode()
    return struct.unpack_from(_NUMBERS[kind], body)[0]


def shredded_type(shape: Any) -> pa.DataType:
    """The parts of a shape: an Arrow type, [shape of elements], {name: shape}, or None for `value` alone."""
    return pa.struct([pa.field("value", pa.binary()), *_typed_field(shape)])


def _typed_field(shape: Any) -> list[pa.Field]:
    if shape is None:
        return []
    if isinstance(shape, list):
        return [pa.field("typed_value", pa.list_(shredded_type(shape[0])))]
    if isinstance(shape, dict):
        parts = [pa.field(n, shredded_type(s), nullable=False) for n, s in shape.items()]
        return [pa.field("typed_value", pa.struct(parts))]
    return [pa.field("typed_value", shape)]


def shred(value: Any, shape: Any, keys: list[str]) -> dict[str, Any]:
    """The parts of a value, whose types are int64, double, text and bool."""
    if isinstance(shape, dict) and isinstance(value, dict):
        rest = {k: v for k, v in value.items() if k not in shape}
        typed = {n: shred(value[n], s, keys) if n in value else {} for n, s in shape.items()}
        return {"value": encode(rest, keys) if rest else None, "typed_value": typed}
    if isinstance(shape, list) and isinstance(value, list):
        return {"value": None, "typed_value": [shred(v, shape[0], keys) for v in value]}
    types = {pa.int64(): int, pa.float64(): float, pa.string(): str, pa.bool_(): bool}
    if isinstance(shape, pa.DataType) and type(value) is types[shape]:
        return {"value": None, "typed_value": value}
    return {"value": encode(value, keys)}
