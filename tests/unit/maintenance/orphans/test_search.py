from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from paimon_core.errors import CommitConflictError, CorruptFileError, StorageError, UnfamiliarFormError
from paimon_core.io.file_io import FileStatus
from paimon_core.io.local import LocalFileIO
from paimon_core.maintenance.branches import create_branch, delete_branch
from paimon_core.maintenance.orphans.job import OrphanSearch
from paimon_core.maintenance.orphans.search import find_orphans, remove_orphans
from paimon_core.maintenance.release import delete_files
from paimon_core.maintenance.rollback import roll_back
from paimon_core.maintenance.tags import create_tag, delete_tags, rename_tag
from paimon_core.spec.binary_row import encode_row
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.paths import data_file_paths
from paimon_core.spec.types import INT
from paimon_core.store.changelogs import list_changelogs, write_changelog
from paimon_core.store.consumers import delete_consumer, write_consumer
from paimon_core.store.snapshots import find_snapshot, latest_snapshot, read_snapshot
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from tests.support.histories import FOREVER, History, expire
from tests.support.orphan_tasks import Lost
from tests.support.tables import data_file, info, new_store

U = "01234567-89ab-cdef-0123-456789abcdef"


@pytest.fixture
def history(tmp_path: Path) -> History:
    history = History(tmp_path, random.Random(0))
    history.write()
    return history


def litter(history: History) -> list[Path]:
    root = Path(history.store.root)
    names = [f"bucket-0/data-{U}-0.parquet", f"manifest/manifest-{U}-0", f"index/index-{U}-0", f"statistics/stat-{U}-0"]
    names += [f"bucket-9/data-{U}-1.parquet.index", "snapshot/.snapshot-2.0123456789abcdef0123456789abcdef.tmp"]
    names += ["upkeep/.turn-2.0123456789abcdef0123456789abcdef.tmp"]
    for name in names:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("12345")
    return [root / name for name in names]


def test_orphans_are_deleted_and_all_else_stays(history: History) -> None:
    lost = litter(history)
    store = history.fresh()
    names = ("bucket-0/dir", "notes.txt", "snapshot/readme", f"bucket-0/data-{U}-0.managed.blob", "manifest/x")
    names += ("upkeep/turn-1", "upkeep/notes")
    others = [Path(store.root, n) for n in names]
    others[0].mkdir()
    for path in others[1:]:
        path.touch()
    found = find_orphans(store, FOREVER)
    assert (sorted(found.paths), found.size) == (sorted(map(str, lost)), 5 * len(lost))
    assert remove_orphans(store, FOREVER) == found
    assert not any(p.exists() for p in lost) and all(p.exists() for p in others)
    history.check()
    assert remove_orphans(store, FOREVER).paths == ()


def test_sidecars_go_with_their_manifests_and_what_rust_leaves_goes(history: History) -> None:
    store = history.fresh()
    needed = [f.name for f in store.io.list(store.paths.manifest_dir) if not f.name.startswith("manifest-list-")]
    manifests = Path(store.paths.manifest_dir)
    kept = [manifests / f"{name}.avro.sidecar" for name in needed]
    gone = [manifests / f"manifest-{U}-0.avro.sidecar", Path(store.paths.snapshot_dir) / f"snapshot-1.tmp-{U}"]
    for path in kept + gone:
        path.write_bytes(b"12345")
    assert kept
    assert set(Lost(OrphanSearch(store, FOREVER)).files) == set(map(str, gone))
    assert remove_orphans(store, FOREVER).paths == tuple(sorted(map(str, gone)))
    assert all(p.exists() for p in kept)
    history.check()


def test_young_files_stay(history: History) -> None:
    old, *young = litter(history)
    os.utime(old, (1, 1))
    found = find_orphans(history.fresh(), int((time.time() - 60) * 1000))
    assert found.paths == (str(old),)


def test_nothing_is_deleted_where_a_version_cannot_be_read(history: History) -> None:
    lost = litter(history)
    store = history.fresh()
    latest = latest_snapshot(store)
    assert latest is not None
    Path(store.paths.manifest(latest.delta_manifest_list)).write_bytes(b"junk")
    with pytest.raises(CorruptFileError, match=latest.delta_manifest_list):
        remove_orphans(history.fresh(), FOREVER)
    assert all(p.exists() for p in lost)


