"""Parse the values of a catalog's options, with errors that name the option."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from paimon_core.errors import InvalidOptionError

_T = TypeVar("_T")


def option_value(options: Mapping[str, str], key: str, parse: Callable[[str], _T], default: _T) -> _T:
    """The value of an option; parsers raise `ValueError` with what it should be. Raises `InvalidOptionError`."""
    given = options.get(key)
    if given is None:
        return default
    try:
        return parse(given)
    except ValueError as error:
        raise InvalidOptionError(f"Option {key!r} cannot be {given!r}: it is {error}.") from None
