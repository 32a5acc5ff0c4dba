"""The present time by this host's clock, in the two forms of metadata."""

from __future__ import annotations

import time
from datetime import UTC, datetime


def now_millis() -> int:
    """The present time in epoch milliseconds, as snapshots and schemas have it."""
    return time.time_ns() // 1_000_000


def metadata_now() -> datetime:
    """The present time as data files have it: the local wall clock, whole milliseconds, labelled UTC."""
    now = datetime.now()
    return now.replace(microsecond=now.microsecond // 1000 * 1000, tzinfo=UTC)
