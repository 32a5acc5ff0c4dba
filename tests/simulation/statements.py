"""A step's way to the table: what a user's session does, without Spark."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from paimon_core.arrow.types import FILE_PATH, ROW_ID, ROW_INDEX, VALUE_KIND
from paimon_core.commit.changes import Overwrite
from paimon_core.commit.draft import CommitInfo
from paimon_core.expressions.predicate import Predicate
from paimon_core.insert import insert_rows
from paimon_core.jobs import Job, ResultT, TaskT
from paimon_core.maintenance.branches import create_branch
from paimon_core.maintenance.orphans.job import OrphanSearch
from paimon_core.row_level.rules import ChangeRules, row_position_columns
from paimon_core.row_level.statement import RowLevelStatement
from paimon_core.row_level.writer import changes_store, write_changes
from paimon_core.scan.read import read_split
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.snapshot import Operation, Snapshot
from paimon_core.spec.types import BIGINT, INT, STRING
from paimon_core.store.data.row_tracking import tracking_fields
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import SetOption
from paimon_core.table import Table
from paimon_core.write.compaction.sort_job import SortJob
from paimon_core.write.writer import open_writer, written
from paimon_sql.catalog.filesystem import FileSystemCatalog
from paimon_sql.procedures import PROCEDURES, ProcedureContext
from tests.simulation.history import Setting, Step
from tests.simulation.model import Row
from tests.simulation.observer import Observer
from tests.support.orphan_tasks import Lost
from tests.support.tables import fields

T = Identifier("db", "t")
FULL, CHANGES = "full", "delta"  # the branches of chain tables
COLUMNS = ("k", "p", "id", "note")
_TYPES = {"k": pa.int32(), "p": pa.int32(), "id": pa.int64(), "note": pa.string()}
_POSITION_TYPES = {FILE_PATH: pa.string(), ROW_INDEX: pa.int64(), ROW_ID: pa.int64()}


class InProcess:
    """An executor that runs every task here."""

    def run(self, job: Job[TaskT, ResultT]) -> list[ResultT]:
        return job.run_here()

    def sort(self, job: SortJob, description: str) -> list[CommitMessage]:
        batches = [b for text in job.texts for b in job.read(text)]
        if not batches:  # all rows are deleted
            return []
        rows = pa.Table.from_batches(batches)
        ordered = rows.sort_by([(c, "ascending") for c in job.sort_columns]).select([f.name for f in job.fields])
        writer = open_writer(job.store, sequence_start=0, tracked=bool(tracking_fields(job.store)))
        return written(writer, ordered.combine_chunks().to_batches())

    def find_orphans(self, search: OrphanSearch, parallelism: int | None, description: str) -> Any:
        return Lost(search, travels=False)


@dataclass(frozen=True, slots=True)
class Located:
    """A row, its values of columns that were added, and those of the columns that say where it is."""

    row: Row
    added: tuple[Any, ...]
    position: tuple[Any, ...]


@dataclass
class Session:
    """What one process may use for one step."""

    catalog: FileSystemCatalog
    setting: Setting
    step: Step
    observer: Observer
    now: Callable[[], float]

    @cached_property
    def dice(self) -> random.Random:
        return random.Random(self.step.seed)

    def table(self, branch: str = "main") -> Table:
        return self.catalog.load_table(T if branch == "main" else Identifier("db", "t", branch))

    def call(self, procedure: str, **arguments: Any) -> Sequence[tuple[Any, ...]]:
        context = ProcedureContext(self.catalog, "db", InProcess())  # type: ignore[arg-type]
        return PROCEDURES[procedure].call(context, {"table": "t", **arguments})

    def new_rows(self, count: int, partition: int | None = None) -> list[Row]:
        """Rows of different keys, with ids that no other row has."""
        engine = self.setting.options.get("merge-engine", "deduplicate")
        keys = self.dice.sample(range(8), count)
        parts = [self.dice.randrange(2) if partition is None else partition for _ in keys]
        rows = []
        for number, (k, p) in enumerate(zip(keys, parts, strict=True)):
            unique: int | None = self.step.number * 100 + number
            note: str | None = f"step {self.step.number}"
            if engine == "partial-update":
                unique, note = self.dice.choice([(unique, None), (None, note), (unique, note)])
            rows.append(Row(k, p if self.setting.partitioned else 0, unique, note))
        return rows

    def insert(self, table: Table, rows: Sequence[Row], overwrite: Overwrite | None = None) -> None:
        """INSERT by two tasks, then the commit and what it brings with it. The effect is the caller's to expect."""
        tasks = 1 if len(rows) < 2 else 2
        base = table.assignment_base(tasks, overwrite)
        store = table.write_store(overwrites=overwrite is not None)
        table = table.for_write()
        start = table.max_sequence_number() + 1
        messages: list[CommitMessage] = []
        try:
            for task in range(tasks):
                mine = rows[task::tasks]
                messages += written(
                    open_writer(store, sequence_start=start, base=base), [batch_of(mine, added_columns(table))]
                )
        except BaseException:
            table.abort(messages)
            raise
        self.observer.columns[self.step.number] = added_columns(table)
        operation = Operation.WRITE if overwrite is None else Operation.OVERWRITE
        info = CommitInfo(user=table.new_commit_user(), operation=operation)
        insert_rows(table, messages, info, InProcess(), overwrite)

    def change(
        self,
        table: Table,
        rules: ChangeRules,
        found: Sequence[Located],
        kind: int,
        rows: Sequence[Row],
        new: Sequence[Row] = (),
    ) -> None:
        """DELETE (kind 3) or UPDATE (kind 2) of rows that were found, `rows` being what they become; MERGE brings `new`
        rows, too."""
        positions, added = row_position_columns(table.store), added_columns(table)
        self.observer.columns[self.step.number] = added
        has_values = kind == 2 or table.store.has_primary_key
        values = [
            (*r, *f.added) if has_values else (None,) * len(COLUMNS + added) for r, f in zip(rows, found, strict=True)
        ]
        values += [(*r, *(added_value(r, c) for c in added)) for r in new]
        rest = (None,) * len(positions)
        places = [f.position for f in found] + [rest for _ in new]
        columns = {
            VALUE_KIND: pa.array([kind] * len(rows) + [0] * len(new), pa.int8()),
            **{n: pa.array([p[i] for p in places], _POSITION_TYPES[n]) for i, n in enumerate(positions)},
            **{c: pa.array([v[i] for v in values], _type(c)) for i, c in enumerate(COLUMNS + added)},
        }
        table = table.for_write()
        start, base = table.max_sequence_number() + 1, table.assignment_base(1)
        store = changes_store(table.store, rules)
        batches = [pa.RecordBatch.from_pydict(columns)]
        result = write_changes(store, rules, batches, sequence_start=start, base=base)
        RowLevelStatement(table, rules, InProcess()).commit([result])

    def located(self, table: Table, snapshot: Snapshot | None) -> list[Located]:
        names, added = row_position_columns(table.store), added_columns(table)
        rows = read_columns(table, snapshot, (*COLUMNS, *added, *names))
        end = 4 + len(added)
        return [Located(Row(*values[:4]), values[4:end], values[end:]) for values in rows]


