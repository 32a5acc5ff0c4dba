"""Writers: they write files, and commit them as `paimon_core/commit` does.

    plan -> look -> draft -> publish -> resolve -> withdraw -> acknowledged
             ^                            |           |
             +--- lost race, unknown -----+-----------+      else failed, or unknown

A compactor is a writer that replaces all files by one; an updater deletes a row by a deletion vector and adds it anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from tests.protocol.table import Change, DataFile, Rules, Snapshot, Storage, Vector, World, conflict, following

ENDS = frozenset({"acknowledged", "failed", "unknown", "crashed"})


class Writer(NamedTuple):
    """What a writer knows. `open` are its tries whose outcome it does not know, the last one is being published;
    `outcome` is what the publish call said, "" that it failed. `replaced` is a try that was visible, until another
    took its number."""

    name: str
    kind: str  # append, update, compact
    restarts: bool = False
    at: str = "plan"
    life: int = 1
    tries: int = 0
    change: Change | None = None
    latest: Snapshot | None = None
    bases: tuple[Snapshot, ...] = ()  # of the open tries
    open: tuple[Snapshot, ...] = ()
    outcome: str = ""
    made: Snapshot | None = None
    was_open: int = 0  # how many tries were open when one of them became visible
    replaced: Snapshot | None = None

    @property
    def files(self) -> frozenset[str]:
        """The files that it has written at first."""
        planned = frozenset[str]() if self.change is None else self.change.files
        return planned | {draft.uuid for draft in self.open}

    @property
    def planned(self) -> Change:
        assert self.change is not None
        return self.change

    @property
    def seen(self) -> Snapshot:
        assert self.latest is not None
        return self.latest


def about_to_publish(name: str, base: Snapshot) -> Writer:
    """A writer that stopped before it published its first try."""
    change = Change(name, adds=frozenset({DataFile(name, ((name, "new"),))}))
    draft = following(base, change, f"{name}1.1", base.number + 1, merges=False)
    return Writer(name, "append", at="publish", tries=1, change=change, latest=base, bases=(base,), open=(draft,))


Step = tuple[str, Writer, World]
Part = Callable[[Rules, Writer, World], Iterator[Step]]


def has_ended(me: Writer) -> bool:
    return me.at in ENDS and not (me.at == "crashed" and me.restarts)


def steps(rules: Rules, me: Writer, world: World) -> Iterator[Step]:
    """What a writer may do next, dying among it."""
    if me.at == "crashed" and me.restarts:
        again = Writer(me.name, me.kind, life=me.life + 1)
        yield "starts again", again, world
    if me.at in ENDS:
        return
    yield from _PARTS[me.at](rules, me, world)
    if world.crashes and me.at != "plan":
        queue = "" if world.queue == me.name else world.queue  # the system gives the queue's lock back
        dead = Writer(me.name, me.kind, me.restarts, at="crashed", life=me.life)
        yield "dies", dead, _resting(world, me)._replace(crashes=world.crashes - 1, queue=queue)


def _resting(world: World, me: Writer) -> World:
    return world._replace(working=world.working - {me.name})


def _plan(rules: Rules, me: Writer, world: World) -> Iterator[Step]:
    change = _change(me, world.latest)
    if change is None:
        yield "finds nothing to do", me._replace(at="failed"), world
        return
    after = world._replace(
        files=world.files | change.files, working=world.working | {me.name}, begun=world.begun | {change.name}
    )
    text = f"plans on snapshot {world.latest.number} and writes {', '.join(sorted(change.files))}"
    yield text, me._replace(at="look", change=change, latest=world.latest), after


def _change(me: Writer, latest: Snapshot) -> Change | None:
    name = f"{me.name}{me.life}".removesuffix("1")
    if me.kind == "append":
        return Change(me.name, adds=frozenset({DataFile(name, ((me.name, "new"),))}))
    if me.kind == "compact":
        removes, unmarks = frozenset(f.name for f in latest.live), frozenset(v.name for v in latest.vectors)
        rows = tuple(sorted(latest.valid_rows()))
        return Change(me.name, frozenset({DataFile(name, rows)}), removes, unmarks=unmarks)
    deleted = {(v.data_file, key): v for v in latest.vectors for key in v.keys}
    holder = next(f for f in sorted(latest.live) for row in f.rows if row[0] == "k" and (f.name, "k") not in deleted)
    before = [v for v in latest.vectors if v.data_file == holder.name]
    vector = Vector(f"{name}-dv", holder.name, frozenset({"k"}).union(*(v.keys for v in before)))
    new = DataFile(name, (("k", me.name),))
    return Change(me.name, frozenset({new}), marks=frozenset({vector}), unmarks=frozenset(v.name for v in before))


def _look(rules: Rules, me: Writer, world: World) -> Iterator[Step]:
    """Read the latest snapshot; queue for it, and resolve open tries, first."""
    if rules.slot and world.queue != me.name:
        if not world.queue:
            yield "is next in the queue", me, world._replace(queue=me.name)
        return
    latest = world.latest
    if me.replaced is not None:
        successor = world.numbered(me.replaced.number + 1)
        if successor is not None and me.planned.name in successor.history:
            yield "sees that its replaced snapshot was built on", *_acknowledged(me, world)
            return
    if me.open and latest.number >= me.open[-1].number and rules.same_number:
        yield f"sees snapshot {latest.number}", me._replace(at="read again", outcome=""), world
        return
    if rules.looks_for_itself and me.life > 1 and not me.open and me.planned.name in latest.history:
        unneeded = world._replace(files=world.files - me.planned.files)
        yield "finds that it had committed before it died", *_acknowledged(me, unneeded)
        return
    at = me._replace(at="draft", latest=latest)
    first = me.tries == 0
    if rules.checks_conflicts and (rules.checks_again or first):
        reason = conflict(latest, me.planned)
        if reason is not None:
            yield from _fail(rules, me, world, f"sees snapshot {latest.number}: {reason}")
            return
    yield f"reads snapshot {latest.number}", at, world


def _draft(rules: Rules, me: Writer, world: World) -> Iterator[Step]:
    """Write the manifests of the next snapshot."""
    latest, tried = me.seen, me.tries + 1
    if not latest.manifests <= world.files:
        again = me._replace(at="look", tries=tried)
        if tried >= rules.tries:
            yield from _fail(rules, again, world, f"cannot read snapshot {latest.number}, which has expired")
        else:
            yield f"cannot read snapshot {latest.number}, which has expired", again, _unqueued(world, me)
        return
    uuid = f"{me.name}{me.life}.{tried}"
    number = latest.number + 1
    if me.open and not rules.same_number:
        number = max(number, me.open[-1].number + 1)
    draft = following(latest, me.planned, uuid, number, merges=me.kind == "compact" and tried == 1)
    after = world._replace(files=world.files | {uuid})
    at = me._replace(at="publish", tries=tried, open=(*me.open, draft), bases=(*me.bases, latest))
    yield f"writes the manifests of snapshot {number} ({uuid})", at, after


def _publish(rules: Rules, me: Writer, world: World) -> Iterator[Step]:
    """Create the snapshot's file: at once, or by looking first, or under a lock."""
    draft = me.open[-1]
    if rules.storage is Storage.LOCKED:
        if not world.lock:
            yield "takes the lock", me._replace(at="locked"), world._replace(lock=me.name)
        return
    taken = world.numbered(draft.number) is not None
    told = f"is told that {draft.number} is taken"
    if taken:
        yield told, me._replace(at="resolve", outcome="taken"), world
    elif rules.storage is Storage.RENAMES:
        yield f"sees that {draft.number} is free", me._replace(at="rename"), world
        return
    else:
        yield f"publishes {draft.uuid} as snapshot {draft.number}", _published(me), world.publishing(draft)
    request, unknown = f"the request for {draft.uuid} as snapshot {draft.number}", me._replace(at="resolve", outcome="")
    if world.late and not taken:
        after = world._replace(late=world.late - 1, air=world.air | {draft})
        yield f"gets no answer to {request}, which is under way", unknown, after
    if world.faults:
        yield from _faulty(rules, unknown, world._replace(faults=world.faults - 1), taken=taken)


