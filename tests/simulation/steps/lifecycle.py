"""Partitions that expire, and tables that are purged, dropped and made again, renamed and named back.

But for the first these are for quiet tables: their histories have one host, whose processes die and whose calls fail.
"""

from __future__ import annotations

from datetime import timedelta

from paimon_core.errors import CommitUnknownError, PaimonError, TableNotFoundError
from paimon_core.maintenance.partitions import drop_partitions, expired_partitions, local_now
from paimon_core.spec.identifier import Identifier
from paimon_core.store.branches import branch_names
from tests.simulation.model import Effect
from tests.simulation.observer import ROOT
from tests.simulation.statements import Session, T, create_table
from tests.simulation.steps.registry import NothingToDo, step

ELSEWHERE = Identifier("db", "elsewhere")
_AGE = 2  # seconds that a partition is kept behind its last change


@step("expire partitions", weight=0)
def expire_partitions(session: Session) -> None:
    """What `sys.expire_partitions` does, by the time of a partition's last change."""
    if not session.setting.partitioned or session.setting.crosses:
        raise NothingToDo
    options = {"partition.expiration-time": f"{_AGE} s", "partition.expiration-strategy": "update-time"}
    table, now = session.table().with_options(options), local_now()
    since = session.now() - _AGE
    snapshot = table.latest_snapshot()
    expired = expired_partitions(table.store, now)  # the model has to know them before they are gone
    if not expired:
        raise NothingToDo
    emptied = frozenset(int(table.store.partition_spec(p)["p"]) for p in expired)
    session.observer.expect(session.step, Effect(emptied=emptied, spares_since=since), snapshot)
    end = now - timedelta(seconds=_AGE)
    drop_partitions(table.store, expired, table.new_commit_user(), table.publisher, older_than=end)


@step("purge", weight=0)
def purge(session: Session) -> None:
    """All rows, and everything but the last version: nothing is left of tags, branches and consumers."""
    table = session.table()
    for branch in branch_names(table.store):
        session.observer.cuts_history(f"{ROOT}/branch/branch-{branch}")
    session.observer.expect(session.step, Effect(emptied=None), table.latest_snapshot())
    try:
        session.call("purge_files")
    except PaimonError as error:
        if session.observer.landed[session.step.number]:
            raise CommitUnknownError(f"The table is empty, and its files are not purged: {error}") from error
        raise


@step("drop and create", weight=0)
def drop_and_create(session: Session) -> None:
    """The next table of the name is empty."""
    for branch in branch_names(session.table().store):
        session.observer.cuts_history(f"{ROOT}/branch/branch-{branch}")
    session.observer.cuts_history(ROOT)
    session.catalog.drop_table(T)
    create_table(session.catalog, session.setting)
    latest = session.table().latest_snapshot()
    if latest is not None:
        session.observer.problems.append(f"step {session.step.number} made a table that has snapshot {latest.id}")


@step("rename and back", weight=0)
def rename_and_back(session: Session) -> None:
    """Under its other name the table has all its versions; with its own one again, too."""
    before = session.table().latest_snapshot()
    with session.observer.moving():
        session.catalog.rename_table(T, ELSEWHERE)
        found = session.catalog.load_table(ELSEWHERE).latest_snapshot()
        if (found and found.uuid) != (before and before.uuid):
            session.observer.problems.append(f"step {session.step.number} renamed a table, and its rows changed")
        session.catalog.rename_table(ELSEWHERE, T)


def rescue_table(session: Session) -> None:
    """Give the table its name back where a rename stopped between, and make it again where its creation failed."""
    try:
        session.table()
        return
    except TableNotFoundError:
        pass
    if session.catalog.table_exists(ELSEWHERE):
        with session.observer.moving():
            session.catalog.rename_table(ELSEWHERE, T)
    else:
        create_table(session.catalog, session.setting)
