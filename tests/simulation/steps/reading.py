"""Queries."""

from __future__ import annotations

from paimon_core.store.tags import tag_names
from tests.simulation.observer import ROOT
from tests.simulation.oracles.rows import wrong_rows, wrong_rows_of_key
from tests.simulation.statements import Session
from tests.simulation.steps.registry import NothingToDo, step


@step("read", weight=4)
def read(session: Session) -> None:
    """Read the latest version, or a tag, and compare it with what it has to be."""
    known = session.observer.latest(ROOT)
    table = session.table()
    tags = tag_names(table.store)
    version = session.dice.choice([None, None, *tags])
    snapshot = table.latest_snapshot() if version is None else table.snapshot(version)
    if version is None:
        session.observer.check_is_new(session.step, snapshot, known)
    if snapshot is None:
        raise NothingToDo
    wrong = wrong_rows(session, table, snapshot, hides=session.setting.hides)
    session.observer.problems += [f"step {session.step.number} read snapshot {snapshot.id}: {w}" for w in wrong]


@step("read by key", weight=1)
def read_by_key(session: Session) -> None:
    """A query with a filter, by which files, row groups and rows of global indexes are left out."""
    table = session.table()
    snapshot, key = table.latest_snapshot(), session.dice.randrange(8)
    if snapshot is None:
        raise NothingToDo
    wrong = wrong_rows_of_key(session, table, snapshot, key, hides=session.setting.hides)
    session.observer.problems += [f"step {session.step.number} read key {key} of {snapshot.id}: {w}" for w in wrong]
