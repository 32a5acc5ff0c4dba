"""What must hold when a history is over and everybody rests."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_core.errors import PaimonError
from paimon_core.maintenance.branches import branch_exists
from paimon_core.maintenance.orphans.job import OrphanSearch
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.branches import branch_names
from paimon_core.store.snapshots import list_snapshots, snapshot_ids
from paimon_core.table import Table
from tests.simulation.model import Effect
from tests.simulation.observer import ROOT
from tests.simulation.oracles.files import wrong_files
from tests.simulation.oracles.rows import wrong_rows
from tests.simulation.scheduler import Scheduler
from tests.simulation.statements import CHANGES, Session
from tests.simulation.steps.chains import wrong_chain
from tests.simulation.steps.layouts import rescue
from tests.simulation.steps.lifecycle import rescue_table
from tests.support.all_tags import list_tags
from tests.support.orphan_tasks import Lost

_NEWEST = 10**6  # where ids are sequence numbers, those of the last rows are larger than all others
_TWO_DAYS = 2 * 86_400.0
_TURN = 660.0  # seconds: after ten minutes others may have the turn for upkeep


def check_end(session: Session, results: Mapping[int, str], scheduler: Scheduler, *, tidies: bool) -> None:
    """Adds what is wrong to the observer's problems. `tidies`: compact, expire and clean up in the end, look again."""
    problems = session.observer.problems
    if problems:
        return
    try:
        rescue_table(session)
        _finish(session, scheduler)
        problems += _acknowledged(session, results)
        _check_versions(session, hides=session.setting.hides)
        problems += wrong_chain(session) if session.setting.chain else []
        if problems or not tidies:
            return
        scheduler.wait(_TWO_DAYS)
        session.call("compact")
        _expire_all(session)
        session.call("remove_orphan_files")
        _check_versions(session, hides=session.setting.hides, strict=True)
        _check_space(session)
        _check_goes_on(session)
    except (PaimonError, FileNotFoundError) as error:
        problems.append(f"afterwards, {type(error).__name__}: {error}")


def _finish(session: Session, scheduler: Scheduler) -> None:
    """Run again what stayed half done: a branch whose deletion stopped, a rollback that stopped beside a commit."""
    store = session.table().store
    halves = [b for b in branch_names(store) if not branch_exists(store, b)]
    if halves:
        scheduler.wait(_TURN)  # of a process that died
    for branch in halves:
        session.call("delete_branch", branch=branch)
    ids = snapshot_ids(store)
    gap = next((n for n in ids[1:] if n - 1 not in ids), None)
    if gap is not None and session.observer.stopped:
        session.observer.repairs = True
        session.call("rollback", snapshot=max(n for n in ids if n < gap))
        session.observer.repairs = False


def _acknowledged(session: Session, results: Mapping[int, str]) -> list[str]:
    """Statements that are not there although they were acknowledged, and the like."""
    observer, problems = session.observer, list[str]()
    homes = [ROOT, *(f"{ROOT}/branch/branch-{b}" for b in branch_names(session.table().store))]
    there = {uuid for home in homes for uuid in observer.ancestry(observer.latest(home))}
    for number in (n for n, (effect, _) in observer.effects.items() if effect != Effect()):
        result, landed = results.get(number, ""), observer.landed[number]
        lasting = [u for u in landed if u in there]
        if len(lasting) > 1:
            problems.append(f"step {number} is there {len(lasting)} times")
        if result == "done" and not lasting and not observer.cut & set(landed):
            problems.append(f"step {number} was acknowledged, and is lost")
        if result.startswith("failed") and lasting:
            problems.append(f"step {number} is there, although it {result}")
    return problems


def _check_versions(session: Session, *, hides: bool, strict: bool = False) -> None:
    """Everything that has a name can be read, and has the rows that it must have."""
    table = session.table()
    branches = [b for b in branch_names(table.store) if branch_exists(table.store, b)]
    for branch in ("main", *branches):
        at = session.table(branch)
        ids = snapshot_ids(at.store)
        if ids and ids != list(range(ids[0], ids[-1] + 1)):
            session.observer.problems.append(f"{at.name} has the snapshots {ids}")
        session.observer.problems += wrong_files(session, at.store)
        latest = at.latest_snapshot()
        for snapshot in list_snapshots(at.store):
            last = latest is not None and snapshot.id == latest.id and branch == "main"
            _check_version(session, at, f"snapshot {snapshot.id}", snapshot, hides=hides and not (strict and last))
        for tag in list_tags(at.store):
            _check_version(session, at, f"tag {tag.name}", tag.snapshot, hides=hides)


def _check_version(session: Session, table: Table, name: str, snapshot: Snapshot | None, *, hides: bool) -> None:
    problems = session.observer.problems
    try:
        wrong = wrong_rows(session, table, snapshot, hides=hides)
    except (PaimonError, FileNotFoundError) as error:
        problems.append(f"{name} of {table.name} cannot be read: {error}")
        return
    problems += [f"{name} of {table.name}: {w}" for w in wrong]


def _expire_all(session: Session) -> None:
    for branch in ("main", *branch_names(session.table().store)):
        name = "t" if branch == "main" else f"`t$branch_{branch}`"
        if session.table(branch).latest_snapshot() is not None:
            session.call("expire_snapshots", table=name, retain_max=1, retain_min=1)


def _check_space(session: Session) -> None:
    """What nothing names is gone."""
    left = Lost(OrphanSearch(session.table().store, 2**62), travels=False).files
    session.observer.problems += [f"{path} is left, and nothing names it" for path in sorted(left)]


def _check_goes_on(session: Session) -> None:
    """The table takes the next statement."""
    rescue(session)
    table = session.table(CHANGES if session.setting.chain else "main")
    rows = session.new_rows(2)
    if session.setting.chain:
        rows = [r._replace(id=(r.id or 0) + _NEWEST) for r in rows]
    session.observer.expect(session.step, Effect(added=tuple(rows)), table.latest_snapshot())
    session.insert(table, rows)
    _check_version(session, table, "the latest snapshot", table.latest_snapshot(), hides=session.setting.hides)
