"""The time of a snapshot. It is never earlier than the time of the snapshot before, because time travel searches by
bisection.

So if a host with a fast clock commits once, all later snapshots get its time until the true time has caught up. Commits
log a warning meanwhile.
"""

from __future__ import annotations

from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.value_texts import iso_timestamp

_USUAL_MILLIS = 60_000  # the usual difference between clocks of hosts


def snapshot_time(latest: Snapshot | None, now: int) -> int:
    """Return the time of the snapshot after `latest`, made at `now`; both in epoch milliseconds."""
    return now if latest is None else max(now, latest.time_millis)


def clock_warning(table: str, made: Snapshot, now: int) -> str | None:
    """Return the warning that a snapshot made `now` (epoch milliseconds) got a later time. Return None if the
    difference is usual between clocks.
    """
    ahead = made.time_millis - now
    if ahead <= _USUAL_MILLIS:
        return None
    return (
        f"Snapshot {made.id} of {table} is dated {_text(made.time_millis)}, {ahead // 1000} seconds from now: a host "
        "with a fast clock made an earlier snapshot, or this host's clock is slow. Until then all snapshots get this "
        "time: TIMESTAMP AS OF does not distinguish them, and 'snapshot.time-retained' keeps them longer. Set the "
        f"clock right; in `{table}$snapshots`, the commit_user of the first snapshot with this time names the writer."
    )


def _text(millis: int) -> str:
    return f"{iso_timestamp(millis - millis % 1000, 0)} UTC"
