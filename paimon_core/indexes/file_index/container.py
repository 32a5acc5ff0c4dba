"""The file index of a data file: the indexes of its columns in one piece, in a manifest or as `FILE.index` beside it.

    magic: int64, 1493475289347502 | version: int32, 1 | size of the head: int32, from magic to the bodies
    columns: int32 | per column: name: UTF | indexes: int32 | per index: type: UTF | start: int32 | length: int32
    size of more: int32, 0 | more
    bodies

All big endian. UTF is Java's: the length in two bytes and modified UTF-8. `start` counts from magic; it is -1 for a
column without any row. A value of a MAP is the column `name[key]`. Source: specification, "File Index".
"""

from __future__ import annotations

from collections.abc import Mapping

from paimon_core.dataclass import dataclass
from paimon_core.errors import UnsupportedVersionError, is_later
from paimon_core.indexes.file_index.cursor import WITHOUT, ByteCursor, encode_text, int32

MAGIC = (1493475289347502).to_bytes(8, "big")
VERSION = 1
PREFIX_SIZE = 16  # bytes up to the size of the head
INDEX_SUFFIX = ".index"
_EMPTY = -1
_MOST_HEAD_BYTES = 2**26

Bodies = Mapping[str, Mapping[str, bytes | None]]  # by column and index type; None for a column without any row


@dataclass(frozen=True, slots=True)
class BodyLocation:
    """The location of a column's index in a container. `start` is `None` for a column without rows."""

    column: str
    index_type: str
    start: int | None
    length: int


def encode_container(bodies: Bodies) -> bytes:
    """Encode the container of the indexes of columns."""
    names = {c: encode_text(c) for c in bodies} | {t: encode_text(t) for types in bodies.values() for t in types}
    head_size = (
        PREFIX_SIZE + 8 + sum(len(names[c]) + 4 + sum(len(names[t]) + 8 for t in types) for c, types in bodies.items())
    )
    head, content = [int32(len(bodies))], list[bytes]()
    offset = head_size
    for column, types in bodies.items():
        head += [names[column], int32(len(types))]
        for index_type, body in types.items():
            head += [names[index_type], int32(_EMPTY if body is None else offset), int32(len(body or b""))]
            content.append(body or b"")
            offset += len(body or b"")
    return b"".join([MAGIC, int32(VERSION), int32(head_size), *head, int32(0), *content])


def head_size(path: str, prefix: bytes) -> int:
    """Return the number of bytes of the head, from the first `PREFIX_SIZE` bytes.

    Raises `CorruptFileError` naming `path`.
    """
    cursor = ByteCursor(path, prefix)
    if cursor.take(8) != MAGIC:
        raise cursor.corrupt(f"it begins with {prefix[:8].hex()}, not with {MAGIC.hex()}")
    version = cursor.number(4)
    if is_later(version, VERSION):
        raise UnsupportedVersionError(
            path, f"it is a file index of version {version}, only {VERSION} is supported", WITHOUT
        )
    if version != VERSION:
        raise cursor.corrupt(f"it has the version {version}, only {VERSION} is supported")
    size = cursor.number(4)
    if not PREFIX_SIZE <= size <= _MOST_HEAD_BYTES:
        raise cursor.corrupt(f"it has a head of {size} bytes")
    return size


def decode_head(path: str, head: bytes) -> tuple[BodyLocation, ...]:
    """Return the locations of indexes, from the head and any bytes after it. Raises `CorruptFileError`."""
    size = head_size(path, head)
    cursor = ByteCursor(path, head[:size], PREFIX_SIZE)
    found = []
    for _ in range(cursor.count(least_bytes=6)):
        column = cursor.text()
        for _ in range(cursor.count(least_bytes=10)):
            index_type, start, length = cursor.text(), cursor.number(4), cursor.number(4)
            if start != _EMPTY and (start < size or length < 0):
                raise cursor.corrupt(
                    f"index {index_type!r} of column {column!r} cannot have {length} bytes at byte {start}"
                )
            found.append(BodyLocation(column, index_type, None if start == _EMPTY else start, max(length, 0)))
    return tuple(found)


def body_of(path: str, container: bytes, location: BodyLocation) -> bytes | None:
    """Return one body of the whole container, None for a column without rows.

    Raises `CorruptFileError` naming `path`.
    """
    return None if location.start is None else ByteCursor(path, container, location.start).take(location.length)
