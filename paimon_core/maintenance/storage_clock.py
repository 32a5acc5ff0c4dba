"""The clock of file times: the storage's, not this host's.

If this host's clock were days ahead, files of a write in progress would seem days old, and be deleted as orphans.
"""

from __future__ import annotations

from contextlib import suppress

from paimon_core.io.file_io import temporary_name
from paimon_core.store.table_store import TableStore


def storage_now(store: TableStore) -> int:
    """The present time in epoch milliseconds, by the clock of the table's storage. It is the time of a file that is
    written and deleted for this. Raises `StorageError`."""
    path = f"{store.paths.schema_dir}/{temporary_name('clock')}"
    try:
        store.io.write_bytes(path, b"")
        return store.io.status(path).modified
    finally:
        with suppress(OSError):  # a leftover is an orphan
            store.delete(path)
