"""Which processes meet in which world, the mistakes that must be found, and the limits that are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from tests.protocol import around, properties, upkeep, writers
from tests.protocol.around import Reader
from tests.protocol.explorer import Explored, Model, Process, explore
from tests.protocol.table import FIRST, Change, DataFile, Rules, Snapshot, Storage, World, following
from tests.protocol.upkeep import Keeper
from tests.protocol.writers import Writer

A, B, C = Writer("A", "append"), Writer("B", "append"), Writer("C", "append")
A_UPDATES, B_UPDATES, C_UPDATES = Writer("A", "update"), Writer("B", "update"), Writer("C", "update")
A_RESTARTS, B_RESTARTS = A._replace(restarts=True), B._replace(restarts=True)
COMPACTOR = Writer("K", "compact")
EXPIRY, CLEANER = Keeper("E", "expire", "expire"), Keeper("O", "orphans", "orphans")
TAGGER, UNTAGGER = Keeper("T", "tag", "tag"), Keeper("U", "untag", "untag")
OPERATOR = Keeper("R", "roll back", "roll back")
PINNED, UNPINNED = Reader("P", is_pinned=True), Reader("Q")
TAGGED: Mapping[str, Any] = MappingProxyType({"tags": frozenset({("tag", FIRST)}), "kept": frozenset({"tag"})})


@dataclass(frozen=True)
class Configuration:
    """Processes that meet. `world` says how many faults there may be, and what else is there at first besides
    `snapshots`; `limit` is how many states are visited, None: all."""

    writers: Sequence[Writer] = ()
    keepers: Sequence[Keeper] = ()
    readers: Sequence[Reader] = ()
    rules: Rules = Rules()
    world: Mapping[str, Any] = field(default_factory=dict)
    limit: int | None = None
    snapshots: tuple[Snapshot, ...] = (FIRST,)

    def model(self) -> Model[World]:
        """As the explorer wants it. Where a rollback is at work, some must hold in the end only."""
        rules, cuts = self.rules, OPERATOR in self.keepers
        processes = [
            *(Process(w.name, w, partial(writers.steps, rules), writers.has_ended) for w in self.writers),
            *(Process(k.name, k, partial(upkeep.steps, rules), upkeep.has_ended) for k in self.keepers),
            *(Process(r.name, r, partial(around.read_steps, rules), around.has_read) for r in self.readers),
            Process("*", "", partial(around.events, rules), lambda _: True),
        ]
        always = properties.always if cuts else properties.always_and_finally
        files = frozenset[str]().union(*(s.needs for s in self.snapshots), *(w.files for w in self.writers))
        return Model(World(self.snapshots, files, **self.world), processes, always, properties.finally_)

    def explore(self, limit: int | None = None) -> Explored:
        """Visit its states, `limit` at most."""
        return explore(self.model(), min(limit or 1 << 31, self.limit or 1 << 31))

    def under(self, **rules: Any) -> Configuration:
        """With other rules."""
        return replace(self, rules=self.rules._replace(**rules))

    def with_world(self, **world: Any) -> Configuration:
        """With more faults, or something else."""
        return replace(self, world={**self.world, **world})


def _history(length: int) -> tuple[Snapshot, ...]:
    """Snapshots that others have committed, from the first one on."""
    made = [FIRST]
    for number in range(2, length + 1):
        change = Change(f"h{number}", adds=frozenset({DataFile(f"h{number}", ((f"h{number}", "0"),))}))
        made.append(following(made[-1], change, f"h{number}", number, merges=False))
    return tuple(made)


FLEET = Configuration((A, B, C_UPDATES, COMPACTOR), (EXPIRY,), rules=Rules(tries=2), limit=3_000_000)
APPENDS = Configuration((A, B), world={"faults": 1, "late": 1})
EXPIRING = Configuration((A, B, C), (EXPIRY,))
EXPIRING_LATE = Configuration((A, B_UPDATES), (EXPIRY,), world={"faults": 1, "late": 1, "crashes": 1})
DELETING = Configuration((A_UPDATES, B_UPDATES, COMPACTOR), world={"faults": 1})
LOCKED = Configuration((A, B), rules=Rules(storage=Storage.LOCKED), world={"faults": 1, "crashes": 1})
RESTARTING = Configuration((A_RESTARTS, B), world={"faults": 1, "late": 1, "crashes": 1})
TAGGING = Configuration((A, COMPACTOR), (EXPIRY, TAGGER))
UNTAGGING = Configuration((COMPACTOR,), (EXPIRY, UNTAGGER, TAGGER), world=TAGGED)
READING = Configuration((COMPACTOR,), (EXPIRY,), (PINNED, UNPINNED))
CLEANING = Configuration((A, COMPACTOR), (CLEANER,), world={"late": 1, "crashes": 1, "days": 1})
ROLLING_BACK = Configuration((A, B), (OPERATOR,))
TWO_EXPIRIES = (EXPIRY, EXPIRY._replace(name="F"))
LATE = Configuration(
    (B, writers.about_to_publish("A", FIRST)),
    (EXPIRY,),
    world={"working": frozenset({"A"}), "acknowledged": frozenset({"h2", "h3", "h4"})},
    snapshots=_history(4),
)
OVERTAKEN = replace(LATE, keepers=TWO_EXPIRIES, writers=LATE.writers[1:])
QUEUED = Configuration((A, B, C), (OPERATOR, EXPIRY), rules=Rules(slot=True), world={"crashes": 1})

GATE: Mapping[str, Configuration] = MappingProxyType(
    {
        "two writers, lost and late answers": APPENDS,
        "three writers": Configuration((A, B, C)),
        "two updates of a row and a compaction": replace(DELETING, world={}),
        "a lock, lost answers, deaths": LOCKED.with_world(faults=0),
        "a writer that starts again": RESTARTING.with_world(late=0),
        "two writers and expiry": Configuration((A, COMPACTOR), (EXPIRY,), world={"crashes": 1}),
        "new tags and expiry": TAGGING,
        "a reader with a consumer, one without, expiry": READING,
        "the search for orphans": CLEANING.with_world(late=0),
        "three writers and expiry": EXPIRING,
        "a writer that is late by a history, and expiry": LATE,
        "the same, deaths": LATE.with_world(crashes=1),
        "the same, two expiries": OVERTAKEN,
        "a rollback beside two writers": ROLLING_BACK,
        "a rollback beside two writers that queue": replace(QUEUED, writers=(A, B), keepers=(OPERATOR,)),
    }
)
FULL: Mapping[str, Configuration] = MappingProxyType(
    {
        **GATE,
        "three writers, a compactor and expiry": FLEET,
        "two writers, two lost answers, two late ones": APPENDS.with_world(faults=2, late=2),
        "three writers, a late answer": Configuration((A, B, C), world={"late": 1}),
        "two updates of a row and a compaction, faults": DELETING.with_world(late=1),
        "a lock, lost answers": LOCKED,
        "two writers that start again": RESTARTING,
        "two writers and expiry, every fault": EXPIRING_LATE,
        "tags that come and go, and expiry": replace(UNTAGGING, writers=(A, COMPACTOR)),
        "readers, two writers and expiry": replace(READING, writers=(A, COMPACTOR)),
        "the search for orphans and expiry": replace(CLEANING, keepers=(EXPIRY, CLEANER), limit=1_000_000),
        "a rollback beside two writers, a lost answer": ROLLING_BACK.with_world(faults=1),
        "a rollback and expiry beside three writers that queue": QUEUED,
    }
)


@dataclass(frozen=True)
class Mistake:
    """A protocol that differs in one rule, where that shows, and (a part of) what is wrong then."""

    shown_by: Configuration
    rules: Mapping[str, Any]
    wrong: str

    def explore(self) -> Explored:
        """What the explorer says to it."""
        return self.shown_by.under(**self.rules).explore()


_TWICE_WRITTEN = Configuration((A, B), world={"late": 1})
MISTAKES: Mapping[str, Mistake] = MappingProxyType(
    {
        "the storage renames over what is there": Mistake(APPENDS, {"storage": Storage.RENAMES}, "is lost"),
        "a snapshot is not read back": Mistake(APPENDS, {"reads_back": False}, "file is deleted"),
        "a commit is known by its user and identifier, not its uuid": Mistake(
            APPENDS.with_world(faults=2), {"reads_uuid": False, "keeps_manifests": False}, "file is deleted"
        ),
        "409 is taken for a lost race": Mistake(
            APPENDS.with_world(faults=1), {"reads_before_lost": False, "keeps_manifests": False}, "file is deleted"
        ),
        "a request that was sent twice is taken for a lost race": Mistake(
            APPENDS.with_world(faults=2), {"knows_itself": False}, "file is deleted"
        ),
        "a snapshot that is not there yet is taken for lost": Mistake(
            _TWICE_WRITTEN, {"absent_is_open": False}, "file is deleted"
        ),
        "tried again under a new number while a request is under way": Mistake(
            _TWICE_WRITTEN, {"same_number": False}, "SequentialSnapshotIds"
        ),
        "files are deleted although the outcome is unknown": Mistake(
            APPENDS, {"keeps_unknown": False}, "file is deleted"
        ),
        "conflicts are not looked for": Mistake(DELETING, {"checks_conflicts": False}, "OneValidRowPerKey"),
        "conflicts are looked for on the first try alone": Mistake(
            DELETING, {"checks_again": False}, "OneValidRowPerKey"
        ),
        "a lock times out, and its holder writes": Mistake(LOCKED, {"fenced": False}, "is lost"),
        "a lock whose holder died stays": Mistake(LOCKED, {"leased": False}, "can never end"),
        "a writer that starts again does not look for its commit": Mistake(
            RESTARTING, {"looks_for_itself": False}, "a commit twice"
        ),
        "a number that expiry made free is used again": Mistake(
            EXPIRING, {"looks_behind": False}, "SequentialSnapshotIds"
        ),
        "manifests of open tries are deleted where one is found": Mistake(
            EXPIRING_LATE, {"keeps_manifests": False}, "file is deleted"
        ),
        "expiry ignores tags": Mistake(TAGGING, {"heeds_tags": False}, "file is deleted"),
        "expiry ignores consumers": Mistake(READING, {"heeds_consumers": False}, "ConsistentRead"),
        "expiry looks for tags before it removes snapshots": Mistake(
            TAGGING, {"removes_first": False}, "file is deleted"
        ),
        "who makes a tag does not look whether its snapshot stayed": Mistake(
            TAGGING, {"tagger_looks": False}, "file is deleted"
        ),
        "expiry removes snapshots in any order without marks": Mistake(LATE, {"marks": False}, "SequentialSnapshotIds"),
        "expiry removes the last of its snapshots with the others": Mistake(EXPIRING, {"last_alone": False}, "is lost"),
        "expiry does not list snapshots again in its turn": Mistake(
            OVERTAKEN, {"lists_again": False}, "file is deleted"
        ),
        "expiry deletes files of snapshots before a gap": Mistake(
            OVERTAKEN, {"spares_before_gaps": False}, "file is deleted"
        ),
        "a writer ignores the mark of an expiry": Mistake(LATE, {"heeds_marks": False}, "SequentialSnapshotIds"),
        "young files are taken for orphans": Mistake(CLEANING, {"age_floor": False}, "file is deleted"),
        "a snapshot on a history that was cut off stays": Mistake(
            ROLLING_BACK, {"withdraws": False}, "SequentialSnapshotIds"
        ),
    }
)

# What the protocol does not stand, on a storage whose writers do not queue: docs/commit-protocol.md says so.
LIMITS: Mapping[str, Mistake] = MappingProxyType(
    {
        "a request is under way for as long as snapshots are kept": Mistake(
            Configuration((A, B), (EXPIRY,), world={"late": 1}), {"requests_end": False}, "SequentialSnapshotIds"
        ),
        "a rollback while a request is under way whose caller gave up": Mistake(
            ROLLING_BACK.with_world(late=1), {}, "file is deleted"
        ),
        "a rollback beside a writer that dies": Mistake(
            ROLLING_BACK.with_world(crashes=1), {}, "SequentialSnapshotIds"
        ),
        "an expiry after one that died, beside a late writer": Mistake(
            replace(LATE, keepers=TWO_EXPIRIES).with_world(crashes=1), {}, "file is deleted"
        ),
        "a rollback beside three writers": Mistake(replace(ROLLING_BACK, writers=(A, B, C)), {}, "a commit twice"),
        "a rollback, then expiry, beside a writer": Mistake(
            replace(ROLLING_BACK, keepers=(OPERATOR, EXPIRY)), {}, "is back"
        ),
    }
)