class Busy(LocalFileIO):
    """A storage on which somebody commits whenever manifests are listed."""

    history: History

    def list(self, path: str):  # type: ignore[no-untyped-def]
        if path.endswith("/manifest"):
            self.history.write()
        return super().list(path)


def test_versions_that_keep_coming_stop_it(history: History) -> None:
    lost = litter(history)
    io = Busy()
    object.__setattr__(io, "history", history)
    with pytest.raises(CommitConflictError, match="Nothing was deleted"):
        remove_orphans(history.fresh(io), FOREVER)
    assert all(p.exists() for p in lost)


class Moving(LocalFileIO):
    """A storage on which a version goes from one folder to another behind one of the listings of tags."""

    def __init__(self, move: Callable[[], None], after: int) -> None:
        object.__setattr__(self, "move", move)
        object.__setattr__(self, "left", [after])

    move: Callable[[], None]
    left: list[int]

    def list(self, path: str) -> Iterator[FileStatus]:
        found = list(super().list(path))
        if path.endswith("/tag"):
            self.left[0] -= 1
            if self.left[0] == 0:
                self.move()
        return iter(found)


def move_to_another_tag(history: History) -> None:
    rename_tag(history.fresh(), "old", "new")


def move_to_a_tag(history: History) -> None:
    create_tag(history.fresh(), "kept", read_snapshot(history.fresh(), 2))
    expire(history.fresh(), 1)


@pytest.mark.parametrize("after", range(1, 7))
@pytest.mark.parametrize("move", [move_to_another_tag, move_to_a_tag])
def test_a_version_that_moves_is_seen(history: History, move: Callable[[History], None], after: int) -> None:
    """The names before and after a look are compared: a version has another one where it has moved to."""
    lost = litter(history)
    create_tag(history.fresh(), "old", read_snapshot(history.fresh(), 1))
    history.write(kind="overwrite")
    history.write(kind="overwrite")
    if move is move_to_another_tag:
        expire(history.fresh(), 1)
    remove_orphans(history.fresh(Moving(lambda: move(history), after)), FOREVER)
    history.check()
    assert not any(p.exists() for p in lost)


def test_no_file_outside_the_table_is_deleted(history: History, tmp_path: Path) -> None:
    outside = tmp_path / "precious"
    outside.touch()
    store: TableStore = history.fresh()
    delete_files(store, [str(outside), f"{store.root}x/y"])
    assert outside.exists()
    with pytest.raises(UnfamiliarFormError):
        data_file_paths(f"{store.root}/bucket-0", data_file(store, 1, 1, extra_files=("../../precious",)))


def test_all_of_many_files_are_deleted(history: History) -> None:
    store = history.fresh()
    folder = Path(store.root) / "bucket-0"
    folder.mkdir(exist_ok=True)
    many = [folder / f"data-{number}.parquet" for number in range(1111)]
    for path in many:
        path.touch()
    delete_files(store, [*map(str, many), f"{folder}/data-missing.parquet"])
    assert not any(p.exists() for p in many)


def test_files_are_needed_wherever_their_folder_is_looked_for(tmp_path: Path) -> None:
    """An option that names folders may have changed since files were written: set back, it finds them again."""
    store = new_store(tmp_path, partition="p")
    file = data_file(store, 1, 1)
    partition = encode_row([INT], [None])
    path = Path(store.bucket_dir(partition, 0), file.file_name)
    path.parent.mkdir(parents=True)
    path.touch()
    Table(store).commit([CommitMessage(partition=partition, bucket=0, total_buckets=-1, new_files=(file,))], info())
    changed = store.with_options({"partition.default-name": "__NONE__"})
    assert changed.bucket_dir(partition, 0) != str(path.parent)
    assert find_orphans(changed, FOREVER).paths == ()
    assert Lost(OrphanSearch(changed, FOREVER)).files == {}


