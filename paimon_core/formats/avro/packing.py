"""Compress the content of Avro blocks, and unpack xz: a reader of usual metadata needs none of these packages."""

from __future__ import annotations

import bz2
import lzma
import struct
import sys
import zlib

import pyarrow as pa

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_MOST_LZMA = 2**27  # bytes of memory: a few bytes of a header can ask for gigabytes


def compress(codec: str, level: int | None, content: bytes) -> bytes:
    """Compress the content of a block. `level` is only for zstandard, None for its default."""
    match codec:
        case "deflate":
            packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
            return packer.compress(content) + packer.flush()
        case "snappy":
            return bytes(pa.compress(content, "snappy", asbytes=True)) + struct.pack(">I", zlib.crc32(content))
        case "zstandard":
            # Without a checksum, a frame with a changed byte could decompress to wrong bytes.
            wanted: dict[int, int] = {
                zstd.CompressionParameter.compression_level: zstd.COMPRESSION_LEVEL_DEFAULT if level is None else level,
                zstd.CompressionParameter.checksum_flag: 1,
            }
            return zstd.compress(content, options=wanted)
        case "bzip2":
            return bz2.compress(content)
        case "xz":
            return lzma.compress(content)
    return content


def unpacked_xz(packed: bytes, most: int) -> bytes:
    """Return the content of a block, at most `most` bytes. Raises `OSError` for bytes that are not xz."""
    try:
        return lzma.LZMADecompressor(memlimit=_MOST_LZMA).decompress(packed, most)
    except lzma.LZMAError as e:
        raise OSError(str(e)) from e
