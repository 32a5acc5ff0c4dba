"""Ctrl-C while Spark works."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_CANCEL_EVERY = 0.5  # seconds


@contextmanager
def cancelling(cancel: Callable[[], object]) -> Iterator[threading.Event]:
    """Make Ctrl-C set the event and call `cancel`, again and again until the block ends. A second Ctrl-C interrupts the
    block.

    An exception raised by the signal handler would interrupt the main thread's call to the JVM. Its connection would be
    broken, and the statement would continue. Cancelled jobs make the statement fail and clean up.
    """
    cancelled, ended = threading.Event(), threading.Event()

    def keep_cancelling() -> None:  # while Spark plans a statement, it has no jobs to cancel yet
        cancel()
        while not ended.wait(_CANCEL_EVERY):
            cancel()

    def on_interrupt(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        cancelled.set()
        threading.Thread(target=keep_cancelling, daemon=True).start()

    if threading.current_thread() is not threading.main_thread():  # only the main thread can handle signals
        yield cancelled
        return
    previous = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield cancelled
    finally:
        ended.set()
        signal.signal(signal.SIGINT, previous)
