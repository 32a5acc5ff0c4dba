"""The data files that an index of a keyed bucket covers: `_SOURCE_META` of its entry in the index manifest.

The index covers the compacted files of one level above 0, in the order of their names. Its rows are numbered over these
files from 0. Big endian:

    int version: 1 | int level | int number of files | per file: name as Java's writeUTF, long rows

Source: `org.apache.paimon.index.pk.PrimaryKeyIndexSourceMeta`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from paimon_core.dataclass import dataclass
from paimon_core.spec.manifest import DataFileMeta, FileSource

_VERSION, _HEAD = 1, struct.Struct(">iii")


@dataclass(frozen=True, slots=True)
class LevelSources:
    """The names and row counts of the files that an index covers, in order."""

    level: int
    files: tuple[tuple[str, int], ...]

    @staticmethod
    def of(level: int, files: Iterable[DataFileMeta]) -> LevelSources:
        """Return the compacted files of one level, which an index must cover. `files` are all files of the bucket."""
        compacted = (f for f in files if f.level == level and f.file_source == FileSource.COMPACT)
        return LevelSources(level, tuple(sorted((f.file_name, f.row_count) for f in compacted)))

    @property
    def row_count(self) -> int:
        return sum(rows for _, rows in self.files)

    def encode(self) -> bytes:
        """Encode names of ASCII characters."""
        named = ((name.encode("ascii"), rows) for name, rows in self.files)
        parts = (struct.pack(">H", len(name)) + name + struct.pack(">q", rows) for name, rows in named)
        return _HEAD.pack(_VERSION, self.level, len(self.files)) + b"".join(parts)

    @staticmethod
    def decode(data: bytes | None) -> LevelSources | None:
        """Return the files, or None for an unfamiliar or damaged form: such an index is not used."""
        if data is None:
            return None
        try:
            version, level, count = _HEAD.unpack_from(data)
            files, at = list[tuple[str, int]](), _HEAD.size
            while at < len(data):
                (size,) = struct.unpack_from(">H", data, at)
                (rows,) = struct.unpack_from(">q", data, at + 2 + size)
                files.append((data[at + 2 : at + 2 + size].decode("ascii"), rows))
                at += 2 + size + 8
        except (struct.error, UnicodeDecodeError):
            return None
        is_known = version == _VERSION and level > 0 and count == len(files) and at == len(data)
        return LevelSources(level, tuple(files)) if is_known else None