def _faulty(rules: Rules, unknown: Writer, world: World, *, taken: bool) -> Iterator[Step]:
    """What else becomes of a publish call."""
    draft = unknown.open[-1]
    request = f"the request for {draft.uuid} as snapshot {draft.number}"
    if any(a.number == draft.number for a in world.air):
        yield f"is refused: another request for {draft.number} is under way", unknown._replace(outcome="refused"), world
    if taken:
        yield f"gets no answer to {request}, which is refused", unknown, world
        return
    yield f"gets no answer to {request}, which took effect", unknown, world.publishing(draft)
    yield f"gets no answer to {request}, which is lost", unknown, world
    if not rules.knows_itself:
        told = unknown._replace(outcome="taken")
        yield f"is told that {draft.number} is taken: by {request} itself, sent twice", told, world.publishing(draft)


def _published(me: Writer) -> Writer:
    return me._replace(at="resolve", outcome="published")


def _rename(rules: Rules, me: Writer, world: World) -> Iterator[Step]:
    draft = me.open[-1]
    yield f"renames {draft.uuid} to snapshot {draft.number}", _published(me), world.publishing(draft)


def _locked(rules: Rules, me: Writer, world: World) -> Iterator[Step]:
    draft = me.open[-1]
    if world.numbered(draft.number) is not None:
        yield f"sees that {draft.number} is taken", me._replace(at="unlock", outcome="taken"), world
    else:
        yield f"sees that {draft.number} is free", me._replace(at="write locked"), world


