"""What somebody who sees every change of the storage knows: who made which snapshot, and which rows it must have."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from paimon_core.spec.snapshot import CommitKind, Snapshot, decode_snapshot
from tests.simulation.history import Step
from tests.simulation.model import Effect, State
from tests.simulation.storage import Change, Disk
from tests.simulation.world import step_of

ROOT = "/warehouse/db.db/t"
_SNAPSHOT = re.compile(rf"({re.escape(ROOT)}(?:/branch/branch-[^/]+)?)/snapshot/snapshot-(\d+)")
CUTTERS = frozenset({"rollback", "rollback to tag", "fast forward", "delete branch", "rename branch"})
_ENDS = frozenset({"drop and create"})  # statements that end a history without being one of those that repair it


@dataclass(frozen=True, slots=True)
class Version:
    """A snapshot that was published: its rows, and the moment, as a count of snapshots."""

    snapshot: Snapshot
    parent: str | None
    state: State
    moment: int
    step: int
    has_effect: bool


@dataclass
class Observer:
    """`problems` are what is wrong, as they are seen."""

    disk: Disk
    empty: State
    versions: dict[str, Version] = field(default_factory=dict)  # by uuid
    effects: dict[int, tuple[Effect, int]] = field(default_factory=dict)  # by step: with what it had seen
    landed: defaultdict[int, list[str]] = field(default_factory=lambda: defaultdict(list))  # by step
    cut: set[str] = field(default_factory=set)  # uuids of versions that a statement removed on purpose
    columns: dict[int, tuple[str, ...]] = field(default_factory=dict)  # by step: the added ones that its rows have
    withdrawn: set[str] = field(default_factory=set)  # of versions that their own writers took back
    problems: list[str] = field(default_factory=list)
    running: Step | None = None  # whose change this is
    stopped: list[Step] = field(default_factory=list)  # those of `CUTTERS` that did not come to an end
    repairs: bool = False  # one of them is run again
    began: dict[int, float] = field(default_factory=dict)  # by step: when
    _last: dict[tuple[str, int], str] = field(default_factory=dict)  # the uuid that was last under a name

    def expect(self, step: Step, effect: Effect, base: Snapshot | None) -> None:
        """What a step is about to commit, planned on a snapshot."""
        self.effects[step.number] = effect, self.moment(base)

    def moment(self, snapshot: Snapshot | None) -> int:
        return 0 if snapshot is None else self.versions[str(snapshot.uuid)].moment

    def state(self, snapshot: Snapshot | None) -> State:
        return self.empty if snapshot is None else self.versions[str(snapshot.uuid)].state

    def watch(self, change: Change) -> None:
        """To be called before a change is made."""
        match = _SNAPSHOT.fullmatch(change.path)
        if match is None:
            return
        home, number = match[1], int(match[2])
        before = self._at(change.path)
        if before is not None and (change.data is None or str(self._decoded(change).uuid) != before):
            if self.repairs or (self.running is not None and self.running.kind in CUTTERS | _ENDS):
                self._cut(home, before)
            elif change.data is None and self.running and self.versions[before].step == self.running.number:
                self.withdrawn.add(before)
            elif change.data is not None:
                self.problems.append(f"snapshot {number} was replaced by another one")
        if change.data is not None:
            self._publish(home, self._decoded(change))

    def ancestry(self, uuid: str | None) -> Iterator[str]:
        """A version and all that it was built on."""
        while uuid is not None:
            yield uuid
            uuid = self.versions[uuid].parent

    def latest(self, home: str) -> str | None:
        """The uuid of the newest snapshot in a folder."""
        names = self.disk.folders.get(f"{home}/snapshot", {})
        numbers = [int(n.removeprefix("snapshot-")) for n in names if n.startswith("snapshot-")]
        return self._at(f"{home}/snapshot/snapshot-{max(numbers)}") if numbers else None

    def is_own(self, path: str, step: Step) -> bool:
        """Whether a step made the snapshot that is there."""
        uuid = self._at(path)
        return uuid is not None and self.versions[uuid].step == step.number

    def check_is_new(self, step: Step, seen: Snapshot | None, known: str | None) -> None:
        """A step that began when `known` was the latest version must see no older one, if it was not cut off."""
        if known is None or known in self.cut | self.withdrawn:
            return
        if self.moment(seen) < self.versions[known].moment:
            number = self.versions[known].snapshot.id
            self.problems.append(f"step {step.number} saw {seen and seen.id} as the latest, and {number} was there")

    @contextmanager
    def moving(self) -> Iterator[None]:
        """The table gets another name meanwhile, or its own one again: versions come and go as they are."""
        before, self.repairs = set(self.cut), True
        try:
            yield
        finally:
            self.cut, self.repairs = before, False

    def cuts_history(self, home: str) -> None:
        """From here on the history of a folder may be replaced as a whole."""
        self.cut.update(self.ancestry(self.latest(home)))

    def _cut(self, home: str, uuid: str) -> None:
        """A statement removes a version on purpose, and with it the expired ones that only it was built on."""
        self.cut.add(uuid)
        for older in self.ancestry(self.versions[uuid].parent):
            if self._at(f"{home}/snapshot/snapshot-{self.versions[older].snapshot.id}") == older:
                break
            self.cut.add(older)

    def _publish(self, home: str, snapshot: Snapshot) -> None:
        uuid = str(snapshot.uuid)
        self._last[home, snapshot.id] = uuid
        if uuid in self.versions:
            return
        parent = self._last.get((home, snapshot.id - 1))
        before = self.empty if parent is None else self.versions[parent].state
        moment, step = len(self.versions) + 1, step_of(uuid)
        expires = step in self.effects and self.effects[step][0].spares_since is not None
        has_effect = expires or _has_effect(snapshot)  # partitions that expire name no operation
        state = before
        if has_effect and step not in self.effects:
            self.problems.append(f"step {step} made snapshot {snapshot.id}: nobody asked for it")
        elif has_effect:
            effect, seen = self.effects[step]
            self._check_spared(step, effect, seen, parent)
            try:
                state = before.after(effect, seen, moment)
            except AssertionError as error:
                self.problems.append(f"snapshot {snapshot.id} of step {step}: {error}")
            self.landed[step].append(uuid)
        self.versions[uuid] = Version(snapshot, parent, state, moment, step, has_effect)

    def _check_spared(self, step: int, effect: Effect, seen: int, parent: str | None) -> None:
        """A statement that drops what is old drops no rows that came after it looked, unless they are old."""
        if effect.spares_since is None:
            return
        for version in map(self.versions.__getitem__, self.ancestry(parent)):
            if version.moment <= seen:
                return
            added = self.effects[version.step][0].added if version.has_effect else ()
            if any(r.p in (effect.emptied or ()) for r in added) and self.began[version.step] >= effect.spares_since:
                self.problems.append(f"step {step} dropped rows of step {version.step}, which are not old")

    def _at(self, path: str) -> str | None:
        if not self.disk.is_file(path):
            return None
        return str(decode_snapshot(path, self.disk.get(path).data).uuid)

    @staticmethod
    def _decoded(change: Change) -> Snapshot:
        assert change.data is not None
        return decode_snapshot(change.path, change.data)


def _has_effect(snapshot: Snapshot) -> bool:
    """Whether a snapshot changes rows: compaction and statistics do not."""
    return snapshot.operation is not None and snapshot.commit_kind is not CommitKind.ANALYZE
