"""Source metadata of an index of a bucket with keys: the level and the data files that the index covers.

    int version: 1 | int level | int number of files | per file: name as Java's writeUTF, long rows

Big-endian. An index covers the rows of all compacted files of one level, in the order of the files' names. It must not
be used if the level has other files. Source: Java's `PrimaryKeyIndexSourceMeta`.
"""

from __future__ import annotations

import struct

_VERSION = 1
_HEAD = struct.Struct(">ii")


def indexed_level(source_meta: bytes) -> int | None:
    """Return the level that an index covers, or None if the metadata has an unfamiliar form."""
    if len(source_meta) < _HEAD.size:
        return None
    version, level = _HEAD.unpack_from(source_meta)
    return level if version == _VERSION and level > 0 else None
