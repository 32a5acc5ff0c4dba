"""A history as a value: the table and its storage, and what is done, when, by whom, and which calls go wrong."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field


class FaultKind(enum.Enum):
    """What happens to one call of the storage."""

    SLOW = "the request is {seconds:g} s under way"
    SLOW_ANSWER = "its answer is {seconds:g} s under way"
    FAILS = "it fails, nothing was done"
    FAILS_AFTER = "it was done, but is reported as failed"
    LATE = "it is reported as failed, and done {seconds:g} s later"
    TWICE = "the request is sent again after it was done"
    REFUSED = "the storage refuses it"
    STALE = "a listing is {seconds:g} s old"
    OUTAGE = "it fails, as all calls of its host do for {seconds:g} s"
    OUTAGE_AFTER = "it is done, but fails, as all calls of its host do for {seconds:g} s"
    CRASH = "the process dies before it"
    CRASH_AFTER = "the process dies after it"


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of call number `call` of a step (from 1), of its calls of the name `on` where one is given. A name with a
    folder behind it, as in `write snapshot`, is of the calls for files there."""

    call: int
    kind: FaultKind
    seconds: float = 0.0
    on: str = ""

    def __str__(self) -> str:
        return self.kind.value.format(seconds=self.seconds)


@dataclass(frozen=True, slots=True)
class Step:
    """One statement of one host. It starts `start` seconds after the history does, or when the host's step before ends.

    `seed` decides everything that `kind` leaves open: keys, names, versions.
    """

    number: int
    host: int
    start: float
    kind: str
    seed: int
    faults: tuple[Fault, ...] = ()


class Races(enum.Enum):
    """What decides who makes the next snapshot."""

    ATOMIC = "the storage's atomic create"
    QUEUE = "the storage's atomic create, and writers queue"
    LOCK = "the catalog's lock, for the storage has no atomic create"


@dataclass(frozen=True, slots=True)
class Setting:
    """What does not change in a history. `skews` are how many seconds each host's clock is ahead of the storage's."""

    table: str
    options: Mapping[str, str] = field(default_factory=dict)
    primary_key: bool = False
    partitioned: bool = False
    races: Races = Races.ATOMIC
    skews: tuple[float, ...] = (0.0,)
    hides: bool = False  # rows may show only once they are compacted
    chain: bool = False  # partitions are read from two branches
    crosses: bool = False  # the key is `k` alone, so that a row may move to another partition


@dataclass(frozen=True, slots=True)
class History:
    """What a seed stands for."""

    seed: int
    setting: Setting
    steps: tuple[Step, ...]
