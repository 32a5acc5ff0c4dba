"""The history of COPY INTO: the files that it has loaded into a table.

One JSON object per load of a file: `<table>/copy-into/history/load-<first 16 hex digits of the SHA-256 of its
path>-<milliseconds>`, with `filePath`, `fileSize` (bytes), `lastModified` and `loadedAt` (epoch milliseconds),
`snapshotId` (the table's latest one) and `rowsLoaded`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict

from paimon_core.dataclass import dataclass
from paimon_core.io.file_io import FileStatus
from paimon_core.store.table_store import TableStore


@dataclass(frozen=True, slots=True)
class _Record:
    filePath: str  # the names are those on disk
    fileSize: int
    lastModified: int
    loadedAt: int
    snapshotId: int
    rowsLoaded: int


def loaded_files(store: TableStore, files: Iterable[FileStatus]) -> set[FileStatus]:
    """Return the files that were already loaded with the same size and time. Damaged records are ignored."""
    folder = _folder(store)
    if not store.io.exists(folder):
        return set()
    names = [f.name for f in store.io.list(folder)]
    known = set()
    for file in files:
        for name in (n for n in names if n.startswith(_prefix(file))):
            if _says_loaded(store.io.read_bytes(f"{folder}/{name}"), file):
                known.add(file)
    return known


def record_loads(store: TableStore, rows: dict[FileStatus, int], snapshot: int, now: int) -> None:
    """Record that the rows of files are now in a table. `now` is in epoch milliseconds."""
    for file, count in rows.items():
        record = _Record(file.path, file.size, file.modified, now, snapshot, count)
        store.io.write_bytes(f"{_folder(store)}/{_prefix(file)}{now}", json.dumps(asdict(record)).encode())


def _says_loaded(content: bytes, file: FileStatus) -> bool:
    try:
        record = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and (record.get("fileSize"), record.get("lastModified")) == (
        file.size,
        file.modified,
    )


def _folder(store: TableStore) -> str:
    return f"{store.root}/copy-into/history"


def _prefix(file: FileStatus) -> str:
    return f"load-{hashlib.sha256(file.path.encode()).hexdigest()[:16]}-"
