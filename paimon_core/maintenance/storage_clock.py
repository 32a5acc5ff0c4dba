"""The clock of file times, which is the storage's clock and not this host's.

If this host's clock were days ahead, files of a write in progress would seem days old, and be deleted as orphans.
"""

from __future__ import annotations

from contextlib import suppress

from paimon_core.io.file_io import temporary_name
from paimon_core.store.table_store import TableStore


def storage_now(store: TableStore) -> int:
    """Return the present time in epoch milliseconds, by the clock of the table's storage.

    It is the modification time of a file that is written for this and then deleted. Raises `StorageError`."""
    path = f"{store.paths.schema_dir}/{temporary_name('clock')}"
    try:
        store.io.write_bytes(path, b"")
        return store.io.status(path).modified
    finally:
        with suppress(OSError):  # a file that remains is an orphan
            store.delete(path)
