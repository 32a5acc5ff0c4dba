"""Tags, branches and rollbacks."""

from __future__ import annotations

from paimon_core.store.branches import branch_names
from paimon_core.store.snapshots import snapshot_ids
from paimon_core.store.tags import tag_names
from tests.simulation.observer import ROOT
from tests.simulation.statements import Session
from tests.simulation.steps.registry import some, step


@step("create tag", weight=2)
def create_tag(session: Session) -> None:
    ids = snapshot_ids(session.table().store)
    session.call("create_tag", tag=_name(session, "t"), snapshot=session.dice.choice([None, *ids]))


@step("delete tag", weight=1)
def delete_tag(session: Session) -> None:
    session.call("delete_tag", tag=some(session, tag_names(session.table().store)))


@step("rename tag", weight=1)
def rename_tag(session: Session) -> None:
    tag = some(session, tag_names(session.table().store))
    session.call("rename_tag", tag=tag, target_tag=_name(session, "t"))


@step("replace tag", weight=1)
def replace_tag(session: Session) -> None:
    session.call("replace_tag", tag=some(session, tag_names(session.table().store)))


@step("create branch", weight=1)
def create_branch(session: Session) -> None:
    tags = tag_names(session.table().store)
    session.call("create_branch", branch=_name(session, "b"), tag=session.dice.choice([None, *tags]))


@step("delete branch", weight=1)
def delete_branch(session: Session) -> None:
    branch = some(session, branch_names(session.table().store))
    session.observer.cuts_history(f"{ROOT}/branch/branch-{branch}")
    session.call("delete_branch", branch=branch)


@step("fast forward", weight=1)
def fast_forward(session: Session) -> None:
    branch = some(session, branch_names(session.table().store))
    session.observer.cuts_history(ROOT)
    session.call("fast_forward", branch=branch)


@step("rollback", weight=1)
def rollback(session: Session) -> None:
    ids = snapshot_ids(session.table().store)
    session.call("rollback", snapshot=int(some(session, [str(i) for i in ids[-4:]])))


@step("rollback to tag", weight=1)
def rollback_to_tag(session: Session) -> None:
    session.call("rollback", tag=some(session, tag_names(session.table().store)))


def _name(session: Session, kind: str) -> str:
    """One of few names, so that two steps may want the same one."""
    return f"{kind}{session.dice.randrange(4)}"
