"""The blocks of global index files: compressed and decompressed.

zstd: one frame | lz4: size of the LZ4 block, size of the content: int32 each, little endian | an LZ4 block
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa

from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.indexes.global_index.blocks import ADVICE, TRAILER_SIZE, BlockHandle, Codec, Compress, damaged, unseal
from paimon_core.spec.encodings.varints import encode_varint, varints_at

_LARGEST = 2**30  # bytes of a block
_LZ4_HEAD = struct.Struct("<ii")
Fetch = Callable[[int, int], bytes]  # offset and size -> bytes of a file


def compression(option: str, name: str, level: int) -> Compress:
    """Return the function that compresses a block, by the value of an option. Raises `InvalidOptionError`."""
    try:
        codec = Codec[name.strip().upper()]
        if codec is not Codec.LZO:
            return partial(_compress, codec, level)
    except KeyError:
        pass
    raise InvalidOptionError(f"Option '{option}' cannot be {name!r}: use none, zstd or lz4.")


def read_block(path: str, fetch: Fetch, handle: BlockHandle) -> bytes:
    """Return the content of a block. Raises `CorruptFileError`, `UnsupportedFeatureError`."""
    codec, body = unseal(path, read_part(path, fetch, BlockHandle(handle.offset, handle.size + TRAILER_SIZE)))
    if codec is Codec.NONE:
        return body
    try:
        (size,), (start,) = varints_at(np.frombuffer(body, dtype=np.uint8), np.zeros(1, dtype=np.int64))
        if size > _LARGEST:
            raise ValueError(f"it announces {size} bytes")
        return _decompress(path, codec, body[start:], int(size))
    except (ValueError, OSError, struct.error) as e:
        raise damaged(path, f"a block does not decompress ({e})") from e


def read_part(path: str, fetch: Fetch, handle: BlockHandle) -> bytes:
    """Read bytes of a file. Raises `CorruptFileError` if the file is too short."""
    data = fetch(handle.offset, handle.size) if handle.offset >= 0 and 0 <= handle.size <= _LARGEST else b""
    if len(data) != handle.size:
        raise damaged(path, f"it does not have {handle.size} bytes at byte {handle.offset}")
    return data


def _compress(codec: Codec, level: int, content: bytes) -> tuple[Codec, bytes]:
    """Compress a body if this saves at least an eighth of its size."""
    if codec is Codec.NONE:
        return codec, content
    if codec is Codec.ZSTD:
        packed = pa.Codec("zstd", level).compress(content, asbytes=True)
    else:
        packed = pa.compress(content, "lz4_raw", asbytes=True)
        packed = _LZ4_HEAD.pack(len(packed), len(content)) + packed
    body = encode_varint(len(content)) + packed
    return (codec, body) if len(body) < len(content) - len(content) // 8 else (Codec.NONE, content)


def _decompress(path: str, codec: Codec, packed: bytes, size: int) -> bytes:
    if codec is Codec.LZO:
        raise UnsupportedFeatureError(
            f"Global index {path} is compressed by lzo, which this version cannot read: {ADVICE}."
        )
    if codec is Codec.LZ4:
        length, announced = _LZ4_HEAD.unpack_from(packed)
        packed = packed[_LZ4_HEAD.size :]
        if (length, announced) != (len(packed), size):
            raise ValueError("its two sizes differ")
    content = pa.decompress(packed, size, "zstd" if codec is Codec.ZSTD else "lz4_raw", asbytes=True)
    if len(content) != size:
        raise ValueError(f"it has {len(content)} bytes, not {size}")
    return bytes(content)
