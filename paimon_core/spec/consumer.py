"""`consumer/consumer-ID`: how far a reader that comes back has read.

    {"nextSnapshot": N}   N is the first snapshot it has not read yet

Source: manage-snapshots and consumer-id pages.
"""

from __future__ import annotations

import json

from paimon_core.errors import CorruptFileError
from paimon_core.spec.json_object import decode_json_object, member


def encode_consumer(next_snapshot: int) -> bytes:
    """The file's bytes: indented JSON."""
    return json.dumps({"nextSnapshot": next_snapshot}, indent=2).encode()


def decode_consumer(path: str, data: bytes) -> int:
    """The next snapshot to read. Raises `CorruptFileError` naming `path`."""
    try:
        next_snapshot: int = member(decode_json_object(path, data), "nextSnapshot", int)
    except TypeError as e:
        raise CorruptFileError(path, f"it is no consumer: {e}", "delete it, or reset the consumer") from e
    return next_snapshot