def _write_locked(rules: Rules, me: Writer, world: World) -> Iterator[Step]:
    draft, written = me.open[-1], me._replace(at="unlock", outcome="published")
    if rules.fenced and world.lock != me.name:
        yield "is refused: its lock was lost", written._replace(outcome=""), world
    else:
        yield f"writes {draft.uuid} as snapshot {draft.number}", written, world.publishing(draft)


def _unlock(rules: Rules, me: Writer, world: World) -> Iterator[Step]:
    if world.lock == me.name:
        yield "gives the lock back", me._replace(at="resolve"), world._replace(lock="")
    else:
        yield "finds its lock lost", me._replace(at="resolve", outcome=""), world


def _read_again(rules: Rules, me: Writer, world: World) -> Iterator[Step]:
    """As `resolve`, where history has passed the open tries."""
    for text, after, world_after in _resolve(rules, me, world):
        if after.at == "look" and after.open:
            yield f"{text}; it has expired", *_unknown(rules, after, world_after)
        else:
            yield text, after, world_after


def _resolve(rules: Rules, me: Writer, world: World) -> Iterator[Step]:
    """Read the number of the open tries back: whose snapshot is it?"""
    last, outcome = me.open[-1], me.outcome
    if not rules.reads_back:
        yield from _believe(rules, me, world)
        return
    if not rules.reads_before_lost and outcome == "refused":
        outcome = "lost"
    found = world.numbered(last.number)
    yield from _conclude(rules, me, world, found, outcome)
    if world.faults:
        fewer = world._replace(faults=world.faults - 1)
        if outcome == "published":
            told = me._replace(was_open=len(me.open))
            yield "cannot read it back, but was told so", *_made(rules, told, fewer, last)
        elif outcome == "taken" and len(me.open) == 1:
            yield from _conclude(rules, me, fewer, None, outcome)
        else:
            yield "cannot read it back", *_unknown(rules, me, fewer)


def _conclude(rules: Rules, me: Writer, world: World, found: Snapshot | None, outcome: str) -> Iterator[Step]:
    last = me.open[-1]
    if found is None and outcome == "published":
        me = me._replace(was_open=len(me.open))
        yield "is told that it is published; it is gone already", *_made(rules, me, world, last)
        return
    surely_lost = outcome == "lost" or outcome == "taken" and len(me.open) == 1 or not rules.absent_is_open
    if found is None and not surely_lost:
        yield "finds no snapshot", *_again(rules, me, world)
        return
    ours = next((d for d in me.open if found is not None and _is(rules, d, found)), None)
    tries, base = me.open, me.bases[-1]
    was_refused = len(tries) == 1 and outcome == "taken"
    is_certain = ours is not None or was_refused or _is_there(rules, base, world)
    if rules.looks_behind and found is not None and not is_certain:  # the number may have been used before
        yield f"finds {found.uuid} of another, but no longer {base.number}", *_unknown(rules, me, world)
        return
    if outcome == "published" and ours is None:  # somebody may have seen it: its manifests stay
        me, tries = me._replace(replaced=last), tries[:-1]
    if len(me.open) == 1 or not rules.keeps_manifests:
        world = world._replace(files=world.files - {d.uuid for d in tries if d is not ours})
    if found is not None and ours is not None:
        me = me._replace(latest=me.bases[me.open.index(ours)], was_open=len(me.open))
        yield f"finds its {found.uuid}", *_made(rules, me, world, found)
    else:
        text = "finds no snapshot, and counts it as lost" if found is None else f"finds {found.uuid} of another"
        yield text, *_again(rules, me._replace(open=(), bases=()), world)


def _is(rules: Rules, draft: Snapshot, found: Snapshot) -> bool:
    return draft.uuid == found.uuid if rules.reads_uuid else draft.history[-1] == found.history[-1]


def _believe(rules: Rules, me: Writer, world: World) -> Iterator[Step]:
    """Without reading back."""
    last = me.open[-1]
    if me.outcome == "published":
        yield "believes it", *_made(rules, me, world, last)
    else:
        world = world._replace(files=world.files - {last.uuid})
        yield "takes that for a lost race", *_again(rules, me._replace(open=(), bases=()), world)


def _made(rules: Rules, me: Writer, world: World, made: Snapshot) -> tuple[Writer, World]:
    """A snapshot is ours; where no queue keeps rollbacks out, it may have to be withdrawn."""
    if rules.slot or not rules.withdraws:
        return _acknowledged(me, world)
    return me._replace(at="withdraw", made=made, open=(), bases=()), world


