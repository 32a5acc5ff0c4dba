"""The class of options, the parsers of their values, and the options of one table.

Values are read by Paimon's rules. Source: Paimon's configuration page, and `Options` and `ConfigOption` of its
Java connector.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from math import isfinite
from typing import Any, Generic, TypeVar

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError
from paimon_core.lazy import regex
from paimon_core.secrets import redacted

_T = TypeVar("_T")

_NUMBER = regex(r"[+-]?[0-9]{1,19}")
_TRUNCATE = regex(r"truncate\(([0-9]{1,9})\)")
_AMOUNT = regex(r"([0-9]{1,19}) *([a-z]*)")
_LONG = 2**63
_SIZE_UNITS = {
    1: ("", "b", "bytes"),
    2**10: ("k", "kb", "kibibytes"),
    2**20: ("m", "mb", "mebibytes"),
    2**30: ("g", "gb", "gibibytes"),
    2**40: ("t", "tb", "tebibytes"),
}
_DURATION_UNITS = {
    86_400_000: ("d", "day", "days"),
    3_600_000: ("h", "hour", "hours"),
    60_000: ("min", "m", "minute", "minutes"),
    1000: ("s", "sec", "secs", "second", "seconds"),
    1: ("", "ms", "milli", "millis", "millisecond", "milliseconds"),
}


def _amount(text: str, units: Mapping[int, tuple[str, ...]], meant: str) -> int:
    match = _AMOUNT.fullmatch(text.strip().lower())
    scale = next((s for s, names in units.items() if match and match[2] in names), None)
    if match is None or scale is None or int(match[1]) * scale >= _LONG:
        raise ValueError(meant)
    return int(match[1]) * scale


# parsers raise ValueError with a description of a valid value, which follows "it must be" in the error


def integer(text: str) -> int:
    """Parse a number of 32 bits, the size in other engines."""
    number = long_integer(text)
    if not -(2**31) <= number < 2**31:
        raise ValueError("a whole number of 32 bits")
    return number


def long_integer(text: str) -> int:
    """Parse a number of 64 bits."""
    if not _NUMBER.fullmatch(text.strip()) or not -_LONG <= int(text) < _LONG:
        raise ValueError("a whole number")
    return int(text)


def decimal_number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError("a number") from None
    if not isfinite(number):
        raise ValueError("a number")
    return number


def boolean(text: str) -> bool:
    if text.strip().lower() not in ("true", "false"):
        raise ValueError("true or false")
    return text.strip().lower() == "true"


def memory_size(text: str) -> int:
    """Parse a size such as `128 mb` to bytes."""
    return _amount(text, _SIZE_UNITS, "a size such as '128 mb', in b, kb, mb, gb or tb")


def duration(text: str) -> int:
    """Parse a duration such as `10 s` to milliseconds."""
    return _amount(text, _DURATION_UNITS, "a duration such as '10 s', in ms, s, min, h or d")


def names(text: str) -> tuple[str, ...]:
    """Parse a comma-separated list of names."""
    return tuple(n.strip() for n in text.split(",") if n.strip())


def weights(text: str) -> tuple[int, ...]:
    """Parse `10,5` to numbers above 0."""
    found = [part.strip() for part in text.split(",")]
    if not all(_NUMBER.fullmatch(part) and int(part) > 0 for part in found):
        raise ValueError("numbers above 0, as in '10,5'")
    return tuple(map(int, found))


def by_level(text: str) -> Mapping[int, str]:
    """Parse `0:lz4,5:zstd` to values by level."""
    found = [part.partition(":") for part in text.split(",") if part.strip()]
    if not all(_NUMBER.fullmatch(level.strip()) and value.strip() for level, _, value in found):
        raise ValueError("levels and values, as in '0:avro,5:parquet'")
    return {int(level): value.strip() for level, _, value in found}


def stats_mode(text: str) -> str:
    """Parse the statistics to keep of a column: `none`, `counts`, `truncate(16)` or `full`."""
    mode = text.strip().lower()
    match = _TRUNCATE.fullmatch(mode)
    if mode not in ("none", "counts", "full") and (match is None or int(match[1]) == 0):
        raise ValueError("none, counts, truncate(N) or full")
    return mode


def stats_mode_by_level(text: str) -> Mapping[int, str]:
    """Parse `0:none,5:full` to statistics by level."""
    return {level: stats_mode(mode) for level, mode in by_level(text).items()}


def folder(text: str) -> str:
    """Parse the relative path of a folder, without slashes around it: it must not lead to a folder outside."""
    parts = text.strip("/").split("/")
    if any(p in ("", ".", "..") or p != p.strip() or not p.isprintable() for p in parts):
        raise ValueError("the path of a folder below the table's folder")
    return "/".join(parts)


def file_prefix(text: str) -> str:
    """Parse the beginning of file names: it must not lead to another folder."""
    if "/" in text or "\\" in text or not text.isprintable():
        raise ValueError("the beginning of a file name, without slashes and control characters")
    return text


def share(text: str) -> float:
    """Parse a number from 0 to below 1."""
    number = decimal_number(text)
    if not 0 <= number < 1:
        raise ValueError("a number from 0 to below 1")
    return number


@dataclass(frozen=True, slots=True)
class AtLeast:
    """A parser that refuses numbers below `least`; `meant` describes a valid number in the error."""

    parse: Callable[[str], int]
    least: int
    meant: str

    def __call__(self, text: str) -> int:
        if self.parse(text) < self.least:
            raise ValueError(f"{self.meant} of {self.least} or more")
        return self.parse(text)


def at_least(parse: Callable[[str], int], least: int, meant: str) -> Callable[[str], int]:
    """Return a parser that refuses numbers below `least`; `meant` describes a valid number in the error."""
    return AtLeast(parse, least, meant)


@dataclass(frozen=True, slots=True)
class OneOf:
    """A parser that accepts one of the values, ignoring case."""

    values: tuple[str, ...]

    def __call__(self, text: str) -> str:
        if text.strip().lower() not in self.values:
            raise ValueError(f"one of {', '.join(self.values)}")
        return text.strip().lower()


def one_of(*values: str) -> Callable[[str], str]:
    """Return a parser that accepts one of the values, ignoring case."""
    return OneOf(values)


def optional(parse: Callable[[str], _T]) -> Callable[[str], _T | None]:
    """Return a parser of the same values, for an option with the default `None`."""
    return parse


def takes_blanks(parse: Callable[[str], object]) -> bool:
    """Return whether Java ignores blanks around a value.

    It does for sizes, durations and lists, but not for other values.
    """
    if isinstance(parse, AtLeast):
        return takes_blanks(parse.parse)
    return not isinstance(parse, OneOf) and parse not in (boolean, integer, long_integer, stats_mode)


NO_NAMES: tuple[str, ...] = ()
NO_LEVELS: Mapping[int, str] = {}


class Change(Enum):
    """When the value of an option may change, by ALTER TABLE or for one use of a table."""

    FREE = "always"
    ONE_WAY = "from false to true only"
    EMPTY = "until the first snapshot"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Option(Generic[_T]):
    """One option: its key, the parser of its value, its default, and its purpose.

    `aliases` are former keys. CREATE and ALTER TABLE refuse a value below `least`; reading the option does not. An
    option that is not `supported` has an effect only in other engines.
    """

    key: str
    parse: Callable[[str], _T]
    default: _T
    doc: str
    aliases: tuple[str, ...] = ()
    least: float | None = None
    change: Change = Change.FREE
    supported: bool = True

    def key_in(self, values: Mapping[str, str]) -> str | None:
        """Return the key in `values` that sets this option, or `None`."""
        if self.key in values:
            return self.key
        return next((k for k in self.aliases if k in values), None) if self.aliases else None


def default_text(option: Option[Any]) -> str:
    """Return the default of an option as users spell it, "" for none."""
    value: object = option.default
    parse: object = option.parse.parse if isinstance(option.parse, AtLeast) else option.parse
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value).lower()
    if isinstance(value, Mapping):
        return ",".join(f"{level}:{said}" for level, said in value.items())
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    if parse not in (memory_size, duration) or not isinstance(value, int):
        return str(value)
    units = _SIZE_UNITS if parse is memory_size else _DURATION_UNITS
    scale = next((s for s in sorted(units, reverse=True) if value and value % s == 0), 1)
    return f"{value // scale} {units[scale][1 if units is _SIZE_UNITS or scale == 1 else 0]}"


@dataclass(frozen=True)
class TableOptions:
    """The options of a table, read through `Option`s: `options[BUCKET]`."""

    values: Mapping[str, str]

    def __repr__(self) -> str:
        return f"TableOptions({redacted(self.values)})"

    def __getitem__(self, option: Option[_T]) -> _T:
        """Return the parsed value. Raises `InvalidOptionError` naming the option."""
        key = option.key_in(self.values)
        if key is None:
            return option.default
        text = self.values[key]
        try:
            return option.parse(text)
        except ValueError as e:
            about = f" {option.doc} Default: {option.default!r}." if option.supported else ""
            raise InvalidOptionError(f"Option {key!r} cannot be {text!r}: it must be {e}.{about}") from e

    def __contains__(self, option: Option[_T]) -> bool:
        return option.key_in(self.values) is not None

    def merged(self, more: Mapping[str, str]) -> TableOptions:
        """Return these options, overridden by `more`."""
        return TableOptions({**self.values, **more})
