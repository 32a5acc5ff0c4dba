"""Blob views: the value of a BLOB column in another table, by the id of its row. Layout, little endian:

    version 1 (1)   magic (8)   length of the table's name (4), the name: database.table   field id (4)   row id (8)

Source: documentation, "Blob View"; `BlobViewStruct` of Paimon.
"""

from __future__ import annotations

import struct

from paimon_core.errors import InvalidDataError

_VERSION = 1
_MAGIC = (0x424C4F4256494557).to_bytes(8, "little")
VIEW_HEAD = bytes([_VERSION]) + _MAGIC
VIEW_TAIL = 12  # bytes of the ids, which end a view
_LONGEST_NAME = 2**16  # bytes


def view_head(table: str) -> bytes:
    """Return the first bytes of all views of a table."""
    name = table.encode()
    return VIEW_HEAD + struct.pack("<i", len(name)) + name


def viewed_table(head: bytes) -> str:
    """Return the table's name in a view without its last `VIEW_TAIL` bytes. Raises `InvalidDataError`."""
    start = len(VIEW_HEAD) + 4
    if not head.startswith(VIEW_HEAD) or len(head) < start:
        raise _invalid("it does not begin with the version and the magic bytes of a view")
    (size,) = struct.unpack_from("<i", head, len(VIEW_HEAD))
    if size != len(head) - start or size > _LONGEST_NAME:
        raise _invalid("its length does not match the length of the table's name in it")
    try:
        return head[start:].decode()
    except UnicodeDecodeError as e:
        raise _invalid("the table's name in it is not UTF-8") from e


def _invalid(why: str) -> InvalidDataError:
    return InvalidDataError(f"Invalid blob view: {why}. Pass a result of sys.blob_view.")
