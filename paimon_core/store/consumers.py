"""Consumers of a table or branch: `consumer/consumer-ID`, see `spec.consumer`."""

from __future__ import annotations

from contextlib import suppress

from paimon_core.io.file_io import FileStatus
from paimon_core.spec.consumer import decode_consumer, encode_consumer
from paimon_core.spec.paths import CONSUMER_PREFIX, check_name
from paimon_core.store.table_store import TableStore


def consumer_files(store: TableStore) -> dict[str, FileStatus]:
    """The file of every consumer, by its id, sorted."""
    files = [f for f in store.io.list(store.paths.consumer_dir) if not f.is_dir and f.name.startswith(CONSUMER_PREFIX)]
    return {f.name.removeprefix(CONSUMER_PREFIX): f for f in sorted(files, key=lambda f: f.name)}


def list_consumers(store: TableStore) -> dict[str, int]:
    """The next snapshot of every consumer, by its id; those that are deleted meanwhile are left out."""
    found = {}
    for consumer_id, file in consumer_files(store).items():
        with suppress(FileNotFoundError):
            found[consumer_id] = decode_consumer(file.path, store.io.read_bytes(file.path))
    return found


def write_consumer(store: TableStore, consumer_id: str, next_snapshot: int) -> None:
    """Set the snapshot that a consumer reads next. Raises `InvalidNameError`."""
    store.io.replace_file(store.paths.consumer(check_name("consumer", consumer_id)), encode_consumer(next_snapshot))


def delete_consumer(store: TableStore, consumer_id: str) -> None:
    """Delete a consumer, if it exists."""
    store.delete(store.paths.consumer(check_name("consumer", consumer_id)))
