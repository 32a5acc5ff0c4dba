"""Compaction, expiry and the search for orphans."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.simulation.statements import Session
from tests.simulation.steps.registry import step
from tests.simulation.storage import EPOCH


@step("compact", weight=5)
def compact(session: Session) -> None:
    session.call("compact", compact_strategy=session.dice.choice(["full", "full", "minor"]))


@step("compact lightly", weight=0)
def compact_lightly(session: Session) -> None:
    """Only what is due, so that older rows stay below."""
    session.call("compact", compact_strategy="minor")


@step("compact manifests", weight=1)
def compact_manifests(session: Session) -> None:
    session.call("compact_manifest")


@step("expire", weight=4)
def expire(session: Session) -> None:
    session.call("expire_snapshots", retain_max=session.dice.randint(1, 3), retain_min=1)


@step("expire by age", weight=1)
def expire_by_age(session: Session) -> None:
    session.call("expire_snapshots", options="snapshot.time-retained=30 min,snapshot.num-retained.min=1")


@step("remove orphans", weight=2)
def remove_orphans(session: Session) -> None:
    if session.dice.random() < 0.5:
        session.call("remove_orphan_files")
    else:
        moment = datetime.fromtimestamp(EPOCH + session.now() - 3600, UTC)
        session.call("remove_orphan_files", older_than=moment.strftime("%Y-%m-%d %H:%M:%S"))
