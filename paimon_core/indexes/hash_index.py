"""Hash indexes, `index/index-UUID-N` of type HASH: the keys in a bucket of a table with dynamic buckets.

    key hash: int32 big endian, one after the other, in no order

The hash is murmur3 of the BinaryRow of the trimmed primary key. Source: specification, "Table Index".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from paimon_core.errors import CorruptFileError

_STORED = np.dtype(">i4")


def encode_hashes(hashes: NDArray[np.int32]) -> bytes:
    """The bytes of an index file, 4 per hash."""
    return hashes.astype(_STORED).tobytes()


def decode_hashes(path: str, data: bytes, count: int) -> NDArray[np.int32]:
    """Return the hashes of an index file, `count` by its metadata. Raises `CorruptFileError`."""
    if len(data) != count * _STORED.itemsize:
        raise CorruptFileError(path, f"it has {len(data)} bytes, but {count} hashes need 4 bytes each")
    return np.frombuffer(data, dtype=_STORED).astype(np.int32)
