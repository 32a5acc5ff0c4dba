"""Blob descriptors: the location of a value's bytes. Layout, little endian:

    version (1)   magic (8), since version 2   length of the URI (4), the URI   offset (8)   length (8); -1: to the end

Source: documentation, "Blob Storage".
"""

from __future__ import annotations

import struct

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidDataError

_VERSION = 2
_MAGIC = (0x424C4F4244455343).to_bytes(8, "little")
DESCRIPTOR_HEADS = tuple(bytes([version]) + _MAGIC for version in range(_VERSION + 1))
TO_THE_END = -1
TAIL_SIZE = 16  # bytes of the offset and the length, which end a descriptor


@dataclass(frozen=True, slots=True)
class BlobDescriptor:
    """The location of `length` bytes from `offset` in the file of a URI."""

    uri: str
    offset: int = 0
    length: int = TO_THE_END
    version: int = _VERSION

    def encode(self) -> bytes:
        uri = self.uri.encode()
        head = bytes([_VERSION]) + _MAGIC + struct.pack("<i", len(uri))
        return head + uri + struct.pack("<qq", self.offset, self.length)

    @staticmethod
    def decode(data: bytes) -> BlobDescriptor:
        """Decode a descriptor. Raises `InvalidDataError`."""
        if not data:
            raise _invalid("it is empty")
        version = data[0]
        if version > _VERSION:
            raise _invalid(f"its version is {version}, this version reads up to {_VERSION}")
        start = 1
        if version > 1:
            if data[1:9] != _MAGIC:
                raise _invalid("it does not begin with the magic bytes of a descriptor")
            start = 9
        if len(data) < start + 4:
            raise _invalid("it is too short")
        (size,) = struct.unpack_from("<i", data, start)
        end = start + 4 + size
        if size < 0 or len(data) < end + 16:
            raise _invalid("it ends within one of its parts")
        try:
            uri = data[start + 4 : end].decode()
        except UnicodeDecodeError as e:
            raise _invalid("its URI is not UTF-8") from e
        offset, length = struct.unpack_from("<qq", data, end)
        return BlobDescriptor(uri, offset, length, version)

    @staticmethod
    def of_head(head: bytes) -> BlobDescriptor:
        """Decode a descriptor without its last `TAIL_SIZE` bytes.

        One call then serves all descriptors that differ only in these bytes. Raises `InvalidDataError`.
        """
        found = BlobDescriptor.decode(head + bytes(TAIL_SIZE))
        if not head.endswith(struct.pack("<i", len(found.uri.encode())) + found.uri.encode()):
            raise _invalid("it has bytes after its last part")
        return found

    def text(self) -> str:
        """Return the text of `sys.descriptor_to_string`."""
        span = f"uri='{self.uri}', offset={self.offset}, length={self.length}"
        return f"BlobDescriptor{{version={self.version}, {span}}}"


def _invalid(why: str) -> InvalidDataError:
    return InvalidDataError(
        f"Invalid BlobDescriptor data: {why}. Pass a result of sys.path_to_descriptor, or a BLOB of a table read with "
        "'blob-as-descriptor' = 'true'."
    )
