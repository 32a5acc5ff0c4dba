"""`cached_property` without a lock, functions of modules that are imported when they are called, and regular
expressions and loggers that are made when they are used.

Before Python 3.12, `functools.cached_property` has one lock for all objects of a class. While one object waits for its
storage, every thread that needs the value of another object would wait, too. The code imports this class instead
(tests/unit/test_house.py).
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, AnyStr, Generic, TypeVar, cast, overload

from paimon_core.dataclass import dataclass

if TYPE_CHECKING:
    from logging import Logger

T = TypeVar("T")


class cached_property(Generic[T]):  # a drop-in for the class of functools
    """A value that is computed when it is first read, and kept in the object.

    Two threads that read it first at the same time may both compute it. Both get the value that is kept, so the
    computation must be harmless if it is done twice. If it fails, the next reader tries again.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute, self._name = compute, compute.__name__
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> cached_property[T] | T:
        if instance is None:
            return self
        kept = vars(instance)
        if self._name in kept:  # another thread was faster
            return kept[self._name]  # type: ignore[no-any-return]
        return kept.setdefault(self._name, self._compute(instance))  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class ImportedOnCall:
    """A function, or a class, of a module that the first call imports.

    A program that only reads a table imports a third of the modules. A module that needs one of the others names it
    twice: by this class, and by an import under `TYPE_CHECKING` for the checks of types and layers.
    """

    module: str
    name: str

    def __call__(self, *args: Any, **named: Any) -> Any:
        return getattr(importlib.import_module(self.module), self.name)(*args, **named)


_get_logger = ImportedOnCall("logging", "getLogger")


def regex(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a regular expression like `re.compile`, but compiled when it is first used.

    Compiling the expressions of all modules would take a fifth of the time of a look-up in a new process. A wrong
    expression fails at its first use.
    """
    return cast("re.Pattern[AnyStr]", _MadeOnUse(partial(re.compile, text, flags)))


def logger(name: str) -> Logger:
    """Return a logger like `logging.getLogger`, but import `logging` when the logger is first used."""
    return cast("Logger", _MadeOnUse(partial(_get_logger, name)))


class _MadeOnUse:
    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def __getattr__(self, name: str) -> Any:  # of a method that was not used before
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self._make(), name)
        setattr(self, name, found)
        return found
