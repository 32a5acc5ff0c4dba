"""The present time by this host's clock, in the two forms of metadata."""

from __future__ import annotations

import time
from datetime import UTC, datetime


def now_millis() -> int:
    """Return the present time in epoch milliseconds, the form in snapshots and schemas."""
    return time.time_ns() // 1_000_000


def metadata_now() -> datetime:
    """Return the present time in the form of data files: the local wall clock in whole milliseconds, labelled UTC."""
    now = datetime.now()
    return now.replace(microsecond=now.microsecond // 1000 * 1000, tzinfo=UTC)
