"""Work that takes some seconds can be seen by other processes while it runs."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.io.local import LocalFileIO
from paimon_core.maintenance import running
from paimon_core.maintenance.running import Announcement, announced, running_work
from paimon_core.progress import Phase, phase
from paimon_core.spec.identifier import Identifier
from paimon_core.store.table_store import TableStore
from paimon_sql import open_catalog
from paimon_sql.catalog.system_database import read_catalog_system_table
from tests.unit.procedures.test_advice import KEYED, Lake


def seen(store: TableStore, wanted: Callable[[list[str]], bool]) -> list[str]:
    """The work on a table, once it is as wanted."""
    deadline = time.monotonic() + 30
    while not wanted(names := [w.work for w in running_work(store)]) and time.monotonic() < deadline:
        time.sleep(0.01)
    return names


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_FIRST", 0.0)
    monkeypatch.setattr(running, "_EVERY", 0.01)


def test_work_is_seen_until_it_ends(tmp_path: Path) -> None:
    lake = Lake(tmp_path, KEYED)
    store = lake.table.store
    with announced(store, "compaction"):
        assert seen(store, bool) == ["compaction"]
        (row,) = lake.table.system_table("running").to_pylist()
        assert (row["work"], row["process"]) == ("compaction", os.getpid())
        (whole,) = read_catalog_system_table(lake.catalog, "running").to_pylist()
        assert (whole["database_name"], whole["table_name"], whole["work"]) == ("default", "t", "compaction")
    assert running_work(store) == [] and list(Path(store.paths.turn_dir).iterdir()) == []


def test_the_job_of_work_and_its_tasks(tmp_path: Path) -> None:
    lake, ended = Lake(tmp_path, KEYED), list[int]()
    store = lake.table.store

    def rows(wanted: int | None) -> list[dict[str, Any]]:
        """The row of both tables, once `wanted` tasks have ended."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            found = lake.table.system_table("running").to_pylist()
            found += read_catalog_system_table(lake.catalog, "running").to_pylist()
            if len(found) == 2 and {row["done"] for row in found} == {wanted}:
                return found
            time.sleep(0.01)
        raise AssertionError(found)

    with announced(store, "compact"):
        assert {row["job"] for row in rows(None)} == {None}
        with phase("list the folders of default.t", "folders") as listing:
            listing.add(7)
            assert {(row["total"], row["unit"], row["seconds_left"]) for row in rows(7)} == {(None, "folders", None)}
        with phase("compact default.t", "files", 4, lambda: len(ended)):
            for row in rows(0):
                assert (row["job"], row["total"], row["per_second"]) == ("compact default.t", 4, None)
            ended.append(1)
            time.sleep(0.2)  # so that the job takes more than 0.0 seconds
            for row in rows(1):
                assert row["per_second"] > 0 and row["seconds_left"] == round(3 / row["per_second"])
            ended.extend(range(5))
            assert {row["seconds_left"] for row in rows(4)} == {0}, "more results than files count as all of them"
    assert running_work(store) == []


@pytest.mark.parametrize(
    ("content", "job"),
    [
        ('"job": "j", "unit": "f", "count": 4, "done": 1, "seconds": 2.0', ("j", 1, 4, "f", 0.5, 6)),
        ('"job": "j", "unit": "f", "count": 4, "done": 1, "seconds": -1', ("j", 1, 4, "f", None, None)),
        ('"job": "j", "unit": "f", "count": 4, "done": 1, "seconds": "2"', ("j", 1, 4, "f", None, None)),
        ('"job": "j", "unit": "f", "count": 4, "done": 1, "seconds": 1e-300', ("j", 1, 4, "f", None, None)),
        ('"job": "j", "done": 3, "seconds": 2.0', ("j", 3, None, "", 1.5, None)),
        (f'"job": "j", "unit": "{"u" * 99}", "count": 4, "done": 0', ("j", 0, 4, "u" * 30, None, None)),
        ('"job": "j", "unit": "f", "count": 4, "done": 5, "seconds": 2.0', (None,) * 6),
        ('"job": "j", "count": 0, "done": -1', (None,) * 6),
        (f'"job": "j", "done": {10**30}', (None,) * 6),
        (f'"job": "j", "unit": "f", "count": {10**30}, "done": 5, "seconds": 2.0', (None,) * 6),
        ('"count": 4, "done": 1', (None,) * 6),
    ],
)
def test_jobs_in_files_of_strangers(content: str, job: tuple[Any, ...], tmp_path: Path) -> None:
    store = Lake(tmp_path, KEYED).table.store
    Path(store.paths.turn_dir).mkdir()
    Path(store.paths.running(str(uuid.uuid4()))).write_text(f'{{"work": "w", {content}}}')
    ((found),) = running_work(store)
    assert found.progress == job


