"""Items that a thread makes ahead."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar

import pytest

from paimon_core.io.threads import in_background

NAME: ContextVar[str] = ContextVar("NAME", default="nobody")


def test_items_come_in_order_from_other_threads_with_the_context_of_the_caller() -> None:
    def items(count: int) -> Iterator[tuple[int, str, bool]]:
        for i in range(count):
            yield i, NAME.get(), threading.current_thread() is threading.main_thread()

    NAME.set("me")
    with ThreadPoolExecutor(2) as pool:
        found = [list(in_background(items(n), pool)) for n in (0, 1, 50)]
    assert found == [[(i, "me", False) for i in range(n)] for n in (0, 1, 50)]


def test_the_first_item_is_made_before_the_caller_asks_and_the_second_one_while_it_works() -> None:
    made = [threading.Event(), threading.Event()]

    def items() -> Iterator[int]:
        for i, event in enumerate(made):
            event.set()
            yield i

    with ThreadPoolExecutor(1) as pool:
        found = in_background(items(), pool)
        assert made[0].wait(60)
        assert not made[1].is_set()
        assert next(found) == 0
        assert made[1].wait(60)
        assert list(found) == [1]


def test_an_error_is_raised_in_its_turn() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("damaged")

    with ThreadPoolExecutor(2) as pool:
        found = in_background(items(), pool)
        assert next(found) == 1
        with pytest.raises(ValueError, match="damaged"):
            next(found)


def test_a_caller_that_stops_can_close_the_items_after_the_pool() -> None:
    is_closed = []

    def items() -> Iterator[int]:
        try:
            yield from range(100)
        finally:
            is_closed.append(True)

    made = items()
    with ThreadPoolExecutor(2) as pool:
        assert next(iter(in_background(made, pool))) == 0
    made.close()  # type: ignore[attr-defined]
    assert is_closed == [True]
