"""The time that metadata of files tells."""

from __future__ import annotations

from datetime import UTC, datetime


def wall_clock() -> datetime:
    """Now, as metadata keeps it: the local wall clock, whole milliseconds, labelled UTC."""
    now = datetime.now()
    return now.replace(microsecond=now.microsecond // 1000 * 1000, tzinfo=UTC)
