"""A writer is killed (SIGKILL) at each of its file operations in turn, those within one storage call included.

Afterwards the table reads as before or as after, what was acknowledged is there, and the next commit works.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any, TypeVar

import pytest

from paimon_core.io.local import LocalFileIO
from paimon_core.store.snapshots import list_snapshots
from tests.faults.test_faulty_io import STATEMENTS
from tests.support.faulty_io import FaultyIO
from tests.support.stored import compact, insert, open_table, read

T = TypeVar("T")
SYSTEM_CALLS = ("fsync", "link", "replace", "unlink", "mkdir")
PATIENCE = 60


class Fuse(FaultyIO):
    """A `FileIO` that kills its process before operation `kill_at`: its own calls, and the system calls in them."""

    def __init__(self, kill_at: int):
        super().__init__(LocalFileIO())
        self.kill_at, self.operations = kill_at, 0

    def burn(self) -> None:
        self.operations += 1
        if self.operations == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def call(self, path: str, act: Callable[[], T], *args: Any, **kwargs: Any) -> T:
        self.burn()
        return act()

    def count_system_calls(self) -> None:
        """From now on, in this process. What a file is on the disk makes no difference to a killed process."""
        for name in SYSTEM_CALLS:
            setattr(os, name, self._counted(name, getattr(os, name)))

    def _counted(self, name: str, system_call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **named: Any) -> Any:
            self.burn()
            return None if name == "fsync" else system_call(*arguments, **named)

        return counted


def run(warehouse: str, kind: str, kill_at: int, report: Connection) -> None:
    """Run a statement, acknowledge it, tell how many operations it took."""
    fuse = Fuse(kill_at)
    table = open_table(warehouse, fuse)
    fuse.count_system_calls()
    STATEMENTS[kind][1](table)
    report.send(fuse.operations)


def killed_at(context: ForkServerContext, warehouse: str, kind: str, kill_at: int) -> tuple[int | None, bool]:
    """The acknowledgement of a child process, and whether it was killed."""
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=run, args=(warehouse, kind, kill_at, sender))
    child.start()
    sender.close()
    child.join(PATIENCE)
    assert child.exitcode in (0, -signal.SIGKILL)
    try:
        return receiver.recv() if receiver.poll() else None, child.exitcode != 0
    except EOFError:
        return None, child.exitcode != 0


@pytest.fixture(scope="module")
def context() -> ForkServerContext:
    """Children are forked from a process that has no threads."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


@pytest.mark.parametrize("kind", list(STATEMENTS))
def test_every_operation(tmp_path: Path, context: ForkServerContext, kind: str) -> None:
    STATEMENTS[kind][0](str(tmp_path / "before"))
    before = read(open_table(str(tmp_path / "before")))
    shutil.copytree(tmp_path / "before", tmp_path / "after")
    operations, _ = killed_at(context, str(tmp_path / "after"), kind, 0)
    after = read(open_table(str(tmp_path / "after")))
    assert operations is not None and operations > 50

    committed = []
    for k in range(1, operations + 2):
        warehouse = str(tmp_path / f"{k}")
        shutil.copytree(tmp_path / "before", warehouse)
        at_first = len(list_snapshots(open_table(warehouse).store))
        acknowledged, killed = killed_at(context, warehouse, kind, k)
        assert killed == (k <= operations)
        table = open_table(warehouse)
        committed.append(len(list_snapshots(table.store)) - at_first)
        rows = read(table)
        assert rows == (after if committed[-1] else before), f"operation {k}"
        assert committed[-1] or not acknowledged, f"operation {k}: an acknowledged commit is lost"

        insert(table, [(9, "next")])
        compact(table)
        assert read(open_table(warehouse)) == sorted([*rows, (9, "next")]), f"operation {k}: the next commit"
        shutil.rmtree(warehouse)
    # one operation makes it visible, and nothing after it takes that back
    assert committed == sorted(committed) and set(committed) == {0, 1}
