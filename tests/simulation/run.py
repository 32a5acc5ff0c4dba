"""Runs a history: what came of its steps, and what is wrong with the table afterwards."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from paimon_core.commit.publish import CatalogLock, LockedPublisher, Publisher
from paimon_core.errors import CommitUnknownError, PaimonError
from paimon_core.store.table_store import TableStore
from paimon_sql.catalog.filesystem import FileSystemCatalog
from paimon_sql.catalog.schema_files import SchemaFiles
from tests.simulation.checks import check_end
from tests.simulation.history import History, Races, Step
from tests.simulation.model import State
from tests.simulation.observer import CUTTERS, Observer
from tests.simulation.oracles.consumers import Protection
from tests.simulation.processes import Call, Process, ProcessCache, SimulatedCrash, SimulatedIO, Slots
from tests.simulation.scheduler import EndlessError, Scheduler
from tests.simulation.statements import Session, create_table
from tests.simulation.steps import STEPS, NothingToDo
from tests.simulation.storage import Change, Disk
from tests.simulation.world import NO_STEP, World, simulated

WAREHOUSE = "/warehouse"
TIDIES = 3  # of so many histories one is cleaned up in the end, which takes as long as the history itself
OK, UNKNOWN, CRASHED, NOTHING = "done", "outcome unknown", "died", "nothing to do"


@dataclass
class Outcome:
    """What became of a history: the result of every step, every call, and what is wrong."""

    history: History
    results: dict[int, str] = field(default_factory=dict)
    trace: list[Call] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


class _Lock:
    """The catalog's lock. Who dies with it leaves it after a minute."""

    def __init__(self, slots: Slots, process: Process, path: str) -> None:
        self.slots, self.process, self.path = slots, process, path
        self._held: list[AbstractContextManager[bool]] = []

    def check(self) -> None:
        """Its holder does not lose it."""

    def __enter__(self) -> object:
        held = self.slots.held(self.process, self.path, patience=3600.0)
        if not self._held:
            held.__enter__()
        self._held.append(held)
        return self

    def __exit__(self, *error: Any) -> None:
        held = self._held.pop()
        if not self._held:
            held.__exit__(*error)


@dataclass(frozen=True)
class _LockingCatalog(FileSystemCatalog):
    """A catalog with a lock for each table."""

    lock: Callable[[str], CatalogLock] = field(kw_only=True)

    @cached_property
    def _files(self) -> SchemaFiles:
        return SchemaFiles(self.io, self.cache, self.allowed, {}, self._publisher)

    def _publisher(self, store: TableStore) -> Publisher:
        return LockedPublisher(store.io, self.lock(store.paths.version_root))


@dataclass
class _Machine:
    """What the processes of a history share."""

    history: History
    scheduler: Scheduler
    world: World
    disk: Disk
    observer: Observer
    outcome: Outcome
    slots: Slots = field(default_factory=Slots)
    locks: Slots = field(default_factory=Slots)
    decoded: dict[tuple[str, int], Any] = field(default_factory=dict)

    @cached_property
    def protection(self) -> Protection:
        return Protection(self.observer, lambda: self.scheduler.now)

    def watch(self, change: Change) -> None:
        self.observer.watch(change)
        self.protection.watch(change)

    def process(self, host: int) -> Process:
        return Process(self.scheduler, host, self.outcome.trace, on_act=partial(setattr, self.observer, "running"))

    def catalog(self, process: Process) -> FileSystemCatalog:
        races = self.history.setting.races
        slots = self.slots if races is Races.QUEUE else None
        io = SimulatedIO(process, self.disk, slots, races is not Races.LOCK)
        cache = ProcessCache(io, self.decoded)
        if races is Races.LOCK:
            return _LockingCatalog(io, WAREHOUSE, cache=cache, lock=partial(_Lock, self.locks, process))
        return FileSystemCatalog(io, WAREHOUSE, cache=cache)

    def session(self, catalog: FileSystemCatalog, step: Step) -> Session:
        return Session(catalog, self.history.setting, step, self.observer, lambda: self.scheduler.now)

    def live(self, host: int, steps: list[Step]) -> None:
        """A host: its processes, one after the other, and their steps."""
        process = self.process(host)
        catalog = self.catalog(process)
        for step in steps:
            self.scheduler.wait(step.start - self.scheduler.now)
            self.world.enter(step, self.history.setting.skews[host])
            process.begin(step)
            self.protection.begin(step)
            self.observer.began[step.number] = self.scheduler.now
            result = self.outcome.results[step.number] = self.result(self.session(catalog, step))
            if step.kind in CUTTERS and result not in (OK, NOTHING):
                self.observer.stopped.append(step)
            if process.is_dead:
                process = self.process(host)
                catalog = self.catalog(process)

    def result(self, session: Session) -> str:
        step = session.step
        try:
            STEPS[step.kind].act(session)
        except SimulatedCrash:
            return CRASHED
        except NothingToDo:
            return NOTHING
        except CommitUnknownError:
            return UNKNOWN
        except (PaimonError, FileNotFoundError) as error:
            return f"failed: {type(error).__name__}: {error}"
        except EndlessError:
            raise
        except Exception as error:
            self.observer.problems.append(f"step {step.number} ({step.kind}) raised {type(error).__name__}: {error}")
            return f"raised {type(error).__name__}"
        return OK


def run(history: History, planted: Callable[[], AbstractContextManager[object]] = nullcontext) -> Outcome:
    """Run a history, with a bug planted into the product."""
    outcome = Outcome(history)
    scheduler = Scheduler()
    with simulated(scheduler) as world, planted():
        disk = Disk(lambda: scheduler.now)
        empty = State(history.setting.primary_key, history.setting.crosses)
        observer = Observer(disk, empty, problems=outcome.problems)
        machine = _Machine(history, scheduler, world, disk, observer, outcome)
        catalog = machine.catalog(machine.process(-1))
        catalog.create_database("db")
        create_table(catalog, history.setting)
        disk.watch = machine.watch
        for host in range(len(history.setting.skews)):
            mine = [s for s in history.steps if s.host == host]
            scheduler.start(mine[0].start if mine else 0.0, partial(machine.live, host, mine))
        try:
            scheduler.run()
        except EndlessError as error:
            outcome.problems.append(str(error))
            return outcome
        tidies = history.seed % TIDIES == 0
        check_end(machine.session(catalog, NO_STEP), outcome.results, scheduler, tidies=tidies)
    return outcome
