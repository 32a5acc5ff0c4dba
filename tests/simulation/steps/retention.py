"""Versions that are kept for a time: tags that expire, automatic tags, changelogs that outlive snapshots."""

from __future__ import annotations

from paimon_core.store.branches import branch_names
from tests.simulation.observer import ROOT
from tests.simulation.statements import Session
from tests.simulation.steps.registry import some, step


@step("create short tag", weight=1)
def create_short_tag(session: Session) -> None:
    session.call("create_tag", tag=f"s{session.dice.randrange(2)}", time_retained="1 min")


@step("expire tags", weight=1)
def expire_tags(session: Session) -> None:
    session.call("expire_tags")


@step("automatic tags", weight=0.5)
def automatic_tags(session: Session) -> None:
    session.call("trigger_tag_automatic_creation")


@step("expire changelogs", weight=1)
def expire_changelogs(session: Session) -> None:
    session.call("expire_changelogs", retain_max=session.dice.randint(1, 4), retain_min=1)


@step("rename branch", weight=0.5)
def rename_branch(session: Session) -> None:
    branch = some(session, branch_names(session.table().store))
    session.observer.cuts_history(f"{ROOT}/branch/branch-{branch}")
    session.call("rename_branch", from_branch=branch, to_branch=f"b{session.dice.randrange(4)}")
