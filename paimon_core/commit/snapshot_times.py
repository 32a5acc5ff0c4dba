"""The time of a snapshot: never earlier than that of the one before it, as time travel searches by bisection.

So one commit by a host whose clock is ahead gives its time to all that follow, until the true time has caught up:
whoever commits meanwhile is warned.
"""

from __future__ import annotations

from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.value_texts import iso_timestamp

_USUAL_MILLIS = 60_000  # by which clocks of hosts may differ


def snapshot_time(latest: Snapshot | None, now: int) -> int:
    """The time of the snapshot after `latest`, made `now` (both in epoch milliseconds)."""
    return now if latest is None else max(now, latest.time_millis)


def clock_warning(table: str, made: Snapshot, now: int) -> str | None:
    """The warning that a snapshot made `now` (epoch milliseconds) has got a later time; None where it is no later than
    clocks usually differ."""
    ahead = made.time_millis - now
    if ahead <= _USUAL_MILLIS:
        return None
    return (
        f"Snapshot {made.id} of {table} is dated {_text(made.time_millis)}, {ahead // 1000} seconds from now: "
        "an earlier one was made by a host whose clock is ahead, or this host's clock is behind. Until then all "
        "snapshots get this time: TIMESTAMP AS OF does not distinguish them, and 'snapshot.time-retained' keeps them "
        f"longer. Set that clock right; `{table}$snapshots` shows by commit_user who made the first of this time."
    )


def _text(millis: int) -> str:
    return f"{iso_timestamp(millis - millis % 1000, 0)} UTC"
