"""A moment means the same in every text that names it, in ten zones and at the changes of daylight saving.

Python's `zoneinfo` says what is expected. A wall clock that is repeated means the first of both moments. One that is
skipped means the moment as far behind the change.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo

import pytest
import time_machine

from paimon_core.errors import SnapshotNotFoundError
from paimon_core.scan.changes.increment import increment_of_options
from paimon_core.scan.streams.history import History
from paimon_core.scan.streams.starts import starting_position
from paimon_core.scan.time_travel import snapshot_of_options
from paimon_core.spec.types import DataField, Kind, TimeType
from paimon_core.spec.value_texts import cast_text
from paimon_core.table import Table
from paimon_core.time_zones import time_zone
from paimon_sql.procedures.arguments import epoch_millis, partition_value
from paimon_sql.values import as_text
from tests.support import stored
from tests.unit.shell.fakes import kind

ZONES = {
    "UTC": None,
    "Asia/Shanghai": None,
    "America/New_York": (datetime(2024, 3, 10, 7, tzinfo=UTC), datetime(2024, 11, 3, 6, tzinfo=UTC)),
    "PST": (datetime(2024, 3, 10, 10, tzinfo=UTC), datetime(2024, 11, 3, 9, tzinfo=UTC)),
    "Europe/London": (datetime(2024, 3, 31, 1, tzinfo=UTC), datetime(2024, 10, 27, 1, tzinfo=UTC)),
    "Australia/Lord_Howe": (datetime(2024, 10, 5, 15, 30, tzinfo=UTC), datetime(2024, 4, 6, 15, tzinfo=UTC)),
    "Africa/Casablanca": (datetime(2024, 4, 14, 2, tzinfo=UTC), datetime(2024, 3, 10, 2, tzinfo=UTC)),
    "America/St_Johns": (datetime(2024, 3, 10, 5, 30, tzinfo=UTC), datetime(2024, 11, 3, 4, 30, tzinfo=UTC)),
    "+08:00": None,
    "-03:30:15": None,
}
_USUAL = (datetime(2024, 6, 1, tzinfo=UTC), datetime(2024, 12, 1, tzinfo=UTC))  # where nothing changes
_STEPS = [timedelta(minutes=m) for m in (-90, -61, -30, -1, 0, 1, 29, 30, 59, 60, 90)]


@pytest.fixture(params=["UTC", "America/New_York"], autouse=True)
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process in some zone."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def _millis(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def _table(warehouse: str, moments: list[datetime]) -> Table:
    """A table with a snapshot of each moment."""
    table = stored.create_table(warehouse, write_only="true")
    for number, moment in enumerate(moments):
        with time_machine.travel(moment.timestamp(), tick=False):  # a datetime would bring its zone, too
            stored.insert(table, [(number, "x")])
    return stored.open_table(warehouse)


def _expected(text: str, zone: tzinfo) -> int:
    """Epoch milliseconds, by `zoneinfo`."""
    return _millis(datetime.fromisoformat(text).replace(tzinfo=zone).astimezone(UTC))


def _is_repeated(moment: datetime) -> bool:
    """Whether this machine's clock shows a moment's wall clock twice."""
    before, shown, after = (
        datetime.fromtimestamp((moment + timedelta(hours=h)).timestamp()).replace(fold=0)  # the machine's
        for h in (-1, 0, 1)
    )
    return shown in (before, after)


def _read(table: Table, text: str, zone: tzinfo) -> int:
    try:
        snapshot = snapshot_of_options(table.store.with_options({"scan.timestamp": text}), zone)
    except SnapshotNotFoundError:
        return 0
    return snapshot.id if snapshot else 0


def _between(table: Table, text: str, zone: tzinfo) -> int:
    found = increment_of_options(
        table.store.with_options({"incremental-between-timestamp": f"1999-01-01,{text}"}), zone
    )
    return found.end.id if found is not None and found.end is not None else 0


def _stream(table: Table, text: str, zone: tzinfo) -> int:
    return starting_position(History(table.store.with_options({"scan.timestamp": text})), zone).snapshot_id


@pytest.mark.parametrize("name", ZONES)
def test_every_door_means_the_same_moment(warehouse: str, name: str) -> None:
    zone, changes = time_zone(name), ZONES[name] or _USUAL
    moments = sorted(change + step for change in changes for step in _STEPS)
    table, times = _table(warehouse, moments), [_millis(m) for m in moments]
    walls = {m.astimezone(zone).replace(tzinfo=None) for m in moments}
    texts = [str(w + timedelta(minutes=more)) for w in walls for more in (0, 30, 60)]  # also those that are skipped
    for text in texts:
        meant = _expected(text, zone)
        until, before = sum(t <= meant for t in times), sum(t < meant for t in times)
        found = _read(table, text, zone), _between(table, text, zone), _stream(table, text, zone) - 1
        assert found == (until, until, before), text
        assert epoch_millis("older_than", text, zone) == meant
    shown = table.system_table("snapshots", zone).column("commit_time").to_pylist()
    assert shown == [m.astimezone(zone).replace(tzinfo=None) for m in moments]
    made = set(table.system_table("files", zone).column("creation_time").to_pylist())  # kept as the machine's clock
    assert {s for m, s in zip(moments, shown, strict=True) if not _is_repeated(m)} <= made
    collected = [datetime.fromtimestamp(t // 1000) for t in times]  # as PySpark gives moments
    assert [as_text(c, kind("timestamp"), zone) for c in collected] == [str(w) for w in shown]


@pytest.mark.parametrize("name", ZONES)
def test_a_partition_means_the_moment_that_its_text_means(name: str) -> None:
    """In the session's zone, as in SQL: what a system table shows comes back as the same partition."""
    zone, changes = time_zone(name), ZONES[name] or _USUAL
    instant = DataField(id=0, name="ts", type=TimeType(Kind.TIMESTAMP_LTZ, precision=3))
    plain = DataField(id=0, name="ts", type=TimeType(Kind.TIMESTAMP, precision=3))
    for moment in (change + step for change in changes for step in _STEPS):
        wall = moment.astimezone(zone).replace(tzinfo=None)
        for text in (str(wall), str(wall + timedelta(hours=1))):
            assert partition_value(instant, text, zone) == (_expected(text, zone), 0), text
            assert partition_value(plain, text, zone) == (_expected(text, UTC), 0), text
        shown = cast_text(instant.type, (_millis(moment), 0), zone)
        assert shown == f"{wall}.000"
        is_second = moment.astimezone(zone).fold
        assert is_second or partition_value(instant, shown, zone) == (_millis(moment), 0)
