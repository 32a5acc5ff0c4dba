"""Names of tags that are made once per period, such as `2024-01-31` or `2024-01-31 07`."""

from __future__ import annotations

from datetime import datetime

from paimon_core.options import Option, TableOptions, one_of

CREATION_PERIOD = Option(
    "tag.creation-period", one_of("daily", "hourly", "two-hours"), "daily", "How often a tag is made."
)
PERIOD_DURATION = Option("tag.creation-period-duration", str, "", "How often a tag is made, as a duration.")
PERIOD_FORMATTER = Option(
    "tag.period-formatter",
    one_of("with_dashes", "without_dashes", "without_dashes_and_spaces"),
    "with_dashes",
    "How names of automatic tags are spelled.",
)
_DAYS = {"with_dashes": "%Y-%m-%d", "without_dashes": "%Y%m%d", "without_dashes_and_spaces": "%Y%m%d"}
_HOURS = {"with_dashes": "%Y-%m-%d %H", "without_dashes": "%Y%m%d %H", "without_dashes_and_spaces": "%Y%m%d%H"}
_MINUTES = "%Y-%m-%d %H%M"


def auto_tag_time(options: TableOptions, name: str) -> datetime | None:
    """When the period of a tag begins, None where it is not named as automatic tags are."""
    spelling = options[PERIOD_FORMATTER]
    if options[PERIOD_DURATION]:
        pattern = _MINUTES
    elif options[CREATION_PERIOD] == "daily":
        pattern, name = _DAYS[spelling], name.partition(" ")[0]
    else:
        pattern = _HOURS[spelling if options[CREATION_PERIOD] == "hourly" else "with_dashes"]
    try:
        found = datetime.strptime(name, pattern)
    except ValueError:
        return None
    return found if found.strftime(pattern) == name else None
