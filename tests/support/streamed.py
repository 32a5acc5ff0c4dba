"""A table that changes while a stream follows it, and the stream's result, without an engine.

A follower stores the state that an engine stores: the offsets of the batch in progress, as text, and the rows of its
sink. It may be killed after each step of a batch. Then a new stream continues from the stored state.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import pyarrow as pa

from paimon_core.arrow.types import VALUE_KIND, arrow_type
from paimon_core.commit.changes import Overwrite
from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import InvalidSchemaError
from paimon_core.insert import insert_rows
from paimon_core.lsm.strategy import Strategy
from paimon_core.maintenance.snapshot_expiry import expire_snapshots
from paimon_core.maintenance.tags import create_tag
from paimon_core.options import BUCKET, POSTPONED
from paimon_core.scan.derived_tables import DerivedTable, read_derived
from paimon_core.scan.streams.options import ReadLimits
from paimon_core.scan.streams.position import parse_position
from paimon_core.scan.streams.stream import TableStream
from paimon_core.spec.snapshot import Operation
from paimon_core.spec.types import BIGINT, INT
from paimon_core.store.ddl.schema_changes import AddColumn, DropColumn, SchemaChange, SetOption, UpdateColumnType
from paimon_core.store.partitions import PartitionFilter
from paimon_core.write.writer import open_writer
from paimon_sql.catalog.load import load_catalog
from tests.support import stored
from tests.support.executors import TextExecutor
from tests.support.histories import newest

Change = tuple[str, int, str]
CHANGED = re.compile(r"since the query started, column 'c\d+' (was dropped|became BIGINT instead of INT)\. Start")
_DELETE = 3
_ALL = PartitionFilter(())


def write(warehouse: str, rows: Iterable[tuple[int, str]], kind: int = 0, *, overwrites: bool = False) -> None:
    """Write as a session does: write, commit, and compact if due. Columns that were added get the row's key."""
    table = stored.open_table(warehouse)
    k, v = zip(*sorted(rows), strict=True)
    columns = {"k": pa.array(k, pa.int32()), "v": pa.array(v)}
    more = [f for f in table.schema.fields if f.name not in columns]
    columns |= {f.name: pa.array(k, arrow_type(f.type)) for f in more}
    if kind:
        columns[VALUE_KIND] = pa.array([kind] * len(k), pa.int8())
    overwrite = Overwrite() if overwrites else None
    start, base = table.max_sequence_number() + 1, table.assignment_base(1, overwrite)
    writer = open_writer(table.write_store(overwrites=overwrites), sequence_start=start, base=base)
    writer.write(pa.record_batch(list(columns.values()), names=list(columns)))
    insert_rows(table, writer.finish(), CommitInfo(user="tester"), TextExecutor(), overwrite)


def compact(warehouse: str) -> None:
    """Run CALL sys.compact."""
    table = stored.open_table(warehouse)
    if table.store.options[BUCKET] != POSTPONED:
        stored.compact(table)
        return
    messages = table.bucket_moves(TextExecutor(), "compact").compact(_ALL, Strategy.FULL)
    if messages:
        table.commit_or_abort(messages, CommitInfo(user="tester"))


def rescale(warehouse: str, buckets: int) -> None:
    """Run ALTER TABLE and CALL sys.rescale."""
    load_catalog({"warehouse": warehouse}).alter_table(stored.T, [SetOption("bucket", str(buckets))])
    table = stored.open_table(warehouse)
    messages = table.bucket_moves(TextExecutor(), "rescale").rescale(_ALL, buckets)
    if messages:
        table.commit_or_abort(messages, CommitInfo(user="tester", operation=Operation.OVERWRITE))


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
    end: str | None = None  # of the batch in progress
    changes: list[Change] = field(default_factory=list)  # of finished batches
    stream: TableStream | None = None
    restarts: int = 0  # set since a change of the columns could not be followed

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
        """Read one batch. Return whether there was one."""
        dies = self.dice.choice(["planned", "read", "written", "", "", ""]) if may_die else ""
        try:
            return self._batch(dies)
        except InvalidSchemaError as error:  # start again, with the current columns
            assert CHANGED.search(str(error)), error
            self.kill()
            self.restarts += 1
            return self._batch(dies)

    def _batch(self, dies: str) -> bool:
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
        more = [f.name for f in stream.store.schema.fields if f.name not in ("k", "v")]
        plan, names = stream.plan(parse_position(start), parse_position(end)), ["rowkind", "k", "v", *more]
        read = (read_derived(stream.store, DerivedTable.AUDIT_LOG, s, names) for s in plan.splits)
        rows = [tuple(r.values()) for batches in read for b in batches for r in b.to_pylist()]
        for _, k, v, *others in rows:
            if v:  # a delete has no values
                assert others == [k if int(v[1:]) > int(name[1:]) else None for name in more], (k, v, more, others)
        return [(kind, k, v) for kind, k, v, *_ in rows]

    def state(self) -> list[tuple[int, str]]:
        """Return the rows of a table with keys that has applied the changes."""
        rows: dict[int, str] = {}
        for kind, k, v in self.changes:
            if kind in ("+I", "+U"):
                rows[k] = v
            else:
                rows.pop(k, None)
        return sorted(rows.items())

    def counted(self) -> list[tuple[int, str]]:
        """Return the rows of a table without keys that has applied the changes."""
        rows: Counter[tuple[int, str]] = Counter()
        for kind, k, v in self.changes:
            rows[k, v] += 1 if kind in ("+I", "+U") else -1
        return sorted(rows.elements())


def act(warehouse: str, dice: random.Random, number: int) -> str:
    """Do one operation on the table. Return its name."""
    table = stored.open_table(warehouse)
    keys = range(dice.randint(0, 12), dice.randint(13, 20))
    acts: dict[str, Callable[[], object]] = {
        "insert": lambda: write(warehouse, [(k, f"v{number}") for k in keys]),
        "overwrite": lambda: write(warehouse, [(k, f"o{number}") for k in keys], overwrites=True),
        "compact": lambda: compact(warehouse),
        "expire": lambda: expire(warehouse, dice.randint(1, 3)),
        "tag": lambda: create_tag(table.store, f"t{number}", latest) if latest else None,
        "column": lambda: _alter(warehouse, AddColumn((f"c{number}",), INT)),
    }
    if table.schema.primary_keys:
        acts["delete"] = lambda: write(warehouse, [(k, "") for k in keys], _DELETE)
    if table.store.options[BUCKET] > 0:
        acts["rescale"] = lambda: rescale(warehouse, dice.randint(1, 4))
    added = [f for f in table.schema.fields if f.name not in ("k", "v")]
    if added:
        last = (added[-1].name,)
        acts["drop column"] = lambda: _alter(warehouse, DropColumn(last))
        acts["widen column"] = lambda: _alter(warehouse, UpdateColumnType(last, BIGINT))
    latest = table.latest_snapshot()
    weights = {"insert": 6, "delete": 3, "expire": 2}
    chosen: str = dice.choices(list(acts), [weights.get(a, 1) for a in acts])[0]
    acts[chosen]()
    return chosen


def _alter(warehouse: str, change: SchemaChange) -> None:
    load_catalog({"warehouse": warehouse}).alter_table(stored.T, [change])
