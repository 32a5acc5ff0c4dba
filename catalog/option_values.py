"""Parse the values of a catalog's options, and check what a database can keep of properties."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Lengths:
    """The characters of a property that a database keeps; `keeper` is the database, for errors."""

    keeper: str
    key: int
    value: int


def check_lengths(owner: str, properties: Mapping[str, str], kept: Lengths, advice: str) -> None:
    """Raises `InvalidOptionError` for a property of an owner that is too long to be kept."""
    for key, value in properties.items():
        if len(key) > kept.key:
            raise InvalidOptionError(f"The key {key[:40]!r}… of {owner} is longer than {kept.key} characters.")
        if len(value) > kept.value:
            raise InvalidOptionError(
                f"The value of {key!r} of {owner} has {len(value)} characters, and {kept.keeper} keeps {kept.value}: "
                f"{advice}."
            )


def keyword_options(warehouse: str | None, metastore: str, given: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a catalog that a program gives by keywords, which take `_` for `-`."""
    place = {} if warehouse is None else {"warehouse": warehouse}
    options = {**place, "metastore": metastore, **{_dashed(k): v for k, v in given.items()}}
    return {key: str(value) for key, value in options.items()}


def _dashed(name: str) -> str:
    return name if "-" in name or "." in name else name.replace("_", "-")
