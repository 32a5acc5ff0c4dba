"""Methods of PySpark's own classes that ask here first: Spark has no hook for what they do."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from paimon_core.errors import PaimonError
from paimon_sql.spark.errors.raised import raised

_PATCHED = "_asks_paimon_sql_first"


def ask_first(owner: type, name: str, ours: Callable[..., Any]) -> None:
    """Put `ours` in front of a method, once. If `ours` returns `NotImplemented`, the method itself runs."""
    original = getattr(owner, name)
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
    setattr(owner, name, method)
