"""`<data file>.blobref`: the packs that the rows of a data file name, except deleted rows. Big endian:

    int "PBLR" | byte version: 1 | int number of packs | per pack: folder, name | int CRC-32

Folders and names are texts as Java's writeUTF. Packs are sorted, each once. The checksum is of the bytes from the
version to the last pack. Source: `ManagedBlobReferenceFile`.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable

from paimon_core.errors import CorruptFileError, InvalidDataError, PaimonError, UnsupportedVersionError, is_later
from paimon_core.indexes.file_index.cursor import ByteCursor, encode_text, int32
from paimon_core.io.file_io import FileIO
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.paths import UUID

PACK, REFERENCES = ".managed.blob", ".blobref"  # endings of names
_MAGIC, _VERSION = (0x50424C52).to_bytes(4, "big"), 1
_WRITER = re.compile(rf".*?{UUID}-(?=\d)", re.DOTALL)  # the names of all files of one writer begin with the same text
_MOST_BYTES = 256 * 2**20
_LEAST_BYTES = 4  # of a pack: the lengths of its two texts


def encode_references(paths: Iterable[str]) -> bytes:
    """Encode the paths of packs. Files that are not packs are left out. Raises `InvalidDataError` for a long path."""
    packs = {path.rpartition("/")[::2] for path in paths if path.endswith(PACK)}
    try:
        texts = [encode_text(part) for pack in sorted(packs, key=_java_order) for part in pack]
    except OverflowError as e:
        raise InvalidDataError(
            "A pack of BLOBs has a path of more than 65,535 bytes: use a table with a shorter path."
        ) from e
    payload = bytes([_VERSION]) + int32(len(packs)) + b"".join(texts)
    return _MAGIC + payload + zlib.crc32(payload).to_bytes(4, "big")


def decode_references(path: str, data: bytes) -> frozenset[str]:
    """Return the paths of the packs in the file `path`. Raises `CorruptFileError`, `UnsupportedVersionError`."""
    cursor = _References(path, data)
    if cursor.take(4) != _MAGIC:
        raise cursor.corrupt("it does not begin with the magic bytes of such a file")
    cursor.version(_VERSION)
    packs = [(cursor.text(), cursor.text()) for _ in range(cursor.count(_LEAST_BYTES))]
    end = cursor.position
    if cursor.take(4) != zlib.crc32(data[4:end]).to_bytes(4, "big"):
        raise cursor.corrupt("its checksum is wrong")
    if cursor.position != len(data):
        raise cursor.corrupt("it has bytes after its checksum")
    for folder, name in packs:
        if not folder or "/" in name or name in ("", ".", ".."):
            raise cursor.corrupt(f"it names {folder}/{name}, which is not the path of a pack")
    return frozenset(f"{folder}/{name}" for folder, name in packs)


def read_references(io: FileIO, path: str) -> frozenset[str]:
    """Return the paths of the packs in a `.blobref` file. Raises the same errors as `decode_references`,
    `FileNotFoundError`, `StorageError`.
    """
    return decode_references(path, io.read_bytes(path, _MOST_BYTES))


def own_packs(io: FileIO, folder: str, files: Iterable[DataFileMeta]) -> list[str]:
    """Return the packs that the writers of data files in `folder` made for their rows. Packs of other writers, from
    which descriptors were copied, are left out, and so are packs in a list that cannot be read.
    """
    found = set[str]()
    for file in files:
        own = _WRITER.match(file.file_name)
        for name in (e for e in file.extra_files if e.endswith(REFERENCES)):
            try:
                named = read_references(io, f"{folder}/{name}")
            except (PaimonError, OSError):
                continue
            names = (path.rpartition("/")[2] for path in named)
            found.update(f"{folder}/{n}" for n in names if own and n.startswith(own[0]))
    return sorted(found)


class _References(ByteCursor):
    def version(self, *known: int) -> int:
        found = self.number(1)
        if is_later(found, max(known)):
            raise UnsupportedVersionError(self.path, f"it is of version {found}, only {known[0]} is supported")
        if found not in known:
            raise self.corrupt(f"it is of version {found}, only {known[0]} is supported")
        return found

    def corrupt(self, cause: str) -> CorruptFileError:
        return CorruptFileError(self.path, f"as a list of packs of BLOBs {cause}")


def _java_order(pack: tuple[str, ...]) -> tuple[bytes, ...]:
    return tuple(text.encode("utf-16-be", "surrogatepass") for text in pack)
