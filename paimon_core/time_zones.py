"""Time zones by name, and moments as texts. All rules are Spark's.

A zone is a region (`Asia/Shanghai`), an offset (`+08:00`, `+8`, `Z`), an offset after a prefix (`GMT+8`, `UTC+08:00`)
or one of Java's short names (`PST`). A text without a zone is a wall clock. If a change of daylight saving repeats a
wall clock, it means the first of both moments. If a change skips a wall clock, it means the moment that is as long
after the change.

Paimon stores some moments as wall clocks of the machine that wrote them, for example the creation times of tags and
data files. As Java does, we read such a wall clock in the zone of this process.
Source: `DateTimeUtils.getZoneId` of Spark, `ZoneId` of Java.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from paimon_core.errors import InvalidOptionError
from paimon_core.lazy import ImportedOnCall, regex

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo
else:
    ZoneInfo = ImportedOnCall("zoneinfo", "ZoneInfo")

# Java's `ZoneId.SHORT_IDS`. Java 24 reads the last three as America/Panama, America/Phoenix and Pacific/Honolulu; these
# zones have had the same offsets since 1968
SHORT_NAMES: Mapping[str, str] = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
    "EST": "-05:00",
    "MST": "-07:00",
    "HST": "-10:00",
}
_SHORT_HOUR = regex(r"([+-])(\d):")  # Spark 2 wrote +8:00, and +08:0 (below)
_SHORT_MINUTE = regex(r"([+-]\d\d):(\d)$")
_OFFSET = regex(r"[+-](\d|\d\d(\d\d(\d\d)?|:\d\d(:\d\d)?)?)", re.ASCII)
_PREFIXED = regex(r"(UTC|GMT|UT)(?P<offset>[+-].*)?")
_REGION = regex(r"[A-Za-z][A-Za-z0-9~/._+-]+")
_FARTHEST = timedelta(hours=18)
_TEXT = regex(
    r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"
    r"([ T](?P<hour>\d{1,2}):(?P<minute>\d{1,2})(:(?P<second>\d{1,2})(\.(?P<fraction>\d{0,30}))?)?"
    r"\s*(?P<zone>[A-Za-z+-].*)?)?",
    re.ASCII,
)
_PARTS = ("year", "month", "day", "hour", "minute", "second")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLI = timedelta(milliseconds=1)
_BOUNDS = (-62_135_424_000_000, 253_402_128_000_000)  # Python's dates end one day later
_QUARTER = 900_000  # since 1972, zones change at whole quarters of an hour


def time_zone(name: str) -> tzinfo:
    """Return the zone with this name. Raises `InvalidOptionError`."""
    try:
        return _zone(name)
    except ValueError as e:
        raise InvalidOptionError(
            f"{name!r} is not a valid time zone: write a region such as 'Asia/Shanghai', or an offset such as '+08:00'."
        ) from e


def parsed_moment(text: str) -> tuple[datetime, int, tzinfo | None]:
    """Parse a text to a wall clock of whole seconds, the nanoseconds of the second, and the zone in the text.

    Raises `ValueError`.
    """
    text = text.strip()
    found = _TEXT.fullmatch(text)
    if found is None:
        other = datetime.fromisoformat(text)  # such as 20240131T12
        return other.replace(microsecond=0, tzinfo=None), other.microsecond * 1000, other.tzinfo
    wall = datetime(*(int(found[part] or 0) for part in _PARTS))  # type: ignore[arg-type]
    nanos = int((found["fraction"] or "")[:9].ljust(9, "0"))
    return wall, nanos, _zone(found["zone"].strip()) if found["zone"] else None


def epoch_moment(text: str, zone: tzinfo | None) -> tuple[int, int]:
    """Parse a text to epoch milliseconds, and the nanoseconds of the millisecond.

    A text without a zone is in `zone`, None for this process's zone. Raises `ValueError`.
    """
    wall, nanos, named = parsed_moment(text)
    try:
        moment = _moment(wall, named or zone)
    except OverflowError as e:
        raise ValueError(text) from e
    return (moment - _EPOCH) // _MILLI + nanos // 1_000_000, nanos % 1_000_000


def wall_moment(text: str) -> tuple[int, int]:
    """Parse a text like `epoch_moment`, but ignore its zone. Raises `ValueError`."""
    wall, nanos, _ = parsed_moment(text)
    return (wall.replace(tzinfo=UTC) - _EPOCH) // _MILLI + nanos // 1_000_000, nanos % 1_000_000


def epoch_millis(text: str, zone: tzinfo | None) -> int:
    """Parse a text to epoch milliseconds; see `epoch_moment`."""
    return epoch_moment(text, zone)[0]


def wall_clock(millis: int, zone: tzinfo | None) -> int:
    """Convert epoch milliseconds to the wall clock of a zone, in milliseconds since the wall clock of 1970."""
    known = min(max(millis, _BOUNDS[0]), _BOUNDS[1])
    moment = (_EPOCH + timedelta(milliseconds=known)).astimezone(zone)
    return millis + (moment.utcoffset() or timedelta()) // _MILLI


def wall_clock_millis(wall: datetime) -> int:
    """Return the epoch milliseconds of a wall clock of this process."""
    try:
        return (_moment(wall, None) - _EPOCH) // _MILLI
    except (OverflowError, ValueError, OSError):  # at the ends of the calendar
        return (wall.replace(tzinfo=UTC) - _EPOCH) // _MILLI


def wall_clock_elsewhere(wall: datetime, zone: tzinfo | None) -> datetime:
    """Convert a wall clock of this process to the wall clock of a zone."""
    try:
        return _moment(wall, None).astimezone(zone).replace(tzinfo=None)
    except (OverflowError, ValueError, OSError):  # at the ends of the calendar
        return wall


def wall_clocks_elsewhere(millis: NDArray[np.int64], zone: tzinfo | None) -> NDArray[np.int64]:
    """Convert like `wall_clock_elsewhere`, from milliseconds since the wall clock of 1970."""
    quarters, which = np.unique(millis // _QUARTER, return_inverse=True)
    return millis + np.array([_move(int(q) * _QUARTER, zone) for q in quarters], dtype=np.int64)[which]


def _move(millis: int, zone: tzinfo | None) -> int:
    wall = (_EPOCH + timedelta(milliseconds=min(max(millis, _BOUNDS[0]), _BOUNDS[1]))).replace(tzinfo=None)
    return (wall_clock_elsewhere(wall, zone) - wall) // _MILLI


def _moment(wall: datetime, zone: tzinfo | None) -> datetime:
    """Return the moment of a wall clock in a zone, None for this process's zone."""
    if zone is not None:
        return wall.replace(tzinfo=zone).astimezone(UTC)
    # `astimezone` would read a skipped wall clock as an hour before the change.
    seconds = int(wall.replace(microsecond=0).timestamp())
    return _EPOCH + timedelta(seconds=seconds, microseconds=wall.microsecond)


