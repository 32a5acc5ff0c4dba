"""What the processes of a run do until they are killed: each is a function that can start again wherever it was ended.

What must not happen raises `AssertionError`, which ends the run; errors that others may cause are written down.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc

import paimon_sql
from paimon_core.arrow.types import VALUE_KIND
from paimon_core.commit.commit import compact_manifests
from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import CommitUnknownError, PaimonError
from paimon_core.insert import insert_rows
from paimon_core.lsm.rows import ROW_DELETE
from paimon_core.lsm.strategy import Strategy
from paimon_core.maintenance import turns
from paimon_core.maintenance.branches import create_branch, delete_branch
from paimon_core.maintenance.orphans.search import remove_orphans
from paimon_core.maintenance.snapshot_expiry import Retention, expire_snapshots
from paimon_core.maintenance.tags import create_tag, delete_tags
from paimon_core.store.branches import branch_names
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.tags import require_tag, tag_names
from paimon_core.table import Table
from paimon_core.write.compaction.job import compaction_job, live_buckets
from paimon_core.write.writer import open_writer, written
from tests.simulation.planted_bugs import BUGS
from tests.stress.check import check_rows
from tests.stress.rows import Commit
from tests.stress.run import BRANCH_WRITER, Run, T, branch, rows_of
from tests.support.executors import TextExecutor, run_job


def commit(run: Run, table: Table, what: Commit) -> None:
    """Write and commit rows as an INSERT does, with the compaction that follows it."""
    base = table.assignment_base(1)
    writer = open_writer(table.store, sequence_start=table.max_sequence_number() + 1, base=base)
    messages = written(writer, [run.kind.written(what)])
    info = CommitInfo(user=f"writer-{what.writer}", identifier=what.number)
    insert_rows(table, messages, info, TextExecutor())


def commit_in_python(run: Run, table: Table, what: Commit) -> None:
    """Write and commit the same rows as a program without Spark does, by its own calls."""
    user = {"commit.identifier": str(what.number), "write.stream.commit-user": f"writer-{what.writer}"}
    options = user | ({"write-only": "true"} if what.writer % 2 else {})
    opened = paimon_sql.open_catalog(**run.catalog_options).table(str(T))
    rows = run.kind.written(what)
    if not run.kind.keyed:
        opened.append(rows, options)
        return
    gone = pc.equal(rows.column(VALUE_KIND), pa.scalar(ROW_DELETE, pa.int8()))
    plain = rows.drop_columns([VALUE_KIND])
    if not pc.any(gone).as_py():
        opened.upsert(plain, options)
        return
    opened.merge(
        plain.append_column("gone", gone),
        on=["p", "k"],
        when_matched=[("source.gone", "delete"), "update"],
        when_not_matched=("NOT source.gone", "insert"),
        options=options,
    )


def is_in_python(run: Run, writer: int) -> bool:
    """Return whether a writer writes without Spark. A merge does not see the rows that wait for their compaction."""
    return writer % 3 == 2 and "deletion-vectors.enabled" not in run.kind.options


def write(run: Run, number: int) -> None:
    """Commit until the run ends."""
    journal, table = run.journal(f"writer-{number}"), run.open_to_write(number)
    commit_one = commit_in_python if is_in_python(run, number) else commit
    for n in itertools.count(max(journal.numbers("tried"), default=-1) + 1):
        if run.end.exists():
            return
        journal.add("tried", n)
        try:
            commit_one(run, table, Commit(number, n))
        except CommitUnknownError:
            journal.add("unknown", n)
        except PaimonError as error:
            journal.add("failed", n, type(error).__name__, str(error)[:200])
        else:
            journal.add("acknowledged", n)


def read(run: Run, number: int) -> None:
    """Read whole versions: each is what some commits make, with all that was acknowledged or read before."""
    journal, table, dice = run.journal(f"reader-{number}"), run.open(), random.Random()
    seen: frozenset[Commit] = frozenset()
    last = 0
    while not run.end.exists():
        acknowledged = run.commits_said("acknowledged")
        snapshot = table.latest_snapshot()
        if snapshot is None:
            continue
        assert snapshot.id >= last, f"snapshot {snapshot.id} is the latest, and {last} was"
        try:
            rows = rows_of(table, snapshot)
        except PaimonError as error:  # it expired
            journal.add("failed", type(error).__name__, str(error)[:200])
            continue
        found = check_rows(run.kind, rows, must=acknowledged | seen, may=None)
        seen, last = seen | found, snapshot.id
        journal.add("read", snapshot.id)
        if dice.random() < 0.1:
            table = run.open()  # as a new process; else what it has decoded before is kept
        time.sleep(run.pause)


Act = Callable[[Run, Table, random.Random], object]


def compact(run: Run, table: Table, dice: random.Random) -> None:
    buckets = live_buckets(table.store, table.latest_snapshot(), PartitionFilter(()))
    if messages := run_job(compaction_job(table.store, buckets, Strategy.FULL)):
        table.commit_or_abort(messages, CommitInfo(user="compactor"))
    if dice.random() < 0.2:
        compact_manifests(table.store, CommitInfo(user="compactor"), table.publisher)


def expire(run: Run, table: Table, dice: random.Random) -> int:
    now = time.time_ns() // 1_000_000
    return expire_snapshots(
        table.store, Retention(least=dice.randint(1, 10), most=100, older_than=now, limit=1_000), now
    )


def tag(run: Run, table: Table, dice: random.Random) -> None:
    """Make a tag, which has to stay until it is deleted; a few at a time."""
    journal, snapshot = run.journal("tags"), table.latest_snapshot()
    if snapshot is not None:
        name = f"t{snapshot.id}-{dice.randrange(10**9)}"
        create_tag(table.store, name, snapshot)
        journal.add("made", name)
    kept = [name for name in tag_names(table.store) if name.startswith("t")]
    if len(kept) > 5:
        name = dice.choice(kept)
        journal.add("deleting", name)
        delete_tags(table.store, [name])


def fork(run: Run, table: Table, dice: random.Random) -> None:
    """Make a branch from a tag, commit to it and read it; delete one."""
    journal, store = run.journal("branches"), table.store
    latest = table.latest_snapshot()
    if latest is None:
        return
    number = 1 + max(journal.numbers("tried"), default=0)
    journal.add("tried", number)
    name = f"b{number}"
    create_tag(store, f"for-{name}", latest)
    create_branch(store, name, f"for-{name}")
    before = run.kind.commits_in(rows_of(table, require_tag(store, f"for-{name}").snapshot))
    mine, forked = Commit(BRANCH_WRITER + number % 1000, number), branch(table, name)
    commit(run, forked, mine)
    journal.add("made", name)
    check_rows(run.kind, rows_of(forked, forked.latest_snapshot()), must=before | {mine}, may=before | {mine})
    delete_tags(store, [f"for-{name}"])
    names = branch_names(store)
    if len(names) > 2:
        name = dice.choice(names)
        journal.add("deleting", name)
        delete_branch(store, name)


def clean(run: Run, table: Table, dice: random.Random) -> None:
    found = remove_orphans(table.store, int((time.time() - run.orphan_age) * 1000))
    for path in found.paths:
        run.journal("orphans").add("found", path)


@dataclass(frozen=True, slots=True)
class Upkeep:
    """Does an act again and again, on a table that it sees as a new process does."""

    name: str
    act: Act

    def __call__(self, run: Run, number: int) -> None:
        journal, dice = run.journal(f"{self.name}-{number}"), random.Random()
        while not run.end.exists():
            try:
                self.act(run, run.open(), dice)
                journal.add("done")
            except PaimonError as error:  # lost against others
                journal.add("failed", type(error).__name__, str(error)[:200])
            time.sleep(run.pause)


UPKEEP = {a.__name__: Upkeep(a.__name__, a) for a in (compact, expire, tag, fork, clean)}
ROLES: dict[str, Callable[[Run, int], None]] = {"write": write, "read": read, **UPKEEP}


@contextmanager
def _turns_that_end_soon() -> Iterator[None]:
    """On remote storages, the turn of a killed process ends after ten minutes: let it end after twenty seconds."""
    with (
        patch.object(turns, "_LASTING", 20.0),
        patch.object(turns, "_RENEWED_AFTER", 4.0),
        patch.object(turns, "_GIVEN_UP_AFTER", 10.0),
        patch.object(turns, "_PATIENCE", 5.0),
    ):
        yield


def play(role: str, run: Run, number: int) -> None:
    """All that a process of a run does; what it took of processors is written down if it comes to an end."""
    turns_end = _turns_that_end_soon() if run.remote else nullcontext()
    with turns_end, next((bug.plant() for bug in BUGS if bug.name == run.planted), nullcontext()):
        ROLES[role](run, number)
    run.journal("processors").add(role, time.process_time())
