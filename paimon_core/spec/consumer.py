"""`consumer/consumer-ID`: the progress of a repeated reader.

    {"nextSnapshot": N}   N is the first snapshot it has not read yet

Source: manage-snapshots and consumer-id pages.
"""

from __future__ import annotations

import json

from paimon_core.errors import UnfamiliarFormError
from paimon_core.spec.json_object import as_integer, decode_json_object


def encode_consumer(next_snapshot: int) -> bytes:
    """The file's bytes: indented JSON."""
    return json.dumps({"nextSnapshot": next_snapshot}, indent=2).encode()


def decode_consumer(path: str, data: bytes) -> int:
    """Return the next snapshot to read, 0 if it is missing. Raises `CorruptFileError`, `UnfamiliarFormError`."""
    node = decode_json_object(path, data)
    try:
        return as_integer("nextSnapshot", node.get("nextSnapshot")) or 0
    except TypeError as e:
        raise UnfamiliarFormError(path, f"as a consumer, {e}", "delete the consumer, or reset it") from e
