"""Avro object container files as blocks of bytes: their only reader and their only writer.

    b"Obj\\x01"
    metadata      map of string to bytes: `avro.schema` (JSON), `avro.codec`
    sync          16 bytes
    block*        count of records (varint), size in bytes (varint), compressed records, sync

Varints are zigzag-coded. Other modules decode the records of a block: `records` one by one, `field_offsets` the fields
of all records at once. Source: Avro specification, "Object Container Files".
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from paimon_core.formats.avro.codecs import (
    CODECS,
    UnknownCodecError,
    decompress,
    decompress_frames,
    most_content,
)
from paimon_core.lazy import ImportedOnCall
from paimon_core.spec.avro_types import AvroType, parse_type
from paimon_core.spec.encodings.varints import MOST_BYTES, encode_varint, unzigzag, varint_at, zigzag

if TYPE_CHECKING:
    from paimon_core.formats.avro.packing import compress
else:
    compress = ImportedOnCall("paimon_core.formats.avro.packing", "compress")

MAGIC = b"Obj\x01"
SYNC_SIZE = 16
_LARGEST_HEADER = 2**24
_FEW_RECORDS = 2**12
SHORT_SCHEMA = 2**14  # bytes of the longest schema that is cached: metadata files have few different schemas
_READ_STEP = 2**24  # some sources allocate the requested bytes even if the file is shorter


class Source(Protocol):
    """A source of a container's bytes, in order."""

    def read(self, size: int = -1, /) -> bytes: ...


class ContainerReader:
    """The blocks of a container. Raises `ValueError` for bytes that are not a container with an Avro schema, and
    `UnknownCodecError`.

    `type` is the schema with its names resolved, because several record types in it may have the same name.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        if source.read(len(MAGIC)) != MAGIC:
            raise ValueError("it does not begin as Avro files do")
        metadata = _read_metadata(source)
        self.schema_text = metadata.get("avro.schema", b"")
        self.schema, self.type = _read_schema(self.schema_text)
        self.codec = metadata.get("avro.codec", b"null").decode()
        self.about = {k: v for k, v in metadata.items() if not k.startswith("avro.")}
        if self.codec not in CODECS:
            raise UnknownCodecError(self.codec)
        self._sync = _exactly(source, SYNC_SIZE)

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Yield the record count and the content of each block, at most a gigabyte.

        Only one block is in memory at a time.
        """
        for count, packed in self._packed():
            yield count, decompress(self.codec, packed)

    def bounded(self) -> Iterator[tuple[int, bytes]]:
        """Iterate over a metadata file's blocks. Their content is limited by `most_content` of their packed size."""
        blocks = self._named_packed()
        room = most_content(sum(len(packed) for _, packed in blocks), sum(count for count, _ in blocks))
        for count, packed in blocks:
            content = decompress(self.codec, packed, room)
            room -= len(content)
            yield count, content

    def content(self, spare: int) -> tuple[int, NDArray[np.uint8]]:
        """Return the record count and the content of all blocks together, bounded, followed by `spare` zeros."""
        if self.codec == "zstandard":  # consecutive frames are valid zstandard data: one call for all
            blocks = self._named_packed()
            packed = b"".join(packed for _, packed in blocks)
            total = sum(count for count, _ in blocks)
            return total, decompress_frames(packed, most_content(len(packed), total), spare)
        total, content = 0, bytearray()
        for count, block in self.bounded():
            total += count
            content += block
        content += bytes(spare)
        return total, np.frombuffer(content, dtype=np.uint8)

    def _named_packed(self) -> list[tuple[int, bytes]]:
        """Return the blocks of a metadata file. A record contains a file name, so it takes at least one compressed
        byte; this limits the number of records.
        """
        blocks = list(self._packed())
        records, size = sum(count for count, _ in blocks), sum(len(packed) for _, packed in blocks)
        if records > size + _FEW_RECORDS:
            raise ValueError(f"it claims {records} records in {size} bytes")
        return blocks

    def _packed(self) -> Iterator[tuple[int, bytes]]:
        while (first := self._source.read(1)) != b"":
            count, size = _read_number(self._source, first), _read_number(self._source)
            if size < 0 or count < 0:
                raise ValueError("a block has a negative size")
            packed = _exactly(self._source, size)
            if _exactly(self._source, SYNC_SIZE) != self._sync:
                raise ValueError("a block does not end with the file's marker")
            yield count, packed


