"""Avro object container files as blocks of bytes.

    b"Obj\\x01"
    metadata      map of string to bytes: `avro.schema` (JSON), `avro.codec`
    sync          16 bytes
    block*        count of records (varint), size in bytes (varint), compressed records, sync

Varints are zigzag-coded, seven bits per byte. Codecs: null, deflate (raw), snappy (followed by the CRC-32 of the
content, big endian), zstandard, bzip2, xz. Source: Avro specification, "Object Container Files".
"""

from __future__ import annotations

import bz2
import io
import json
import lzma
import os
import struct
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import fastavro
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAGIC = b"Obj\x01"
SYNC_SIZE = 16
CODECS = ("null", "deflate", "snappy", "zstandard", "bzip2", "xz")
_METADATA = fastavro.parse_schema({"type": "map", "values": "bytes"})
_MOST_CONTENT = 2**30
_ANY_CONTENT, _MOST_RATIO = 2**24, 2**10  # statistics of wide tables that are all NULL shrink to a 700th
_LARGEST_HEADER = 2**24
_MOST_LZMA = 2**27  # bytes of memory: a few bytes of a header can ask for gigabytes
_READ_STEP = 2**24  # some sources allocate what is asked for, whether it is there or not
_ZSTANDARD_STEP = 2**18
_ZSTANDARD_RATIO = 12  # more than metadata shrinks; memory that is not needed is not touched
_VARINT_BYTES = 10


class InflatedError(ValueError):
    """Blocks that unpack to far more than honest ones do."""

    def __init__(self) -> None:
        super().__init__("it unpacks to far more bytes than files of its size hold")


class Source(Protocol):
    """Where a container is read from."""

    def read(self, size: int = -1, /) -> bytes: ...


class ContainerReader:
    """The blocks of a container. Raises `ValueError` for bytes that are none."""

    def __init__(self, source: Source) -> None:
        self._source = source
        if source.read(len(MAGIC)) != MAGIC:
            raise ValueError("it does not begin as Avro files do")
        metadata = _read_metadata(source)
        self.schema: Any = json.loads(metadata.get("avro.schema", b""))
        self.codec = metadata.get("avro.codec", b"null").decode()
        if self.codec not in CODECS:
            raise ValueError(f"codec {self.codec!r} is none of {', '.join(CODECS)}")
        self._sync = _exactly(source, SYNC_SIZE)

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Record count and content of each block, a gigabyte at most: for data files, of which one at a time is in
        memory."""
        for count, packed in self._packed():
            yield count, decompress(self.codec, packed)

    def bounded(self) -> Iterator[tuple[int, bytes]]:
        """As iterating does, for metadata: all blocks together are no larger than `most_content` of their bytes."""
        blocks = list(self._packed())
        room = most_content(sum(len(packed) for _, packed in blocks))
        for count, packed in blocks:
            content = decompress(self.codec, packed, room)
            room -= len(content)
            yield count, content

    def content(self, spare: int) -> tuple[int, NDArray[np.uint8]]:
        """Record count and content of all blocks together, bounded, and `spare` zeros behind it."""
        if self.codec == "zstandard":  # frames behind each other are zstandard data as well: one call for all
            blocks = list(self._packed())
            packed = b"".join(packed for _, packed in blocks)
            with _unpacking(self.codec):
                return sum(count for count, _ in blocks), _zstandard_content(packed, most_content(len(packed)), spare)
        total, content = 0, bytearray()
        for count, block in self.bounded():
            total += count
            content += block
        content += bytes(spare)
        return total, np.frombuffer(content, dtype=np.uint8)

    def _packed(self) -> Iterator[tuple[int, bytes]]:
        while (count := _read_varint(self._source, at_end=None)) is not None:
            size = _read_varint(self._source)
            if size is None or size < 0 or count < 0:
                raise ValueError("a block has a negative size")
            packed = _exactly(self._source, size)
            if _exactly(self._source, SYNC_SIZE) != self._sync:
                raise ValueError("a block does not end with the file's marker")
            yield count, packed


class ContainerWriter:
    """Writes a container to a sink."""

    def __init__(self, sink: Any, schema: Any, codec: str, level: int) -> None:
        self._sink, self._codec, self._level, self._sync = sink, codec, level, os.urandom(SYNC_SIZE)
        header = io.BytesIO()
        metadata = {"avro.schema": json.dumps(schema).encode(), "avro.codec": codec.encode()}
        fastavro.schemaless_writer(header, _METADATA, metadata)
        sink.write(MAGIC + header.getvalue() + self._sync)

    def write(self, count: int, content: bytes) -> None:
        """Add a block of `count` records."""
        packed = compress(self._codec, self._level, content)
        self._sink.write(varint(count) + varint(len(packed)) + packed + self._sync)


def recoded(data: bytes, codec: str) -> bytes:
    """A container with its blocks, bounded, in another codec. Raises `ValueError` for bytes that are none."""
    reader, sink = ContainerReader(io.BytesIO(data)), io.BytesIO()
    if reader.codec == codec:
        return data
    writer = ContainerWriter(sink, reader.schema, codec, zstd.COMPRESSION_LEVEL_DEFAULT)
    for count, content in reader.bounded():
        writer.write(count, content)
    return sink.getvalue()


def most_content(packed: int) -> int:
    """The most bytes that so many may unpack to: more than honest files do, and never more than a gigabyte."""
    return min(_MOST_CONTENT, _ANY_CONTENT + _MOST_RATIO * packed)


def compress(codec: str, level: int, content: bytes) -> bytes:
    """A block's content as files have it; `level` is that of zstandard."""
    match codec:
        case "deflate":
            packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
            return packer.compress(content) + packer.flush()
        case "snappy":
            return bytes(pa.compress(content, "snappy", asbytes=True)) + struct.pack(">I", zlib.crc32(content))
        case "zstandard":
            # a frame without a checksum may unpack to other bytes where one of it was changed
            wanted: dict[int, int] = {
                zstd.CompressionParameter.compression_level: level,
                zstd.CompressionParameter.checksum_flag: 1,
            }
            return zstd.compress(content, options=wanted)
        case "bzip2":
            return bz2.compress(content)
        case "xz":
            return lzma.compress(content)
    return content


