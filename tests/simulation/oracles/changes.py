"""What a query of changes reads: from the rows of one version they lead to the rows of another.

diff                       in every table, exactly
changelog of a compaction  lookup and full-compaction: exactly, of the rows that compactions have reached
changelog of input         as the model says, for writers that overlap may be merged in either order
delta                      of append tables: the rows of all statements that append
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from paimon_core.arrow.types import VALUE_KIND
from paimon_core.lsm.compaction import last_level
from paimon_core.scan.changes.increment import increment_of_options
from paimon_core.scan.changes.read import read_changes
from paimon_core.scan.read import read_split
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.snapshot import CommitKind, Snapshot
from paimon_core.table import Table
from tests.simulation.model import Row
from tests.simulation.observer import Version
from tests.simulation.oracles.rows import merge_of
from tests.simulation.statements import COLUMNS, Session, read_columns

Change = tuple[Row, int]
_RETRACTS = frozenset({1, 3})


def versions_between(session: Session, start: Snapshot, end: Snapshot) -> list[Version] | None:
    """The versions after one up to another, oldest first; None where the one is not built on the other."""
    found = list[Version]()
    for uuid in session.observer.ancestry(str(end.uuid)):
        if uuid == str(start.uuid):
            return found[::-1]
        found.append(session.observer.versions[uuid])
    return None


def wrong_changes(session: Session, table: Table, start: Snapshot, end: Snapshot) -> list[str]:
    """Reads the changes between two versions in every way that the table has, and says what is wrong with them."""
    between = versions_between(session, start, end)
    if between is None:
        return []
    options = session.setting.options
    problems = list[str]()
    evolves = options.get("data-evolution.enabled") == "true"
    if not evolves:
        changes = _changes(table, start, end, "diff")
        led = _upserted if table.store.has_primary_key else _led
        problems += _unlike("diff", led(_rows(table, start), changes), _rows(table, end))
    if evolves and any(v.has_effect and session.observer.effects[v.step][0].removed for v in between):
        pass  # of rows that are updated in place the delta has the columns that were written
    elif not table.store.has_primary_key:
        appended = [v for v in between if v.has_effect and v.snapshot.commit_kind is CommitKind.APPEND]
        meant = [r for v in appended for r in session.observer.effects[v.step][0].added]
        found = [row for row, _ in _changes(table, start, end, "delta")]
        problems += _unlike("delta", Counter(found), Counter(meant))
    elif any(v.snapshot.commit_kind is CommitKind.OVERWRITE for v in between):
        pass  # a changelog leaves these out
    elif producer := options.get("changelog-producer"):
        problems += _wrong_changelog(session, table, start, end, producer)
    return problems


def _wrong_changelog(session: Session, table: Table, start: Snapshot, end: Snapshot, producer: str) -> list[str]:
    changes = _changes(table, start, end, "changelog")
    if producer == "input":
        merge, rows = merge_of(session), {(r.k, r.p): r for r in read_rows(table, start)}
        for row, kind in changes:
            new = None if kind in _RETRACTS else merge(rows.get((row.k, row.p)), row)
            rows = {k: r for k, r in rows.items() if k != (row.k, row.p)} | (
                {} if new is None else {(row.k, row.p): new}
            )
        wrong = session.observer.state(end).wrong(rows.values(), merge, hides=False)
        return [f"by the changelog {w}" for w in wrong]
    level = 1 if producer == "lookup" else last_level(table.store.options)
    before, after = (_rows(table, s, lambda f: f.level >= level) for s in (start, end))
    return _unlike("changelog", _led(before, changes), after)


def _changes(table: Table, start: Snapshot, end: Snapshot, mode: str) -> list[Change]:
    options = {"incremental-between": f"{start.id},{end.id}", "incremental-between-scan-mode": mode}
    target = table.with_options(options)
    increment = increment_of_options(target.store)
    found = list[Change]()
    for split in target.plan(increment).splits:
        for batch in read_changes(target.store, split, COLUMNS, None, retracts=True):
            columns = [batch.column(c).to_pylist() for c in (*COLUMNS, VALUE_KIND)]
            found += [(Row(*values[:4]), values[4]) for values in zip(*columns, strict=True)]
    return found


def read_rows(table: Table, snapshot: Snapshot) -> list[Row]:
    return [Row(*values) for values in read_columns(table, snapshot, COLUMNS)]


def _rows(table: Table, snapshot: Snapshot, shown: Callable[[DataFileMeta], bool] = lambda f: True) -> Counter[Row]:
    found = Counter[Row]()
    for split in table.plan(snapshot).splits:
        files = tuple(f for f in split.files if shown(f))
        for batch in read_split(table.store, replace(split, files=files), COLUMNS) if files else ():
            found.update(Row(*values) for values in zip(*(c.to_pylist() for c in batch.columns), strict=True))
    return found


def _led(before: Counter[Row], changes: Iterable[Change]) -> Counter[Row]:
    """The rows that changes lead to; of some that were removed and not there, less than none."""
    rows = Counter(before)
    for row, kind in changes:
        rows[row] += -1 if kind in _RETRACTS else 1
    return Counter({r: n for r, n in rows.items() if n})


def _upserted(before: Counter[Row], changes: Iterable[Change]) -> Counter[Row]:
    """The rows that changes lead to that replace the rows of their keys. A diff has no order: a key that an overwrite
    has moved to another bucket goes from the one and comes to the other."""
    rows, found = {(r.k, r.p): r for r in before}, list(changes)
    for row in (r for r, kind in found if kind in _RETRACTS):
        rows.pop((row.k, row.p), None)
    rows |= {(r.k, r.p): r for r, kind in found if kind not in _RETRACTS}
    return Counter(rows.values())


def _unlike(mode: str, found: Counter[Any], meant: Counter[Any]) -> list[str]:
    wrong = {r: found[r] - meant[r] for r in found.keys() | meant.keys() if found[r] != meant[r]}
    return [f"the {mode} has {row} {n:+d} times" for row, n in sorted(wrong.items(), key=str)]
