"""Histories of tables of every merge engine: writes with deletes, compactions, new columns, wider types, a new process
for each step. What is read is what a model of plain Python says, and the changelog of each producer, applied to what
was known before, gives what is known after, each change published once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.arrow.types import arrow_schema
from paimon_core.commit.draft import CommitInfo
from paimon_core.lsm.strategy import Strategy
from paimon_core.scan.derived_tables import DerivedTable, read_derived
from paimon_core.scan.read import read_split
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.split import DataSplit, SplitKind
from paimon_core.spec.types import BIGINT, INT
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import AddColumn, UpdateColumnType
from paimon_core.store.partitions import PartitionFilter
from paimon_core.table import Table
from paimon_core.write.compaction.job import compaction_job, live_buckets
from paimon_core.write.writer import open_writer
from paimon_sql.catalog.load import load_catalog
from tests.support import merge_models as models
from tests.support.examples import examples
from tests.support.executors import run_job
from tests.support.merge_models import DELETE, FUNCTIONS, INSERT, PartialUpdate, Row
from tests.support.stored import T, open_table
from tests.support.tables import fields

COLUMNS = ("a", "b", "c")  # c is added later, b gets wider


@dataclass(frozen=True)
class Engine:
    """Options, the model of the rows of one key, and whether it takes deletes."""

    options: dict[str, str]
    model: Callable[[Sequence[Row]], Row | None]
    deletes: bool = True
    producers: tuple[str, ...] = ("none", "lookup", "full-compaction")


def deduplicated(rows: Sequence[Row]) -> Row | None:
    return models.deduplicate(rows)


def summed(rows: Sequence[Row]) -> Row:
    names = {"a": "sum", "b": "max", "c": "last_non_null_value"}
    return models.aggregate(rows, {c: FUNCTIONS[f]() for c, f in names.items()})


ENGINES = {
    "deduplicate": Engine({}, deduplicated, producers=("none", "input", "lookup", "full-compaction")),
    "first-row": Engine({"merge-engine": "first-row"}, models.first_row, deletes=False, producers=("none", "lookup")),
    "partial-update": Engine(
        {"merge-engine": "partial-update"}, lambda rows: PartialUpdate(COLUMNS).merge(rows), deletes=False
    ),
    "aggregation": Engine(
        {
            "merge-engine": "aggregation",
            "fields.a.aggregate-function": "sum",
            "fields.b.aggregate-function": "max",
            "fields.c.aggregate-function": "last_non_null_value",
        },
        summed,
        deletes=False,
    ),
}
small = st.none() | st.integers(0, 4)
written = st.lists(st.tuples(st.integers(0, 9), st.tuples(small, small, small), st.booleans()), min_size=1, max_size=6)
steps = st.lists(
    st.tuples(st.just("write"), written)
    | st.tuples(st.sampled_from(["minor", "full", "full", "column", "wider"]), st.just([])),
    min_size=2,
    max_size=7,
)


@dataclass
class History:
    """A table, and what it has to hold: the rows of each key in the order they came."""

    warehouse: str
    engine: Engine
    rows: dict[int, list[Row]] = field(default_factory=dict)
    known: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    published: list[tuple[Any, ...]] = field(default_factory=list)

    def table(self) -> Table:
        return open_table(self.warehouse)

    def write(self, given: Sequence[tuple[int, tuple[int | None, ...], bool]]) -> None:
        table = self.table()
        schema, names = arrow_schema(table.schema.fields), self.names(table)
        kinds = [DELETE if deletes and self.engine.deletes else INSERT for _, _, deletes in given]
        columns = [[k for k, _, _ in given], *([v[COLUMNS.index(n)] for _, v, _ in given] for n in names)]
        arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
        loose = pa.schema([pa.field(f.name, f.type) for f in schema])
        batch = pa.record_batch(arrays, schema=loose)
        writer = open_writer(table.store, sequence_start=table.max_sequence_number() + 1)
        rows = batch.append_column("_VALUE_KIND", pa.array(kinds, pa.int8()))
        for start in range(0, len(given), 3):  # a buffer of a byte spills each of them
            writer.write(rows.slice(start, 3))
        messages = writer.finish()
        table.commit(messages, CommitInfo(user="writer"))
        for (k, values, _), kind in zip(given, kinds, strict=True):
            row = {n: values[i] if n in names else None for i, n in enumerate(COLUMNS)}
            self.rows.setdefault(k, []).append((kind, row))
        for message in messages:
            self.published += self.log(table, message, message.new_changelog)

    def compact(self, strategy: Strategy) -> None:
        table = self.table()
        buckets = live_buckets(table.store, table.latest_snapshot(), PartitionFilter(()))
        messages = run_job(compaction_job(table.store, buckets, strategy))
        if messages:
            table.commit(messages, CommitInfo(user="compactor"))
        for message in messages:
            self.follow(self.log(table, message, message.compact_changelog), self.names(table))

    def alter(self, step: str) -> None:
        table = self.table()
        change = AddColumn(("c",), INT) if step == "column" else UpdateColumnType(("b",), BIGINT)
        if ("c" in table.schema.field_by_name) if step == "column" else table.schema.field_by_name["b"].type == BIGINT:
            return
        load_catalog({"warehouse": self.warehouse}).alter_table(T, [change])
        if step == "column":
            self.known = {k: (*v, None) for k, v in self.known.items()}

    def names(self, table: Table) -> tuple[str, ...]:
        return tuple(n for n in COLUMNS if n in table.schema.field_by_name)

    def log(self, table: Table, message: CommitMessage, files: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Changelog files as $audit_log shows them."""
        split = DataSplit(
            partition=message.partition,
            bucket=message.bucket,
            bucket_dir=table.store.bucket_dir(*message.key),
            files=tuple(files),
            kind=SplitKind.CHANGES,
        )
        batches = read_derived(table.store, DerivedTable.AUDIT_LOG, split, ["rowkind", "k", *self.names(table)])
        return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]

    def follow(self, log: Sequence[tuple[Any, ...]], names: Sequence[str]) -> None:
        """Apply a changelog as a reader does who checks every row of it."""
        assert max(Counter(row[:2] for row in log).values(), default=1) == 1
        before: set[int] = set()
        for kind, k, *values in log:
            if kind in ("-U", "-D"):
                assert self.known.pop(k) == tuple(values)
                before.add(k)
            else:
                assert k not in self.known and (kind == "+U") == (k in before)
                self.known[k] = tuple(values)

    def expected(self, names: Sequence[str]) -> dict[int, tuple[Any, ...]]:
        merged = {k: self.engine.model(rows) for k, rows in self.rows.items()}
        kept = {k: r for k, r in merged.items() if r is not None and r[0] != DELETE}
        return {k: tuple(r[1][n] for n in names) for k, r in kept.items()}

    def read(self, table: Table) -> dict[int, tuple[Any, ...]]:
        splits = table.plan(table.latest_snapshot()).splits
        batches = [b for s in splits for b in read_split(table.store, s, ["k", *self.names(table)])]
        rows = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
        assert len({r[0] for r in rows}) == len(rows)
        return {r[0]: r[1:] for r in rows}


