"""Files that mark a tag or a partition as complete: `{"creationTime": ms, "modificationTime": ms}`."""

from __future__ import annotations

import json
import time

from paimon_core.io.file_io import FileIO
from paimon_core.spec.json_object import decode_json_object, member


def write_success_file(io: FileIO, path: str) -> None:
    """Create the file, or update the modification time in it."""
    now = time.time_ns() // 1_000_000
    try:
        created = member(decode_json_object(path, io.read_bytes(path)), "creationTime", int, now)
    except FileNotFoundError:
        created = now
    io.write_bytes(path, json.dumps({"creationTime": created, "modificationTime": now}, indent=2).encode())
