"""A process of a history, and the storage as it sees it: every call takes time, lets others go on, and may go wrong."""

from __future__ import annotations

import builtins
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa
from greenlet import getcurrent
from pyarrow import NativeFile

from paimon_core.errors import StorageError, StorageRefusedError, UnsafeStorageError
from paimon_core.io.file_io import MOST_TEXT, FileStatus, delete_each_below, read_each_range, too_large
from paimon_core.store.cache import MetadataCache, S
from tests.simulation.history import Fault, FaultKind, Step
from tests.simulation.scheduler import Scheduler
from tests.simulation.storage import Disk

T = TypeVar("T")
_LATENCY = 0.01  # seconds; the mean
_SLOT_PATIENCE, _SLOT_POLL = 30.0, 0.02


class SimulatedCrash(BaseException):
    """The end of a process: nothing may catch it, and nothing can be cleaned up."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a step, for the story."""

    moment: float
    step: int
    number: int
    name: str
    path: str
    outcome: str


@dataclass
class Process:
    """A process on a host. It dies with a crash; the host then starts another one, which knows nothing."""

    scheduler: Scheduler
    host: int
    trace: list[Call]
    step: Step = field(default_factory=lambda: Step(0, 0, 0.0, "", 0))
    calls: int = 0
    is_dead: bool = False
    is_cut_off_until: float = 0.0  # the storage is out of its reach
    on_act: Callable[[Step], None] = lambda step: None  # told whose call changes the storage, before it does
    _faults: dict[tuple[str, int], Fault] = field(default_factory=dict)
    _counts: Counter[str] = field(default_factory=Counter)
    _latency: random.Random = field(default_factory=random.Random)
    _task: Any = None

    def begin(self, step: Step) -> None:
        self.step, self.calls, self._counts = step, 0, Counter()
        self._faults = {(f.on, f.call): f for f in step.faults}
        self._latency, self._task = random.Random(step.seed), getcurrent()

    def call(self, name: str, path: str, act: Callable[..., T], *, changes: bool = False, lists: bool = False) -> T:
        """One call of the storage; of threads that a task starts it happens at once."""
        if self.is_dead:
            raise SimulatedCrash(path)
        if getcurrent() is not self._task:
            self.on_act(self.step)
            return act()
        self.calls += 1
        act = partial(self._act, self.step, act)
        fault = self._fault(name, path)
        self.scheduler.wait(_LATENCY * self._latency.uniform(0.5, 1.5))
        try:
            if self.scheduler.now < self.is_cut_off_until:
                raise StorageError(f"Cannot reach {path}: the storage is out of reach.")
            result = act() if fault is None else self._go_wrong(fault, path, act, changes, lists)
        except BaseException as error:
            self._note(name, path, type(error).__name__)
            raise
        self._note(name, path, "" if fault is None else str(fault))
        return result

    def _fault(self, name: str, path: str) -> Fault | None:
        """The fault of this call: by its name and folder, by its name, or by its number."""
        names = f"{name} {path.rsplit('/', 2)[-2]}", name
        self._counts.update(names)
        found = (self._faults.get((n, self._counts[n])) for n in names)
        return next((f for f in found if f is not None), None) or self._faults.get(("", self.calls))

    def _go_wrong(self, fault: Fault, path: str, act: Callable[..., T], changes: bool, lists: bool) -> T:
        match fault.kind:
            case FaultKind.SLOW:
                self.scheduler.wait(fault.seconds)
                return act()
            case FaultKind.SLOW_ANSWER:
                result = act()
                self.scheduler.wait(fault.seconds)
                return result
            case FaultKind.STALE:
                return act(fault.seconds) if lists else act()
            case FaultKind.TWICE:
                act()
                return act()
            case FaultKind.REFUSED:
                raise StorageRefusedError(f"Cannot reach {path}: refused.")
            case FaultKind.CRASH | FaultKind.CRASH_AFTER:
                if fault.kind is FaultKind.CRASH_AFTER:
                    act()
                self.is_dead = True
                raise SimulatedCrash(path)
            case FaultKind.LATE if changes:
                self.scheduler.start(self.scheduler.now + fault.seconds, lambda: _quietly(act))
            case FaultKind.FAILS_AFTER:
                act()
            case FaultKind.OUTAGE | FaultKind.OUTAGE_AFTER:
                if fault.kind is FaultKind.OUTAGE_AFTER:
                    act()
                self.is_cut_off_until = self.scheduler.now + fault.seconds
        raise StorageError(f"Cannot reach {path}: {fault}.")

    def _act(self, step: Step, act: Callable[..., T], *values: Any) -> T:
        self.on_act(step)
        return act(*values)

    def _note(self, name: str, path: str, outcome: str) -> None:
        self.trace.append(Call(self.scheduler.now, self.step.number, self.calls, name, path, outcome))


def _quietly(act: Callable[[], object]) -> None:
    with suppress(OSError):  # nobody waits for the answer
        act()


@dataclass
class Slots:
    """Who holds the queue of a folder."""

    holders: dict[str, Process] = field(default_factory=dict)

    @contextmanager
    def held(self, process: Process, path: str, patience: float = _SLOT_PATIENCE) -> Iterator[bool]:
        waited, is_free = 0.0, True
        while self.holders.get(path) is not None and is_free:
            process.scheduler.wait(_SLOT_POLL)
            waited += _SLOT_POLL
            is_free = waited < patience
        if is_free:
            self.holders[path] = process
        try:
            yield is_free
        finally:
            if is_free:
                del self.holders[path]


