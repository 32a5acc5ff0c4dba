"""Compactions behind a stream: one at a time, of all that waits, and a stream that is too fast waits."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from paimon_core.spec.message import CommitMessage
from paimon_sql.spark.streams.sink_compactions import SinkCompactions, is_waited_for, most_waiting
from tests.support.tables import message, new_store
from tests.support.waiting import PATIENCE


class Compactor:
    """Compacts when it is allowed to, and notes what."""

    def __init__(self) -> None:
        self.may_go, self.began, self.seen = threading.Semaphore(0), threading.Semaphore(0), list[list[int]]()

    def __call__(self, written: Sequence[CommitMessage]) -> None:
        self.began.release()
        assert self.may_go.acquire(timeout=PATIENCE)
        self.seen.append([m.bucket for m in written])


def epoch(tmp_path: Path, number: int) -> list[CommitMessage]:
    store = new_store(tmp_path / str(number))
    return [message(store, bucket=number)]


def test_what_is_written_meanwhile_is_compacted_together(tmp_path: Path) -> None:
    compact, compactions = Compactor(), SinkCompactions()
    compactions.add(compact, epoch(tmp_path, 0), most=9)
    assert compact.began.acquire(timeout=PATIENCE)
    for number in (1, 2, 3):
        compactions.add(compact, epoch(tmp_path, number), most=9)
    assert not compactions.wait(0)
    compact.may_go.release(2)
    assert compactions.wait(PATIENCE)
    assert compact.seen == [[0], [1, 2, 3]]


def test_a_stream_that_is_too_fast_waits(tmp_path: Path) -> None:
    compact, compactions = Compactor(), SinkCompactions()
    compactions.add(compact, epoch(tmp_path, 0), most=2)
    assert compact.began.acquire(timeout=PATIENCE)
    compactions.add(compact, epoch(tmp_path, 1), most=2)
    compactions.add(compact, epoch(tmp_path, 2), most=2)
    fast = threading.Thread(target=compactions.add, args=(compact, epoch(tmp_path, 3), 2))
    fast.start()
    fast.join(0.2)
    assert fast.is_alive()
    compact.may_go.release()
    fast.join(PATIENCE)
    assert not fast.is_alive()
    compact.may_go.release(2)
    assert compactions.wait(PATIENCE)
    assert compact.seen[0] == [0] and [b for seen in compact.seen[1:] for b in seen] == [1, 2, 3]


def test_one_that_fails_holds_up_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: Sequence[CommitMessage]) -> None:
        raise RuntimeError("no more memory")

    compactions = SinkCompactions()
    compactions.add(fail, epoch(tmp_path, 0), most=1)
    assert compactions.wait(PATIENCE)
    assert "after an epoch of a stream failed: no more memory" in caplog.text
    compactions.add(fail, epoch(tmp_path, 1), most=1)
    assert compactions.wait(PATIENCE)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 3),
        ({"num-sorted-run.stop-trigger": "9"}, 4),
        ({"num-sorted-run.stop-trigger": "2"}, 1),
        ({"num-sorted-run.stop-trigger": "9", "num-sorted-run.compaction-trigger": "3"}, 6),
    ],
)
def test_how_many_epochs_wait(tmp_path: Path, options: dict[str, str], expected: int) -> None:
    assert most_waiting(new_store(tmp_path).with_options(options)) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, False),
        ({"deletion-vectors.enabled": "true"}, True),
        ({"merge-engine": "first-row"}, True),
        ({"changelog-producer": "lookup"}, True),
        ({"changelog-producer": "lookup", "lookup-wait": "false"}, False),
        ({"changelog-producer": "full-compaction"}, False),
    ],
)
def test_which_epochs_wait_for_their_compaction(tmp_path: Path, options: dict[str, Any], expected: bool) -> None:
    store = new_store(tmp_path, **{"primary-key": "k", "bucket": "1"}).with_options(options)
    assert is_waited_for(store) is expected
