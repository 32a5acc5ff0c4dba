"""Periods of time with one tag each, and the tags' names, such as `2024-01-31` or `2024-01-31 07`."""

from __future__ import annotations

from datetime import datetime, timedelta

from paimon_core.dataclass import dataclass
from paimon_core.options import TAG_CREATION_PERIOD, TAG_CREATION_PERIOD_DURATION, TAG_PERIOD_FORMATTER, TableOptions

_EPOCH = datetime(1970, 1, 1)
_PERIODS = {"daily": timedelta(days=1), "hourly": timedelta(hours=1), "two-hours": timedelta(hours=2)}
_DAILY = {"with_dashes": "%Y-%m-%d", "without_dashes": "%Y%m%d", "without_dashes_and_spaces": "%Y%m%d"}
_HOURLY = {"with_dashes": "%Y-%m-%d %H", "without_dashes": "%Y%m%d %H", "without_dashes_and_spaces": "%Y%m%d%H"}


@dataclass(frozen=True, slots=True)
class TagPeriod:
    """The division of time into periods with a tag each: the `length` of a period, and the `strftime` pattern of a
    tag's name.

    `hours_may_follow`: text after a blank in a name is ignored.
    """

    length: timedelta
    pattern: str
    hours_may_follow: bool = False

    def last_complete(self, moment: datetime) -> datetime:
        """Return the start of the last period that is over at a moment."""
        return _EPOCH + ((moment - _EPOCH) // self.length - 1) * self.length

    def name(self, begin: datetime) -> str:
        return begin.strftime(self.pattern)

    def begin(self, name: str) -> datetime | None:
        """Return the start of the period of a tag: the reverse of `name`.

        Return None for a name that does not fit the pattern.
        """
        text = name.partition(" ")[0] if self.hours_may_follow else name
        try:
            begin = datetime.strptime(text, self.pattern)
        except ValueError:
            return None
        return begin if self.name(begin) == text else None


def tag_period(options: TableOptions) -> TagPeriod:
    """Return the periods that a table's options set."""
    length = options[TAG_CREATION_PERIOD_DURATION]
    if length is not None:
        return TagPeriod(timedelta(milliseconds=max(1, length)), "%Y%m%d%H%M")
    kind = options[TAG_CREATION_PERIOD]
    patterns = {"daily": _DAILY, "hourly": _HOURLY}.get(kind)
    pattern = patterns[options[TAG_PERIOD_FORMATTER]] if patterns else _HOURLY["with_dashes"]
    return TagPeriod(_PERIODS[kind], pattern, hours_may_follow=kind == "daily")
