"""The layout of an ORC file: its tail, its stripes and their streams.

    stripe*       index streams, data streams, stripe footer
    metadata      statistics of stripes
    footer        protobuf: 3 stripes, 4 types (1 kind, 2 subtypes), …
    postscript    protobuf: 1 footer length, 2 codec, 3 block size
    1 byte        length of the postscript

In a file with a codec, streams, footers and metadata are chunks: three bytes little endian, length * 2 + (1 if the
chunk is not compressed), then the chunk. Source: ORC specification v1.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from paimon_core.dataclass import dataclass
from paimon_core.spec.encodings.varints import encode_varint, varint_at

_TAIL_BYTES = 16 * 1024
_CHUNK_HEADER = 3
_LARGEST_TAIL = 2**28
_LARGEST_BLOCK = 2**23  # the largest size that fits the header of a chunk
_DEEPEST = 100
_LZ4_FRAME = bytes.fromhex("04224d18607073")  # blocks of 4 MB, without checksums
_CODECS = {0: None, 1: "zlib", 2: "snappy", 4: "lz4", 5: "zstd"}
_LZO, _MOST_CODECS = 3, 16  # a much larger number is a sign of damage
_MAGIC = b"ORC"  # the last field of a postscript
LONG, TIMESTAMP, LIST, MAP, STRUCT, DECIMAL, CHAR, TIMESTAMP_INSTANT = 4, 9, 10, 11, 12, 14, 17, 18
_BELOW = {LIST: 1, MAP: 2}
_MOST_DIGITS = 38
_USER_METADATA = 5  # field of a footer


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A column: its kind, the columns below it, the offset of the kind in the footer, and the digits of a decimal."""

    kind: int
    below: tuple[int, ...]
    kind_offset: int
    precision: int


@dataclass(frozen=True, slots=True)
class Stripe:
    """A stripe: its offset, its footer's offset and size, in bytes of the file, and its number of rows."""

    start: int
    footer_start: int
    footer_size: int
    rows: int


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream of one column in a stripe."""

    kind: int
    column: int
    start: int
    size: int


@dataclass(frozen=True, slots=True)
class OrcTail:
    """The metadata at the end of an ORC file; `footer` is decompressed, `footer_start` is its offset in the file."""

    codec: str | None
    block_size: int
    footer: bytes
    footer_start: int
    postscript: bytes
    types: tuple[ColumnType, ...]
    stripes: tuple[Stripe, ...]
    rows: int


def messages(data: bytes) -> Iterator[tuple[int, Any, int]]:
    """Yield the number, the value (a number, or bytes) and the value's offset of each field of a protobuf message."""
    offset = 0
    while offset < len(data):
        key, offset = varint_at(data, offset)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, end = varint_at(data, offset)
            yield number, value, offset
        elif wire == 2:
            size, offset = varint_at(data, offset)
            end = offset + size
            if end > len(data):
                raise ValueError("a message is cut off")
            yield number, data[offset:end], offset
        elif wire in (1, 5):
            end = offset + (8 if wire == 1 else 4)
        else:
            raise ValueError("a message is damaged")
        offset = end


def _numbers(data: bytes, *fields: int) -> list[int]:
    """Return the numbers in some fields of a message, 0 for a missing field. Raises `ValueError`."""
    found = {number: value for number, value, _ in messages(data)}
    numbers = [found.get(f, 0) for f in fields]
    if not all(isinstance(n, int) for n in numbers):
        raise ValueError("a field that must be a number is not one")
    return numbers


def read_tail(source: pa.NativeFile) -> OrcTail:
    """Read the tail of an ORC file. Raises `ValueError` for another file, `ArrowNotImplementedError` for a codec."""
    with typed_fields("its tail"):
        return _read_tail(source)


@contextmanager
def typed_fields(what: str) -> Iterator[None]:
    """Raise `ValueError` for a field of a message that is missing or has the wrong type."""
    try:
        yield
    except (TypeError, LookupError, AttributeError, StopIteration) as e:
        raise ValueError(f"{what} is damaged") from e


