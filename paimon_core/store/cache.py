"""MetadataCache: what has been decoded from immutable files, kept by path within a bound."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sized
from threading import Lock
from typing import TypeVar

S = TypeVar("S", bound=Sized)
CAPACITY = 200_000  # manifest entries, of 0.5 to 3 kB each
_OF_EACH = 32  # what a value weighs besides: that of two entries takes 30 to 60 kB


class MetadataCache:
    """Least recently used values go first; the weight of one is its length and a little. Safe for threads; pickles as
    empty."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity, self._weight = capacity, 0
        self._values: OrderedDict[str, Sized] = OrderedDict()
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[MetadataCache], tuple[int]]:
        return MetadataCache, (self._capacity,)

    def another(self, capacity: int) -> MetadataCache:
        """An empty one of the same kind."""
        return MetadataCache(capacity)

    def __len__(self) -> int:
        return len(self._values)

    def get(self, path: str, load: Callable[[], S]) -> S:
        """What the immutable file at `path` holds; `load` is called where it is not known."""
        with self._lock:
            if path in self._values:
                self._values.move_to_end(path)
                return self._values[path]  # type: ignore[return-value]
        value = load()
        with self._lock:
            if path not in self._values and len(value) <= self._capacity:
                self._values[path] = value
                self._weight += _weight(value)
            while self._weight > self._capacity:
                self._weight -= _weight(self._values.popitem(last=False)[1])
        return value

    def forget(self, paths: Iterable[str]) -> None:
        """Keep nothing of files that are deleted."""
        with self._lock:
            for path in paths:
                if (value := self._values.pop(path, None)) is not None:
                    self._weight -= _weight(value)


def _weight(value: Sized) -> int:
    return len(value) + _OF_EACH