def decompress(codec: str, packed: bytes, most: int = _MOST_CONTENT) -> bytes:
    """The reverse of `compress`. Raises `ValueError` for what is no such data, `InflatedError` for more bytes than
    `most`; no more than that are unpacked."""
    with _unpacking(codec):
        content = _unpacked(codec, packed, most)
    if len(content) > most:
        raise InflatedError
    return content


@contextmanager
def _unpacking(codec: str) -> Iterator[None]:
    try:
        yield
    except (zlib.error, lzma.LZMAError, OSError, EOFError) as e:
        raise ValueError(f"a block is no {codec} data ({e})") from e


def varint(number: int) -> bytes:
    """A number of 64 bits, zigzag-coded."""
    rest, out = (number << 1) ^ (number >> 63), bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def _unpacked(codec: str, packed: bytes, most: int) -> bytes:
    match codec:
        case "deflate":
            return zlib.decompressobj(wbits=-zlib.MAX_WBITS).decompress(packed, most + 1)
        case "snappy":
            return _unpacked_snappy(packed, most)
        case "zstandard":
            return _zstandard_content(packed, most, 0).tobytes()
        case "bzip2":
            return bz2.BZ2Decompressor().decompress(packed, most + 1)
        case "xz":
            return lzma.LZMADecompressor(memlimit=_MOST_LZMA).decompress(packed, most + 1)
    return packed


def _zstandard_content(packed: bytes, most: int, spare: int) -> NDArray[np.uint8]:
    """The content of all frames; `spare` zeros behind it."""
    room, size = np.empty(_ZSTANDARD_RATIO * len(packed) + _ZSTANDARD_STEP, dtype=np.uint8), 0
    with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
        while more := stream.readinto(room.data[size : size + _ZSTANDARD_STEP]):
            size += more
            if size > most:
                raise InflatedError
            if len(room) - size < _ZSTANDARD_STEP:
                room = np.concatenate([room, np.empty(len(room), dtype=np.uint8)])
    room[size : size + spare] = 0
    return room[: size + spare]


def _unpacked_snappy(packed: bytes, most: int) -> bytes:
    size = shift = 0
    for byte in packed[:5]:  # the content begins with its unpacked size, little endian in groups of seven bits
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if size > min(most, 64 * len(packed)):  # no snappy element makes 64 bytes of one
        raise ValueError("a block of snappy data claims an impossible size")
    content = bytes(pa.decompress(packed[:-4], size, "snappy", asbytes=True))
    if packed[-4:] != struct.pack(">I", zlib.crc32(content)):
        raise ValueError("a block has another checksum than its content")
    return content


def _read_metadata(source: Source) -> dict[str, bytes]:
    metadata: dict[str, bytes] = {}
    room = _LARGEST_HEADER
    while count := _read_varint(source):
        if count < 0:
            count = -count
            _read_varint(source)
        for _ in range(count):
            name = _read_bytes(source, room).decode()
            metadata[name] = _read_bytes(source, room)
            room -= len(name) + len(metadata[name])
    return metadata


def _read_bytes(source: Source, most: int) -> bytes:
    size = _read_varint(source)
    if size is None or not 0 <= size <= most:
        raise ValueError("its header is damaged")
    return _exactly(source, size)


def _read_varint(source: Source, at_end: int | None = 0) -> int | None:
    value = shift = 0
    for i in range(_VARINT_BYTES):
        byte = source.read(1)
        if not byte:
            if i == 0 and at_end is None:
                return None
            raise ValueError("it ends in the middle of a number")
        value |= (byte[0] & 0x7F) << shift
        shift += 7
        if byte[0] < 0x80:
            return (value >> 1) ^ -(value & 1)
    raise ValueError("a number is too long")


def _exactly(source: Source, size: int) -> bytes:
    parts, missing = list[bytes](), size
    while missing and (part := source.read(min(missing, _READ_STEP))):
        parts.append(bytes(part))
        missing -= len(part)
    if missing:
        raise ValueError("it is cut off")
    return parts[0] if len(parts) == 1 else b"".join(parts)
