"""A wait for what happens in other threads and processes: until it has happened, however busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 600  # seconds: a guard against a test that hangs, not a time that anything must keep
_POLL = 0.05  # seconds


def wait_until(
    done: Callable[[], object], missing: Callable[[], object] = lambda: "", seconds: float = PATIENCE
) -> None:
    """Return as soon as `done` is true; fail with the text of `missing` after some minutes."""
    until = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < until, f"it did not happen within {seconds:.0f} s: {missing()}"
        time.sleep(_POLL)