def _zone(name: str) -> tzinfo:
    """Return the zone with this name, like `time_zone`. Raises `ValueError`."""
    spelled = _SHORT_MINUTE.sub(r"\1:0\2", _SHORT_HOUR.sub(r"\g<1>0\2:", name, count=1))
    spelled = SHORT_NAMES.get(spelled, spelled)
    if spelled == "Z":
        return UTC
    if spelled[:1] in ("+", "-"):
        return _fixed(spelled)
    if prefixed := _PREFIXED.fullmatch(spelled):
        return _fixed(prefixed["offset"]) if prefixed["offset"] else UTC
    if not _REGION.fullmatch(spelled):
        raise ValueError(name)
    try:
        return ZoneInfo(spelled)
    except (KeyError, OSError) as e:
        raise ValueError(name) from e


def _fixed(offset: str) -> tzinfo:
    if not _OFFSET.fullmatch(offset):
        raise ValueError(offset)
    digits = offset[1:].replace(":", "")
    digits = digits.rjust(2, "0") if len(digits) < 2 else digits
    hours, minutes, seconds = (int(digits[i : i + 2] or 0) for i in (0, 2, 4))
    distance = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    if minutes > 59 or seconds > 59 or distance > _FARTHEST:
        raise ValueError(offset)
    return timezone(-distance if offset[0] == "-" else distance) if distance else UTC
