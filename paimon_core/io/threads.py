"""Threads of a call: for requests (`side_by_side` describes them), and for decoding. A look-up in local files needs
none, so other modules import this one when they use it.

Arrow decodes files without Python's lock: with `in_background`, a thread decodes while the caller works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Executor, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from threading import Event
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")


def in_pool(width: int, act: Callable[[S], T], given: Sequence[S]) -> list[T]:
    """Call `act` for each item with `width` parallel calls, as `side_by_side` describes."""
    has_failed = Event()

    def begin(item: S) -> T | None:
        if has_failed.is_set():  # the threads are faster than the caller, which cancels the calls that wait
            return None
        try:
            return act(item)
        except BaseException:
            has_failed.set()
            raise

    pool = ThreadPoolExecutor(width, thread_name_prefix="requests")
    try:
        futures = [pool.submit(copy_context().run, begin, item) for item in given]
        wait(futures, return_when=FIRST_EXCEPTION)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown(wait=True, cancel_futures=True)
    return _results(futures)  # type: ignore[arg-type]  # without an error, every call has begun


def in_background(items: Iterator[T], pool: Executor) -> Iterator[T]:
    """Return the items in order. A thread of the pool computes the next item ahead, and begins with the first one at
    once.

    If the caller does not take all of them, it must shut the pool down before it closes `items`."""
    first = pool.submit(copy_context().run, lambda: next(items, None))

    def in_order() -> Iterator[T]:
        waiting = first
        while (item := waiting.result()) is not None:
            waiting = pool.submit(copy_context().run, lambda: next(items, None))
            yield item

    return in_order()


def _results(futures: Iterable[Future[T]]) -> list[T]:
    ended = [f for f in futures if not f.cancelled()]
    for future in ended:
        error = future.exception()
        if error is not None:
            raise error
    return [f.result() for f in ended]