class ContainerWriter:
    """Writes a container to a sink. `about` is more metadata for the header."""

    def __init__(
        self, sink: Any, schema: Any, codec: str, level: int | None, about: Mapping[str, bytes] | None = None
    ) -> None:
        self._sink, self._codec, self._level, self._sync = sink, codec, level, os.urandom(SYNC_SIZE)
        metadata = {**(about or {}), "avro.schema": json.dumps(schema).encode(), "avro.codec": codec.encode()}
        sink.write(MAGIC + _encoded_metadata(metadata) + self._sync)

    def write(self, count: int, content: bytes) -> None:
        """Add a block of `count` records."""
        packed = compress(self._codec, self._level, content)
        self._sink.write(block_header(count, len(packed)) + packed + self._sync)


def block_header(count: int, size: int) -> bytes:
    """Return the bytes before the compressed bytes of a block."""
    return encode_varint(zigzag(count)) + encode_varint(zigzag(size))


def recoded(data: bytes, codec: str) -> bytes:
    """Return the container with its blocks in another codec, within the limits of `bounded`.

    Raises `ValueError` for other bytes.
    """
    reader, sink = ContainerReader(io.BytesIO(data)), io.BytesIO()
    if reader.codec == codec:
        return data
    writer = ContainerWriter(sink, reader.schema, codec, None, reader.about)
    for count, content in reader.bounded():
        writer.write(count, content)
    return sink.getvalue()


def _read_schema(text: bytes) -> tuple[Any, AvroType]:
    """Return the schema, which callers must not change because it is cached, and its type."""
    return (_parsed_schema if len(text) <= SHORT_SCHEMA else _parsed_schema.__wrapped__)(text)


@lru_cache(maxsize=32)
def _parsed_schema(text: bytes) -> tuple[Any, AvroType]:
    try:
        schema = json.loads(text)
    except RecursionError as e:
        raise ValueError("its schema is nested too deeply") from e
    return schema, parse_type(schema)


def _read_metadata(source: Source) -> dict[str, bytes]:
    metadata: dict[str, bytes] = {}
    room = _LARGEST_HEADER
    while count := _read_number(source):
        if count < 0:
            count = -count
            _read_number(source)
        for _ in range(count):
            name = _read_bytes(source, room).decode()
            metadata[name] = _read_bytes(source, room)
            room -= len(name) + len(metadata[name])
    return metadata


def _encoded_metadata(metadata: Mapping[str, bytes]) -> bytes:
    parts = [part for name, value in metadata.items() for part in (name.encode(), value)]
    coded = b"".join(encode_varint(zigzag(len(part))) + part for part in parts)
    return encode_varint(zigzag(len(metadata))) + coded + b"\0"


def _read_bytes(source: Source, most: int) -> bytes:
    size = _read_number(source)
    if not 0 <= size <= most:
        raise ValueError("its header is damaged")
    return _exactly(source, size)


def _read_number(source: Source, first: bytes = b"") -> int:
    """Read the next number. `first` is its first byte, if the caller has already read it."""
    coded = first or source.read(1)
    while coded[-1:] >= b"\x80" and len(coded) < MOST_BYTES and (byte := source.read(1)):
        coded += byte
    return unzigzag(varint_at(coded, 0)[0])


def _exactly(source: Source, size: int) -> bytes:
    parts, missing = list[bytes](), size
    while missing and (part := source.read(min(missing, _READ_STEP))):
        parts.append(bytes(part))
        missing -= len(part)
    if missing:
        raise ValueError("it is cut off")
    return parts[0] if len(parts) == 1 else b"".join(parts)
