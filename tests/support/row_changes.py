"""DELETE, UPDATE and MERGE INTO of tables of k INT, v STRING, without Spark: the files of their tasks, and
the commit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from paimon_core.arrow.types import FILE_PATH, ROW_ID, ROW_INDEX, VALUE_KIND
from paimon_core.io.failure import on_failure
from paimon_core.row_level.rules import ChangeRules, delete_rules, merge_rules, row_position_columns, update_rules
from paimon_core.row_level.statement import RowLevelStatement
from paimon_core.row_level.writer import CHANGES_RESULT, ChangesResult, changes_store, write_changes
from paimon_core.scan.read import read_split
from paimon_core.table import Table
from tests.support.executors import TextExecutor


@dataclass(frozen=True)
class Located:
    """A row and its location."""

    key: int
    position: tuple[Any, ...]


def located(table: Table) -> list[Located]:
    names = list(row_position_columns(table.store))
    batches = (b for s in table.plan(table.latest_snapshot()).splits for b in read_split(table.store, s, ["k", *names]))
    rows = [row for b in batches for row in zip(*(c.to_pylist() for c in b.columns), strict=True)]
    return [Located(k, position) for k, *position in sorted(rows, key=lambda r: r[1:])]


def task(table: Table, rules: ChangeRules, rows: list[Located], kind: int, value: str | None) -> ChangesResult:
    """Return the result of a task that gives rows a kind and a value."""
    types = {FILE_PATH: pa.string(), ROW_INDEX: pa.int64(), ROW_ID: pa.int64()}
    names = row_position_columns(table.store)
    keyed = kind == 2 or table.store.has_primary_key
    columns = {
        VALUE_KIND: pa.array([kind] * len(rows), pa.int8()),
        **{n: pa.array([r.position[i] for r in rows], types[n]) for i, n in enumerate(names)},
        "k": pa.array([r.key if keyed else None for r in rows], pa.int32()),
        "v": pa.array([value] * len(rows), pa.string()),
    }
    batches = [pa.RecordBatch.from_pydict(columns)] if rows else []
    start = table.max_sequence_number() + 1
    result = write_changes(changes_store(table.store, rules), rules, batches, sequence_start=start)
    return CHANGES_RESULT.decode(CHANGES_RESULT.encode(result))


@dataclass(frozen=True)
class Staged:
    """The results of a statement's tasks."""

    rules: ChangeRules
    results: list[ChangesResult]

    def commit(self, table: Table, before_commit: Callable[[], None] | None = None) -> None:
        RowLevelStatement(table, self.rules, TextExecutor()).commit(self.results, before_commit)


Change = tuple[list[Located], int, str | None]  # rows, and the kind and the value that they get


def stage(table: Table, rules: ChangeRules, changes: Sequence[Change]) -> Staged:
    """Run the tasks of a statement, one for each change. If one fails, delete the files of the others."""
    staged = Staged(rules, [])
    with on_failure(lambda: RowLevelStatement(table, rules, TextExecutor()).abort(staged.results)):
        for rows, kind, value in changes:
            staged.results.append(task(table, rules, rows, kind, value))
    return staged


def delete(table: Table, keys: set[int]) -> Staged:
    """Run DELETE with a task for each row."""
    rules = delete_rules(table.store, table.latest_snapshot())
    return stage(table, rules, [([row], 3, None) for row in located(table) if row.key in keys])


def update(table: Table, keys: set[int]) -> Staged:
    """Run UPDATE SET v = 'new' with one task."""
    rules = update_rules(table.store, table.latest_snapshot(), ["v"])
    return stage(table, rules, [([row for row in located(table) if row.key in keys], 2, "new")])


def merge(table: Table, updated: int, deleted: int) -> Staged:
    """Run MERGE INTO with two tasks: one row gets a new value, another is deleted."""
    rules = merge_rules(table.store, table.latest_snapshot(), ["v"], once=True)
    rows = {row.key: row for row in located(table)}
    changes = [(rows.get(updated), 2, "new"), (rows.get(deleted), 3, None)]
    return stage(table, rules, [([row], kind, value) for row, kind, value in changes if row is not None])