def create_table(catalog: FileSystemCatalog, setting: Setting) -> None:
    """The table of a history; a chain table with its two branches."""
    options = dict(setting.options)
    if setting.primary_key:
        options["primary-key"] = "k" if setting.crosses else "k,p"
    if setting.partitioned:
        options["partition"] = "p"
    catalog.create_table(T, new_table_schema(fields(k=INT, p=INT, id=BIGINT, note=STRING), options=options))
    if setting.chain:
        for name in (FULL, CHANGES):
            create_branch(catalog.load_table(T).store, name)
        named = {"scan.fallback-snapshot-branch": FULL, "scan.fallback-delta-branch": CHANGES}
        for branch in (None, FULL, CHANGES):
            catalog.alter_table(Identifier("db", "t", branch), [SetOption(k, v) for k, v in named.items()])


def added_columns(table: Table) -> tuple[str, ...]:
    """The columns that the table did not have when it was made: `xN` is that of step N."""
    return tuple(f.name for f in table.schema.fields if f.name not in COLUMNS)


def added_value(row: Row, column: str) -> int | None:
    """What a new row has in a column that was added."""
    return None if row.id is None else row.id * 1000 + int(column[1:])


def read_columns(
    table: Table,
    snapshot: Snapshot | None,
    columns: Sequence[str],
    predicate: Predicate | None = None,
    *,
    plans_none: bool = False,
) -> list[tuple[Any, ...]]:
    """The rows of a version; with a predicate those that satisfy it, and maybe others. `plans_none`: also of a
    table that has no version of its own."""
    found: list[tuple[Any, ...]] = []
    for split in table.plan(snapshot, predicate).splits if snapshot is not None or plans_none else ():
        for batch in read_split(table.store, split, columns, predicate):
            found += zip(*(c.to_pylist() for c in batch.columns), strict=True)
    return found


def batch_of(rows: Iterable[Row], added: Sequence[str]) -> pa.RecordBatch:
    values = [(*r, *(added_value(r, c) for c in added)) for r in sorted(rows, key=lambda r: (r.k, r.p))]
    names = (*COLUMNS, *added)
    return pa.RecordBatch.from_pydict({n: pa.array([v[i] for v in values], _type(n)) for i, n in enumerate(names)})


def _type(column: str) -> pa.DataType:
    return _TYPES.get(column, pa.int64())
