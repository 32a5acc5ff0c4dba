from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path

import pytest

from paimon_core.commit.snapshot_times import clock_warning
from paimon_core.store.snapshots import list_snapshots
from paimon_core.table import Table
from tests.support.tables import data_file, info, message, new_store

DAY = 86_400


@pytest.mark.parametrize("ahead", [0, 30, 3 * DAY])
def test_a_clock_that_was_ahead_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, ahead: int
) -> None:
    table = Table(new_store(tmp_path))
    ns = time.time_ns
    with monkeypatch.context() as patch:
        patch.setattr(time, "time_ns", lambda: ns() + ahead * 10**9)
        table.commit([message(table.store, data_file(table.store, 1, 1))], info("ahead"))
    assert caplog.text == ""
    for number in (2, 3):
        caplog.clear()
        table.commit([message(table.store, data_file(table.store, 1, 1))], info())
        warnings = [r.getMessage() for r in caplog.records]
        if ahead < DAY:
            assert warnings == []
        else:
            assert len(warnings) == 1
            assert f"Snapshot {number} of db.t is dated " in warnings[0]
            assert "a host with a fast clock" in warnings[0] and "`db.t$snapshots`" in warnings[0]
            assert 3 * DAY - 600 < int(re.findall(r"(\d+) seconds from now", warnings[0])[0]) <= 3 * DAY
    times = [s.time_millis for s in list_snapshots(table.store)]
    assert times == sorted(times)


def test_any_time_can_be_told(tmp_path: Path) -> None:
    """A snapshot may hold any number."""
    table = Table(new_store(tmp_path))
    made = table.commit([message(table.store, data_file(table.store, 1, 1))], info())
    assert made is not None
    for millis in (2**62, 253_402_300_800_000):
        assert "seconds from now" in str(clock_warning("t", replace(made, time_millis=millis), 0))
    assert clock_warning("t", replace(made, time_millis=-(2**62)), 0) is None
