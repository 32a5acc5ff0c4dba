"""Read, write and delete the statistics file of a snapshot."""

from __future__ import annotations

import uuid

from paimon_core.errors import MetadataMissingError
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.statistics import TableStatistics, decode_statistics, encode_statistics
from paimon_core.store.named_files import files_of
from paimon_core.store.table_store import TableStore


def read_statistics(store: TableStore, snapshot: Snapshot | None) -> TableStatistics | None:
    """Return the statistics of a version, None if it was not analyzed.

    Raises `CorruptFileError`, `MetadataMissingError`.
    """
    if snapshot is None or snapshot.statistics is None:
        return None
    path = store.paths.statistics(snapshot.statistics)
    try:
        with files_of(store):
            return store.cache.get(path, lambda: (decode_statistics(path, store.io.read_bytes(path)),))[0]
    except FileNotFoundError:
        raise MetadataMissingError(path, "a snapshot names it", "run ANALYZE TABLE again") from None


def delete_statistics(store: TableStore, name: str) -> None:
    """Delete a statistics file that is not in any snapshot."""
    store.delete(store.paths.statistics(name))


def write_statistics(store: TableStore, statistics: TableStatistics) -> str:
    """Write statistics. Return the name of the file."""
    name = f"stat-{uuid.uuid4()}-0"
    store.io.write_bytes(store.paths.statistics(name), encode_statistics(statistics))
    return name
