"""SpilledRuns: sorted runs that do not fit into a task's memory. They are on a local disk until they are merged into
files.

A run is a compressed stream of Arrow record batches in a file without a name. The operating system deletes such a file
with the process, however the process ends.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO

import pyarrow as pa

from paimon_core.errors import StorageError
from paimon_core.options import (
    SORT_MAX_FILES,
    SPILL_COMPRESSION,
    SPILL_ZSTD_LEVEL,
    WRITE_BUFFER_SPILL_SIZE,
    WRITE_BUFFER_SPILLABLE,
    TableOptions,
)

_BATCH_BYTES = 2 * 2**20  # while runs are merged, one batch of each is in memory
_CODECS = {"zstd": "zstd", "lz4": "lz4_frame", "lzo": "lz4_frame"}  # Arrow has no LZO, and no other program reads this


class SpilledRuns:
    """Sorted runs from old to young, in the folder of temporary files."""

    def __init__(self, options: TableOptions):
        self._options = options
        self._open = ExitStack()
        self._files: list[IO[bytes]] = []
        self._bytes = 0

    def has_room(self) -> bool:
        """Return whether one more run may be spilled."""
        most = self._options[SORT_MAX_FILES] if self._options[WRITE_BUFFER_SPILLABLE] else 0
        return len(self._files) < most and self._bytes < self._options[WRITE_BUFFER_SPILL_SIZE]

    def add(self, run: pa.RecordBatch) -> None:
        """Write a run to the disk. Raises `StorageError` if the disk refuses it."""
        step = max(1, run.num_rows * _BATCH_BYTES // max(run.nbytes, 1))
        try:
            file = self._open.enter_context(_nameless_file())
            self._files.append(file)
            with pa.ipc.new_stream(file, run.schema, options=pa.ipc.IpcWriteOptions(compression=self._codec())) as out:
                for start in range(0, run.num_rows, step):
                    out.write_batch(run.slice(start, step))
            self._bytes += file.tell()
        except OSError as e:
            raise StorageError(
                f"Rows could not be spilled to {tempfile.gettempdir()} ({e}). "
                f"Free space on that disk, or set '{WRITE_BUFFER_SPILLABLE.key}' = 'false' on the table."
            ) from e

    def runs(self) -> list[Iterator[pa.RecordBatch]]:
        """Return the batches of each run. They are read lazily."""
        return [_batches(file) for file in self._files]

    def clear(self) -> None:
        """Delete all runs."""
        self._open.close()
        self._files, self._bytes = [], 0

    def _codec(self) -> pa.Codec | None:
        name = _CODECS.get(self._options[SPILL_COMPRESSION])
        return pa.Codec(name, self._options[SPILL_ZSTD_LEVEL] if name == "zstd" else None) if name else None


def _nameless_file() -> IO[bytes]:
    return tempfile.TemporaryFile(prefix="paimon-spill-")


def _batches(file: IO[bytes]) -> Iterator[pa.RecordBatch]:
    file.seek(0)
    with pa.ipc.open_stream(file) as rows:
        yield from rows
