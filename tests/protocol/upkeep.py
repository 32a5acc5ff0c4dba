"""Upkeep: expiry, deleted tags, orphans, new tags and rollbacks, as `paimon_core/maintenance` does them.

What removes snapshots takes turns (`turns.py`): it queues with the writers or, where these do not, with its like.
Expiry and the deletion of a tag are `release.py`: remove the versions, look what the others need until two looks agree,
delete the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from tests.protocol.table import Rules, Snapshot, World

ENDS = frozenset({"done", "failed"})
_LOOKS = 3
_ROUNDS = 20  # of a rollback


class Keeper(NamedTuple):
    """What a process of upkeep knows: `removed` are versions that it removes, `doomed` files that it may delete,
    `numbers` and `tags` what it saw, `target` what it goes back to, `cut` what it has cut off for that."""

    name: str
    kind: str  # expire, untag, orphans, tag, roll back
    at: str
    looks: int = 0
    removed: tuple[Snapshot, ...] = ()
    latest: Snapshot | None = None
    first: int = 0
    doomed: frozenset[str] = frozenset()
    numbers: tuple[int, ...] = ()
    tags: frozenset[tuple[str, Snapshot]] = frozenset()
    seen: frozenset[str] = frozenset()
    target: Snapshot | None = None
    cut: tuple[Snapshot, ...] = ()
    to_mark: tuple[Snapshot, ...] = ()
    before: frozenset[str] = frozenset()

    @property
    def aim(self) -> Snapshot:
        assert self.target is not None
        return self.target


Step = tuple[str, Keeper, World]
Part = Callable[[Rules, Keeper, World], Iterator[Step]]


def has_ended(me: Keeper) -> bool:
    return me.at in ENDS


def steps(rules: Rules, me: Keeper, world: World) -> Iterator[Step]:
    """What upkeep may do next."""
    if me.at not in ENDS:
        yield from _PARTS[me.at](rules, me, world)


def _end(me: Keeper, at: str = "done") -> Keeper:
    return Keeper(me.name, me.kind, at)


def _has_turn(rules: Rules, me: Keeper, world: World) -> bool:
    return (world.queue if rules.slot else world.turn) == me.name


def _waiting(rules: Rules, me: Keeper, world: World) -> Iterator[Step]:
    """Take the turn when it is free."""
    if not (world.queue if rules.slot else world.turn):
        yield "has the turn", me, world._replace(queue=me.name) if rules.slot else world._replace(turn=me.name)


def _turn_over(rules: Rules, world: World) -> World:
    return world._replace(queue="") if rules.slot else world._replace(turn="")


def _first_kept(rules: Rules, world: World) -> int:
    """All but the latest may expire, and what consumers have still to read."""
    consumers = (number for _, number in world.consumers) if rules.heeds_consumers else ()
    return min([world.latest.number, *consumers])


def _expire(rules: Rules, me: Keeper, world: World) -> Iterator[Step]:
    first = _first_kept(rules, world)
    expired = tuple(s for s in world.snapshots if s.number < first)
    if not expired:
        yield "finds nothing to expire", _end(me), world
        return
    start = max([s.number for s in world.snapshots if world.numbered(s.number - 1) is None])
    counted = [s for s in expired if s.number >= start or not rules.spares_before_gaps]
    doomed = frozenset[str]().union(*(s.needs for s in counted))
    at = "check" if rules.removes_first else "look"
    chosen = me._replace(at=at, removed=expired, latest=world.latest, doomed=doomed, first=first)
    yield f"lists consumers, and snapshots up to {world.latest.number}: those before {first} expire", chosen, world


def _check(rules: Rules, me: Keeper, world: World) -> Iterator[Step]:
    """What was chosen must still be right, once others keep out."""
    latest = me.latest
    assert latest is not None
    if not _has_turn(rules, me, world):
        yield from _waiting(rules, me, world)
        return
    over = _turn_over(rules, world)
    if not world.has(latest):
        yield f"sees that the table was rolled back to before {latest.number}", _end(me, "failed"), over
    elif tuple(s for s in world.snapshots if s.number < me.first) != me.removed and rules.lists_again:
        yield "sees that others have expired snapshots", _end(me, "failed"), over
    elif any(number < me.first for _, number in world.consumers) and rules.heeds_consumers:
        yield "sees that consumers have changed", _end(me, "failed"), over
    else:
        text = f"sees that {latest.number} is still there, and the same consumers"
        to_mark = () if rules.slot or not rules.marks else me.removed[:-2]
        at = "mark" if to_mark else "remove"
        yield text, me._replace(at=at, to_mark=to_mark), world._replace(is_expiring=True, has_expired=True)


def _dying(rules: Rules, me: Keeper, world: World) -> Iterator[Step]:
    """Another one has the turn some time after."""
    if world.crashes:
        after = _turn_over(rules, world)._replace(is_expiring=False, crashes=world.crashes - 1)
        yield "dies", _end(me, "failed"), after


def _mark(rules: Rules, me: Keeper, world: World) -> Iterator[Step]:
    """Any of the snapshots to mark: each is a part of its own."""
    yield from _dying(rules, me, world)
    for snapshot in me.to_mark:
        more = tuple(s for s in me.to_mark if s != snapshot)
        after = world.having(snapshot._replace(marked=True)) if world.has(snapshot) else world
        yield f"marks snapshot {snapshot.number}", me._replace(at="mark" if more else "remove", to_mark=more), after


def _remove(rules: Rules, me: Keeper, world: World) -> Iterator[Step]:
    """A snapshot of this round, unless its number is another's by now; or the tag. Where writers queue, each is a
    round; elsewhere all but the last are one."""
    if me.kind == "untag":
        after = world._replace(tags=world.tags - me.tags, kept=world.kept - {name for name, _ in me.tags})
        yield "deletes the tag", me._replace(at="look", tags=frozenset()), after
        return
    yield from _dying(rules, me, world)
    of_round = me.removed[:1] if rules.slot else me.removed[:-1] or me.removed
    for snapshot in of_round if rules.last_alone else me.removed:
        yield _removing(rules, me, world, snapshot)


def _removing(rules: Rules, me: Keeper, world: World, snapshot: Snapshot) -> Step:
    more = [s for s in me.removed if s != snapshot]
    after = world
    if rules.slot or world.has(snapshot):
        after = world.lacking(snapshot.number)
    if not after.snapshots:  # a rollback came to a snapshot that expired: the latest of them stays
        restored = _turn_over(rules, world)._replace(is_expiring=False)
        return "restores the last snapshot", _end(me, "failed"), restored
    if more:
        return f"removes snapshot {snapshot.number}", me._replace(removed=tuple(more)), after
    after = _turn_over(rules, after)._replace(is_expiring=False)
    at = "look" if rules.removes_first else "delete"
    return f"removes snapshot {snapshot.number}", me._replace(at=at, removed=()), after


def _look(rules: Rules, me: Keeper, world: World) -> Iterator[Step]:
    """List and read the snapshots that there are."""
    if me.looks == _LOOKS:
        yield "sees versions change all the time: the files stay", _end(me), world
        return
    kept = world.snapshots if rules.removes_first else tuple(s for s in world.snapshots if s not in me.removed)
    needed = frozenset[str]().union(*(s.needs for s in kept))
    numbers = tuple(s.number for s in world.snapshots)
    after = me._replace(at="look at tags", looks=me.looks + 1, numbers=numbers, doomed=me.doomed - needed)
    yield f"reads what snapshots {_text(numbers)} need", after, world


def _look_at_tags(rules: Rules, me: Keeper, world: World) -> Iterator[Step]:
    tags = world.tags if rules.heeds_tags else frozenset()
    needed = frozenset[str]().union(*(s.needs for _, s in tags))
    yield f"reads what {len(tags)} tags need", me._replace(at="look again", tags=tags, doomed=me.doomed - needed), world


def _look_again(rules: Rules, me: Keeper, world: World) -> Iterator[Step]:
    """Snapshots that commits have added are read, too; where anything else is new, all is looked at again."""
    numbers = tuple(s.number for s in world.snapshots)
    added = set(numbers) - set(me.numbers)
    tags = world.tags if rules.heeds_tags else frozenset()
    if tags - me.tags or any(n < me.numbers[-1] for n in added):
        yield "sees new versions", me._replace(at="look"), world
        return
    needed = frozenset[str]().union(*(s.needs for s in world.snapshots if s.number in added))
    at = "delete" if rules.removes_first else "check"
    after = me._replace(at=at, doomed=me.doomed - needed, numbers=(), tags=frozenset(), latest=me.latest)
    yield f"lists the versions again: {_text(numbers)}", after, world


def _delete(rules: Rules, me: Keeper, world: World) -> Iterator[Step]:
    gone = sorted(me.doomed & world.files)
    after = world._replace(files=world.files - me.doomed, old=world.old - me.doomed)
    yield f"deletes {', '.join(gone) or 'nothing'}", _end(me), after


def _untag(rules: Rules, me: Keeper, world: World) -> Iterator[Step]:
    tags = frozenset(t for t in world.tags if t[0] == "tag")
    doomed = frozenset[str]().union(*(s.needs for _, s in tags))
    yield "reads what the tag needs", me._replace(at="remove", tags=tags, doomed=doomed), world


def _versions(world: World) -> frozenset[str]:
    return frozenset([s.uuid for s in world.snapshots] + [f"{name} {s.uuid}" for name, s in world.tags])


def _orphans(rules: Rules, me: Keeper, world: World) -> Iterator[Step]:
    if me.looks == _LOOKS:
        yield "sees versions change all the time, and deletes nothing", _end(me), world
        return
    after = me._replace(at="list files", looks=me.looks + 1, seen=_versions(world))
    yield "lists the versions", after, world


def _list_files(rules: Rules, me: Keeper, world: World) -> Iterator[Step]:
    found = world.files & world.old if rules.age_floor else world.files
    yield f"lists files: {', '.join(sorted(found))}", me._replace(at="read", doomed=found), world


def _read(rules: Rules, me: Keeper, world: World) -> Iterator[Step]:
    versions = [*world.snapshots, *(s for _, s in world.tags)]
    needed = frozenset[str]().union(*(s.needs for s in versions))
    yield "reads what versions need", me._replace(at="list again", doomed=me.doomed - needed), world


def _list_again(rules: Rules, me: Keeper, world: World) -> Iterator[Step]:
    if _versions(world) != me.seen:
        yield "sees other versions", me._replace(at="orphans", doomed=frozenset(), seen=frozenset()), world
    else:
        yield "sees the same versions", me._replace(at="delete", seen=frozenset()), world


def _tag(rules: Rules, me: Keeper, world: World) -> Iterator[Step]:
    oldest = world.snapshots[0]
    yield f"chooses snapshot {oldest.number}", me._replace(at="make tag", target=oldest), world


def _make_tag(rules: Rules, me: Keeper, world: World) -> Iterator[Step]:
    after = world._replace(tags=world.tags | {(me.name, me.aim)})
    if rules.tagger_looks:
        yield "makes the tag", me._replace(at="look at snapshot"), after
    else:
        yield "makes the tag", _end(me), after._replace(kept=world.kept | {me.name})


def _look_at_snapshot(rules: Rules, me: Keeper, world: World) -> Iterator[Step]:
    target = me.aim
    if world.has(target) or any(s.is_same(target) for name, s in world.tags if name != me.name):
        yield f"sees snapshot {target.number}", _end(me), world._replace(kept=world.kept | {me.name})
    else:
        after = world._replace(tags=frozenset(t for t in world.tags if t[0] != me.name))
        yield f"sees that snapshot {target.number} has expired: no tag", _end(me, "failed"), after


def _roll_back(rules: Rules, me: Keeper, world: World) -> Iterator[Step]:
    if not _has_turn(rules, me, world):
        yield from _waiting(rules, me, world)
        return
    target = world.snapshots[0]
    after = me._replace(at="list", target=target, before=world.acknowledged - set(target.history))
    yield f"is to go back to snapshot {target.number}", after, world


def _list(rules: Rules, me: Keeper, world: World) -> Iterator[Step]:
    target = me.aim
    later = tuple(s.number for s in world.snapshots if s.number > target.number)
    if later and me.looks < _ROUNDS:
        text = f"lists the snapshots after {target.number}: {_text(later)}"
        yield text, me._replace(at="cut", numbers=later, looks=me.looks + 1), world
        return
    begun = world.begun - set(target.history)
    after = _turn_over(rules, world)._replace(lapsed=world.lapsed | begun)
    if later:
        yield "sees commits all the time, and gives up", _end(me, "failed"), after
    else:
        yield f"has gone back to {target.number}", _end(me), after._replace(undone=world.undone | me.before)


def _cut(rules: Rules, me: Keeper, world: World) -> Iterator[Step]:
    *more, number = me.numbers
    found, target = world.numbered(number), me.aim
    after, cut = world.lacking(number), me.cut if found is None else (*me.cut, found)
    if after.numbered(target.number) is None and not (after.snapshots and after.snapshots[0].number < target.number):
        for snapshot in reversed(cut):
            after = after if after.numbered(snapshot.number) else after.having(snapshot)
        after = _turn_over(rules, after)._replace(lapsed=world.lapsed | world.begun - set(target.history))
        text = f"cuts {number}, sees that {target.number} has expired, and restores what it has cut"
        yield text, _end(me, "failed"), after
    elif more:
        yield f"cuts snapshot {number} off", me._replace(numbers=tuple(more), cut=cut), after
    else:
        yield f"cuts snapshot {number} off", me._replace(at="list", numbers=(), cut=cut), after


def _text(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers))


_PARTS: Mapping[str, Part] = MappingProxyType(
    {
        "expire": _expire,
        "check": _check,
        "mark": _mark,
        "remove": _remove,
        "look": _look,
        "look at tags": _look_at_tags,
        "look again": _look_again,
        "delete": _delete,
        "untag": _untag,
        "orphans": _orphans,
        "list files": _list_files,
        "read": _read,
        "list again": _list_again,
        "tag": _tag,
        "make tag": _make_tag,
        "look at snapshot": _look_at_snapshot,
        "roll back": _roll_back,
        "list": _list,
        "cut": _cut,
    }
)
