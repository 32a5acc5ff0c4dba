"""Hosts whose clocks are wrong, or are set between and within statements. The storage's own clock goes on as it is."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest
import time_machine

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import CommitConflictError, InvalidOptionError
from paimon_core.io.local import LocalFileIO
from paimon_core.maintenance.tags import create_tag, taggable_snapshot
from paimon_core.store.snapshots import list_snapshots, snapshot_ids
from paimon_core.store.tags import tag_names
from tests.support.faulty_io import FaultyIO
from tests.support.place import Place, rows_of
from tests.support.sight import clean

T = TypeVar("T")
HOUR, DAY = 3600, 86_400
KEYED = {"keys": "k", "bucket": "1"}


@contextmanager
def clock(*, days: float) -> Iterator[None]:
    """This host's clock is wrong by so many days."""
    with time_machine.travel(time.time() + days * DAY):
        yield


class JumpingIO(FaultyIO):
    """A storage of a host whose clock is set by hours or days, forwards or backwards, before each call."""

    def __init__(self, dice: random.Random, traveller: time_machine.Traveller) -> None:
        super().__init__(LocalFileIO())
        self.dice, self.traveller = dice, traveller

    def call(self, path: str, act: Callable[[], T], *args: Any, **kwargs: Any) -> T:
        self.traveller.shift(timedelta(seconds=self.dice.choice([-30 * DAY, -HOUR, -1, 1, HOUR, 30 * DAY])))
        return super().call(path, act, *args, **kwargs)


def test_time_travel_goes_forwards(tmp_path: Path) -> None:
    """A later moment never shows an earlier snapshot, whatever the hosts' clocks said."""
    Place(tmp_path).create()
    for k, days in enumerate((0, 3, -10, 0.5, -0.1, 400, 0)):
        with clock(days=days):
            Place(tmp_path).insert([(k, "x")])
    table = Place(tmp_path).table()
    times = [s.time_millis for s in list_snapshots(table.store)]
    assert times == sorted(times)
    moments = sorted({t + step for t in times for step in (0, 1)})
    found = [table.snapshot(timestamp_millis=moment) for moment in moments]
    assert [s.id for s in found if s] == sorted(s.id for s in found if s) and found[-1].id == 7  # type: ignore[union-attr]


@pytest.mark.parametrize("seed", range(3))
def test_a_clock_that_jumps_within_statements(tmp_path: Path, seed: int) -> None:
    """INSERT, compaction, tags, expiry and clean-ups, while the clock is set before each call of the storage."""
    dice = random.Random(seed)
    Place(tmp_path).create(**KEYED, snapshot__num_retained__min="2", changelog_producer="input")
    with time_machine.travel(time.time()) as traveller:
        place = Place(tmp_path, JumpingIO(dice, traveller))
        for k in range(6):
            place.insert([(k, "x")])
            if k == 1:
                place.call("create_tag", tag="one")
        place.call("compact")
        place.call("expire_snapshots")
        place.call("remove_orphan_files")
        place.call("expire_tags")
    table = Place(tmp_path).table()
    assert rows_of(table) == [(k, "x") for k in range(6)]
    assert len(snapshot_ids(table.store)) >= 2
    assert rows_of(table, table.snapshot("one")) == [(0, "x"), (1, "x")]
    assert clean(tmp_path) == [] and rows_of(Place(tmp_path).table()) == [(k, "x") for k in range(6)]


@pytest.mark.parametrize("days", [-400, -1, 1, 400])
def test_expiry_keeps_what_is_needed(tmp_path: Path, days: float) -> None:
    """By a clock that is ahead all is old: the newest versions stay, and what tags, branches and readers need."""
    place = Place(tmp_path)
    place.create(**KEYED, write_only="true")
    for k in range(5):
        place.insert([(k, "x")])
    place.call("create_tag", tag="one", snapshot=1)
    place.call("create_branch", branch="b", tag="one")
    place.call("reset_consumer", consumerId="me", nextSnapshotId=3)
    with clock(days=days):
        removed = Place(tmp_path).call("expire_snapshots", retain_min=2)[0][0]
    table = Place(tmp_path).table()
    assert snapshot_ids(table.store) == ([3, 4, 5] if days > 0 else [1, 2, 3, 4, 5]) and removed == max(
        0, 2 * (days > 0)
    )
    assert [rows_of(table, s) for s in list_snapshots(table.store)][-1] == [(k, "x") for k in range(5)]
    assert rows_of(table, table.snapshot("one")) == Place(tmp_path).rows("t$branch_b") == [(0, "x")]


