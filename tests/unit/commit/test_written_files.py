from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paimon_core.commit import written_files
from paimon_core.commit.publish import PublishOutcome
from paimon_core.commit.written_files import LONG_WRITE
from paimon_core.errors import CommitConflictError, CommitUnknownError
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.index_manifest import IndexFileMeta
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.message import CommitMessage
from paimon_core.store.snapshots import latest_snapshot, snapshot_ids
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from tests.support.tables import data_file, info, message, new_store


class Watched(LocalFileIO):
    """Counts the files of buckets and indexes that are looked for."""

    looked: list[str]

    def exists(self, path: str) -> bool:
        if "/bucket-" in path or "/index/" in path:
            self.looked.append(path)
        return super().exists(path)


@pytest.fixture
def store(tmp_path: Path) -> TableStore:
    io = Watched()
    object.__setattr__(io, "looked", [])
    return new_store(tmp_path, io, **{"bucket": "1", "primary-key": "k", "write-only": "true"})


def long_ago(store: TableStore, seconds: float = LONG_WRITE + 1) -> TableStore:
    return replace(store, loaded=time.time() - seconds)


def file_there(store: TableStore, **more: Any) -> DataFileMeta:
    file = data_file(store, 1, 1, **more)
    for name in (file.file_name, *file.extra_files):
        path = Path(store.root, "bucket-0", name)
        path.parent.mkdir(exist_ok=True)
        path.touch()
    return file


def looked(store: TableStore) -> list[str]:
    assert isinstance(store.io, Watched)
    return store.io.looked


def kinds_of_files(store: TableStore) -> Iterator[tuple[CommitMessage, Path]]:
    """Messages with one file of each kind that is there, and its path."""
    folder = Path(store.root, "bucket-0")
    file = file_there(store)
    yield message(store, file), folder / file.file_name
    with_extra = file_there(store, extra_files=("more.index",))
    yield message(store, with_extra), folder / "more.index"
    file = file_there(store)
    yield message(store, file_there(store), new_changelog=(file,)), folder / file.file_name
    index = Path(store.root, "index", "index-1")
    index.parent.mkdir()
    index.touch()
    meta = IndexFileMeta(index_type="HASH", file_name="index-1", file_size=0, row_count=1)
    yield message(store, file_there(store), new_index_files=(meta,)), index


def test_a_long_write_whose_files_were_deleted_fails_for_certain(store: TableStore) -> None:
    for committed, (written, path) in enumerate(kinds_of_files(store)):
        path.unlink()
        manifests = set(Path(store.paths.manifest_dir).glob("*"))
        with pytest.raises(CommitConflictError, match=rf"db\.t: 1 of \d files .* {path}\. .* Nothing was committed"):
            Table(long_ago(store)).commit([written], info())
        assert len(snapshot_ids(store)) == committed
        assert set(Path(store.paths.manifest_dir).glob("*")) == manifests
        path.touch()
        Table(long_ago(store)).commit([written], info())
        assert len(snapshot_ids(store)) == committed + 1


def test_an_ordinary_commit_looks_no_file_up(store: TableStore) -> None:
    Table(store).commit([message(store, file_there(store))], info())
    Table(long_ago(store, LONG_WRITE - 60)).commit([message(store, file_there(store))], info())
    assert looked(store) == []
    Table(long_ago(store)).commit([message(store, file_there(store))], info())
    assert len(looked(store)) == 1


def test_a_clock_that_was_set_back_tells_no_age(store: TableStore) -> None:
    with pytest.raises(CommitConflictError, match="no longer exist"):
        Table(replace(store, loaded=time.time() + 3600)).commit([message(store, data_file(store, 1, 1))], info())


def test_rows_are_committed_though_their_compaction_is_gone(store: TableStore) -> None:
    written = file_there(store)
    compacted = message(store, written, compact_before=(written,), compact_after=(data_file(store, 1, 1, level=5),))
    made = Table(long_ago(store)).commit([compacted], info())
    assert made is not None and made.commit_kind == "APPEND" and snapshot_ids(store) == [1]


def test_files_are_looked_up_again_where_tries_take_long(store: TableStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process may be stopped for days between two tries."""
    clock = [time.time()]
    monkeypatch.setattr(written_files.time, "time", lambda: clock[0])
    file = file_there(store)
    tries = iter([PublishOutcome.LOST_RACE, PublishOutcome.LOST_RACE])

    def publish(*_: Any) -> PublishOutcome:
        clock[0] += LONG_WRITE / 2 + 1
        Path(store.root, "bucket-0", file.file_name).unlink(missing_ok=True)
        return next(tries)

    monkeypatch.setattr("paimon_core.commit.publish.AtomicPublisher.publish", publish)
    with pytest.raises(CommitConflictError, match="no longer exist"):
        Table(replace(store, loaded=clock[0])).commit([message(store, file)], info())
    assert len(looked(store)) == 1 and latest_snapshot(store) is None


def test_an_unknown_outcome_stays_unknown(store: TableStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files may be missing because the snapshot was published, and has expired."""
    clock = [time.time()]
    monkeypatch.setattr(written_files.time, "time", lambda: clock[0])
    file = file_there(store)

    def publish(*_: Any) -> PublishOutcome:
        clock[0] += LONG_WRITE + 1
        Path(store.root, "bucket-0", file.file_name).unlink(missing_ok=True)
        raise CommitUnknownError("the answer got lost")

    monkeypatch.setattr("paimon_core.commit.publish.AtomicPublisher.publish", publish)
    with pytest.raises(CommitUnknownError, match="no longer exist"):
        Table(replace(store, loaded=clock[0])).commit([message(store, file)], info())
