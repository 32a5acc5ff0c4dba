"""The file that a format writes: created, measured, made durable or given up."""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol

import pyarrow as pa

from paimon_core.io.file_io import FileIO, writing_errors
from paimon_core.lazy import cached_property


class Output(Protocol):
    """The target for a format's bytes."""

    path: str

    @property
    def sink(self) -> pa.NativeFile: ...

    @property
    def size(self) -> int: ...

    def finish(self) -> int: ...

    def abort(self) -> None: ...


class OutputFile:
    """A new file of the storage. `sink` accepts its bytes; the first access to `sink` creates the file.

    Raises `StorageError`."""

    def __init__(self, io: FileIO, path: str) -> None:
        self._io, self.path = io, path

    @cached_property
    def sink(self) -> pa.NativeFile:
        with writing_errors("create", self.path):
            return self._io.open_output(self.path)

    @property
    def size(self) -> int:
        """The number of bytes so far."""
        return int(self.sink.tell())

    def finish(self) -> int:
        """Close the file, make it durable, and return its size in bytes."""
        with writing_errors("write", self.path):
            size = None if self.sink.closed else self.size  # a stream around it may have closed it
            self.sink.close()
        self._io.sync(self.path)
        return self._io.status(self.path).size if size is None else size

    def abort(self) -> None:
        """Delete the file if possible. Errors are ignored, because the caller reports an earlier error."""
        with suppress(Exception):
            self.sink.close()
        with suppress(OSError):
            self._io.delete(self.path)


class MemoryOutput:
    """A file in memory. Its bytes are in `content` once it is finished."""

    def __init__(self) -> None:
        self.path, self.sink, self.content = "<memory>", pa.BufferOutputStream(), pa.py_buffer(b"")

    @property
    def size(self) -> int:
        """The number of bytes so far."""
        return int(self.sink.tell())

    def finish(self) -> int:
        """Close the file and return its size in bytes."""
        self.content = self.sink.getvalue()
        return int(self.content.size)

    def abort(self) -> None:
        """Discard the file."""
        self.sink.close()