def test_jobs_of_procedures_and_of_writes_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen_jobs = list[Phase]()
    monkeypatch.setattr(Announcement, "follow", lambda _, job: seen_jobs.append(job))
    catalog = open_catalog(str(tmp_path))
    columns = pa.schema([("k", pa.int64())])
    table = catalog.create_table("default.t", columns, primary_key="k", options={"bucket": "2", "write-only": "true"})
    for _ in range(2):
        table.upsert([{"k": n} for n in range(8)])
    catalog.call("compact", table="t")
    catalog.call("remove_orphan_files", table="t", mode="distributed")
    found = {job.description: job.progress for job in seen_jobs}
    assert (found["compact default.t"].done, found["compact default.t"].count) == (4, 4)
    search = found["find orphans of default.t"]
    assert (search.unit, search.done) == ("manifests and folders", search.count) and search.count > 5
    seen_jobs.clear()
    options = {"bucket": "1", "num-sorted-run.compaction-trigger": "2"}
    eager = catalog.create_table("default.u", columns, primary_key="k", options=options)
    for n in range(3):
        eager.upsert([{"k": n}])
    assert {(job.description, job.progress.done, job.count) for job in seen_jobs} == {("compact default.u", 2, 2)}


def test_work_on_a_dropped_table_does_not_make_its_folder_anew(tmp_path: Path) -> None:
    lake = Lake(tmp_path, KEYED)
    store = lake.table.store
    lake.catalog.drop_table(Identifier("default", "t"))
    announcement = Announcement("compaction")
    announcement.begin(store)
    assert announcement._thread is not None
    announcement._thread.join(30)  # it ends by itself
    assert not announcement._thread.is_alive() and not Path(store.root).exists()


def test_short_work_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_FIRST", 60.0)
    store = Lake(tmp_path, KEYED).table.store
    with announced(store, "compaction"):
        pass
    assert not Path(store.paths.turn_dir).exists()


def test_procedures_and_compactions_behind_writes_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = list[str]()
    text = Announcement._text
    monkeypatch.setattr(Announcement, "_text", lambda self: written.append(self._work) or text(self))
    ended = Announcement.end

    def end(self: Announcement) -> None:
        if self._thread is not None:
            deadline = time.monotonic() + 30
            while self._work not in written and time.monotonic() < deadline:
                time.sleep(0.01)
        ended(self)

    monkeypatch.setattr(Announcement, "end", end)
    lake = Lake(tmp_path, KEYED)
    lake.insert(1)
    for name in ("compact", "expire_snapshots", "remove_orphan_files"):
        lake.call(name, table="t", dry_run=True)
    assert written == [], "a dry run changes nothing"
    for name in ("compact", "expire_snapshots", "remove_orphan_files"):
        lake.call(name, table="t")
        assert name in written
    for _ in range(2):
        lake.call("copy", source_table="t", target_table="c")
        assert written.pop() == "copy"
    lake.call("advise", table="t")
    assert "advise" not in written
    assert list(Path(lake.table.store.paths.turn_dir).iterdir()) == []


def test_a_storage_that_cannot_be_written_stops_no_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Lake(tmp_path, KEYED).table.store

    def refuse(*_: object) -> None:
        raise PermissionError("read only")

    monkeypatch.setattr(LocalFileIO, "write_bytes", refuse)
    with announced(store, "compaction"):
        assert running_work(store) == []


def test_files_of_killed_processes_and_of_strangers(tmp_path: Path) -> None:
    store = Lake(tmp_path, KEYED).table.store
    folder = Path(store.paths.turn_dir)
    folder.mkdir()
    files = [folder / f"running-{uuid.uuid4()}" for _ in range(4)]
    for file, content in zip(files, ('{"work": "old"}', '{"work": "dead"}', "no JSON", '{"work": 3}'), strict=True):
        file.write_text(content)
    (folder / "running-else").write_text('{"work": "a stranger"}')
    os.utime(files[0], (1, 1))
    os.utime(files[1], (time.time() - 700,) * 2)
    assert running_work(store) == []
    with announced(store, "compaction"):
        assert seen(store, bool) == ["compaction"]
    assert not files[0].exists(), "it was a day old"
    assert files[1].exists() and (folder / "running-else").exists()


def test_only_some_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Lake(tmp_path, KEYED).table.store
    Path(store.paths.turn_dir).mkdir()
    for number in range(5):
        Path(store.paths.running(str(uuid.uuid4()))).write_text(f'{{"work": "w{number}", "began": {number}}}')
    monkeypatch.setattr(running, "_MOST", 3)
    assert len(running_work(store)) == 3


@pytest.mark.parametrize("content", ['"began": -9000000000000000', f'"began": {10**18}', f'"process": {10**30}'])
def test_numbers_that_no_date_or_column_can_show(tmp_path: Path, content: str) -> None:
    lake = Lake(tmp_path, KEYED)
    store = lake.table.store
    Path(store.paths.turn_dir).mkdir()
    for text in (content, '"work": "valid"'):
        Path(store.paths.running(str(uuid.uuid4()))).write_text(f"{{{text}}}")
    assert [row["work"] for row in lake.table.system_table("running").to_pylist()] == ["valid"]
    assert [row["work"] for row in read_catalog_system_table(lake.catalog, "running").to_pylist()] == ["valid"]
