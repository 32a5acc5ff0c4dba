"""The file that a format writes: created, measured, made durable or given up."""

from __future__ import annotations

from contextlib import suppress

import pyarrow as pa

from paimon_core.io.file_io import FileIO, storage_errors


class OutputFile:
    """A new file of the storage; `sink` takes its bytes. Raises `StorageError`."""

    def __init__(self, io: FileIO, path: str) -> None:
        self._io, self.path = io, path
        io.make_dirs(path.rpartition("/")[0])
        with storage_errors("create", path):
            self.sink: pa.NativeFile = io.arrow().open_output_stream(io.arrow_path(path), compression=None)

    @property
    def size(self) -> int:
        """Bytes so far."""
        return int(self.sink.tell())

    def finish(self) -> int:
        """Close the file and make it durable; its size in bytes."""
        with storage_errors("write", self.path):
            size = None if self.sink.closed else self.size  # a stream around it may have closed it
            self.sink.close()
        self._io.sync(self.path)
        return self._io.status(self.path).size if size is None else size

    def abort(self) -> None:
        """Delete the file, as far as that is possible: the error to tell is the one before."""
        with suppress(Exception):
            self.sink.close()
        with suppress(OSError):
            self._io.delete(self.path)
