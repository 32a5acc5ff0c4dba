"""The metadata of a sorted index file in the index manifest (`_INDEX_META`): the range of its keys.

    first key: int32 length, bytes | last key: int32 length, bytes | has nulls: 1 byte, 0 or 1
    version: 1 byte, 1 | flags: 1 byte: 1, there is no first key; 2, no last key        (little endian)

Old writers leave out the last two bytes. Source: documentation, "Bitmap Index".
"""

from __future__ import annotations

import struct

from paimon_core.dataclass import dataclass
from paimon_core.indexes.global_index.blocks import damaged

_VERSION = 1
_NO_FIRST, _NO_LAST = 1, 2


@dataclass(frozen=True, slots=True)
class SortedFileMeta:
    """The smallest and the largest key of a file in the file's encoding, None if all rows are NULL."""

    first: bytes | None
    last: bytes | None
    has_nulls: bool


def encode_file_meta(meta: SortedFileMeta) -> bytes:
    flags = _NO_FIRST * (meta.first is None) | _NO_LAST * (meta.last is None)
    keys = b"".join(struct.pack("<i", len(k)) + k for k in (meta.first or b"", meta.last or b""))
    return keys + struct.pack("<BBB", meta.has_nulls, _VERSION, flags)


def decode_file_meta(path: str, data: bytes | None) -> SortedFileMeta:
    """Decode metadata: the reverse of `encode_file_meta`. Raises `CorruptFileError` naming `path`."""
    if data is None:
        raise damaged(path, "its manifest entry has no range of keys")
    try:
        first, offset = _key(data, 0)
        last, offset = _key(data, offset)
        has_nulls = data[offset] == 1
    except (struct.error, ValueError, IndexError) as e:
        raise damaged(path, f"the range of keys in its manifest entry does not decode ({e})") from e
    if len(data) < offset + 3:
        only_nulls = has_nulls and not first and not last
        return SortedFileMeta(None if only_nulls else first, None if only_nulls else last, has_nulls)
    flags = data[offset + 2] if data[offset + 1] == _VERSION else 0
    return SortedFileMeta(None if flags & _NO_FIRST else first, None if flags & _NO_LAST else last, has_nulls)


def _key(data: bytes, offset: int) -> tuple[bytes, int]:
    (size,) = struct.unpack_from("<i", data, offset)
    end = offset + 4 + size
    if size < 0 or end > len(data):
        raise ValueError(f"a key of {size} bytes")
    return data[offset + 4 : end], end
