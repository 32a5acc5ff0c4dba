"""Readers of changes: between two versions, and from version to version as a consumer of the table."""

from __future__ import annotations

from paimon_core.errors import SnapshotNotFoundError
from paimon_core.store.consumers import list_consumers
from paimon_core.store.snapshots import find_snapshot, snapshot_ids
from tests.simulation.oracles.changes import wrong_changes
from tests.simulation.oracles.rows import wrong_rows
from tests.simulation.statements import Session
from tests.simulation.steps.registry import NothingToDo, some, step


@step("read changes", weight=2)
def read_changes(session: Session) -> None:
    """What changed between any two versions."""
    _read_between(session, *_two(session))


@step("stream", weight=2)
def stream(session: Session) -> None:
    """A consumer reads what is new to it, and says where it is to go on."""
    table = session.table()
    name = f"c{session.dice.randrange(2)}"
    latest = table.latest_snapshot()
    if latest is None:
        raise NothingToDo
    following = list_consumers(table.store).get(name)
    if following is not None and following - 1 <= latest.id:
        _read_between(session, following - 1, latest.id)
    session.call("reset_consumer", consumerId=name, nextSnapshotId=latest.id)


@step("delete consumer", weight=0.5)
def delete_consumer(session: Session) -> None:
    name = some(session, list(list_consumers(session.table().store)))
    session.call("reset_consumer", consumerId=name)


@step("travel", weight=1)
def travel(session: Session) -> None:
    """Read an older version, by its number or its time."""
    table = session.table()
    ids = snapshot_ids(table.store)
    old = find_snapshot(table.store, int(some(session, [str(i) for i in ids])))
    if old is None:
        raise NothingToDo
    if session.dice.random() < 0.5:
        found = table.snapshot(str(old.id))
    else:
        found = table.snapshot(timestamp_millis=old.time_millis)
    if found is None:
        raise NothingToDo
    wrong = wrong_rows(session, table, found, hides=session.setting.hides)
    session.observer.problems += [f"step {session.step.number} read snapshot {found.id}: {w}" for w in wrong]


def _two(session: Session) -> tuple[int, int]:
    ids = [str(i) for i in snapshot_ids(session.table().store)]
    first, last = sorted(int(some(session, ids)) for _ in range(2))
    return first, last


def _read_between(session: Session, first: int, last: int) -> None:
    table = session.table()
    start, end = find_snapshot(table.store, first), find_snapshot(table.store, last)
    if start is None or end is None or first == last:
        raise NothingToDo
    wrong = wrong_changes(session, table, start, end)
    if find_snapshot(table.store, first) != start or find_snapshot(table.store, last) != end:
        raise SnapshotNotFoundError("The versions that were compared are others by now.")
    session.observer.problems += [f"step {session.step.number} read {first} to {last}: {w}" for w in wrong]