def _read_tail(source: pa.NativeFile) -> OrcTail:
    size = source.size()
    end = _read(source, max(0, size - _TAIL_BYTES), min(size, _TAIL_BYTES))
    postscript = end[-1 - end[-1] : -1]
    length, codec, block = _numbers(postscript, 1, 2, 3)
    if not 0 < length <= min(size, _LARGEST_TAIL) or not postscript.endswith(_MAGIC) or codec >= _MOST_CODECS:
        raise ValueError("its postscript is damaged")
    if codec not in _CODECS:
        name = "LZO" if codec == _LZO else f"codec {codec}"
        raise pa.ArrowNotImplementedError(f"it is compressed by {name}, which this version cannot decompress")
    if block > _LARGEST_BLOCK:
        raise ValueError(f"its blocks have {block} bytes")
    start = size - 1 - len(postscript) - length
    footer = unpacked(_CODECS[codec], block, _read(source, start, length))
    types, stripes, rows = [], [], 0
    for number, value, offset in messages(footer):
        if number == 3:
            stripes.append(_stripe(value))
        elif number == 4:
            types.append(_type(value, offset))
        elif number == 6:
            rows = value
    return OrcTail(_CODECS[codec], block, footer, start, postscript, tuple(types), tuple(stripes), rows)


def check_tail(source: pa.NativeFile) -> OrcTail:
    """Return the tail of an ORC file. Raises `ValueError` for a tail that the native reader must not see.

    The native reader trusts the tail. It crashes, or takes all memory, for huge blocks (`read_tail` refuses these),
    columns that contain each other, stripes outside of the file, and numbers of rows that do not add up."""
    tail = read_tail(source)
    if any(s.footer_start + s.footer_size > tail.footer_start for s in tail.stripes):
        raise ValueError("a stripe lies outside of the file")
    if sum(s.rows for s in tail.stripes) != tail.rows:
        raise ValueError("the rows of its stripes do not add up to its number of rows")
    if any(len(t.below) != _BELOW.get(t.kind, len(t.below)) for t in tail.types):
        raise ValueError("a list or map has the wrong number of columns")
    if any(t.kind == DECIMAL and not 0 <= t.precision <= _MOST_DIGITS for t in tail.types):
        raise ValueError("a decimal has an impossible number of digits")
    depths = [0] + [_DEEPEST] * (len(tail.types) - 1)
    for i, column in enumerate(tail.types):
        for child in column.below:
            # columns come before those in them, each once
            if not i < child < len(depths) or depths[child] != _DEEPEST or depths[i] == _DEEPEST:
                raise ValueError("its columns do not form a tree, or are nested too deeply")
            depths[child] = depths[i] + 1
    if _DEEPEST in depths:
        raise ValueError("its columns do not form a tree, or are nested too deeply")
    return tail


def read_stripe_footer(source: pa.NativeFile, tail: OrcTail, stripe: Stripe) -> bytes:
    """The unpacked footer of a stripe."""
    return unpacked(tail.codec, tail.block_size, _read(source, stripe.footer_start, stripe.footer_size))


def read_streams(source: pa.NativeFile, tail: OrcTail, stripe: Stripe) -> tuple[list[Stream], str]:
    """The data streams of a stripe, and the time zone of its writer. Raises `ValueError`."""
    streams, start, zone = [], 0, "UTC"
    with typed_fields("the footer of a stripe"):
        for number, value, _ in messages(read_stripe_footer(source, tail, stripe)):
            if number == 1:
                kind, column, size = _numbers(value, 1, 2, 3)
                streams.append(Stream(kind, column, start, size))
                start += size
            elif number == 3:
                zone = value.decode()
    # index streams come first, and the offsets count from the start of the stripe
    first = stripe.footer_start - start
    return [Stream(s.kind, s.column, first + s.start, s.size) for s in streams], zone


def read_stream(source: pa.NativeFile, tail: OrcTail, stream: Stream) -> bytes:
    """The unpacked content of a stream."""
    return unpacked(tail.codec, tail.block_size, _read(source, stream.start, stream.size))


def check_chunks(source: pa.NativeFile, tail: OrcTail, stream: Stream, most: int) -> int:
    """Count the chunks of a stream, at most `most`. Raises `ValueError` for a chunk that ends after the stream."""
    if tail.codec is None:
        return 0
    offset, end, found = stream.start, stream.start + stream.size, 0
    while offset < end and found < most:
        offset += _CHUNK_HEADER + (int.from_bytes(_read(source, offset, _CHUNK_HEADER), "little") >> 1)
        found += 1
    if offset > end:
        raise ValueError("a chunk ends after its stream does")
    return found


def unpacks_to_more(source: pa.NativeFile, most: int) -> bool:
    """Return whether the streams of all stripes decompress to more than `most` bytes. Raises `ValueError`."""
    tail, found = read_tail(source), 0
    for stripe in tail.stripes:
        for stream in read_streams(source, tail, stripe)[0]:
            for chunk in _chunks(tail.codec, tail.block_size, _read(source, stream.start, stream.size)):
                found += len(chunk)
                if found > most:
                    return True
    return False


