"""The keys of global indexes: the values of a column, as bytes.

    BOOLEAN, TINYINT                1 byte
    SMALLINT                        2 bytes
    INT, DATE, TIME                 4 bytes
    BIGINT                          8 bytes
    FLOAT, DOUBLE                   4 or 8 bytes, IEEE 754, one NaN
    DECIMAL                         the unscaled number: 8 bytes up to 18 digits, else as few as it takes, big endian
    TIMESTAMP                       8 bytes, milliseconds; of precision 4 and more | nanoseconds of these: varint
    CHAR, VARCHAR                   UTF-8

All little endian but for long decimals. Keys are in the order of values, -0.0 before 0.0 and NaN last; a search
compares them by the keys of file indexes for the same values (`indexes.file_index.keys`), to the microsecond.
"""

from __future__ import annotations

import numpy as np

from paimon_core.dataclass import dataclass
from paimon_core.indexes.file_index.keys import Key, KeyType
from paimon_core.indexes.global_index.blocks import damaged
from paimon_core.spec.encodings.varints import varints_at
from paimon_core.spec.kinds import TEXTS
from paimon_core.spec.types import DataType, DecimalType, Kind, TimeType

SHORT_DECIMAL, SHORT_TIME = 18, 3  # digits that make 8 bytes


@dataclass(frozen=True, slots=True)
class KeyFormat:
    """The encoding of keys of a type. Each key has `width` bytes, 0 if its width depends on the value."""

    width: int = 0
    floating: bool = False
    of_text: bool = False
    of_moment: bool = False  # milliseconds, then nanoseconds

    @staticmethod
    def of(data_type: DataType) -> KeyFormat | None:
        """Return the encoding for a type, None for a type without indexes."""
        if data_type.kind in TEXTS:
            return KeyFormat(of_text=True)
        if isinstance(data_type, DecimalType) and data_type.precision > SHORT_DECIMAL:
            return KeyFormat()
        if isinstance(data_type, TimeType) and data_type.kind is not Kind.TIME and data_type.precision > SHORT_TIME:
            return KeyFormat(of_moment=True)
        same = KeyType.of(data_type)
        return KeyFormat(same.width, same.floating) if same is not None and same.width else None

    def read(self, path: str, key: bytes) -> Key:
        """Return a value that orders the key among all keys. Raises `CorruptFileError`."""
        if self.of_text:
            return key
        if not self._least <= len(key) <= self._most:
            raise damaged(path, f"it has a key of {len(key)} bytes")
        if self.of_moment:
            try:
                (nanos,), _ = varints_at(np.frombuffer(key, dtype=np.uint8), np.array([8]))
            except ValueError as e:
                raise damaged(path, f"a timestamp key does not decode: {e}") from e
            return int.from_bytes(key[:8], "little", signed=True) * 1000 + int(nanos) // 1000
        number = int.from_bytes(key, "little" if self.width else "big", signed=True)
        return KeyType(self.width, floating=True).flipped(number) if self.floating else number

    def stored(self, key: Key) -> bytes | None:
        """Return the bytes of a key that `read` returned; None if several keys are read alike."""
        if isinstance(key, bytes):
            return key if self.of_text else None
        if self.of_text or self.of_moment or self.floating:
            return None
        if self.width:
            return key.to_bytes(self.width, "little", signed=True)
        return key.to_bytes((key if key >= 0 else ~key).bit_length() // 8 + 1, "big", signed=True)

    @property
    def _least(self) -> int:
        return 9 if self.of_moment else self.width or 1

    @property
    def _most(self) -> int:
        return 11 if self.of_moment else self.width or 16
