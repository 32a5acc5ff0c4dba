"""Readers, and what nobody does: requests take effect late, locks time out, files become old."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.protocol.table import Rules, Snapshot, World


class Reader(NamedTuple):
    """A query of the latest version, or of a snapshot that a consumer keeps (`is_pinned`)."""

    name: str
    is_pinned: bool = False
    at: str = "start"
    snapshot: Snapshot | None = None
    is_safe: bool = False  # it was pinned while nothing expired

    @property
    def read(self) -> Snapshot:
        assert self.snapshot is not None
        return self.snapshot


def has_read(me: Reader) -> bool:
    return me.at == "done"


def read_steps(rules: Rules, me: Reader, world: World) -> Iterator[tuple[str, Reader, World]]:
    """Choose a snapshot, read its manifests, read its files."""
    if me.at == "start":
        chosen, at = world.latest, "pin" if me.is_pinned else "manifests"
        yield f"chooses snapshot {chosen.number}", me._replace(at=at, snapshot=chosen), world
    elif me.at == "pin":
        after = world._replace(consumers=world.consumers | {(me.name, me.read.number)})
        yield "says so by a consumer", me._replace(at="look", is_safe=not world.is_expiring), after
    elif me.at == "look":
        if world.has(me.read):
            yield "sees that the snapshot is there", me._replace(at="manifests"), world
        else:
            yield "sees that the snapshot has expired, and fails", _done(me), _unpinned(me, world)
    elif me.at == "manifests":
        yield from _read(me, world, me.read.manifests, "files")
    elif me.at == "files":
        yield from _read(me, world, me.read.needs, "done")


def _read(me: Reader, world: World, files: frozenset[str], then: str) -> Iterator[tuple[str, Reader, World]]:
    missing, snapshot = sorted(files - world.files), me.read
    if not missing:
        after = (_done(me), _unpinned(me, world)) if then == "done" else (me._replace(at=then), world)
        yield f"reads {len(files)} files of snapshot {snapshot.number}", *after
        return
    is_there = world.has(snapshot)
    text = f"misses {', '.join(missing)} of snapshot {snapshot.number}"
    if is_there or me.is_safe:
        yield text, _done(me), world._replace(broken=f"{me.name} {text}, which is kept")
    else:
        yield f"{text}, which has expired, and fails", _done(me), _unpinned(me, world)


def _done(me: Reader) -> Reader:
    return Reader(me.name, me.is_pinned, "done")


def _unpinned(me: Reader, world: World) -> World:
    return world._replace(consumers=frozenset(c for c in world.consumers if c[0] != me.name))


def events(rules: Rules, me: str, world: World) -> Iterator[tuple[str, str, World]]:
    """What happens by itself."""
    for request in sorted(world.air):
        after = world._replace(air=world.air - {request})
        if rules.requests_end and request.number < world.snapshots[0].number:
            yield f"the request for {request.uuid} comes to its end", me, after
        elif world.numbered(request.number) is None:
            yield (
                f"the request for {request.uuid} takes effect: snapshot {request.number}",
                me,
                after.publishing(request),
            )
        else:
            yield f"the request for {request.uuid} is refused: {request.number} is taken", me, after
    if world.lock and rules.leased:
        yield f"the lease of {world.lock}'s lock runs out", me, world._replace(lock="")
    if world.days and not world.working and world.files != world.old:  # a write takes less than the age of orphans
        yield "a day goes by", me, world._replace(days=world.days - 1, old=world.files, air=frozenset())
