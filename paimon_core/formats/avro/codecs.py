"""The codecs of Avro blocks, and the most bytes that a block may decompress to.

null, deflate (raw), snappy (followed by the CRC-32 of the content, big endian), zstandard, bzip2 and xz. A few hostile
bytes can unpack to gigabytes: every codec stops at a limit before it has taken the memory.
Source: Avro specification, "Object Container Files", "Required Codecs" and "Optional Codecs".
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.lazy import ImportedOnCall
from paimon_core.spec.encodings.varints import varint_at

if TYPE_CHECKING:
    from bz2 import BZ2Decompressor

    from paimon_core.formats.avro.packing import unpacked_xz
else:
    BZ2Decompressor = ImportedOnCall("bz2", "BZ2Decompressor")
    unpacked_xz = ImportedOnCall("paimon_core.formats.avro.packing", "unpacked_xz")

CODECS = ("null", "deflate", "snappy", "zstandard", "bzip2", "xz")
_MOST_CONTENT = 2**30
_ANY_CONTENT, _MOST_RATIO = 2**24, 2**10  # statistics of wide tables that are all NULL shrink to a 700th
_MOST_OF_RECORD = 2**20  # only keys of megabytes, which metadata stores in full, could exceed it
_ZSTANDARD_STEP = 2**18
_ZSTANDARD_RATIO = 12  # more than metadata shrinks; memory that is not needed is not touched


class UnknownCodecError(ValueError):
    """An unknown codec: this version does not support it, and the file may be healthy."""

    def __init__(self, name: str) -> None:
        super().__init__(f"its codec {name[:80]!r} is not one of {', '.join(CODECS)}")


class InflatedError(ValueError):
    """Blocks decompress to far more bytes than in honest files."""

    def __init__(self) -> None:
        super().__init__("it decompresses to far more bytes than a file of its size can hold")


def most_content(packed: int, records: int | None = None) -> int:
    """Return the most bytes to which `packed` bytes may decompress: more than in honest files, at most a gigabyte.

    If the number of records of a metadata file is known, allow a megabyte per record on average."""
    most = min(_MOST_CONTENT, _ANY_CONTENT + _MOST_RATIO * packed)
    return most if records is None else min(most, _ANY_CONTENT + _MOST_OF_RECORD * records)


def decompress(codec: str, packed: bytes, most: int = _MOST_CONTENT) -> bytes:
    """Reverse `compress`, and stop after `most` bytes.

    Raises `InflatedError` for more than `most` bytes, `ValueError` for bytes that the codec cannot decompress."""
    with _unpacking(codec):
        content = _unpacked(codec, packed, most)
    if len(content) > most:
        raise InflatedError
    return content


def decompress_frames(packed: bytes, most: int, spare: int) -> NDArray[np.uint8]:
    """Return the content of consecutive zstandard frames, at most `most` bytes, followed by `spare` zeros.

    Raises the same errors as `decompress`."""
    with _unpacking("zstandard"):
        return _zstandard_content(packed, most, spare)


@contextmanager
def _unpacking(codec: str) -> Iterator[None]:
    try:
        yield
    except (zlib.error, OSError, EOFError) as e:
        raise ValueError(f"a block does not decompress by codec {codec} ({e})") from e


def _unpacked(codec: str, packed: bytes, most: int) -> bytes:
    match codec:
        case "deflate":
            return zlib.decompressobj(wbits=-zlib.MAX_WBITS).decompress(packed, most + 1)
        case "snappy":
            return _unpacked_snappy(packed, most)
        case "zstandard":
            return _zstandard_content(packed, most, 0).tobytes()
        case "bzip2":
            return BZ2Decompressor().decompress(packed, most + 1)
        case "xz":
            return unpacked_xz(packed, most + 1)
    return packed


def _zstandard_content(packed: bytes, most: int, spare: int) -> NDArray[np.uint8]:
    """Return the content of all frames, followed by `spare` zeros."""
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
    size, _ = varint_at(packed, 0)  # the content begins with its unpacked size
    if size > min(most, 64 * len(packed)):  # no snappy element makes 64 bytes of one
        raise ValueError("a block of snappy data claims an impossible size")
    content = bytes(pa.decompress(packed[:-4], size, "snappy", asbytes=True))
    if packed[-4:] != struct.pack(">I", zlib.crc32(content)):
        raise ValueError("the checksum of a block does not match its content")
    return content