def unpacked(codec: str | None, block_size: int, data: bytes) -> bytes:
    """The content of chunks. Raises `ValueError`."""
    return b"".join(_chunks(codec, block_size, data))


def _chunks(codec: str | None, block_size: int, data: bytes) -> Iterator[bytes]:
    """Yield the content of each chunk; without a codec all data is one chunk."""
    if codec is None:
        yield data
        return
    offset = 0
    while offset < len(data):
        header = int.from_bytes(data[offset : offset + _CHUNK_HEADER], "little")
        offset += _CHUNK_HEADER
        chunk = data[offset : offset + (header >> 1)]
        offset += header >> 1
        if offset > len(data):
            raise ValueError("a chunk is cut off")
        yield chunk if header & 1 else _unpacked_chunk(codec, block_size, chunk)


def stored(codec: str | None, block_size: int, data: bytes) -> bytes:
    """Return the content as uncompressed chunks."""
    if codec is None:
        return data
    parts = (data[i : i + block_size] for i in range(0, len(data), block_size))
    return b"".join((len(p) * 2 + 1).to_bytes(_CHUNK_HEADER, "little") + p for p in parts)


def _unpacked_chunk(codec: str, block_size: int, chunk: bytes) -> bytes:
    if codec == "zlib":
        try:
            return zlib.decompressobj(wbits=-zlib.MAX_WBITS).decompress(chunk, block_size)
        except zlib.error as e:
            raise ValueError(f"a chunk is damaged ({e})") from e
    if codec == "lz4":  # as a frame: a block alone does not contain its decompressed size
        chunk = _LZ4_FRAME + len(chunk).to_bytes(4, "little") + chunk + bytes(4)
    if codec in ("zstd", "lz4"):
        with pa.CompressedInputStream(pa.BufferReader(chunk), codec) as stream:
            return bytes(stream.read(block_size))
    size, _ = varint_at(chunk, 0)
    if size > block_size:
        raise ValueError("a chunk is larger than a block")
    return bytes(pa.decompress(chunk, size, codec, asbytes=True))


def _stripe(data: bytes) -> Stripe:
    start, index, size, footer, rows = _numbers(data, 1, 2, 3, 4, 5)
    return Stripe(start, start + index + size, footer, rows)


def _type(data: bytes, start: int) -> ColumnType:
    kind, kind_offset, below, digits = 0, -1, list[int](), [0, 0]
    for number, value, offset in messages(data):
        if number == 1 and isinstance(value, int):
            kind, kind_offset = value, start + offset
        elif number == 2 and isinstance(value, int):
            below.append(value)
        elif number == 2:
            at = 0
            while at < len(value):
                subtype, at = varint_at(value, at)
                below.append(subtype)
        elif number in (5, 6):
            digits[number - 5] = value
    return ColumnType(kind, tuple(below), kind_offset, max(digits))  # the scale is no more than the precision


def _read(source: pa.NativeFile, start: int, size: int) -> bytes:
    if start < 0 or size < 0:
        raise ValueError("a part lies outside of the file")
    data = bytes(source.read_at(size, start))
    if len(data) != size:
        raise ValueError("it is cut off")
    return data


def with_metadata(end: bytes, metadata: Mapping[str, str]) -> bytes:
    """Return the end of an ORC file, from its footer or earlier, with more metadata of the file."""
    postscript = end[-1 - end[-1] : -1]
    length, codec, block = _numbers(postscript, 1, 2, 3)
    start = len(end) - 1 - len(postscript) - length
    footer = unpacked(_CODECS[codec], block, end[start : start + length])
    items = (_field(1, name.encode()) + _field(2, value.encode()) for name, value in metadata.items())
    footer += b"".join(_field(_USER_METADATA, item) for item in items)
    return end[:start] + end_of_file(_CODECS[codec], block, footer, postscript)


def end_of_file(codec: str | None, block_size: int, footer: bytes, postscript: bytes) -> bytes:
    """Return a footer, and the postscript with its length."""
    content = stored(codec, block_size, footer)
    rest = b"".join(postscript[a:b] for a, b in _spans_behind_length(postscript))
    changed = b"\x08" + encode_varint(len(content)) + rest
    return content + changed + bytes([len(changed)])


def _field(number: int, value: bytes) -> bytes:
    return encode_varint(number << 3 | 2) + encode_varint(len(value)) + value


def _spans_behind_length(postscript: bytes) -> list[tuple[int, int]]:
    """Return the spans of the postscript without its first field, the footer's length."""
    first = next(offset for number, _, offset in messages(postscript) if number == 1)
    after = first
    while postscript[after] >= 0x80:
        after += 1
    return [(0, first - 1), (after + 1, len(postscript))]