def test_java_deletes_what_changelogs_without_changes_name(history: History) -> None:
    """Of a table with a changelog producer: snapshots without changes become changelogs that name no files."""
    history.write()
    store = history.fresh()
    first = find_snapshot(store, 1)
    assert first is not None and first.changelog_manifest_list is None
    write_changelog(store, first)
    store.io.delete(store.paths.snapshot(1))
    store.io.delete(store.paths.manifest(first.delta_manifest_list))
    assert list_changelogs(store) == [first]
    assert find_orphans(store, FOREVER).paths == (store.paths.manifest(first.base_manifest_list),)
    assert set(Lost(OrphanSearch(store, FOREVER)).files) == {store.paths.manifest(first.base_manifest_list)}


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder beside the warehouse, with a file of every kind."""
    folder = tmp_path / "elsewhere"
    for name in (f"bucket-0/data-{U}-0.parquet", f"data-{U}-0.parquet", f"manifest-{U}-0", f".a.{U}.tmp", "snapshot-1"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def files(folder: Path) -> set[Path]:
    return {p for p in folder.rglob("*") if p.is_file()}


LINKED = ("manifest", "index", "statistics", "bucket-7", "p=9", "tag", "consumer", "changelog", "branch")


@pytest.mark.parametrize("partitioned", [False, True])
def test_links_out_of_the_table_are_not_followed(tmp_path: Path, elsewhere: Path, *, partitioned: bool) -> None:
    history = History(tmp_path, random.Random(0), partitioned=partitioned)
    history.write()
    root, before = Path(history.store.root), files(elsewhere)
    for name in LINKED:
        if not (root / name).exists():
            (root / name).symlink_to(elsewhere)
    (root / "p=1" / "bucket-3" if partitioned else root / "bucket-8").symlink_to(elsewhere)
    linked = next(root.rglob("bucket-0")) / f"data-{U}-5.parquet"
    linked.symlink_to(elsewhere / "snapshot-1")
    store = history.fresh()
    assert find_orphans(store, FOREVER).paths == ()
    assert Lost(OrphanSearch(store, FOREVER)).files == {}
    delete_files(
        store, [f"{root}/bucket-8/data-{U}-0.parquet", f"{root}/index/manifest-{U}-0", f"{root}/../elsewhere/x"]
    )
    assert files(elsewhere) == before and linked.is_symlink()


def test_the_table_itself_may_be_a_link(history: History, tmp_path: Path) -> None:
    lost = litter(history)
    (tmp_path / "wh").mkdir()
    (tmp_path / "wh" / "t").symlink_to(history.store.root)
    remove_orphans(replace(history.fresh(), root=f"{tmp_path}/wh/t"), FOREVER)
    assert not any(p.exists() for p in lost)
    history.check()


@pytest.mark.parametrize(
    ("link", "act"),
    [
        ("snapshot", lambda store: expire(store, 1)),
        ("bucket-0", lambda store: expire(store, 1)),
        ("tag", lambda store: delete_tags(store, ["kept"])),
        ("branch", lambda store: delete_branch(store, "b")),
        ("consumer", lambda store: delete_consumer(store, "c")),
        ("snapshot", lambda store: roll_back(store, snapshot_id=1)),
    ],
)
def test_no_upkeep_deletes_through_a_link(
    history: History, elsewhere: Path, link: str, act: Callable[[TableStore], object]
) -> None:
    """Whoever may write into a table's folder may not have others delete what only these may."""
    store = history.fresh()
    create_tag(store, "kept", read_snapshot(store, 1))
    create_branch(store, "b", "kept")
    write_consumer(store, "c", 4)
    history.write(kind="overwrite")
    history.write(kind="overwrite")
    folder = Path(store.root, link)
    for path in folder.iterdir():
        target = elsewhere / path.name
        shutil.copytree(path, target, dirs_exist_ok=True) if path.is_dir() else shutil.copy(path, target)
    before = files(elsewhere)
    shutil.rmtree(folder)
    folder.symlink_to(elsewhere)
    with suppress(StorageError):
        act(history.fresh())
    assert files(elsewhere) >= before
