"""A table that changes while a stream follows it, and what the stream has made of it, without an engine.

A follower keeps what an engine keeps: the offsets of the batch that is under way, as text, and what its sink holds. It
may be killed behind each step of a batch; then a new stream goes on with what is kept.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from paimon_core.arrow.types import VALUE_KIND
from paimon_core.commit.changes import Overwrite
from paimon_core.commit.draft import CommitInfo
from paimon_core.lsm.strategy import Strategy
from paimon_core.maintenance.snapshot_expiry import expire_snapshots
from paimon_core.maintenance.tags import create_tag
from paimon_core.scan.derived_tables import DerivedTable, read_derived
from paimon_core.scan.streams.options import ReadLimits
from paimon_core.scan.streams.position import parse_position
from paimon_core.scan.streams.stream import TableStream
from paimon_core.spec.types import INT
from paimon_core.store.ddl.schema_changes import AddColumn
from paimon_core.write.compaction.job import compaction_job
from paimon_core.write.writer import open_writer
from paimon_sql.catalog.load import load_catalog
from tests.support import stored
from tests.support.executors import run_job
from tests.support.histories import newest

Change = tuple[str, int, str]
_DELETE = 3


def write(warehouse: str, rows: Iterable[tuple[int, str]], kind: int = 0, *, overwrites: bool = False) -> None:
    """As a session does: write, commit, compact what is due."""
    table = stored.open_table(warehouse)
    k, v = zip(*sorted(rows), strict=True)
    columns = {"k": pa.array(k, pa.int32()), "v": pa.array(v)}
    more = [f.name for f in table.schema.fields[2:]]
    columns |= {name: pa.nulls(len(k), pa.int32()) for name in more}
    if kind:
        columns[VALUE_KIND] = pa.array([kind] * len(k), pa.int8())
    writer = open_writer(table.store, sequence_start=table.max_sequence_number() + 1)
    writer.write(pa.record_batch(list(columns.values()), names=list(columns)))
    messages = writer.finish()
    table.commit(messages, CommitInfo(user="tester"), Overwrite() if overwrites else None)
    done = run_job(compaction_job(table.store, table.due_compactions(messages), Strategy.WRITE))
    if done:
        table.commit(done, CommitInfo(user="tester"))


def expire(warehouse: str, kept: int) -> None:
    store = stored.open_table(warehouse).store
    expire_snapshots(store, newest(kept), 0)


@dataclass
class Follower:
    """One stream, with limits that change, killed at random."""

    warehouse: str
    dice: random.Random
    options: dict[str, str] = field(default_factory=dict)
    start: str | None = None
    end: str | None = None  # of the batch under way
    changes: list[Change] = field(default_factory=list)  # of batches that are done
    stream: TableStream | None = None

    def _opened(self) -> TableStream:
        if self.stream is None:
            table = stored.open_table(self.warehouse).with_options(self.options)
            self.stream = TableStream(table.store)
        return self.stream

    def kill(self) -> None:
        self.stream = None

    def _limits(self) -> ReadLimits:
        few = self.dice.choice([None, 1, 2, 5])
        return self.dice.choice([ReadLimits(), ReadLimits(files=few), ReadLimits(rows=few), ReadLimits(size=few)])

    def batch(self, *, may_die: bool = False) -> bool:
        """Read one batch; whether there was any."""
        dies = self.dice.choice(["planned", "read", "written", "", "", ""]) if may_die else ""
        stream = self._opened()
        if self.start is None:
            self.start = stream.initial().json()
        if self.end is None:
            end = stream.latest(parse_position(self.start), self._limits()).json()
            if end == self.start:
                return False
            self.end = end
        if dies == "planned":
            self.kill()
        rows = self.rows(self.start, self.end)
        if dies == "read":
            self.kill()
            assert self.rows(self.start, self.end) == rows, "a batch that is read again has other rows"
        self.changes += rows
        self.start, self.end = self.end, None
        if dies == "written":  # the next batch does not wait for the commit of this one
            self.kill()
        self._opened().committed(parse_position(self.start))
        return True

    def drain(self) -> None:
        while self.batch():
            pass

    def rows(self, start: str, end: str) -> list[Change]:
        stream = self._opened()
        plan, names = stream.plan(parse_position(start), parse_position(end)), ["rowkind", "k", "v"]
        read = (read_derived(stream.store, DerivedTable.AUDIT_LOG, s, names) for s in plan.splits)
        return [tuple(r.values()) for batches in read for b in batches for r in b.to_pylist()]

    def state(self) -> list[tuple[int, str]]:
        """The rows of a table with keys that took the changes."""
        rows: dict[int, str] = {}
        for kind, k, v in self.changes:
            if kind in ("+I", "+U"):
                rows[k] = v
            else:
                rows.pop(k, None)
        return sorted(rows.items())

    def counted(self) -> list[tuple[int, str]]:
        """The rows of a table without keys that took the changes."""
        rows: Counter[tuple[int, str]] = Counter()
        for kind, k, v in self.changes:
            rows[k, v] += 1 if kind in ("+I", "+U") else -1
        return sorted(rows.elements())


def act(warehouse: str, dice: random.Random, number: int, *, keyed: bool, overwrites: bool) -> str:
    """Do one thing to the table; what it was."""
    table = stored.open_table(warehouse)
    keys = range(dice.randint(0, 12), dice.randint(13, 20))
    acts: dict[str, Any] = {
        "insert": lambda: write(warehouse, [(k, f"v{number}") for k in keys]),
        "compact": lambda: stored.compact(table),
        "expire": lambda: expire(warehouse, dice.randint(1, 3)),
        "tag": lambda: create_tag(table.store, f"t{number}", latest) if latest else None,
        "column": lambda: _add_column(warehouse, f"c{number}"),
    }
    if keyed:
        acts["delete"] = lambda: write(warehouse, [(k, "") for k in keys], _DELETE)
    if overwrites:
        acts["overwrite"] = lambda: write(warehouse, [(k, f"o{number}") for k in keys], overwrites=True)
    latest = table.latest_snapshot()
    weights = {"insert": 6, "delete": 3, "expire": 2}
    chosen: str = dice.choices(list(acts), [weights.get(a, 1) for a in acts])[0]
    acts[chosen]()
    return chosen


def _add_column(warehouse: str, name: str) -> None:
    load_catalog({"warehouse": warehouse}).alter_table(stored.T, [AddColumn((name,), INT)])
