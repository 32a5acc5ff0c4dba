"""Statements that change rows."""

from __future__ import annotations

from paimon_core.commit.changes import Overwrite
from paimon_core.options import DATA_EVOLUTION
from paimon_core.row_level.rules import check_changeable, check_deletable, delete_rules, update_rules
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.branches import branch_names
from paimon_core.table import Table
from tests.simulation.model import Effect, Row
from tests.simulation.statements import Session
from tests.simulation.steps.registry import NothingToDo, some, step


@step("insert", weight=10)
def insert(session: Session, branch: str = "main") -> None:
    table = session.table(branch)
    rows = session.new_rows(session.dice.randint(1, 4))
    session.observer.expect(session.step, Effect(added=tuple(rows)), table.latest_snapshot())
    session.insert(table, rows)


@step("insert wide", weight=0)
def insert_wide(session: Session) -> None:
    """A row for each key, so large that later runs are small beside them and are compacted without them."""
    table = session.table()
    rows = [r._replace(note=session.dice.randbytes(2000).hex()) for r in session.new_rows(8)]
    session.observer.expect(session.step, Effect(added=tuple(rows)), table.latest_snapshot())
    session.insert(table, rows)


@step("insert into branch", weight=1)
def insert_into_branch(session: Session) -> None:
    insert(session, some(session, branch_names(session.table().store)))


@step("overwrite", weight=2)
def overwrite(session: Session) -> None:
    if session.setting.crosses:
        raise NothingToDo  # which rows of a partition are replaced depends on who moved them last
    table = session.table()
    partition = session.dice.randrange(2) if session.setting.partitioned else None
    rows = session.new_rows(session.dice.randint(1, 3), partition)
    dynamic = session.setting.partitioned
    effect = Effect(tuple(rows), emptied=frozenset(r.p for r in rows) if dynamic else None)
    session.observer.expect(session.step, effect, table.latest_snapshot())
    session.insert(table, rows, Overwrite(dynamic=dynamic))


@step("delete", weight=4)
def delete(session: Session) -> None:
    table = session.table()
    check_changeable(table.store, replacing=None)
    check_deletable(table.store, table.hides_rows)
    snapshot = table.latest_snapshot()
    rules = delete_rules(table.store, snapshot)
    found = [f for f in session.located(table, snapshot) if session.dice.random() < 0.4]
    if not found:
        raise NothingToDo
    rows = [f.row for f in found]
    _expect(session, table, snapshot, rows, [])
    session.change(table, rules, found, 3, rows)


@step("update", weight=3)
def update(session: Session) -> None:
    table = session.table()
    check_changeable(table.store, replacing="UPDATE")
    snapshot = table.latest_snapshot()
    rules = update_rules(table.store, snapshot, ["note"])
    found = [f for f in session.located(table, snapshot) if session.dice.random() < 0.4]
    if not found:
        raise NothingToDo
    rows = [f.row._replace(note=f"step {session.step.number}") for f in found]
    _expect(session, table, snapshot, [f.row for f in found], rows)
    session.change(table, rules, found, 2, rows)


@step("truncate", weight=1)
def truncate(session: Session) -> None:
    if not session.setting.partitioned or session.setting.crosses:
        raise NothingToDo
    partition = session.dice.randrange(2)
    session.observer.expect(session.step, Effect(emptied=frozenset({partition})), None)
    session.call("drop_partition", partitions=f"p={partition}")


def _expect(session: Session, table: Table, base: Snapshot | None, before: list[Row], after: list[Row]) -> None:
    if table.store.has_primary_key:
        removed = frozenset() if after else frozenset((r.k, r.p) for r in before)
    else:
        removed = frozenset(r.id for r in before)
    in_place = bool(after) and table.store.options[DATA_EVOLUTION]
    session.observer.expect(session.step, Effect(tuple(after), removed, in_place=in_place), base)