def _withdraw(rules: Rules, me: Writer, world: World) -> Iterator[Step]:
    """Whether our snapshot is part of the history, or was put where that had been cut off or had expired."""
    base, made = me.seen, me.made
    assert made is not None
    later = [s for s in world.snapshots if s.number > made.number]
    if _is_there(rules, base, world):
        yield "sees the snapshot that it is built on", *_acknowledged(me, world)
    elif later and not (rules.looks_behind and made.uuid != later[0].base):
        yield "sees that others have built on it", *_acknowledged(me, world)
    elif later and later[0].number > made.number + 1 and made.uuid in later[0].manifests:
        yield "sees that later ones are built on it", *_acknowledged(me, world)
    elif later and not world.has(made):
        yield "cannot tell whether it was in the history", *_unknown(rules, me._replace(open=(made,)), world)
    elif later and later[0].number > made.number + 1 and not world.has_unmarked(made):
        yield "cannot tell whether it was there before the gap", *_unknown(rules, me._replace(open=(made,)), world)
    elif not later and world.has(base):
        yield "sees the marked snapshot that it is built on, and none later", *_acknowledged(me, world)
    elif not world.has(made):
        yield "sees that it was rolled back", *_acknowledged(me, world)
    elif not later and not _is_cut_off(rules, base, world):
        yield "sees no sign that its history was cut off", *_acknowledged(me, world)
    elif me.was_open > 1:
        text = f"takes {made.number} back; another of its tries may be in the history"
        yield text, *_unknown(rules, me._replace(open=(made,)), world.lacking(made.number))
    else:
        text = f"sees a history without {base.number}, and takes {made.number} back"
        yield text, *_again(rules, me._replace(made=None, was_open=0), world.lacking(made.number))


def _is_there(rules: Rules, base: Snapshot, world: World) -> bool:
    """Whether the snapshot that ours is built on is there, and no expiry is about to remove it."""
    return world.has_unmarked(base) if rules.heeds_marks else world.has(base)


def _is_cut_off(rules: Rules, base: Snapshot, world: World) -> bool:
    """Whether one remains that the base was built on, while the base does not: expiry would have taken that first. A
    snapshot that took a number which expiry had made free is no such sign."""
    before = [s for s in world.snapshots if s.number < base.number]
    if not rules.looks_behind:
        return bool(before) or world.numbered(base.number) is not None
    return bool(before) and before[-1].uuid in base.manifests


def _unqueued(world: World, me: Writer) -> World:
    return world._replace(queue="") if world.queue == me.name else world


def _again(rules: Rules, me: Writer, world: World) -> tuple[Writer, World]:
    """Try again, unless that was the last try."""
    world = _unqueued(world, me)
    if me.tries < rules.tries:
        return me._replace(at="look", latest=None, outcome="", made=None), world
    if me.open or me.replaced is not None:
        return _unknown(rules, me, world)
    return _failed(me, world)


def _settled(world: World, me: Writer) -> World:
    mine = frozenset(u for u in world.unsettled if u.startswith(me.name))
    return _unqueued(_resting(world, me), me)._replace(unsettled=world.unsettled - mine)


def _acknowledged(me: Writer, world: World) -> tuple[Writer, World]:
    world = _settled(world, me)
    return _end(me, "acknowledged"), world._replace(acknowledged=world.acknowledged | {me.planned.name})


def _fail(rules: Rules, me: Writer, world: World, why: str) -> Iterator[Step]:
    if me.open or me.replaced is not None:
        yield f"{why}; a try may be visible", *_unknown(rules, me, world)
    else:
        yield f"{why}, and fails", *_failed(me, world)


def _failed(me: Writer, world: World) -> tuple[Writer, World]:
    """Nothing is visible: the files are deleted."""
    world = _settled(world, me)
    after = world._replace(files=world.files - me.planned.files, failed=world.failed | {me.planned.name})
    return _end(me, "failed"), after


def _unknown(rules: Rules, me: Writer, world: World) -> tuple[Writer, World]:
    """A try may become visible: the files stay."""
    world = _unqueued(_resting(world, me), me)
    if not rules.keeps_unknown:
        world = world._replace(files=world.files - me.planned.files - {d.uuid for d in me.open})
    return _end(me, "unknown"), world


def _end(me: Writer, at: str) -> Writer:
    return Writer(me.name, me.kind, at=at)


_PARTS: Mapping[str, Part] = MappingProxyType(
    {
        "plan": _plan,
        "look": _look,
        "draft": _draft,
        "publish": _publish,
        "rename": _rename,
        "locked": _locked,
        "write locked": _write_locked,
        "unlock": _unlock,
        "resolve": _resolve,
        "read again": _read_again,
        "withdraw": _withdraw,
    }
)
