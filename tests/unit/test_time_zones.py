"""Time zones by name, and moments as texts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from paimon_core.errors import InvalidOptionError
from paimon_core.time_zones import (
    epoch_millis,
    epoch_moment,
    parsed_moment,
    time_zone,
    wall_clock,
    wall_clock_elsewhere,
    wall_clocks_elsewhere,
)

SUMMER = datetime(2024, 7, 1, 12)
NEW_YORK = ZoneInfo("America/New_York")  # an hour is skipped on 2024-03-10 at 2:00, one repeated on 2024-11-03 at 1:00


@pytest.fixture
def in_new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process in New York."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def _hours(name: str) -> float:
    return time_zone(name).utcoffset(SUMMER) / timedelta(hours=1)


@pytest.mark.parametrize(
    "name",
    ["+08:00", "+8", "+08", "+0800", "+080000", "+08:00:00", "+8:00", "+8:0", "GMT+8", "UTC+08:00", "UT+8", "CTT"],
)
def test_eight_hours_in_every_spelling(name: str) -> None:
    assert _hours(name) == 8


@pytest.mark.parametrize(
    ("name", "hours"),
    [
        ("Z", 0), ("UTC", 0), ("GMT", 0), ("UT", 0), ("GMT0", 0), ("UTC-00:00", 0), ("Etc/GMT+8", -8), ("CST", -5),
        ("PST", -7), ("EST", -5), ("America/St_Johns", -2.5), ("-03:30", -3.5), ("+18:00", 18), ("-18", -18),
        ("+01:30:36", 1.51), ("Asia/Shanghai", 8),
    ],
)  # fmt: skip
def test_offsets(name: str, hours: float) -> None:
    assert _hours(name) == hours


@pytest.mark.parametrize(
    "name",
    ["", " ", "Mars/Phobos", "../etc/passwd", "/etc/localtime", "America", "+", "+19", "+18:01", "+08:60", "+8:",
     "+080", "+08:0:0", "GMT+", "UTC+99", "z", "é", "+٨", "Asia/Shanghai\0", "Asia/../Asia/Tokyo"],
)  # fmt: skip
def test_a_name_of_no_zone_is_refused(name: str) -> None:
    with pytest.raises(InvalidOptionError, match="is not a valid time zone: write"):
        time_zone(name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-06-01", "2024-05-31 16:00:00"),
        ("2024-6-1", "2024-05-31 16:00:00"),
        (" 2024-06-01 08:00:00 ", "2024-06-01 00:00:00"),
        ("2024-06-01T08:00", "2024-06-01 00:00:00"),
        ("2024-06-01 8:0:0.5", "2024-06-01 00:00:00.500"),
        ("2024-06-01 08:00:00Z", "2024-06-01 08:00:00"),
        ("2024-06-01 08:00:00 Asia/Tokyo", "2024-05-31 23:00:00"),
        ("2024-06-01 08:00:00.25-07:00", "2024-06-01 15:00:00.250"),
        ("2024-06-01 08:00:00 PST", "2024-06-01 15:00:00"),
        ("20240601T080000", "2024-06-01 00:00:00"),
    ],
)
def test_moments_as_texts(text: str, expected: str) -> None:
    found = datetime.fromtimestamp(epoch_millis(text, time_zone("+8")) / 1000, UTC).replace(tzinfo=None)
    assert found == datetime.fromisoformat(expected)


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2024-13-01", "2024-06-01 25:00:00", "2024-06-01 08:00:00 Mars/Phobos"]
)
def test_a_text_of_no_moment_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        epoch_millis(text, UTC)


def test_nanoseconds_stay() -> None:
    assert epoch_moment("1970-01-01 00:00:01.123456789123", UTC) == (1123, 456_789)
    assert parsed_moment("1969-12-31 23:59:59.999999999") == (datetime(1969, 12, 31, 23, 59, 59), 999_999_999, None)


@pytest.mark.parametrize("text", ["0001-01-01 00:00:00", "9999-12-31 23:59:59"])
def test_the_ends_of_the_calendar_are_refused_not_wrong(text: str) -> None:
    behind = "+18" if text.startswith("0") else "-18"
    with pytest.raises(ValueError):
        epoch_millis(text, time_zone(behind))


def test_changes_of_daylight_saving() -> None:
    first_of_both = datetime(2024, 11, 3, 5, 30, tzinfo=UTC)
    behind_the_gap = datetime(2024, 3, 10, 7, 30, tzinfo=UTC)  # 3:30, summer time
    assert epoch_millis("2024-11-03 01:30:00", NEW_YORK) == int(first_of_both.timestamp()) * 1000
    assert epoch_millis("2024-03-10 02:30:00", NEW_YORK) == int(behind_the_gap.timestamp()) * 1000


def test_a_zone_none_is_the_process_s(in_new_york: None) -> None:
    assert epoch_millis("2024-03-10 02:30:00", None) == epoch_millis("2024-03-10 02:30:00", NEW_YORK)
    assert wall_clock(0, None) == wall_clock(0, NEW_YORK) == -5 * 3_600_000


@pytest.mark.parametrize("millis", [-(2**62), -1, 0, 2**62])
def test_wall_clocks_at_any_time(millis: int) -> None:
    assert wall_clock(millis, time_zone("+8")) == millis + 8 * 3_600_000


def test_wall_clocks_of_this_process_elsewhere(in_new_york: None) -> None:
    walls = [
        datetime(2024, 3, 10, 1, 59),
        datetime(2024, 3, 10, 3),
        datetime(2024, 11, 3, 0, 59),
        datetime(2024, 11, 3, 2),
    ]
    elsewhere = [wall_clock_elsewhere(w, UTC) for w in walls]
    assert [w.hour for w in elsewhere] == [6, 7, 4, 7]
    millis = np.array([int(w.replace(tzinfo=UTC).timestamp()) * 1000 for w in walls])
    expected = [int(w.replace(tzinfo=UTC).timestamp()) * 1000 for w in elsewhere]
    assert wall_clocks_elsewhere(millis, UTC).tolist() == expected
    assert wall_clocks_elsewhere(np.zeros(0, np.int64), UTC).tolist() == []
    assert len(wall_clocks_elsewhere(np.array([-(2**62), 2**62]), UTC)) == 2
