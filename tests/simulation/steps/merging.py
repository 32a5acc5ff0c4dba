"""MERGE INTO: rows that are found are changed, and others are added."""

from __future__ import annotations

from paimon_core.options import DATA_EVOLUTION
from paimon_core.row_level.rules import check_changeable, merge_rules
from tests.simulation.model import Effect
from tests.simulation.statements import Session
from tests.simulation.steps.registry import NothingToDo, step


@step("merge", weight=2)
def merge(session: Session) -> None:
    table = session.table()
    check_changeable(table.store, replacing="MERGE INTO")
    snapshot = table.latest_snapshot()
    rules = merge_rules(table.store, snapshot, ["note"], once=True)
    located = session.located(table, snapshot)
    found = [f for f in located if session.dice.random() < 0.3]
    changed = [f.row._replace(note=f"step {session.step.number}") for f in found]
    keyed, there = table.store.has_primary_key, {(f.row.k, f.row.p) for f in located}
    new = [r for r in session.new_rows(2) if not keyed or (r.k, r.p) not in there]
    if not changed and not new:
        raise NothingToDo
    removed = frozenset() if keyed else frozenset(f.row.id for f in found)
    in_place = table.store.options[DATA_EVOLUTION]  # as UPDATE there: a row that is deleted meanwhile stays deleted
    session.observer.expect(session.step, Effect((*changed, *new), removed, in_place=in_place), snapshot)
    session.change(table, rules, found, 2, changed, new)
