"""Extensions of methods of PySpark's classes, for work that Spark has no hook for."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import getattr_static
from typing import Any

from paimon_core.errors import PaimonError
from paimon_sql.spark.errors.raised import raised

_PATCHED = "_asks_paimon_sql_first"


def ask_first(owner: type, name: str, ours: Callable[..., Any]) -> None:
    """Replace a method of a class by one that runs `ours` first; a second call has no effect. If `ours` returns
    `NotImplemented`, the original method runs. A class method stays a class method, and passes its class to `ours`.
    """
    static = getattr_static(owner, name)
    is_of_class = isinstance(static, classmethod)
    original = static.__func__ if is_of_class else static
    if hasattr(original, _PATCHED):
        return

    @wraps(original)
    def method(self: Any, *arguments: Any, **named: Any) -> Any:
        try:
            answer = ours(self, *arguments, **named)
        except PaimonError as error:
            raise raised(error) from error
        return original(self, *arguments, **named) if answer is NotImplemented else answer

    setattr(method, _PATCHED, True)
    setattr(owner, name, classmethod(method) if is_of_class else method)


def original_of(owner: type, name: str) -> Callable[..., Any]:
    """Return the method that `ask_first` has replaced."""
    original: Callable[..., Any] = getattr(owner, name).__wrapped__
    return original
