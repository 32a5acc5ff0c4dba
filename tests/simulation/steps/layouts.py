"""Statements that store the same rows in another way, or more about them."""

from __future__ import annotations

from paimon_core.commit.draft import CommitInfo
from paimon_core.options import BUCKET
from paimon_core.spec.statistics import TableStatistics
from paimon_core.store.ddl.schema_changes import SetOption
from tests.simulation.model import Effect
from tests.simulation.oracles.rows import wrong_rows
from tests.simulation.statements import Session, T
from tests.simulation.steps.registry import NothingToDo, step


@step("rescale", weight=1)
def rescale(session: Session) -> None:
    if int(session.setting.options.get("bucket", "-1")) < 1:
        raise NothingToDo
    session.catalog.alter_table(T, [SetOption("bucket", str(session.dice.randint(1, 3)))])
    rescue(session)


def rescue(session: Session) -> None:
    """Give the buckets the number that the table's option says: until then rows cannot be written."""
    table = session.table()
    snapshot = table.latest_snapshot()
    if snapshot is not None and table.store.options[BUCKET] > 0:
        session.observer.expect(session.step, Effect(), snapshot)
        session.call("rescale")


@step("sort", weight=1)
def sort(session: Session) -> None:
    if session.setting.primary_key or "bucket" in session.setting.options:
        raise NothingToDo
    session.call("compact", order_strategy=session.dice.choice(["order", "zorder"]), order_by="k,id")


@step("rewrite file indexes", weight=1)
def rewrite_file_indexes(session: Session) -> None:
    session.call("rewrite_file_index")


@step("create global index", weight=2)
def create_global_index(session: Session) -> None:
    _check_evolves(session)
    session.call("create_global_index", index_column=_indexed(session), index_type="btree")


@step("drop global index", weight=0.5)
def drop_global_index(session: Session) -> None:
    _check_evolves(session)
    session.call("drop_global_index", index_column=_indexed(session), index_type="btree")


@step("analyze", weight=1)
def analyze(session: Session) -> None:
    """What ANALYZE commits; the version it is of must be as it was."""
    table = session.table()
    snapshot = table.latest_snapshot()
    if snapshot is None:
        raise NothingToDo
    wrong = wrong_rows(session, table, snapshot, hides=session.setting.hides)
    session.observer.problems += [f"step {session.step.number} analyzed snapshot {snapshot.id}: {w}" for w in wrong]
    statistics = TableStatistics(snapshot_id=snapshot.id, schema_id=snapshot.schema_id, merged_record_count=0)
    table.commit_statistics(statistics, CommitInfo(user=table.new_commit_user()))


def _indexed(session: Session) -> str:
    return session.dice.choice(["k", "note"])


def _check_evolves(session: Session) -> None:
    if session.setting.options.get("data-evolution.enabled") != "true":
        raise NothingToDo
