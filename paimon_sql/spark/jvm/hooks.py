"""What of Spark's internals the bridge uses: each use is a function that is marked with what it relies on.

`docs/ARCHITECTURE.md` lists them; `tests/unit/spark/jvm/test_hook_list.py` keeps the list complete.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Hook:
    """An internal of Spark's or py4j's, and what no longer works where another version moves it."""

    internal: str
    breaks: str


def hook(internal: str, breaks: str) -> Callable[[_F], _F]:
    """Mark a function as the one use of an internal: it has the `Hook` as its attribute `hook`."""

    def mark(function: _F) -> _F:
        vars(function)["hook"] = Hook(internal, breaks)
        return function

    return mark
