"""Every storage call of a statement fails once, in every way; what has to be true afterwards.

    python -m tests.faults.every_call [STATEMENT ...]     all of them without names; `-m MODE` one way only

The statement ends well or with an error of ours that names what failed. A new process then reads the place as before
the statement or as after it, whole: as after it where the statement ended well, as before it where it failed for
certain. Nothing is left open. The statement can be run again, and clean-ups find every file that nothing names.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import logging
import os
import re
import shutil
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paimon_core.errors import CommitUnknownError, InternalError, PaimonError, StorageError, StorageRefusedError
from paimon_core.io.local import LocalFileIO
from tests.support.faulty_io import Fault, FaultyIO, SimulatedCrash
from tests.support.place import Place
from tests.support.sight import EMPTY, Memory, Part, Sight, clean, look
from tests.support.statements import READS, STATEMENTS, Statement

Outcome = BaseException | None
_LEAVING = (Fault.AFTER, Fault.LATE, Fault.TORN, Fault.CRASH)  # files that nothing names


@dataclass
class Trial:
    """A statement, the place it is run in, and what is seen there without and with it."""

    statement: Statement
    root: Path
    before: Sight = field(default_factory=dict)
    after: Sight = field(default_factory=dict)
    answer: Any = None
    counted: FaultyIO = field(default_factory=lambda: FaultyIO(LocalFileIO()))

    def __post_init__(self) -> None:
        self.work, self.kept, self.memory = self.root / "work", self.root / "kept", Memory()
        self.work.mkdir(parents=True)
        self.statement.prepare(Place(self.work))
        shutil.copytree(self.work, self.kept)
        self.before, self.files = look(self.work, self.memory), files(self.work)
        self.restore()
        self.answer = self.statement.run(Place(self.work, self.counted))
        self.after = look(self.work, self.memory)

    def restore(self) -> None:
        shutil.rmtree(self.work)
        shutil.copytree(self.kept, self.work)

    def points(self) -> list[tuple[int, Fault]]:
        return [(k, mode) for mode in Fault if mode not in self.statement.unseen for k in self.counted.moments(mode)]

    def check(self, k: int, mode: Fault) -> None:
        """Let call `k` fail. Raises `AssertionError`."""
        try:
            self._check(k, mode)
        except Exception as error:
            raise AssertionError(f"{self.statement.name}: call {k} of {self.counted.calls}, {mode.name}") from error

    def _check(self, k: int, mode: Fault) -> None:
        self.restore()
        io = FaultyIO(LocalFileIO(), k, mode)
        opened = open_files()
        failed, answer = self._attempt(io)
        assert mode is Fault.CRASH or open_files() <= opened, f"files are left open: {open_files() - opened}"
        io.settle()
        seen = look(self.work, self.memory)
        if isinstance(failed, PaimonError):
            self._check_text(failed)
        if self.statement in READS:
            assert failed is not None or answer == self.answer, f"another answer: {answer}"
            assert seen == self.before
            return
        self._check_seen(seen, failed, answer)
        self._check_litter(failed, mode)
        repeated = self._repeat(seen)
        if mode in _LEAVING:
            left = clean(self.work)
            assert not left, f"nothing names {left}"
        if repeated:
            left = re.compile(self.statement.leaves)
            found = _lasting(look(self.work, self.memory))
            lasting = {part: value for part, value in found.items() if not left.fullmatch(" ".join(part))}
            expected = _lasting(self.after)
            assert lasting == expected, f"run again, {_difference(lasting, expected, sorted(lasting | expected))}"

    def _attempt(self, io: FaultyIO) -> tuple[Outcome, Any]:
        try:
            return None, self.statement.run(Place(self.work, io))
        except (PaimonError, SimulatedCrash) as error:
            error.__traceback__ = None  # which holds what the statement had open
            return error, None
        finally:
            gc.collect(0)

    def _check_text(self, failed: PaimonError) -> None:
        assert not isinstance(failed, InternalError)
        text = str(failed)
        assert str(self.work) in text or "default.t" in text, f"names nothing: {text}"
        assert text.rstrip().endswith(".") and len(text) > 40, text

    def _check_seen(self, seen: Sight, failed: Outcome, answer: Any) -> None:
        left = re.compile(self.statement.leaves)
        everything = {*self.before, *self.after, *seen}
        parts = sorted(p for p in everything if p[1] not in self.statement.upkeep and not left.fullmatch(" ".join(p)))
        old, new = (all(seen.get(p) == side.get(p) for p in parts) for side in (self.before, self.after))
        if failed is None and not (self.statement.counts and answer != self.answer):
            assert new, f"done, but {_difference(seen, self.after, parts)}"
        elif self.statement.mends:
            assert self._is_whole(seen), f"neither the old table nor the new one is whole: {seen}"
        elif self.statement.steps:
            wrong = [p for p in parts if not self._is_between(p, seen)]
            assert not wrong, f"neither before nor after: {[(p, seen.get(p)) for p in wrong]}"
        else:
            assert old or new, f"neither before nor after: {_difference(seen, self.before, parts)}"
            if not old and not isinstance(failed, SimulatedCrash):
                kinds = CommitUnknownError if self.statement.commits else (StorageError, CommitUnknownError)
                assert isinstance(failed, kinds), f"visible, but {failed!r}"
                assert not isinstance(failed, StorageRefusedError), f"refused, but visible: {failed!r}"

    def _is_whole(self, seen: Sight) -> bool:
        """Whether what is taken over is as it was, beside whatever, or some table has its rows."""
        others = [p for p in self.before if p[1] not in ("snapshots", "done")]
        if all(seen.get(p) == self.before[p] for p in others):
            return True
        rows = [value for part, value in self.after.items() if part[1] == "rows" and value]
        return bool(rows) and rows[0] in [value for part, value in seen.items() if part[1] == "rows"]

    def _is_between(self, part: Part, seen: Sight) -> bool:
        """Whether a part is as before, as after, or as that of a table that is empty; it may have some of the versions
        of before and after."""
        value, either = seen.get(part), [self.before.get(part), self.after.get(part)]
        if part[1] == "snapshots" and value:
            return all(any(v == (e or {}).get(number) for e in either) for number, v in value.items())
        if self.statement.cuts and part[1] in ("rows", "files"):
            versions = seen.get((part[0], "snapshots")) or {0: (None, [])}
            number = max(versions)
            if number not in (max(side[part[0], "snapshots"]) for side in (self.before, self.after)):
                return part[1] == "files" or value == versions[number][1]  # versions are looked at by themselves
        return value in either or value == EMPTY.get(part[1])

    def _check_litter(self, failed: Outcome, mode: Fault) -> None:
        """Where deleting works, a commit that failed for certain takes its files with it."""
        certain = isinstance(failed, PaimonError) and not isinstance(failed, CommitUnknownError)
        if mode is Fault.NO_SPACE and self.statement.commits and certain:
            more = files(self.work) - self.files
            assert not more, f"files that stay behind: {more}"

    def _repeat(self, seen: Sight) -> bool:
        """Run it again; whether what is seen must then be as after one statement."""
        was_done = all(seen.get(p) == self.after.get(p) for p in _lasting({**self.after, **seen}))
        try:
            self.statement.run(Place(self.work))
        except PaimonError as error:
            assert seen != self.before, f"cannot be run again: {error!r}"
            assert was_done or not self.statement.mends, f"is not ended by a second call: {error!r}"
            return self.statement.mends
        return self.statement.repeatable or not was_done


def _lasting(seen: Sight) -> Sight:
    """What neither upkeep nor one more run of a statement changes."""
    passing = ("files", "snapshots", "changelogs")
    return {part: value for part, value in seen.items() if part[1] not in passing and "one-" not in part[1]}


def _difference(seen: Sight, expected: Sight, parts: Sequence[tuple[str, str]]) -> str:
    unlike = [p for p in parts if seen.get(p) != expected.get(p)]
    return "; ".join(f"{p} is {seen.get(p)}, not {expected.get(p)}" for p in unlike)


def files(root: Path) -> set[str]:
    """Every file but hints, which say where to begin looking."""
    found = (p for p in root.rglob("*") if p.is_file() and p.name not in ("EARLIEST", "LATEST"))
    return {str(p.relative_to(root)) for p in found}


def open_files() -> set[str]:
    """What this process has open, temporary files included."""
    found = set[str]()
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            target = os.readlink(f"/proc/self/fd/{descriptor}")
            if target.startswith("/") and not target.startswith(("/proc", "/dev")):
                found.add(f"{descriptor} {target}")
    return found


@contextlib.contextmanager
def quick() -> Iterator[None]:
    """Without waiting for the disk, and without the warnings that faults cause."""
    fsync, os.fsync = os.fsync, lambda _: None
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        os.fsync = fsync
        logging.disable(logging.NOTSET)


def sample(trial: Trial, count: int) -> list[tuple[int, Fault]]:
    """So many points of a statement, always the same ones; those of two statements are of different calls and modes."""
    points = trial.points()
    start, step = zlib.crc32(trial.statement.name.encode()), max(1, len(points) // count)
    return [points[(start + i * step) % len(points)] for i in range(min(count, len(points)))]


@dataclass
class Campaign:
    """Statements tried at many points, and what came of it."""

    modes: Sequence[Fault]
    each: int | None
    calls: int = 0
    points: int = 0
    bad: int = 0

    def run(self, statement: Statement) -> None:
        memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
        with tempfile.TemporaryDirectory(dir=memory) as folder, quick():
            trial = Trial(statement, Path(folder))
            points = trial.points() if self.each is None else sample(trial, self.each)
            tried = [(k, mode) for k, mode in points if mode in self.modes]
            bad = sum(not self._try(trial, k, mode) for k, mode in tried)
        self.calls, self.points, self.bad = self.calls + trial.counted.calls, self.points + len(tried), self.bad + bad
        print(f"{statement.name}: {trial.counted.calls} calls, {len(tried)} points, {bad} bad", flush=True)

    @staticmethod
    def _try(trial: Trial, k: int, mode: Fault) -> bool:
        try:
            trial.check(k, mode)
        except AssertionError as error:
            print(f"  {error}: {error.__cause__!r}"[:1000], flush=True)
            return False
        return True


def main(names: Sequence[str], campaign: Campaign) -> int:
    chosen = [s for s in (*STATEMENTS, *READS) if not names or any(n in s.name for n in names)]
    started = time.monotonic()
    for statement in chosen:
        campaign.run(statement)
    seconds = time.monotonic() - started
    print(f"{len(chosen)} statements, {campaign.calls} calls, {campaign.points} points in {seconds:.0f} s")
    print(f"{campaign.bad} bad")
    return campaign.bad


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of the names of statements")
    parser.add_argument("-m", "--mode", choices=[m.name for m in Fault])
    parser.add_argument("-e", "--each", type=int, help="so many points of each statement, not all")
    given = parser.parse_args()
    modes = [Fault[given.mode]] if given.mode else list(Fault)
    sys.exit(min(main(given.names, Campaign(modes, given.each)), 1))