COMBINATIONS = [(name, producer) for name, engine in ENGINES.items() for producer in engine.producers]


@pytest.mark.parametrize(("name", "producer"), COMBINATIONS)
def test_every_step_shows_what_the_model_says(tmp_path: Path, name: str, producer: str) -> None:
    count = 0

    @settings(max_examples=examples(12), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(steps, st.integers(1, 3), st.sampled_from(["1 b", "1 mb"]))
    def check(history: list[tuple[str, Any]], buckets: int, buffer: str) -> None:
        nonlocal count
        count += 1
        engine = ENGINES[name]
        lived = History(str(tmp_path / str(count)), engine)
        options = {"primary-key": "k", "bucket": str(buckets), "changelog-producer": producer} | engine.options
        options |= {"write-only": "true", "num-sorted-run.compaction-trigger": "3", "write-buffer-size": buffer}
        if name == "aggregation":
            options.pop("fields.c.aggregate-function")
        schema = new_table_schema(fields(k=INT, a=INT, b=INT), options=options)
        load_catalog({"warehouse": lived.warehouse}).create_table(T, schema)
        uncompacted = False  # whether rows are not compacted: of first-row tables these are not shown
        for step, given_rows in [*history, ("full", [])]:
            match step:
                case "write":
                    lived.write(given_rows)
                case "minor" | "full":
                    lived.compact(Strategy.MINOR if step == "minor" else Strategy.FULL)
                case _:
                    lived.alter(step)
            table = lived.table()
            now = lived.expected(lived.names(table))
            uncompacted = step == "write" or (uncompacted and step not in ("minor", "full"))
            if not (name == "first-row" and uncompacted):
                assert lived.read(table) == now, step
            if step == "full" and producer in ("lookup", "full-compaction"):
                assert lived.known == now
        if producer == "input":
            log = [(("+I", "-U", "+U", "-D")[kind], k) for k, rows in lived.rows.items() for kind, _ in rows]
            assert Counter(row[:2] for row in lived.published) == Counter(log)

    check()
