"""Writers of one machine queue for a folder: that saves work, and nothing depends on it."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from paimon_core.io import local
from paimon_core.io.fsspec import FsspecFileIO
from paimon_core.io.local import LocalFileIO
from tests.support.waiting import PATIENCE

IO = LocalFileIO()


def test_one_at_a_time(tmp_path: Path) -> None:
    inside = most = 0
    lock = threading.Lock()

    def enter(_: int) -> None:
        nonlocal inside, most
        with IO.writer_slot(str(tmp_path)):
            with lock:
                inside += 1
                most = max(most, inside)
            time.sleep(0.002)
            with lock:
                inside -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(enter, range(40)))
    assert most == 1
    assert os.listdir(tmp_path) == []


def test_a_holder_that_stands_still_stops_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_SLOT_PATIENCE", 0.05)
    with IO.writer_slot(str(tmp_path)):
        started = time.monotonic()
        with IO.writer_slot(str(tmp_path)):
            assert time.monotonic() - started >= 0.05
    monkeypatch.setattr(local, "_SLOT_PATIENCE", PATIENCE)
    started = time.monotonic()
    with IO.writer_slot(str(tmp_path)):
        assert time.monotonic() - started < PATIENCE, "nobody is waited for"


def test_a_child_process_inherits_no_slot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_SLOT_PATIENCE", PATIENCE)
    with IO.writer_slot(str(tmp_path)):
        child = os.fork()
        if not child:
            time.sleep(2 * PATIENCE)
            os._exit(0)
    try:
        started = time.monotonic()
        with IO.writer_slot(str(tmp_path)):
            assert time.monotonic() - started < PATIENCE
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)


def test_errors_pass_and_give_the_slot_back(tmp_path: Path) -> None:
    with pytest.raises(KeyError), IO.writer_slot(str(tmp_path)):
        raise KeyError
    with IO.writer_slot(str(tmp_path)):
        pass


def test_where_there_is_nothing_to_queue_at(tmp_path: Path) -> None:
    descriptors = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    with IO.writer_slot(f"{tmp_path}/none"), FsspecFileIO("memory").writer_slot("memory://none"):
        pass
    assert not descriptors or len(os.listdir("/proc/self/fd")) == descriptors
