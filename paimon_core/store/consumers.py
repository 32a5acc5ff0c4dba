"""Consumers of a table or branch: the progress of repeated readers, `consumer/consumer-ID`.

    {"nextSnapshot": N}   N is the first snapshot that the reader has not read yet

Source: manage-snapshots and consumer-id pages.
"""

from __future__ import annotations

import json
from contextlib import suppress

from paimon_core.errors import UnfamiliarFormError
from paimon_core.io.file_io import FileStatus
from paimon_core.io.side_by_side import side_by_side
from paimon_core.spec.json_object import as_integer, decode_json_object
from paimon_core.spec.paths import CONSUMER_PREFIX, check_name
from paimon_core.store.table_store import TableStore


def consumer_files(store: TableStore) -> dict[str, FileStatus]:
    """Return the file of every consumer, by the consumer's id, sorted."""
    files = [f for f in store.io.list(store.paths.consumer_dir) if not f.is_dir and f.name.startswith(CONSUMER_PREFIX)]
    return {f.name.removeprefix(CONSUMER_PREFIX): f for f in sorted(files, key=lambda f: f.name)}


def list_consumers(store: TableStore) -> dict[str, int]:
    """Return the next snapshot of every consumer, by its id; consumers that are deleted meanwhile are left out."""

    def read(file: FileStatus) -> int | None:
        with suppress(FileNotFoundError):
            return decode_consumer(file.path, store.io.read_bytes(file.path))
        return None

    files = consumer_files(store)
    found = zip(files, side_by_side(store.io, read, files.values()), strict=True)
    return {consumer_id: following for consumer_id, following in found if following is not None}


def write_consumer(store: TableStore, consumer_id: str, next_snapshot: int) -> None:
    """Set the snapshot that a consumer reads next. Raises `InvalidNameError`."""
    store.io.replace_file(store.paths.consumer(check_name("consumer", consumer_id)), encode_consumer(next_snapshot))


def delete_consumer(store: TableStore, consumer_id: str) -> None:
    """Delete a consumer if it exists."""
    store.delete(store.paths.consumer(check_name("consumer", consumer_id)))


def encode_consumer(next_snapshot: int) -> bytes:
    """Return the file's bytes: indented JSON."""
    return json.dumps({"nextSnapshot": next_snapshot}, indent=2).encode()


def decode_consumer(path: str, data: bytes) -> int:
    """Return the next snapshot to read, or 0 if the file does not have it.

    Raises `CorruptFileError`, `UnfamiliarFormError`.
    """
    node = decode_json_object(path, data)
    try:
        return as_integer("nextSnapshot", node.get("nextSnapshot")) or 0
    except TypeError as e:
        raise UnfamiliarFormError(path, f"as a consumer, {e}", "delete the consumer, or reset it") from e
