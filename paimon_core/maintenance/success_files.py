"""Files that mark a tag or a partition as complete: `{"creationTime": ms, "modificationTime": ms}`."""

from __future__ import annotations

import json

from paimon_core.clock import now_millis
from paimon_core.io.file_io import FileIO
from paimon_core.spec.json_object import decode_json_object, member


def write_success_file(io: FileIO, path: str) -> None:
    """Create the file, or update the modification time in it."""
    now = now_millis()
    try:
        created = member(decode_json_object(path, io.read_bytes(path)), "creationTime", int, now)
    except FileNotFoundError:
        created = now
    io.replace_file(path, json.dumps({"creationTime": created, "modificationTime": now}, indent=2).encode())
