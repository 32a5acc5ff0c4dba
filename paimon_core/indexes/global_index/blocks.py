"""Blocks: the parts of global index files that may be compressed, each checked by a sum.

    block: body | codec: 1 byte | CRC-32 of body and codec: 4 bytes      (little endian)
    body: codec 0, the content | else: size of the content: varint | the content, compressed

A reference to a block has its offset in the file and the size of its body, in bytes.
Source: documentation, "BTree Index", "Bitmap Index"; `org.apache.paimon.sst`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from enum import IntEnum
from zlib import crc32

from paimon_core.dataclass import dataclass
from paimon_core.errors import CorruptFileError, UnfamiliarFormError

WITHOUT = "upgrade paimon-sql, or set 'global-index.enabled' = 'false' to read without the index"
ADVICE = "drop and create the index again, or set 'global-index.enabled' = 'false'"
TRAILER_SIZE = 5


class Codec(IntEnum):
    """The compression of a block's body."""

    NONE = 0
    ZSTD = 1
    LZ4 = 2
    LZO = 3


@dataclass(frozen=True, slots=True)
class BlockHandle:
    """The location of a block or a bitmap in a file: `size` bytes from `offset`. For a block, it is the size of its
    body.

    `org.apache.paimon.sst.BlockHandle`."""

    offset: int
    size: int


Compress = Callable[[bytes], tuple[Codec, bytes]]  # content -> codec and body


def seal(codec: Codec, body: bytes) -> bytes:
    """Return a block with its codec and checksum."""
    return body + struct.pack("<BI", codec, crc32(bytes((codec,)), crc32(body)))


def unseal(path: str, block: bytes) -> tuple[Codec, bytes]:
    """Return the codec and the body of a block. Raises `CorruptFileError`."""
    if len(block) < TRAILER_SIZE:
        raise damaged(path, f"a block ends after {len(block)} bytes, and has at least {TRAILER_SIZE}")
    body = block[:-TRAILER_SIZE]
    codec, checksum = struct.unpack("<BI", block[-TRAILER_SIZE:])
    found = crc32(bytes((codec,)), crc32(body))
    if checksum != found:
        raise damaged(path, f"a block of {len(block)} bytes has the checksum {found:08x}, not {checksum:08x} as stored")
    if codec not in tuple(Codec):
        raise UnfamiliarFormError(path, f"as a global index, a block is compressed by codec {codec}", WITHOUT)
    return Codec(codec), body


def damaged(path: str, cause: str) -> CorruptFileError:
    return CorruptFileError(path, f"as a global index {cause}", ADVICE)
