"""File operations of a driver of Spark, counted wherever they happen: in its Python, in the Python workers of its
tasks, and in the JVM's checkpoint. Before one of them the driver is killed (SIGKILL): its Python and its JVM.

`python -m tests.faults.counted_operations` is the process that Spark forks its Python workers from.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import struct
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from paimon_core.io.local import LocalFileIO
from paimon_core.io.objects.store import ObjectStoreFileIO
from paimon_sql.spark.workers import daemon
from tests.support.killing import CHANGES

_OF_WORKERS = "TESTS_COUNTED_OPERATIONS"
_CALLS = (  # of an object store, those that change objects
    "write_bytes", "open_output", "replace_file", "replace_tagged", "create_exclusive", "delete", "delete_many_below",
    "delete_dir", "copy_file", "make_dirs",
)  # fmt: skip
_CREATED, _MOVED_HERE, _DELETED = 0x100, 0x80, 0x200  # of inotify(7)
_EVENT = struct.Struct("iIII")


@dataclass(frozen=True)
class Operations:
    """A counter that processes share, in a file. Operation number `kill_at` kills a process group; 0 kills none."""

    counter: str
    kill_at: int
    group: int

    def happens(self) -> None:
        with open(self.counter, "a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            number = len(file.read()) + 1
            file.write(b".")
        if number == self.kill_at:
            os.killpg(self.group, signal.SIGKILL)

    @property
    def count(self) -> int:
        return os.path.getsize(self.counter)

    def of_this_process(self) -> None:
        """From now on: what changes files, and each data file that is opened."""
        for name in CHANGES:
            setattr(os, name, self._counted(getattr(os, name)))
        setattr(LocalFileIO, "open_output", self._counted(LocalFileIO.open_output))  # noqa: B010  a method of a class
        for name in _CALLS:
            setattr(ObjectStoreFileIO, name, self._counted(getattr(ObjectStoreFileIO, name)))

    def of_workers(self) -> dict[str, str]:
        """Settings of Spark with which its Python workers count, too."""
        os.environ[_OF_WORKERS] = f"{self.kill_at} {self.group} {self.counter}"  # which the JVM hands on
        return {"spark.python.daemon.module": "tests.faults.counted_operations"}

    def of_folders(self, folders: Iterable[str]) -> None:
        """Files that any process creates, renames and deletes in folders, once that has happened."""
        libc = ctypes.CDLL(None, use_errno=True)
        watching = libc.inotify_init1(0)
        for folder in folders:
            os.makedirs(folder, exist_ok=True)
            assert libc.inotify_add_watch(watching, folder.encode(), _CREATED | _MOVED_HERE | _DELETED) > 0
        threading.Thread(target=self._count_events, args=(watching,), daemon=True).start()

    def _count_events(self, watching: int) -> None:
        while True:
            events, at = os.read(watching, 64 * 1024), 0
            while at < len(events):
                at += _EVENT.size + _EVENT.unpack_from(events, at)[3]
                self.happens()

    def _counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **named: Any) -> Any:
            self.happens()
            return call(*arguments, **named)

        return counted


def main() -> None:
    kill_at, group, counter = os.environ[_OF_WORKERS].split(" ", 2)
    Operations(counter, int(kill_at), int(group)).of_this_process()
    daemon.main()


if __name__ == "__main__":
    main()
