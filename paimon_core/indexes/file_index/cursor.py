"""Read the bytes of a file index in order. All numbers are big endian."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from paimon_core.errors import CorruptFileError, UnsupportedVersionError, is_later

if TYPE_CHECKING:
    from pyroaring import BitMap

Rows: TypeAlias = "BitMap"
WITHOUT = "upgrade paimon-sql, or set 'file-index.read.enabled' = 'false' to read without the index"
ADVICE = "rebuild it by CALL sys.rewrite_file_index, or set 'file-index.read.enabled' = 'false'"


class ByteCursor:
    """A position in bytes of `path`. Methods raise `CorruptFileError` if the bytes end or are not as expected."""

    __slots__ = ("data", "path", "position")

    def __init__(self, path: str, data: bytes, position: int = 0):
        self.path, self.data, self.position = path, data, position

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes."""
        end = self.position + count
        if count < 0 or self.position < 0 or end > len(self.data):
            raise self.corrupt(f"{count} bytes are missing at byte {self.position} of {len(self.data)}")
        taken = self.data[self.position : end]
        self.position = end
        return taken

    def number(self, width: int) -> int:
        """Read a signed number of `width` bytes."""
        return int.from_bytes(self.take(width), "big", signed=True)

    def count(self, least_bytes: int = 1) -> int:
        """Read a count of entries. Each entry must take at least `least_bytes` of the remaining bytes."""
        found = self.number(4)
        if not 0 <= found * least_bytes <= len(self.data) - self.position:
            raise self.corrupt(f"{found} entries are announced before byte {self.position}")
        return found

    def version(self, *known: int) -> int:
        """Read the version byte, which must be one of the known versions."""
        found = self.number(1)
        if is_later(found, max(known)):
            cause = f"as a file index it is of version {found}, only {' and '.join(map(str, known))} are supported"
            raise UnsupportedVersionError(self.path, cause, WITHOUT)
        if found not in known:
            raise self.corrupt(f"it is of version {found}, only {' and '.join(map(str, known))} are supported")
        return found

    def text(self) -> str:
        """Read a string in the form of `java.io.DataOutput.writeUTF`: its length in two bytes, then modified UTF-8."""
        encoded = self.take(int.from_bytes(self.take(2), "big"))
        try:
            # In modified UTF-8, NUL has two bytes, and each half of a surrogate pair has three.
            pairs = encoded.replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")
            return pairs.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError as e:
            raise self.corrupt(f"it has a name that is not text ({e})") from e

    def bitmap(self, size: int | None = None) -> Rows:
        """Read a Roaring bitmap in its portable format, of `size` bytes if given."""
        data: Any = memoryview(self.data)[self.position :] if size is None else self.take(size)
        try:
            from pyroaring import BitMap  # noqa: PLC0415  few scans read bitmaps

            found = BitMap.deserialize(data)
        except (ValueError, IndexError, MemoryError, OverflowError) as e:
            raise self.corrupt(f"it has no valid bitmap at byte {self.position} ({e})") from e
        if size is None:
            self.position += len(found.serialize())
        return found

    def corrupt(self, cause: str) -> CorruptFileError:
        return CorruptFileError(self.path, f"as a file index {cause}", ADVICE)


def encode_text(text: str) -> bytes:
    """Encode a string: the reverse of `ByteCursor.text`."""
    units = text.encode("utf-16-be", "surrogatepass")
    parts = (chr(int.from_bytes(units[i : i + 2], "big")) for i in range(0, len(units), 2))
    encoded = "".join(parts).encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")
    return len(encoded).to_bytes(2, "big") + encoded


def int32(number: int) -> bytes:
    """Encode a signed number in four bytes."""
    return number.to_bytes(4, "big", signed=True)


def encode_bitmap(rows: Rows) -> bytes:
    """Encode a bitmap in its portable format, in the fewest bytes."""
    rows.run_optimize()
    data: bytes = rows.serialize()
    return data
