"""Another engine publishes by renaming, and its rename lands after ours was published and read back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from paimon_core.commit import other_writers
from paimon_core.commit.other_writers import OTHER_WRITER
from paimon_core.errors import CommitConflictError, CommitUnknownError
from paimon_core.io.file_io import MOST_TEXT
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.schema import CURRENT_VERSION
from paimon_core.spec.snapshot import Snapshot, decode_snapshot, encode_snapshot
from paimon_core.store.manifests import data_manifests, live_files, manifest_list_file
from paimon_core.store.record_files import write_metadata
from paimon_core.store.snapshots import latest_snapshot, read_snapshot
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from tests.support.tables import data_file, info, message, new_store, of_version


class Unqueued(LocalFileIO):
    """A disk as others use it, who do not queue with us."""

    @contextmanager
    def writer_slot(self, path: str) -> Iterator[None]:
        yield


class Overtaken(LocalFileIO):
    """A disk on which, once a snapshot of ours was read `reads` times, others do `then`."""

    def __init__(self, reads: int, *then: Callable[[str], object]):
        object.__setattr__(self, "state", SimpleNamespace(then=list(then), published="", reads_left=0, reads=reads))

    def create_exclusive(self, path: str, data: bytes) -> bool:
        made = LocalFileIO.create_exclusive(self, path, data)
        if made and self.state.then and "/snapshot/" in path:
            self.state.published, self.state.reads_left = path, self.state.reads
        return made

    def read_bytes(self, path: str, most: int = MOST_TEXT) -> bytes:
        data = LocalFileIO.read_bytes(self, path, most)
        if path == self.state.published:
            self.state.reads_left -= 1
            if self.state.reads_left == 0:
                self.state.published = ""
                self.state.then.pop(0)(path)
        return data


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other_writers, "_LOOK_AFTER", 0.0)


def others(store: TableStore, path: str | None = None) -> None:
    """What another engine commits: the newest snapshot as it knows it, with a file of its own; it replaces `path`."""
    target = path or store.paths.snapshot(((latest_snapshot(store) or read_snapshot(store, 1)).id) + 1)
    number = int(target.rpartition("-")[2])
    theirs = data_file(store, 500, 500)
    scratch = replace(store, cache=type(store.cache)(), io=Unqueued())
    hidden = Path(f"{target}.hidden")
    if path:
        Path(target).rename(hidden)
        Path(store.paths.latest_hint).unlink(missing_ok=True)
    Table(scratch).commit([message(store, theirs)], info("java"))
    made = decode_snapshot(target, Path(target).read_bytes())
    assert made.id == number
    if made.has_new_members:
        made = replace(made, writer_version=None, properties=None, uuid=f"java-{number}")
    Path(target).write_bytes(encode_snapshot(made))
    hidden.unlink(missing_ok=True)


def shared_store(tmp_path: Path, version: int = CURRENT_VERSION) -> TableStore:
    """A table with a schema of a version, and with another engine's snapshot as its last."""
    store = of_version(new_store(tmp_path), version).with_options(
        {"write-only": "true", "commit.min-retry-wait": "1 ms", "commit.timeout": "9 s"}
    )
    Table(store).commit([message(store, data_file(store, 1, 1))], info())
    others(store)
    return store


def live(store: TableStore) -> set[str]:
    fresh = replace(store, cache=type(store.cache)(), io=Unqueued())
    return {e.file.file_name for e in live_files(fresh, latest_snapshot(fresh)).values()}


def latest(store: TableStore) -> Snapshot:
    found = latest_snapshot(store)
    assert found is not None
    return found


@pytest.mark.parametrize("version", [1, 3])  # 1: of Paimon 0.4 to 0.7, with snapshots that have no uuid
@pytest.mark.parametrize("times", [1, 2])
def test_a_commit_that_is_replaced_behind_the_read_back_is_made_again(tmp_path: Path, times: int, version: int) -> None:
    store = shared_store(tmp_path, version=version)
    file = data_file(store, 2, 2)
    io = Overtaken(1, *[lambda path: others(store, path)] * times)
    made = Table(replace(store, io=io)).commit([message(store, file)], info())
    assert not io.state.then and made == latest(store) and made.id == 3 + times
    assert file.file_name in live(store) and len(live(store)) == 3 + times
    assert read_snapshot(store, 3).uuid == ("java-3" if version == 3 else None)
    assert read_snapshot(store, 3).commit_user == "java"


