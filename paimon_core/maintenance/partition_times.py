"""The moment a partition stands for, read from its values: `partition.timestamp-pattern` says which values make the
text, `partition.timestamp-formatter` how the text is read, in the letters of Java's `DateTimeFormatter`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from paimon_core.errors import InvalidOptionError

_FIELDS = {"y": "year", "u": "year", "M": "month", "d": "day", "H": "hour", "m": "minute", "s": "second", "S": "micro"}
_LETTERS = re.compile(r"(?P<letters>([a-zA-Z])\2*)|'(?P<quoted>(?:[^']|'')*)'|(?P<other>.)", re.DOTALL)
_DEFAULT = re.compile(
    r"(?P<year>\d{1,10})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"
    r"(?:[ T](?P<hour>\d{1,2}):(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:\.(?P<micro>\d{1,9}))?)?)?"
)


def partition_time(values: Mapping[str, str | None], pattern: str, formatter: str) -> datetime | None:
    """The wall clock of a partition, None where its values give none. `pattern` and `formatter` may be empty.

    Raises `InvalidOptionError` for a formatter of other letters than y, M, d, H, m, s and S.
    """
    text = _filled(pattern, values) if pattern else next(iter(values.values()), None)
    if text is None:
        return None
    match = (_expression(formatter) if formatter else _DEFAULT).fullmatch(text)
    if match is None:
        return None
    found = {k: v for k, v in match.groupdict().items() if v}
    if "micro" in found:
        found["micro"] = found["micro"][:6].ljust(6, "0")
    parts = [int(found.get(name, low)) for name, low in _LOWEST.items()]
    try:
        return datetime(*parts)  # type: ignore[arg-type]
    except (ValueError, OverflowError):
        return None


_LOWEST = {"year": 1970, "month": 1, "day": 1, "hour": 0, "minute": 0, "second": 0, "micro": 0}


def _filled(pattern: str, values: Mapping[str, str | None]) -> str | None:
    """The pattern with `$column` replaced by its value, the longest name first; None where a value is NULL."""
    names = sorted(values, key=len, reverse=True)
    if not names:
        return pattern
    nulls = []

    def value(match: re.Match[str]) -> str:
        found = values[match[1]]
        if found is None:
            nulls.append(match[1])
        return found or ""

    text = re.sub(r"\$(" + "|".join(map(re.escape, names)) + ")", value, pattern)
    return None if nulls else text


def _expression(formatter: str) -> re.Pattern[str]:
    parts, seen = [], set()
    for match in _LETTERS.finditer(formatter):
        letters = match["letters"]
        if not letters:
            quoted = match["quoted"]
            parts.append(re.escape(match["other"] if quoted is None else quoted.replace("''", "'") or "'"))
            continue
        name = _FIELDS.get(letters[0])
        if name is None or name in seen:
            raise InvalidOptionError(
                f"Option 'partition.timestamp-formatter' cannot be {formatter!r}: write it with yyyy, MM, dd, HH, mm, "
                "ss, SSS, each once, as in 'yyyy-MM-dd HH:mm'."
            )
        seen.add(name)
        width = len(letters)
        digits = f"{{{width}}}" if width > 1 else "{1,10}" if name == "year" else "{1,2}"
        parts.append(rf"(?P<{name}>\d{digits})")
    return re.compile("".join(parts))
