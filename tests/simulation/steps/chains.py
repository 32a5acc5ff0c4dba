"""Chain tables: changes that are inserted, partitions that are made full, and what the table shows of both.

Partition p of the table is that of the branch of full ones, where it is there; else what the last full partition
before p becomes by the changes of all partitions behind that one, up to p: of each key the row of the largest sequence
number, here `id`. One host at a time: a partition that is made
full leaves out what is inserted into it meanwhile, as it does in Java.
"""

from __future__ import annotations

from paimon_core.scan.time_travel import is_time_travel
from tests.simulation.model import Effect, Row
from tests.simulation.statements import CHANGES, COLUMNS, FULL, Session, read_columns
from tests.simulation.steps.registry import NothingToDo, step

_PARTITIONS = 4


@step("insert changes", weight=0)
def insert_changes(session: Session) -> None:
    table = session.table(CHANGES)
    rows = session.new_rows(session.dice.randint(1, 4), session.dice.randrange(_PARTITIONS))
    session.observer.expect(session.step, Effect(added=tuple(rows)), table.latest_snapshot())
    session.insert(table, rows)


@step("make full", weight=0)
def make_full(session: Session) -> None:
    """What `sys.compact_chain_table` commits is what the table showed of the partition."""
    partition, again = session.dice.randrange(_PARTITIONS), session.dice.random() < 0.3
    changes, full = _branch_rows(session, CHANGES), _branch_rows(session, FULL)
    if again:
        full = {p: rows for p, rows in full.items() if p != partition}
    if partition in changes and partition not in full:
        effect = Effect(
            tuple(_shown(full, changes, partition).values()), emptied=frozenset({partition} if again else ())
        )
        session.observer.expect(session.step, effect, session.table(FULL).latest_snapshot())
    session.call("compact_chain_table", partition=f"p={partition}", overwrite=again)


@step("read chain", weight=0)
def read_chain(session: Session) -> None:
    problems = [f"step {session.step.number} read the chain: {w}" for w in wrong_chain(session)]
    session.observer.problems += problems


@step("expire chain", weight=0)
def expire_chain(session: Session) -> None:
    branch = session.dice.choice([FULL, CHANGES])
    if session.table(branch).latest_snapshot() is None:
        raise NothingToDo
    session.call("expire_snapshots", table=f"`t$branch_{branch}`", retain_max=1, retain_min=1)


def wrong_chain(session: Session) -> list[str]:
    """What is wrong with the rows that the table shows."""
    table = session.table()
    assert not is_time_travel(table.store)
    changes, full = _branch_rows(session, CHANGES), _branch_rows(session, FULL)
    meant = {Row(k, p, r.id, r.note) for p in {*changes, *full} for k, r in _shown(full, changes, p).items()}
    found = [Row(*values) for values in read_columns(table, None, COLUMNS, plans_none=True)]
    problems = ["a row is there twice"] if len(set(found)) < len(found) else []
    problems += [f"row {row} is missing" for row in sorted(meant - set(found), key=str)]
    return problems + [f"row {row} should not be there" for row in sorted(set(found) - meant, key=str)]


def _shown(full: dict[int, dict[int, Row]], changes: dict[int, dict[int, Row]], partition: int) -> dict[int, Row]:
    if partition in full:
        return full[partition]
    anchor = max((p for p in full if p < partition), default=-1)
    rows = dict(full.get(anchor, {}))
    for k, row in (r for p in range(anchor + 1, partition + 1) for r in changes.get(p, {}).items()):
        rows[k] = max(row, rows.get(k, row), key=lambda r: r.id or 0)
    return {k: r._replace(p=partition) for k, r in rows.items()}


def _branch_rows(session: Session, branch: str) -> dict[int, dict[int, Row]]:
    """The rows that a branch must have, by partition and key: those of its history's model."""
    state = session.observer.state(session.table(branch).latest_snapshot())
    found: dict[int, dict[int, Row]] = {}
    for (k, p), puts in state.puts.items():
        row = puts[-1].row
        if row is not None:
            found.setdefault(p, {})[k] = row
    return found
