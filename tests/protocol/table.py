"""The table as the model has it: values, and what is asked of them.

What a file holds does not matter to the protocol, but for keys: a data file is a name and its rows, a manifest a name.
Files of a process are named after it, so that histories that differ only in what happened first are one state.
Fields of `World` below its middle are not the table's but the judge's: what was promised to whom.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Storage(StrEnum):
    """How a snapshot file is created."""

    ATOMIC = "creates a file unless it exists"
    RENAMES = "looks whether a name is free, then renames a file to it"
    LOCKED = "looks and writes under a lock"


class Rules(NamedTuple):
    """How the processes behave. The defaults are the protocol; each mistake changes one."""

    storage: Storage = Storage.ATOMIC
    tries: int = 3
    slot: bool = False  # writers and rollbacks queue: FileIO.writer_slot
    # commits
    reads_back: bool = True  # what became visible says whose it is
    reads_uuid: bool = True  # ... by its uuid, and not by user and identifier, which the tries of a commit share
    reads_before_lost: bool = True  # a refusal, such as S3's 409, counts as a lost race only if no try is under way
    absent_is_open: bool = True  # a try that is not there yet may still come
    same_number: bool = True  # while a try is open, the next has the same number
    keeps_unknown: bool = True  # files stay where the outcome is unknown
    checks_conflicts: bool = True
    checks_again: bool = True  # ... on each try, and not on the first one alone
    withdraws: bool = True  # a snapshot that was put on a history that was cut off is taken back
    looks_behind: bool = True  # ... or that took a number which expiry had made free
    keeps_manifests: bool = True  # ... of tries of which several were open at the same time
    knows_itself: bool = True  # a storage whose client sends a request twice does not call the second a lost race
    looks_for_itself: bool = True  # after a restart: whether its commit is there, on each try
    fenced: bool = True  # who lost the lock cannot write
    leased: bool = True  # the lock of a dead process becomes free
    requests_end: bool = True  # none is under way for as long as snapshots are kept
    # upkeep
    heeds_consumers: bool = True
    marks: bool = True  # expiry marks a snapshot before it removes the next one, where it does not go in order
    last_alone: bool = True  # ... and removes the last one after all others
    lists_again: bool = True  # ... and lists snapshots again once it has its turn
    spares_before_gaps: bool = True  # ... and leaves the files of those before a gap: a late writer may commit them
    heeds_marks: bool = True  # for a writer, a marked base is gone
    heeds_tags: bool = True
    removes_first: bool = True  # expiry removes snapshots before it looks what is needed
    tagger_looks: bool = True  # who makes a tag looks afterwards whether its snapshot is there
    age_floor: bool = True  # young files are no orphans


class DataFile(NamedTuple):
    """`rows` are keys and values."""

    name: str
    rows: tuple[tuple[str, str], ...]


class Vector(NamedTuple):
    """A deletion vector, an index file: the keys of a data file whose rows are deleted."""

    name: str
    data_file: str
    keys: frozenset[str]


class Change(NamedTuple):
    """What a commit adds and removes; `name` is its commit identifier."""

    name: str
    adds: frozenset[DataFile] = frozenset()
    removes: frozenset[str] = frozenset()
    marks: frozenset[Vector] = frozenset()
    unmarks: frozenset[str] = frozenset()

    @property
    def files(self) -> frozenset[str]:
        """The files that its writer made."""
        return frozenset(f.name for f in (*self.adds, *self.marks))


class Snapshot(NamedTuple):
    """`base` is the uuid of the one it was built on; `history` are the changes it has, for the judge. `marked` is the
    mark of an expiry that is about to remove it."""

    number: int
    uuid: str
    base: str
    manifests: frozenset[str]
    live: frozenset[DataFile]
    vectors: frozenset[Vector]
    history: tuple[str, ...]
    marked: bool = False

    def is_same(self, other: Snapshot) -> bool:
        """Whether two files have the same snapshot, marked or not."""
        return (self.number, self.uuid) == (other.number, other.uuid)

    @property
    def needs(self) -> frozenset[str]:
        """The files without which it cannot be read."""
        return self.manifests.union([f.name for f in self.live], [v.name for v in self.vectors])

    def valid_rows(self) -> list[tuple[str, str]]:
        """The rows that deletion vectors leave."""
        deleted = {(v.data_file, key) for v in self.vectors for key in v.keys}
        return [row for f in self.live for row in f.rows if (f.name, row[0]) not in deleted]


class World(NamedTuple):
    """What all processes share, and (from `begun` on) what the judge keeps.

    `air` are publish requests that their callers have given up, and that may take effect later; `old` are the files
    that are older than the age of orphans. `working` are writers whose files no snapshot names yet. `faults`
    and `crashes` are how many may still happen, `late` how many requests may be given up that are under way, `days` how
    often files may become old.
    """

    snapshots: tuple[Snapshot, ...]
    files: frozenset[str]
    old: frozenset[str] = frozenset()
    air: frozenset[Snapshot] = frozenset()
    tags: frozenset[tuple[str, Snapshot]] = frozenset()
    consumers: frozenset[tuple[str, int]] = frozenset()
    lock: str = ""
    queue: str = ""
    turn: str = ""  # of upkeep, where there is no queue
    working: frozenset[str] = frozenset()
    faults: int = 0
    crashes: int = 0
    late: int = 0
    days: int = 0
    begun: frozenset[str] = frozenset()
    acknowledged: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()  # tags that were acknowledged
    lapsed: frozenset[str] = frozenset()  # changes that a rollback may have cut off
    undone: frozenset[str] = frozenset()  # ... that it has: they were acknowledged before it began
    unsettled: frozenset[str] = frozenset()  # published, and not looked after yet by their writers
    is_expiring: bool = False
    has_expired: bool = False  # some snapshots, perhaps not all that were chosen
    broken: str = ""  # what a reader saw that it must not

    @property
    def latest(self) -> Snapshot:
        return self.snapshots[-1]

    def numbered(self, number: int) -> Snapshot | None:
        """A snapshot by its number."""
        for snapshot in self.snapshots:
            if snapshot.number == number:
                return snapshot
        return None

    def has(self, snapshot: Snapshot) -> bool:
        """Whether a snapshot is there, marked or not."""
        found = self.numbered(snapshot.number)
        return found is not None and found.is_same(snapshot)

    def has_unmarked(self, snapshot: Snapshot) -> bool:
        """Whether a snapshot is there, without a mark."""
        found = self.numbered(snapshot.number)
        return found is not None and found.is_same(snapshot) and not found.marked

    def having(self, snapshot: Snapshot) -> World:
        """With a snapshot under its number, be it in place of another."""
        others = [s for s in self.snapshots if s.number != snapshot.number]
        return self._replace(snapshots=tuple(sorted([*others, snapshot])))

    def publishing(self, draft: Snapshot) -> World:
        """With a snapshot that its writer has still to look after."""
        return self.having(draft)._replace(unsettled=self.unsettled | {draft.uuid})

    def history(self) -> list[Snapshot]:
        """The latest snapshot and those that it was built on, as far as they are there."""
        found = [self.latest]
        for snapshot in reversed(self.snapshots[:-1]):
            if (snapshot.number + 1, snapshot.uuid) == (found[-1].number, found[-1].base):
                found.append(snapshot)
        return found

    def lacking(self, number: int) -> World:
        """Without the snapshot of a number."""
        return self._replace(snapshots=tuple(s for s in self.snapshots if s.number != number))


FIRST = Snapshot(
    number=1,
    uuid="first",
    base="",
    manifests=frozenset({"first"}),
    live=frozenset({DataFile("file", (("k", "0"), ("l", "0")))}),
    vectors=frozenset(),
    history=(),
)


def conflict(latest: Snapshot, change: Change) -> str | None:
    """Why a change does not fit a version; `index_conflicts.py` and `conflicts.py` have these rules."""
    live = {f.name for f in latest.live}
    if not change.removes <= live:
        return "a file it replaces is gone"
    if not change.unmarks <= {v.name for v in latest.vectors}:
        return "a deletion vector it replaces is gone"
    vectors = [v for v in latest.vectors if v.name not in change.unmarks] + list(change.marks)
    marked = [v.data_file for v in vectors]
    if len(set(marked)) < len(marked):
        return "rows of a file were deleted by another commit meanwhile"
    if change.removes & set(marked):
        return "rows of a file it replaces were deleted meanwhile"
    if not {v.data_file for v in change.marks} <= (live - change.removes) | {f.name for f in change.adds}:
        return "a file is gone of which it deletes rows"
    return None


def following(latest: Snapshot, change: Change, uuid: str, number: int, *, merges: bool) -> Snapshot:
    """A version with a change on top; where it `merges`, one manifest replaces those before."""
    return Snapshot(
        number=number,
        uuid=uuid,
        base=latest.uuid,
        manifests=frozenset({uuid}) if merges else latest.manifests | {uuid},
        live=frozenset(f for f in latest.live if f.name not in change.removes) | change.adds,
        vectors=frozenset(v for v in latest.vectors if v.name not in change.unmarks) | change.marks,
        history=(*latest.history, change.name),
    )
