"""Every pair of operations, the second one whole before each storage call of the first, on a storage without a queue.

Whatever comes between any two of its lines, afterwards the table is as if one ran after the other, every version is
readable, and cleaning up takes no file that one needs. A call that commutes with the second operation is skipped:
it makes no difference whether that comes before or after.

The first one may also be killed there. Then the second one works all the same, every version is readable, and what both
orders keep is there. Three at once are switched by dice.

`make campaign NAME=interleavings` tries every pair, and `PAIMON_SQL_SCHEDULES` schedules of three; the gate some.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import permutations
from random import Random
from unittest import mock

import pytest

from paimon_core.maintenance import turns
from tests.support.interleaving import Footprint, InterleavedIO, KilledError
from tests.support.schedules import Schedule
from tests.support.upkeep_world import ACTS, KILLED, World, in_order, repeatable, shown

EVERYTHING = os.environ.get("PAIMON_SQL_INTERLEAVINGS") == "all"
SCHEDULES = int(os.environ.get("PAIMON_SQL_SCHEDULES", "40"))
MERGES = ("merge branch",)  # which need that nothing was rewritten
STEPS = ("purge",)  # which are several operations, and others may come in between
HALFWAY = {
    ("fast forward", "tag latest"),  # the table is for a moment what it was where the branch begins: a tag keeps that
    ("merge branch", "overwrite"),  # the rows of the branch are added, though the table was checked before
}


@pytest.fixture(autouse=True)
def _repeatable() -> Iterator[None]:
    with repeatable():
        yield


def interleaved(first: str, second: str, at: int) -> tuple[InterleavedIO, Footprint]:
    """Do `first`, and `second` before a call of it, and check the state afterwards."""
    kind = world_of(first, second)
    world = World.made(kind).copy()
    other, done = InterleavedIO(world.io), list[bool]()

    def meanwhile() -> None:
        with mock.patch.object(turns, "_PATIENCE", 0):  # the first one is stopped meanwhile, and never ends its turn
            done.append(world.run(second, "B", other))

    io = InterleavedIO(world.io, at, meanwhile)
    done.append(world.run(first, "A", io))
    if len(done) == 1:
        return io, other.footprint()
    a, b = (first, "A"), (second, "B")
    allowed = [in_order(kind, a, b), in_order(kind, b, a)]
    allowed += [] if done[0] else [in_order(kind, a)]  # the second failed
    allowed += [] if done[1] else [in_order(kind, b)]
    state = world.state()
    is_exact = first not in STEPS and second not in STEPS and (first, second) not in HALFWAY
    assert state in allowed or not is_exact, (
        f"{done} resulted in {shown(state)}, in order it is {[shown(s) for s in allowed]}"
    )
    world.check_use()
    return io, other.footprint()


def killed(first: str, kind: str) -> Iterator[World]:
    """What `first` leaves where it is killed before each call that changes something, a while later."""
    world = World.made(kind).copy()
    alone = InterleavedIO(world.io)
    world.run(first, "A", alone)
    for at in (number for number, call in enumerate(alone.calls, 1) if call.changed):
        world = World.made(kind).copy()
        with suppress(KilledError):
            world.run(first, "A", InterleavedIO(world.io, at, killed=True))
        world.io.writes += KILLED
        yield world


def continued(first: str, second: str, world: World) -> None:
    """Do `second` where `first` was killed, and check that nothing is lost."""
    kind, a, b = world_of(first, second), (first, "A"), (second, "B")
    ways: list[tuple[tuple[str, str], ...]] = [(b,), (a, b), (b, a)]
    ways += [] if world.run(second, "B") else [(), (a,)]
    state, others = world.state(), [in_order(kind, *acts) for acts in ways]
    kept = {k: v for k, v in others[0].items() if all(other.get(k) == v for other in others)}
    lost = {k: v for k, v in kept.items() if state.get(k) != v}
    assert not lost, f"{shown(state)} lacks {shown(lost)}"
    world.check_use()


def scheduled(acts: Sequence[str], seed: int) -> int:
    """Do acts at the same time, switched by dice, and check the state afterwards; how many of them did not fail."""
    kind, dice = world_of(*acts), Random(seed)
    world, done = World.made(kind).copy(), dict[tuple[str, str], bool]()

    def doing(act: str, name: str) -> Callable[[InterleavedIO], None]:
        return lambda io: done.update({(act, name): world.run(act, name, io)})

    schedule = Schedule(world.io, dice, switches=dice.randint(1, 6), calls=100 * len(acts))
    schedule.run([doing(act, "ABC"[i]) for i, act in enumerate(acts)])
    state = world.state()
    exact = any(state == in_order(kind, *order) for order in orders(done))
    is_exact = not any(act in STEPS for act in acts) and not any(set(pair) <= set(acts) for pair in HALFWAY)
    assert exact or not is_exact, f"seed {seed}: {done}: {shown(state)}"
    world.check_use()
    return sum(done.values())


def orders(done: Mapping[tuple[str, str], bool]) -> Iterator[tuple[tuple[str, str], ...]]:
    """Every order of acts, with and without those that failed."""
    for number in range(sum(done.values()), len(done) + 1):
        for order in permutations(done, number):
            if all(act in order for act, succeeded in done.items() if succeeded):
                yield order


def world_of(*acts: str) -> str:
    return "grown" if any(act in MERGES for act in acts) else "used"


def tried(first: str, second: str) -> Iterator[int]:
    """Try a pair at every call where it makes a difference; returns these calls."""
    at = 1
    while True:
        io, other = interleaved(first, second, at)
        if at > len(io.calls):
            return
        yield at
        while at <= len(io.calls) and io.calls[at - 1].commutes(other):
            at += 1
        at += 1


@pytest.mark.skipif(not EVERYTHING, reason="takes long: make interleavings runs it")
@pytest.mark.parametrize("first", ACTS)
def test_every_pair(first: str) -> None:
    assert all(list(tried(first, second)) for second in ACTS)


@pytest.mark.skipif(not EVERYTHING, reason="takes long: make interleavings runs it")
@pytest.mark.parametrize("first", ACTS)
def test_every_act_killed(first: str) -> None:
    for kind in ("used", "grown"):
        for left in killed(first, kind):
            for second in (act for act in ACTS if world_of(first, act) == kind):
                continued(first, second, left.copy())


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("expire", "fast forward"),
        ("expire some", "roll back to tag"),
        ("append", "roll back"),
        ("replace tag", "rename tag"),
        ("rename branch", "append to branch"),
        ("merge branch", "compact"),
        ("merge branch", "delete branch"),
        ("fast forward", "remove orphans"),
    ],
)
def test_pairs_that_meet(first: str, second: str) -> None:
    assert list(tried(first, second))


@pytest.mark.parametrize(
    ("first", "second"), [("fast forward", "expire"), ("rename branch", "append to branch"), ("replace tag", "branch")]
)
def test_killed_before_another(first: str, second: str) -> None:
    left = list(killed(first, world_of(first, second)))
    assert len(left) > 3
    for world in left:
        continued(first, second, world)


DANGEROUS = [
    ("expire", "fast forward", "append"),
    ("expire", "tag first", "roll back"),
    ("expire", "replace tag", "rename tag"),
    ("delete branch", "merge branch", "remove orphans"),
    ("rename branch", "append to branch", "tag in branch"),
    ("expire in branch", "fast forward", "append to branch"),
    ("delete tags", "branch", "expire some"),
    ("roll back", "append", "compact"),
    ("branch alike", "branch alike", "delete tags"),
]


def test_three_at_once() -> None:
    acts, done = Random(17), 0
    for seed in range(SCHEDULES):
        three = DANGEROUS[seed // 2 % len(DANGEROUS)] if seed % 2 else acts.sample(list(ACTS), 3)
        done += scheduled(three, seed)
    assert done > SCHEDULES * 3 / 2