def test_a_commit_that_no_longer_fits_then_is_of_unknown_outcome(tmp_path: Path) -> None:
    """Whoever saw the replaced snapshot may still publish its files: they must not be deleted."""
    store = shared_store(tmp_path)
    a, b = data_file(store, 1, 1), data_file(store, 1, 1)
    Table(store).commit([message(store, a)], info())

    def replaced(path: str) -> None:
        others(store, path)
        base = read_snapshot(store, latest(store).id)
        file = manifest_list_file(store, data_manifests(store, read_snapshot(store, 2)))
        write_metadata(store, file)
        emptied = replace(base, base_manifest_list=file.name, base_manifest_list_size=len(file.data))
        Path(path).write_bytes(encode_snapshot(emptied))

    io = Overtaken(1, replaced)
    with pytest.raises(CommitUnknownError, match="files are kept"):
        Table(replace(store, io=io)).commit([message(store, compact_before=(a,), compact_after=(b,))], info())


def test_a_commit_that_the_next_version_has_is_not_made_twice(tmp_path: Path) -> None:
    """Somebody built on ours before it was replaced."""
    store = shared_store(tmp_path)
    file = data_file(store, 2, 2)

    def built_upon_and_replaced(path: str) -> None:
        ours = Path(path).read_bytes()
        others(store)  # snapshot 4, on top of ours
        following = Path(store.paths.snapshot(4)).read_bytes()
        Path(store.paths.snapshot(4)).unlink()
        others(store, path)
        assert Path(path).read_bytes() != ours
        Path(store.paths.snapshot(4)).write_bytes(following)

    io = Overtaken(1, built_upon_and_replaced)
    made = Table(replace(store, io=io)).commit([message(store, file)], info())
    assert made is not None and made.id == 3 and latest(store).id == 4
    assert file.file_name in live(store) and len(live(store)) == 4


def test_a_next_version_without_our_files_lets_a_conflict_be_certain(tmp_path: Path) -> None:
    store = shared_store(tmp_path)
    a, b = data_file(store, 1, 1), data_file(store, 1, 1)
    Table(store).commit([message(store, a)], info())

    def replaced(path: str) -> None:
        others(store, path)
        Table(replace(store, io=Unqueued())).truncate(info("java"))

    io = Overtaken(1, replaced)
    with pytest.raises(CommitConflictError, match="no longer live"):
        Table(replace(store, io=io)).commit([message(store, compact_before=(a,), compact_after=(b,))], info())


def test_who_writes_alone_does_not_look_again(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    Table(store).commit([message(store, data_file(store, 1, 1))], info())
    io = Overtaken(2, lambda path: pytest.fail("it was read again"))
    made = Table(replace(store, io=io)).commit([message(store, data_file(store, 2, 2))], info())
    assert made is not None and made.properties is None


def test_other_writers_are_remembered_for_a_day(tmp_path: Path) -> None:
    store = shared_store(tmp_path)
    when = str(latest(store).time_millis)
    for _ in range(2):
        made = Table(store).commit([message(store, data_file(store, 3, 3))], info())
        assert made is not None and made.properties == {OTHER_WRITER: when}
    path = Path(store.paths.snapshot(latest(store).id))
    for value, kept in ((str(int(when) - 90_000_000), False), ("x" * 9, False), ("9" * 15, True)):
        node = json.loads(path.read_bytes()) | {"properties": {OTHER_WRITER: value}}
        path.write_text(json.dumps(node))
        made = Table(replace(store, cache=type(store.cache)())).commit([message(store, data_file(store, 3, 3))], info())
        assert made is not None and (made.properties is not None) == kept
        path = Path(store.paths.snapshot(latest(store).id))
