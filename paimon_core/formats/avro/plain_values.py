"""Plain Avro values as Python values: a few are decoded here, many by fastavro.

fastavro takes less time for each value, but its import takes more than all metadata of a small table does here. The
schemas are plain (`spec.avro_types.plain_schema`, `manifests.avro_resolution`): without logical types, enums and maps.
Source: Avro specification, "Binary Encoding".
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from paimon_core.errors import reason
from paimon_core.lazy import ImportedOnCall
from paimon_core.spec.encodings.varints import unzigzag, varint_at

if TYPE_CHECKING:
    from paimon_core.formats.avro.records import RecordCodec
else:
    RecordCodec = ImportedOnCall("paimon_core.formats.avro.records", "RecordCodec")

# A function of bytes and an offset: it returns the value there, and the offset behind it. It raises `ValueError` or
# `IndexError` for other bytes.
_Decode = Callable[[bytes, int], tuple[Any, int]]
_FEW = 2**15  # bytes
_MOST_CODE = 2**64 - 1


class PlainValues:
    """Decodes values of a plain schema that take at least a byte."""

    def __init__(self, avro: Any) -> None:
        self._avro, self._decode = avro, _decoder_of(avro)

    def decode(self, count: int, content: bytes) -> list[Any]:
        """Return `count` adjacent values. Raises `ValueError` if the content is not exactly these values."""
        if len(content) > _FEW:
            return RecordCodec(self._avro).decode(count, content)
        values, at = list[Any](), 0
        try:
            for _ in range(count):
                value, at = self._decode(content, at)
                values.append(value)
        except (IndexError, ValueError) as e:
            raise ValueError(f"a block does not decode by the file's schema ({reason(e)})") from e
        if at != len(content):
            raise ValueError("the content of a block is not exactly the number of records it announces")
        return values


def _decoder_of(avro: Any) -> _Decode:
    """Return the decoder of a plain schema."""
    if isinstance(avro, list):
        return partial(_union, [_decoder_of(branch) for branch in avro])
    if isinstance(avro, str):
        return _DECODERS[avro]
    match avro["type"]:
        case "record":
            return partial(_record, [(f["name"], _decoder_of(f["type"])) for f in avro["fields"]])
        case "array":
            return partial(_array, _decoder_of(avro["items"]))
        case "fixed":
            return partial(_fixed, avro["size"])
        case kind:
            return _DECODERS[kind]


def _record(fields: Sequence[tuple[str, _Decode]], data: bytes, at: int) -> tuple[dict[str, Any], int]:
    found = {}
    for name, decode in fields:
        found[name], at = decode(data, at)
    return found, at


def _union(branches: Sequence[_Decode], data: bytes, at: int) -> tuple[Any, int]:
    index, at = _number(data, at)
    if not 0 <= index < len(branches):
        raise ValueError(f"a union has no branch {index}")
    return branches[index](data, at)


def _array(decode: _Decode, data: bytes, at: int) -> tuple[list[Any], int]:
    values = list[Any]()
    count, at = _number(data, at)
    while count:
        if count < 0:  # then the size of the block in bytes follows
            count, (_, at) = -count, _number(data, at)
        for _ in range(count):
            value, at = decode(data, at)
            values.append(value)
        count, at = _number(data, at)
    return values, at


def _fixed(size: int, data: bytes, at: int) -> tuple[bytes, int]:
    if not 0 <= size <= len(data) - at:
        raise ValueError("it ends within a value")
    return data[at : at + size], at + size


def _number(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    if byte < 0x80:  # most numbers: spares two calls
        return byte >> 1 ^ -(byte & 1), at + 1
    code, at = varint_at(data, at)
    return unzigzag(code & _MOST_CODE), at


def _bytes(data: bytes, at: int) -> tuple[bytes, int]:
    size, at = _number(data, at)
    return _fixed(size, data, at)


def _text(data: bytes, at: int) -> tuple[str, int]:
    found, at = _bytes(data, at)
    return found.decode(), at


def _null(data: bytes, at: int) -> tuple[None, int]:
    return None, at


def _boolean(data: bytes, at: int) -> tuple[bool, int]:
    return data[at] != 0, at + 1


def _real(form: str, size: int, data: bytes, at: int) -> tuple[float, int]:
    packed, at = _fixed(size, data, at)
    return struct.unpack(form, packed)[0], at


_DECODERS: dict[str, _Decode] = {
    "null": _null,
    "boolean": _boolean,
    "int": _number,
    "long": _number,
    "float": partial(_real, "<f", 4),
    "double": partial(_real, "<d", 8),
    "bytes": _bytes,
    "string": _text,
}
