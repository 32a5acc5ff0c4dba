"""Tags, branches and rollbacks."""

from __future__ import annotations

from dataclasses import replace

from paimon_core.commit.draft import CommitInfo
from paimon_core.maintenance import branches
from paimon_core.spec.identifier import MAIN_BRANCH
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.snapshot import Operation
from paimon_core.store.branches import branch_names
from paimon_core.store.snapshots import snapshot_ids
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import tag_names
from tests.simulation.model import Effect
from tests.simulation.observer import ROOT
from tests.simulation.statements import Session
from tests.simulation.steps.registry import NothingToDo, some, step
from tests.simulation.world import step_of


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


@step("merge branch", weight=1)
def merge_branch(session: Session) -> None:
    """The rows of a branch that the table lacks: those of the statements that wrote the files."""
    if session.setting.primary_key:
        raise NothingToDo
    table, observer = session.table(), session.observer
    branch = some(session, branch_names(table.store))

    def commit(store: TableStore, messages: list[CommitMessage]) -> None:
        into = replace(table, store=store)
        steps = {step_of(f.file_name.removeprefix("data-")) for m in messages for f in m.new_files}
        rows = tuple(r for n in sorted(steps) for r in observer.effects[n][0].added)
        observer.expect(session.step, Effect(added=rows), into.latest_snapshot())
        into.commit(messages, CommitInfo(user=into.new_commit_user(), operation=Operation.WRITE))

    branches.merge_branch(table.store, branch, MAIN_BRANCH, commit)


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
