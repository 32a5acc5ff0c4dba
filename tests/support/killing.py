"""Child processes that kill themselves (SIGKILL) at a file operation, also at operations inside of one storage call."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from multiprocessing.context import ForkServerContext
from typing import Any, TypeVar

from paimon_core.io.local import LocalFileIO
from tests.support.faulty_io import FaultyIO
from tests.support.waiting import PATIENCE

T = TypeVar("T")
CHANGES = ("link", "replace", "unlink", "mkdir", "rename", "rmdir")


class Fuse(FaultyIO):
    """A `FileIO` that kills its process before operation `kill_at`: its own calls, and the system calls in them."""

    def __init__(self, kill_at: int, system_calls: tuple[str, ...] = (*CHANGES, "fsync"), *, only_these: bool = False):
        super().__init__(LocalFileIO())
        self.kill_at, self.operations, self.system_calls, self.only_these = kill_at, 0, system_calls, only_these

    def burn(self) -> None:
        self.operations += 1
        if self.operations == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def call(self, path: str, act: Callable[[], T], *args: Any, **kwargs: Any) -> T:
        if not self.only_these:
            self.burn()
        return act()

    def count_system_calls(self) -> None:
        """Count system calls of this process from now on. For a killed process, it does not matter when the disk stores
        a file.
        """
        for name in self.system_calls:
            setattr(os, name, self._counted(name, getattr(os, name)))

    def _counted(self, name: str, system_call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **named: Any) -> Any:
            self.burn()
            return None if name == "fsync" else system_call(*arguments, **named)

        return counted


def forking() -> ForkServerContext:
    """Return a context in which children are forked from a process without threads that has imported the needed
    modules.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.faults.test_kill", "tests.faults.test_kill_upkeep"])
    return context


Child = Callable[..., None]


def killed_at(context: ForkServerContext, child: Child, *arguments: Any) -> tuple[int | None, bool]:
    """Run `child(*arguments, report)` in another process. Return the number that it reported, and whether it
    was killed.
    """
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=child, args=(*arguments, sender))
    process.start()
    sender.close()
    process.join(PATIENCE)
    assert process.exitcode in (0, -signal.SIGKILL)
    try:
        return receiver.recv() if receiver.poll() else None, process.exitcode != 0
    except EOFError:
        return None, process.exitcode != 0
