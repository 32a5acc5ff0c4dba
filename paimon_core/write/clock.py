"""The time in the metadata of files."""

from __future__ import annotations

from datetime import UTC, datetime


def metadata_now() -> datetime:
    """The present time in the form of metadata: the local wall clock, whole milliseconds, labelled UTC."""
    now = datetime.now()
    return now.replace(microsecond=now.microsecond // 1000 * 1000, tzinfo=UTC)
