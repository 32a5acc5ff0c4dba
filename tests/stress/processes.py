"""The processes of a run: started, killed, started again, and in the end asked whether all was well."""

from __future__ import annotations

import math
import multiprocessing
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path

from tests.stress.check import Figures, check_table
from tests.stress.roles import ROLES, UPKEEP, play
from tests.stress.run import Run

READERS = 2
_PATIENCE = 120.0  # seconds for upkeep and readers to see that the run has ended
Who = tuple[str, int]  # a role, and which of its processes


@dataclass(frozen=True, slots=True)
class Killed:
    """What became of a run."""

    seconds: float
    kills: int
    reads: int
    processors: Mapping[str, float]  # seconds that each role took of them
    figures: Figures


class Processes:
    """One for each role and number; those that end with an error end the run."""

    def __init__(self, run: Run) -> None:
        self._run, self._context = run, _forking()
        self.kills = 0
        self._killed: Counter[str] = Counter()
        writers, readers = (("write", n) for n in range(run.writers)), (("read", n) for n in range(READERS))
        self._alive = {who: self._started(who) for who in (*writers, *readers, *((name, 0) for name in UPKEEP))}

    def _started(self, who: Who) -> ForkServerProcess:
        role, number = who
        process = self._context.Process(
            target=play, args=(role, self._run, number), daemon=True, name=f"{role}-{number}"
        )
        process.start()
        return process

    def wait(self, seconds: float) -> None:
        """Let them run; none ends of itself."""
        for ended in wait([p.sentinel for p in self._alive.values()], seconds):
            process = next(p for p in self._alive.values() if p.sentinel == ended)
            raise AssertionError(f"{process.name} ended with {process.exitcode}, its error is above")

    def kill_one(self, dice: random.Random) -> None:
        who = dice.choice(list(self._alive))
        process = self._alive[who]
        self._killed[who[0]] += _processor_seconds(process.pid)
        process.kill()
        process.join()
        self.kills += process.exitcode == -signal.SIGKILL
        self._alive[who] = self._started(who)

    @property
    def processors(self) -> dict[str, float]:
        """The seconds of processors that each role took, when all have ended."""
        seconds = {role: float(self._killed[role]) for role in ROLES}
        for role in ROLES:
            seconds[role] += sum(float(rest[0]) for rest in self._run.journal("processors").lines(role))
        return seconds

    def end(self) -> None:
        """All have seen the file that ends the run."""
        for process in self._alive.values():
            process.join(_PATIENCE)
            assert process.exitcode == 0, f"{process.name} ended with {process.exitcode}, its error is above"

    def kill_all(self) -> None:
        for process in self._alive.values():
            process.kill()


def _processor_seconds(pid: int | None) -> float:
    """What a process took of processors so far, before it is killed; 0 where it has ended."""
    try:
        values = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(values[11]) + int(values[12])) / os.sysconf("SC_CLK_TCK")


def _forking() -> ForkServerContext:
    """Children are forked from a process that has no threads, and has imported what they need."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.stress.roles"])
    return context


def kill_and_check(run: Run, kill_every: float, at_most: float = math.inf) -> Killed:
    """Make a table, let processes loose on it until they have their commits, for `at_most` so many seconds, and check
    it. Raises `AssertionError`."""
    run.create()
    dice, began = random.Random(), time.monotonic()
    processes = Processes(run)
    try:
        due, before = began + kill_every, 0
        while before < run.commits and time.monotonic() < began + at_most:
            processes.wait(max(0.0, due - time.monotonic()))
            if (acknowledged := len(run.commits_said("acknowledged"))) > before:  # else nobody would get anywhere
                processes.kill_one(dice)
                before = acknowledged
            due = time.monotonic() + kill_every
        seconds = time.monotonic() - began
        run.end.touch()
        processes.end()
    finally:
        processes.kill_all()
    reads = sum(len(list(run.journal(f"reader-{n}").lines("read"))) for n in range(READERS))
    return Killed(seconds, processes.kills, reads, processes.processors, check_table(run))
