"""Versions that are made and removed while files are released."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from paimon_core.io import local
from paimon_core.io.file_io import MOST_TEXT
from paimon_core.io.local import LocalFileIO
from paimon_core.maintenance.orphans.search import find_orphans, remove_orphans
from paimon_core.maintenance.rollback import roll_back
from paimon_core.maintenance.snapshot_expiry import expire_changelogs
from paimon_core.maintenance.tags import create_tag, delete_tags
from paimon_core.spec.tag import Tag, encode_tag
from paimon_core.store.snapshots import read_snapshot, snapshot_ids
from paimon_core.store.tags import require_tag
from tests.support.histories import FOREVER, History, expire, newest


class Meanwhile(LocalFileIO):
    """A storage on which others act whenever a snapshot is deleted, or read after one was."""

    deleted: bool
    act: Callable[[], None]

    def delete_below(self, root: str, path: str) -> None:
        super().delete_below(root, path)
        if "/snapshot-" in path:
            object.__setattr__(self, "deleted", True)

    def read_bytes(self, path: str, most: int = MOST_TEXT) -> bytes:
        if "/snapshot-" in path and self.deleted:
            object.__setattr__(self, "deleted", False)
            self.act()
        return super().read_bytes(path, most)


def meanwhile(act: Callable[[], object]) -> Meanwhile:
    io = Meanwhile()
    object.__setattr__(io, "deleted", False)
    object.__setattr__(io, "act", act)
    return io


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path, random.Random(0))


def test_a_second_expiry_meanwhile(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes the snapshots that the first one was about to ask what they need."""
    monkeypatch.setattr(local, "_SLOT_PATIENCE", 0.05)  # the first one has the slot until the second one is done
    for _ in range(6):
        history.write()
    expire(history.fresh(meanwhile(lambda: expire(history.fresh(), 1))), 4)
    assert snapshot_ids(history.fresh()) == [6]
    history.check()
    history.check_clean()


def test_files_stay_where_versions_come_all_the_time(history: History, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(6):
        history.write(kind="overwrite")
    create_tag(history.fresh(), "t0", read_snapshot(history.fresh(), 6))
    tags = iter(range(1, 1000))

    class Tagging(LocalFileIO):
        def list(self, path: str):  # type: ignore[no-untyped-def]
            if path.endswith("/snapshot"):
                create_tag(history.fresh(), f"t{next(tags)}", read_snapshot(history.fresh(), 6))
            return super().list(path)

    assert expire(history.fresh(Tagging()), 1) == 5
    history.check()
    assert "were not deleted" in caplog.text and "keep creating and removing versions" in caplog.text
    assert len(find_orphans(history.fresh(), FOREVER).paths) > 5


def tag_and_cut_off(history: History, name: str, number: int, back_to: int) -> None:
    """A tag of a snapshot that a rollback cuts off, which was made while that ran."""
    tag = Tag(name=name, snapshot=read_snapshot(history.fresh(), number), created=None, retained=None)
    roll_back(history.fresh(), snapshot_id=back_to)
    history.fresh().io.write_bytes(history.store.paths.tag(name), encode_tag(tag))


@pytest.mark.parametrize("deleted", ["before", "after"])
def test_a_tag_that_outlived_a_rollback(history: History, deleted: str) -> None:
    """Tags of a history that was cut off need different files, whatever their numbers are."""
    for kind in ("append", "append", "append", "overwrite"):
        history.write(kind=kind)
    create_tag(history.fresh(), "before", read_snapshot(history.fresh(), 2))
    tag_and_cut_off(history, "cut-off", 4, back_to=3)
    for kind in ("append", "append", "overwrite", "append"):
        history.write(kind=kind)
    create_tag(history.fresh(), "after", read_snapshot(history.fresh(), 5))
    history.check()
    expire(history.fresh(), 1)
    delete_tags(history.fresh(), [deleted])
    history.check()
    remove_orphans(history.fresh(), FOREVER)
    history.check()
    history.check_clean()


def test_a_deleted_tag_that_outlived_a_rollback(history: History) -> None:
    for kind in ("append", "append", "append", "append", "append", "append"):
        history.write(kind=kind)
    tag_and_cut_off(history, "cut-off", 6, back_to=2)
    for kind in ("append", "overwrite", "append", "append", "append"):
        history.write(kind=kind)
    for tag, number in (("three", 3), ("four", 4)):
        create_tag(history.fresh(), tag, read_snapshot(history.fresh(), number))
    delete_tags(history.fresh(), ["cut-off"])
    history.check()
    history.check_clean()


def test_numbers_do_not_make_a_history(history: History) -> None:
    """A snapshot whose number follows that of a tag of another history needs more than it adds to that."""
    for kind in ("append", "append", "append", "overwrite"):
        history.write(kind=kind)
    tag_and_cut_off(history, "cut-off", 4, back_to=3)
    history.write()
    history.write()
    expire(history.fresh(), 1)  # 4, which the tag is not of; 5 stays
    assert require_tag(history.fresh(), "cut-off").snapshot.id == 4 and snapshot_ids(history.fresh()) == [5]
    assert find_orphans(history.fresh(), FOREVER).paths == ()
    remove_orphans(history.fresh(), FOREVER)
    history.check()


def test_tags_between_expired_changelogs_and_snapshots(tmp_path: Path) -> None:
    history = History(tmp_path, random.Random(0), changelogs=True)
    for kind in ("append", "compact", "append", "append", "append", "overwrite"):
        history.write(kind=kind)
    create_tag(history.fresh(), "kept", read_snapshot(history.fresh(), 5))
    expire(history.fresh(), 1)
    expire_changelogs(history.fresh(), newest(2))
    history.check()
