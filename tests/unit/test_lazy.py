from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier, Event
from types import SimpleNamespace
from typing import Any

import pytest

from paimon_core.io.delegating import DelegatingFileIO
from paimon_core.io.file_io import FileIO
from paimon_core.io.local import LocalFileIO
from paimon_core.lazy import cached_property
from paimon_core.store.snapshots import latest_snapshot
from paimon_core.table import Table
from paimon_sql.catalog.filesystem import FileSystemCatalog
from paimon_sql.spark.read.scan_builder import PaimonScanBuilder
from paimon_sql.spark.tables.named_catalog import NamedCatalog
from tests.support.tables import data_file, info, message, new_store

THREADS = 8
HELD_UP = 60  # seconds after which a thread gives up: only a failing test waits that long


class MeetingIO(DelegatingFileIO):
    """A storage that gives its first answers once all threads have asked."""

    def __init__(self) -> None:
        self.asked, self.answers = Barrier(THREADS), Event()

    def _io(self) -> FileIO:
        return LocalFileIO()

    def read_bytes(self, path: str, most: int = 2**26) -> bytes:
        if not self.answers.is_set():
            self.asked.wait(HELD_UP)
            self.answers.set()
        return super().read_bytes(path, most)


def together(calls: list[Any]) -> list[Any]:
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(lambda call: call(), calls))


def test_scans_of_eight_sessions_are_planned_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "opentelemetry.trace", raising=False)  # spans need a session
    store, io = new_store(tmp_path), MeetingIO()
    Table(store).commit([message(store, data_file(store, 1, 5))], info())
    tables = [Table(type(store).of(io, store.root, store.schema)) for _ in range(THREADS)]
    jvm: Any = SimpleNamespace(interfaces=lambda wanted: wanted)
    builders = [PaimonScanBuilder(jvm, None, t, lambda t=t: latest_snapshot(t.store)) for t in tables]  # type: ignore
    plans = together([lambda b=b: b._plan for b in builders])
    assert [len(p.splits) for p in plans] == [1] * THREADS
    assert builders[0]._plan is plans[0]


def test_catalogs_are_made_side_by_side_and_each_once(tmp_path: Path) -> None:
    asked, made = Barrier(THREADS), list[int]()

    jvm: Any = SimpleNamespace(interfaces=lambda wanted: wanted)

    class Session:
        def catalog_options(self, name: str) -> dict[str, str]:
            return {}

    def load(number: int) -> FileSystemCatalog:
        asked.wait(HELD_UP)
        made.append(number)
        return FileSystemCatalog(LocalFileIO(), str(tmp_path / str(number)))

    catalogs = [NamedCatalog(jvm, Session(), f"c{n}", lambda n=n: load(n)) for n in range(THREADS)]  # type: ignore
    found = together([lambda c=c: c.catalog for c in catalogs])
    assert together([lambda c=c: c.catalog for c in catalogs]) == found
    assert sorted(made) == list(range(THREADS))


def test_threads_that_compute_a_value_at_once_get_the_same() -> None:
    asked = Barrier(THREADS)

    @dataclass(frozen=True)
    class Value:
        @cached_property
        def made(self) -> object:
            """A new object."""
            asked.wait(HELD_UP)
            return object()

    value = Value()
    assert len(set(together([lambda: value.made] * THREADS))) == 1
    assert Value.made.__doc__ == "A new object."


def test_a_value_that_could_not_be_computed_is_computed_again() -> None:
    class Value:
        tries = 0

        @cached_property
        def made(self) -> int:
            self.tries += 1
            if self.tries == 1:
                raise OSError("the storage is down")
            return self.tries

    value = Value()
    with pytest.raises(OSError, match="down"):
        _ = value.made
    assert (value.made, value.made) == (2, 2)