def test_tags_are_kept_for_their_time(tmp_path: Path) -> None:
    """Made by a host whose clock is behind or ahead, tags go when the clock says so, and never before that."""
    Place(tmp_path).create(write_only="true")
    Place(tmp_path).insert([(1, "x")])
    for name, days in (("now", 0), ("behind", -3), ("ahead", 3)):
        with clock(days=days):
            table = Place(tmp_path).table()
            create_tag(table.store, name, taggable_snapshot(table.store, 1), timedelta(days=2))
    kept = {}
    for days in (-400, 0, 2.5, 6):
        with clock(days=days):
            Place(tmp_path).call("expire_tags")
        kept[days] = sorted(tag_names(Place(tmp_path).table().store))
    assert kept == {-400: ["ahead", "behind", "now"], 0: ["ahead", "now"], 2.5: ["ahead"], 6: []}
    assert Place(tmp_path).rows() == [(1, "x")]


@pytest.mark.parametrize("days", [-400, -2, 2, 400])
def test_the_storage_says_how_old_orphans_are(tmp_path: Path, days: float) -> None:
    place = Place(tmp_path)
    place.create()
    place.insert([(1, "x")])
    bucket = Path(place.table().store.root, "bucket-0")
    young, old = (bucket / f"data-{n:08}-0000-0000-0000-000000000000-0.parquet" for n in (1, 2))
    for orphan in (young, old):
        orphan.write_bytes(b"PAR1")
    os.utime(old, (old.stat().st_mtime - 1.5 * DAY,) * 2)
    with clock(days=days):
        assert Place(tmp_path).call("remove_orphan_files") == [(1, 4)]
        if days > 0:
            tomorrow = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time.time() - (days - 1) * DAY))
            with pytest.raises(InvalidOptionError, match="by the clock of the storage of table .*is in the future"):
                Place(tmp_path).call("remove_orphan_files", older_than=tomorrow)
    assert young.exists() and not old.exists() and Place(tmp_path).rows() == [(1, "x")]


@pytest.mark.parametrize("hours", [-30, -1, 1, 30])
def test_a_clean_up_during_a_write_whose_clock_jumps(tmp_path: Path, hours: float) -> None:
    """A commit never names a file that is gone: after a jump the writer looks."""
    Place(tmp_path).create()
    table = Place(tmp_path).table()
    messages = Place(tmp_path).write(table, [(1, "x")])
    lost = next(Path(table.store.root, "bucket-0").iterdir())
    lost.rename(tmp_path / "kept")
    with clock(days=hours / 24), pytest.raises(CommitConflictError, match="no longer exist"):
        table.commit(messages, CommitInfo(user="writer"))
    (tmp_path / "kept").rename(lost)
    with clock(days=hours / 24):
        assert table.commit(messages, CommitInfo(user="writer")) is not None
    assert Place(tmp_path).rows() == [(1, "x")]


@dataclass(frozen=True)
class TakenIO(LocalFileIO):
    """Where every snapshot number is taken by others, and each try takes a while by the monotonic clock."""

    def create_exclusive(self, path: str, data: bytes) -> bool:
        time.sleep(0.01)
        return False if "/snapshot-" in path else LocalFileIO.create_exclusive(self, path, data)


@pytest.mark.parametrize("days", [-400, 400])
def test_a_commit_gives_up_by_the_monotonic_clock(tmp_path: Path, days: float) -> None:
    Place(tmp_path).create(commit__timeout="200 ms", commit__max_retries="1000")
    with time_machine.travel(time.time()) as traveller:
        table = Place(tmp_path, TakenIO()).table()
        messages = Place(tmp_path).write(table, [(1, "x")])
        traveller.shift(timedelta(days=days))
        with pytest.raises(CommitConflictError, match=r"lost the race|no longer exist"):
            table.commit(messages, CommitInfo(user="writer"))
    assert Place(tmp_path).rows() == []
