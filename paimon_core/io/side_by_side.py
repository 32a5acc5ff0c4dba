"""Parallel requests: a remote storage answers slowly, so a caller sends several requests at once.

Use these functions only for requests that may be answered in any order. The threads of a call end with the call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from paimon_core.io.file_io import FileIO, delete_each_below
from paimon_core.lazy import ImportedOnCall

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from paimon_core.io.threads import in_pool
    from paimon_core.progress import advance
else:
    ThreadPoolExecutor = ImportedOnCall("concurrent.futures", "ThreadPoolExecutor")
    in_pool = ImportedOnCall("paimon_core.io.threads", "in_pool")
    advance = ImportedOnCall("paimon_core.progress", "advance")

S = TypeVar("S")
T = TypeVar("T")
_MOST_EACH = 50  # files that a thread deletes per call: after an interrupt, it deletes no more files


def side_by_side(io: FileIO, act: Callable[[S], T], items: Iterable[S]) -> list[T]:
    """Call `act` for each item, with as many parallel calls as the storage benefits from. Return the results in order.

    If a call fails, no further call begins, the running calls end, and the first error in order is raised. If the user
    interrupts, the running calls are not waited for.
    """
    given = list(items)
    width = min(io.requests_at_once, len(given))
    if width < 2:
        return [act(item) for item in given]
    return in_pool(width, act, given)


def batched_side_by_side(io: FileIO, act: Callable[[S], T], items: Iterable[S]) -> Iterator[T]:
    """Yield the results of `side_by_side`, with no more results in memory than parallel requests."""
    left = iter(items)
    while batch := list(islice(left, io.requests_at_once)):
        yield from side_by_side(io, act, batch)


def together(io: FileIO, calls: Iterable[Callable[[], T]]) -> list[T]:
    """Make calls in parallel, like `side_by_side`. Return their results in order."""
    return side_by_side(io, _made, calls)


def both(io: FileIO, first: Callable[[], S], second: Callable[[], T]) -> tuple[S, T]:
    """Make two calls in parallel, like `side_by_side`. Return both results."""
    calls: tuple[Callable[[], Any], ...] = (first, second)
    one, other = together(io, calls)
    return one, other


@contextmanager
def beside(io: FileIO, act: Callable[[], object]) -> Iterator[None]:
    """Call `act` while the block runs, if the storage answers several requests at once. Else call it before the block.

    If the block fails, `act` still ends, and its own error is not raised."""
    if io.requests_at_once < 2:
        act()
        yield
        return
    pool = ThreadPoolExecutor(1, thread_name_prefix="requests")
    future = pool.submit(copy_context().run, act)
    try:
        yield
    finally:
        pool.shutdown(wait=True)
    future.result()


def _made(call: Callable[[], T]) -> T:
    return call()


def outcome_of(call: Callable[[], T]) -> Callable[[], T]:
    """Call a function now. Return a function that returns its result, or raises its error."""
    try:
        result = call()
    except Exception as error:
        failure = error

        def fail() -> T:
            raise failure

        return fail
    return lambda: result


def delete_side_by_side(io: FileIO, root: str, paths: Sequence[str]) -> dict[str, OSError]:
    """Delete files as `FileIO.delete_many_below` does, on a storage that deletes one file per request."""
    each = max(1, min(_MOST_EACH, -(-len(paths) // io.requests_at_once)))
    batches = [paths[i : i + each] for i in range(0, len(paths), each)]
    errors: dict[str, OSError] = {}
    for failed in side_by_side(io, lambda batch: delete_each_below(io, root, batch), batches):
        errors |= failed
    return errors


def missing_paths(io: FileIO, paths: Sequence[str]) -> list[str]:
    """Return the paths that do not exist. Raises `StorageError`."""

    def exists(path: str) -> bool:
        found = io.exists(path)
        advance("files")
        return found

    there = side_by_side(io, exists, paths)
    return [path for path, exists in zip(paths, there, strict=True) if not exists]
