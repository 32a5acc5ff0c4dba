"""The rows of a version are those of the model, each key once, with the columns that the table had for them."""

from __future__ import annotations

from paimon_core.expressions.predicate import equals
from paimon_core.spec.snapshot import Snapshot
from paimon_core.table import Table
from tests.simulation.model import MERGES, Merge, Row, State
from tests.simulation.statements import COLUMNS, Session, added_columns, added_value, read_columns


def wrong_rows(session: Session, table: Table, snapshot: Snapshot | None, *, hides: bool) -> list[str]:
    """Reads a version, and says what is wrong with its rows."""
    added = added_columns(table)
    found = read_columns(table, snapshot, (*COLUMNS, *added))
    rows = [Row(*values[:4]) for values in found]
    wrong = session.observer.state(snapshot).wrong(rows, merge_of(session), hides=hides)
    if session.setting.options.get("merge-engine", "first-row") == "first-row":  # others merge column by column
        for row, values in zip(rows, found, strict=True):
            wrong += _wrong_columns(session, row, dict(zip(added, values[4:], strict=True)))
    return wrong


def wrong_rows_of_key(session: Session, table: Table, snapshot: Snapshot | None, key: int, *, hides: bool) -> list[str]:
    """Reads the rows of a version with a value of `k`, as a query with a filter does that prunes files and rows."""
    rows = [Row(*v) for v in read_columns(table, snapshot, COLUMNS, equals(["k"], [key])) if v[0] == key]
    state = session.observer.state(snapshot)
    meant = State(
        state.keyed,
        state.crosses,
        {i: r for i, r in state.rows.items() if r.k == key},
        {k: p for k, p in state.puts.items() if k[0] == key},
    )
    return meant.wrong(rows, merge_of(session), hides=hides)


def merge_of(session: Session) -> Merge:
    return MERGES[session.setting.options.get("merge-engine", "deduplicate")]


def _wrong_columns(session: Session, row: Row, added: dict[str, int | None]) -> list[str]:
    """A row has a value in the columns that its statement knew, and NULL in those that came later."""
    assert row.id is not None
    known = session.observer.columns.get(row.id // 100, ())
    meant = {c: added_value(row, c) if c in known else None for c in added}
    return [f"row {row} has {added}, and must have {meant}"] if added != meant else []
