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
    """Inside the block, Ctrl-C sets the event and calls `cancel`, until the block ends; a second one interrupts.

    An exception raised from the signal would hit the main thread in the middle of its talk with the JVM, leave that
    connection broken and the statement running. Cancelled jobs make the statement fail and clean up.
    """
    cancelled, ended = threading.Event(), threading.Event()

    def keep_cancelling() -> None:  # a statement that is being planned has jobs to cancel only later
        cancel()
        while not ended.wait(_CANCEL_EVERY):
            cancel()

    def on_interrupt(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        cancelled.set()
        threading.Thread(target=keep_cancelling, daemon=True).start()

    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's
        yield cancelled
        return
    previous = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield cancelled
    finally:
        ended.set()
        signal.signal(signal.SIGINT, previous)