@dataclass(frozen=True, eq=False)
class SimulatedIO:
    """The `FileIO` of one process. With `slots` writers of a table queue."""

    process: Process
    disk: Disk
    slots: Slots | None = None
    atomic_create: bool = True
    requests_at_once: int = 1

    def read_bytes(self, path: str, most: int = MOST_TEXT) -> bytes:
        data = self.process.call("read", path, lambda: self.disk.get(path).data)
        if len(data) > most:
            raise too_large(path, most)
        return data

    def read_tagged(self, path: str) -> tuple[bytes, str | None]:
        return self.read_bytes(path), None

    @property
    def is_near(self) -> bool:
        return False

    def open_input(self, path: str, size: int | None = None) -> NativeFile:
        return pa.BufferReader(self.process.call("open", path, lambda: self.disk.get(path).data))

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> builtins.list[bytes]:
        return read_each_range(self, path, ranges)

    def open_output(self, path: str) -> NativeFile:
        return pa.PythonFile(_Stream(self, path), mode="w")

    def write_bytes(self, path: str, data: bytes) -> None:
        self.process.call("write", path, lambda: self.disk.put(path, data), changes=True)

    def replace_file(self, path: str, data: bytes) -> None:
        self.write_bytes(path, data)

    def replace_tagged(self, path: str, data: bytes, tag: str | None) -> bool:
        self.replace_file(path, data)
        return True

    def create_exclusive(self, path: str, data: bytes) -> bool:
        if not self.atomic_create:
            raise UnsafeStorageError(f"Cannot create {path}: this storage has no atomic create.")
        return self.process.call("create", path, lambda: self.disk.create(path, data), changes=True)

    def writer_slot(self, path: str) -> AbstractContextManager[bool]:
        return _no_queue() if self.slots is None else self.slots.held(self.process, path)

    def exists(self, path: str) -> bool:
        return self.process.call("exists", path, lambda: self.disk.exists(path))

    def status(self, path: str) -> FileStatus:
        return self.process.call("status", path, lambda: self.disk.status(path))

    def list(self, path: str) -> Iterator[FileStatus]:
        return iter(self.process.call("list", path, lambda age=0.0: self.disk.list(path, age), lists=True))

    def files_below(self, path: str) -> builtins.list[str] | None:
        return None

    def make_dirs(self, path: str) -> None:
        self.disk.make_dirs(path)

    def delete(self, path: str) -> None:
        self.process.call("delete", path, lambda: self.disk.remove(path), changes=True)

    def delete_below(self, root: str, path: str) -> None:
        assert path.startswith(f"{root}/"), f"{path} is not below {root}"
        self.delete(path)

    def delete_many_below(self, root: str, paths: Sequence[str]) -> dict[str, OSError]:
        return delete_each_below(self, root, paths)

    def delete_dir(self, path: str) -> None:
        self.process.call("delete folder", path, lambda: self.disk.remove_dir(path), changes=True)

    def delete_dir_below(self, root: str, path: str) -> None:
        assert path.startswith(f"{root}/"), f"{path} is not below {root}"
        self.delete_dir(path)

    def delete_empty_dir_below(self, root: str, path: str) -> bool:
        assert path.startswith(f"{root}/"), f"{path} is not below {root}"
        return self.process.call("delete empty folder", path, lambda: self.disk.remove_empty_dir(path), changes=True)

    def rename_dir(self, source: str, target: str) -> None:
        self.process.call("rename folder", source, lambda: self.disk.rename_dir(source, target), changes=True)

    def move_file(self, source: str, target: str) -> None:
        raise NotImplementedError("no file is moved")

    def copy_file(self, source: str, target: str) -> None:
        raise NotImplementedError("no file is copied")

    def sync(self, path: str) -> None:
        pass


@contextmanager
def _no_queue() -> Iterator[bool]:
    yield False


class _Stream:
    """A data file being written: it is there, whole, when it is closed."""

    closed = False

    def __init__(self, io: SimulatedIO, path: str) -> None:
        self.io, self.path, self.parts = io, path, list[bytes]()
        self.size = 0

    def write(self, data: bytes) -> int:
        self.parts.append(bytes(data))
        self.size += len(data)
        return len(data)

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        pass

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.io.write_bytes(self.path, b"".join(self.parts))


class ProcessCache(MetadataCache):
    """What one process has read. Every call is made; what files hold is decoded once for all processes."""

    def __init__(self, io: SimulatedIO, decoded: dict[tuple[str, int], Any]) -> None:
        super().__init__()
        self._io, self._decoded, self._mine = io, decoded, dict[str, Any]()

    def get(self, path: str, load: Callable[[], S]) -> S:
        if path not in self._mine:
            disk = self._io.disk
            file = disk.get(path) if disk.is_file(path) else None
            key = path, id(file)
            if file is not None and key in self._decoded:
                self._io.read_bytes(path)
                self._mine[path] = self._decoded[key][0]
            else:
                self._mine[path] = load()
                if file is not None and disk.is_file(path) and disk.get(path) is file:  # not replaced meanwhile
                    self._decoded[key] = self._mine[path], file  # which keeps its id from being another's
        return self._mine[path]  # type: ignore[no-any-return]
