"""Mutants read in processes of little memory and time, and what became of each.

A process is forked with the corpus in memory, reads mutant after mutant, and reports each over a pipe. It is ended by
the system where a mutant takes more than `LIMITS.seconds` of its processors, and its address space is bounded; the most
memory that a mutant took is what `VmHWM` says after `clear_refs` has reset it. A process that ends is a finding: a
native library crashed, or the mutant never ended.
"""

from __future__ import annotations

import json
import os
import re
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from paimon_core.errors import CommitUnknownError, InternalError, InvalidOptionError, PaimonError
from tests.fuzz.files.mutants import Mutant, Mutants

MOST_SECONDS, MOST_BYTES = 2.0, 256 * 2**20
_ADDRESSES = 3 * 2**30  # bytes of address space beyond what a process has at first: what is claimed and never touched
_PATIENCE = 600.0  # seconds that a process may be silent: it waits for something, or the machine is busy
_RECYCLED = 2000  # mutants that a process reads at most
_NO_MEMORY = re.compile(r"(alloc|memory).*(failed|of size|exceed)|bad_alloc|out of memory", re.IGNORECASE)
_VALUES = re.compile(r"(VmHWM|VmRSS):\s+(\d+)")
ROWS, REFUSED = "rows", "refused"
HARNESS = "harness"  # it ended by a fault of its own


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a mutant: `ROWS`, `REFUSED`, or a finding by its name, with what it said."""

    number: int
    result: str
    said: str = ""
    seconds: float = 0.0
    memory: int = 0

    @property
    def is_finding(self) -> bool:
        return self.result not in (ROWS, REFUSED)


def judge(mutants: Mutants, numbers: Iterable[int]) -> Iterator[Outcome]:
    """What becomes of the mutants of these numbers, in order."""
    pending = list(numbers)
    while pending:
        part, done = pending[:_RECYCLED], 0
        for outcome in _in_a_process(mutants, part):
            yield outcome
            done += 1
        pending = pending[done:]


def read_mutant(mutant: Mutant) -> Outcome:
    """Read a mutant in this process."""
    case = mutant.case
    case.path.write_bytes(mutant.content)
    before, started = _memory(), time.process_time()
    try:
        result, said = _read(mutant)
    finally:
        case.path.write_bytes(case.content)
    seconds, memory = time.process_time() - started, _memory()["VmHWM"] - before["VmRSS"]
    if result in (ROWS, REFUSED) and memory > MOST_BYTES:
        result, said = "memory", f"{memory >> 20} MB: {said}"
    elif result in (ROWS, REFUSED) and seconds > MOST_SECONDS:
        result = "time"
    return Outcome(mutant.number, result, said, seconds, memory)


def _read(mutant: Mutant) -> tuple[str, str]:
    case = mutant.case
    try:
        case.read(case.root)
    except (InternalError, CommitUnknownError) as e:
        return type(e).__name__, _trace(e)
    except PaimonError as e:
        said = f"{type(e).__name__}: {e}"
        if _NO_MEMORY.search(said):
            return "claims memory", said
        named = (str(case.root), case.path.name, f"{case.root.parent.stem}.{case.root.name}")
        of_option = isinstance(e, InvalidOptionError)  # of a schema: the user has set it, and knows where
        return (REFUSED if of_option or any(n in said for n in named) else "unnamed"), said
    except BaseException as e:
        return type(e).__name__, _trace(e)
    return ROWS, ""


def _trace(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)[-4:]
    return f"{error!r}"[:300] + " at " + " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in reversed(frames))


def _memory() -> dict[str, int]:
    """Bytes in memory now, and the most since the last call."""
    found = {k: int(v) * 1024 for k, v in _VALUES.findall(Path("/proc/self/status").read_text())}
    Path("/proc/self/clear_refs").write_text("5")
    return found


def _in_a_process(mutants: Mutants, numbers: list[int]) -> Iterator[Outcome]:
    """The outcomes of some mutants, up to one that ends the process."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if not child:
        _serve(mutants, numbers, writing)
    os.close(writing)
    reported, broken = 0, False
    with os.fdopen(reading) as reports:
        for line in _lines(reports, child):
            outcome = Outcome(**json.loads(line))
            yield outcome
            reported, broken = reported + 1, outcome.result == HARNESS
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if reported < len(numbers) and not broken:
        mutant = mutants[numbers[reported]]
        mutant.case.path.write_bytes(mutant.case.content)
        name = "hang" if status in (-signal.SIGPROF, -signal.SIGKILL) else "crash"
        said = signal.Signals(-status).name if status < 0 else f"exit {status}"
        yield Outcome(mutant.number, name, said, MOST_SECONDS if name == "hang" else 0.0)


def _lines(reports: IO[str], child: int) -> Iterator[str]:
    """What a process reports; it is killed when it is silent for too long."""
    while True:
        if not select.select([reports], [], [], _PATIENCE)[0]:
            os.kill(child, signal.SIGKILL)
        line = reports.readline()
        if not line:
            return
        yield line


def _serve(mutants: Mutants, numbers: list[int], writing: int) -> None:
    """Read mutants in this process, which ends with it."""
    try:
        for stream in (1, 2):  # native libraries write what they think of a file
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + _ADDRESSES,) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for number in numbers:
            mutant = mutants[number]
            signal.setitimer(signal.ITIMER_PROF, 2 * MOST_SECONDS)
            outcome = read_mutant(mutant)
            signal.setitimer(signal.ITIMER_PROF, 0)
            os.write(writing, json.dumps(asdict(outcome)).encode() + b"\n")
    except BaseException as e:
        os.write(writing, json.dumps(asdict(Outcome(number, HARNESS, _trace(e)))).encode() + b"\n")
    finally:
        os._exit(0)
