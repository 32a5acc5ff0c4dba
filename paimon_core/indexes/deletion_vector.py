"""Deletion vectors, `index/index-UUID-N` of type DELETION_VECTORS: the deleted rows of data files, by their position.

    version: 1 byte, 1
    per vector: size: int32 | bitmap: `size` bytes | CRC-32 of the bitmap: uint32       (all big endian)
    bitmap of 32 bits: magic 1581511376: int32 big endian | RoaringBitmap
    bitmap of 64 bits: magic 1681511377: int32 little endian | parts: uint64 | per part: high: uint32 | RoaringBitmap

Roaring bitmaps are in their portable format. An index manifest has the offset of a vector's `size`, and a length: of
the bitmap for 32 bits, of all bytes from `size` to the checksum for 64 bits.
Source: specification, "Table Index"; Roaring bitmaps' format specification.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap, BitMap64

from paimon_core.errors import (
    CorruptFileError,
    InvalidDataError,
    UnfamiliarFormError,
    UnsupportedVersionError,
    is_later,
)
from paimon_core.spec.index_manifest import DeletionVectorMeta

VERSION = 1
MAGIC_32 = (1581511376).to_bytes(4, "big")
MAGIC_64 = (1681511377).to_bytes(4, "little")
_AROUND = 8  # bytes of size and checksum around a bitmap
_MAX_32 = 2**31 - 1

Positions = NDArray[np.int64]


def encode_vector(positions: Positions, *, bitmap64: bool) -> bytes:
    """Encode one vector, with its size and checksum. `positions` ascend, shape (deleted rows,)."""
    if not bitmap64 and len(positions) and positions[-1] > _MAX_32:
        raise InvalidDataError("Row positions beyond 2147483647 need 'deletion-vectors.bitmap64' = 'true'.")
    bitmap = BitMap64(positions.astype(np.uint64)) if bitmap64 else BitMap(positions.astype(np.uint32))
    bitmap.run_optimize()
    body = (MAGIC_64 if bitmap64 else MAGIC_32) + bitmap.serialize()
    return len(body).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")


def encode_vectors(
    vectors: Mapping[str, Positions], *, bitmap64: bool, target_size: int
) -> list[tuple[bytes, tuple[DeletionVectorMeta, ...]]]:
    """Encode the vectors of data files as index files. A file ends once it exceeds `target_size` bytes."""
    files: list[tuple[bytes, tuple[DeletionVectorMeta, ...]]] = []
    content, metas = bytearray([VERSION]), list[DeletionVectorMeta]()
    for name, positions in vectors.items():
        vector = encode_vector(positions, bitmap64=bitmap64)
        length = len(vector) if bitmap64 else len(vector) - _AROUND
        metas.append(DeletionVectorMeta(data_file=name, offset=len(content), length=length, cardinality=len(positions)))
        content += vector
        if len(content) > target_size:
            files.append((bytes(content), tuple(metas)))
            content, metas = bytearray([VERSION]), []
    return [*files, (bytes(content), tuple(metas))] if metas else files


def decode_vectors(path: str, data: bytes, metas: Iterable[DeletionVectorMeta]) -> dict[str, Positions]:
    """Decode the vectors in a whole index file, by data file. Raises `CorruptFileError` naming `path`."""
    if is_later(data[0] if data else 0, VERSION):
        raise UnsupportedVersionError(
            path, f"it has deletion vectors of version {data[:1].hex()}, only 01 is supported"
        )
    if data[:1] != bytes([VERSION]):
        raise CorruptFileError(
            path, f"it has deletion vectors of version {data[:1].hex() or 'none'}, only 01 is supported"
        )
    found = {}
    for meta in metas:
        start, end = byte_range(path, meta)
        found[meta.data_file] = decode_vector(path, data[start:end], meta)
    return found


def byte_range(path: str, meta: DeletionVectorMeta) -> tuple[int, int]:
    """Return the range of bytes of a vector of either kind in its file. Raises `CorruptFileError`."""
    if meta.offset < 1 or meta.length < _AROUND:
        raise _corrupt(path, meta, f"has an impossible length of {meta.length} bytes in metadata")
    return meta.offset, meta.offset + meta.length + _AROUND


def decode_vector(path: str, data: bytes, meta: DeletionVectorMeta, row_count: int = 2**31) -> Positions:
    """Return the deleted positions, ascending, from the bytes of `byte_range`, for a data file of `row_count` rows.

    Raises `CorruptFileError` naming `path`.
    """
    size = int.from_bytes(data[:4], "big")
    body, checksum = data[4 : 4 + size], data[4 + size : _AROUND + size]
    is_64 = body[:4] == MAGIC_64
    if size != meta.length - (_AROUND if is_64 else 0) or len(checksum) != 4:
        raise _corrupt(path, meta, f"claims {size} bytes, but metadata lists {meta.length}")
    if zlib.crc32(body) != int.from_bytes(checksum, "big"):
        raise _corrupt(path, meta, "does not match its checksum")
    if not is_64 and body[:4] != MAGIC_32:
        raise UnfamiliarFormError(path, f"{_vector(meta)} is whole, but begins with unknown bytes: {body[:4].hex()}")
    try:
        bitmap = (BitMap64 if is_64 else BitMap).deserialize(body[4:])
    except (ValueError, IndexError, MemoryError, OverflowError) as e:
        raise _corrupt(path, meta, f"does not contain a bitmap ({e})") from e
    if meta.cardinality is not None and len(bitmap) != meta.cardinality:
        raise _corrupt(path, meta, f"has {len(bitmap)} positions, but metadata lists {meta.cardinality}")
    if bitmap and bitmap.max() >= row_count:
        raise _corrupt(path, meta, f"deletes row {bitmap.max()}, but the data file has {row_count} rows")
    return np.asarray(bitmap.to_array()).astype(np.int64)


def _corrupt(path: str, meta: DeletionVectorMeta, why: str) -> CorruptFileError:
    return CorruptFileError(path, f"{_vector(meta)} {why}")


def _vector(meta: DeletionVectorMeta) -> str:
    return f"the deletion vector of {meta.data_file} at byte {meta.offset}"
