from __future__ import annotations

import json
import random
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from paimon_core.errors import InvalidNameError, SnapshotNotFoundError, TagExistsError, TagNotFoundError
from paimon_core.maintenance.auto_tags import create_automatic_tags
from paimon_core.maintenance.tags import (
    create_tag,
    delete_tags,
    expired_tags,
    rename_tag,
    replace_tag,
    taggable_snapshot,
)
from paimon_core.options import TableOptions
from paimon_core.store.snapshots import read_snapshot
from paimon_core.store.table_store import TableStore
from paimon_core.store.tag_periods import tag_period
from paimon_core.store.tags import read_tag, tag_names
from tests.support.histories import History, expire


@pytest.fixture
def store(tmp_path: Path) -> TableStore:
    history = History(tmp_path, random.Random(0))
    for _ in range(3):
        history.write()
    return history.fresh()


def test_tags_are_made_moved_renamed_and_removed(store: TableStore) -> None:
    create_tag(store, "a", taggable_snapshot(store, 1))
    create_tag(store, "b", taggable_snapshot(store, None), timedelta(days=1))
    replace_tag(store, "a", taggable_snapshot(store, 2))
    rename_tag(store, "b", "c")
    made = {n: t.snapshot.id for n in tag_names(store) if (t := read_tag(store, n)) is not None}
    assert made == {"a": 2, "c": 3}
    kept = read_tag(store, "c")
    assert kept is not None and kept.retained == timedelta(days=1) and kept.created is not None
    assert delete_tags(store, ["a", "nope"]) == ["a"]
    assert tag_names(store) == ["c"]


def test_what_is_wrong_is_told_and_changes_nothing(store: TableStore) -> None:
    create_tag(store, "a", taggable_snapshot(store, 1))
    create_tag(store, "b", taggable_snapshot(store, 2))
    with pytest.raises(TagExistsError, match=r"'a' of table db\.t already exists, for snapshot 1"):
        create_tag(store, "a", taggable_snapshot(store, 2))
    with pytest.raises(SnapshotNotFoundError, match=r"no snapshot 99: the snapshots 1 to 3 exist"):
        taggable_snapshot(store, 99)
    with pytest.raises(TagNotFoundError, match=r"no tag 'x' \(its tags: a, b\); the snapshots 1 to 3 exist"):
        replace_tag(store, "x", None)
    with pytest.raises(TagNotFoundError):
        rename_tag(store, "x", "y")
    with pytest.raises(TagExistsError, match="'b'"):
        rename_tag(store, "a", "b")
    for name in ("", " ", "a/b", "..", "$a"):
        with pytest.raises(InvalidNameError):
            create_tag(store, name, taggable_snapshot(store, 1))
        with pytest.raises(InvalidNameError):
            rename_tag(store, "a", name)
    assert tag_names(store) == ["a", "b"]


@pytest.mark.parametrize("name", ["x" * 200, "\U0001f680" * 50])
def test_the_longest_names(store: TableStore, name: str) -> None:
    create_tag(store, name, taggable_snapshot(store, 1))
    replace_tag(store, name, taggable_snapshot(store, 2))
    assert tag_names(store) == [name] and read_tag(store, name).snapshot.id == 2  # type: ignore[union-attr]


def test_a_tag_of_a_snapshot_that_expired_meanwhile_is_not_made(store: TableStore) -> None:
    snapshot = read_snapshot(store, 1)
    expire(store, 1)
    with pytest.raises(SnapshotNotFoundError, match="Snapshot 1 .* expired while it was tagged"):
        create_tag(store, "late", snapshot)
    assert tag_names(store) == []


def test_tags_expire(store: TableStore) -> None:
    create_tag(store, "short", taggable_snapshot(store, 1), timedelta(hours=1))
    create_tag(store, "long", taggable_snapshot(store, 1), timedelta(days=10))
    create_tag(store, "ever", taggable_snapshot(store, 1))
    now = datetime.now()
    assert expired_tags(store, now) == []
    assert expired_tags(store, now + timedelta(hours=2)) == ["short"]
    in_an_hour = int((now + timedelta(hours=1)).timestamp() * 1000)
    assert expired_tags(store, now, older_than=in_an_hour) == ["ever", "long", "short"]


@pytest.mark.parametrize(
    ("options", "moment", "name"),
    [
        ({}, datetime(2024, 5, 2, 13, 40), "2024-05-01"),
        ({"tag.period-formatter": "without_dashes"}, datetime(2024, 5, 2), "20240501"),
        ({"tag.creation-period": "hourly"}, datetime(2024, 5, 2, 13, 40), "2024-05-02 12"),
        ({"tag.creation-period": "two-hours"}, datetime(2024, 5, 2, 13, 40), "2024-05-02 10"),
        ({"tag.creation-period-duration": "15 min"}, datetime(2024, 5, 2, 13, 40), "202405021315"),
    ],
)
def test_periods_name_tags(options: dict[str, str], moment: datetime, name: str) -> None:
    period = tag_period(TableOptions(options))
    begin = period.last_complete(moment)
    assert period.name(begin) == name and period.begin(name) == begin
    assert period.begin("release") is None and period.begin("2024-13-41") is None


def test_a_period_is_tagged_once(store: TableStore) -> None:
    daily = store.with_options({"tag.automatic-creation": "process-time"})
    create_automatic_tags(daily)
    first = tag_names(store)
    create_automatic_tags(daily)
    assert tag_names(store) == first and len(first) == 1
    tag = read_tag(store, first[0])
    assert tag is not None and tag.snapshot.id == 1


def test_batch_tags_are_moved_and_counted(store: TableStore) -> None:
    batch = {"tag.automatic-creation": "batch", "tag.num-retained-max": "1", "tag.default-time-retained": "1 d"}
    create_automatic_tags(store.with_options(batch | {"tag.batch.customized-name": "a"}))
    create_automatic_tags(store.with_options(batch | {"tag.batch.customized-name": "b"}))
    assert tag_names(store) == ["b"]
    create_automatic_tags(store.with_options(batch))
    (name,) = tag_names(store)
    assert name.startswith("batch-write-")


def test_files_say_that_tags_are_there(store: TableStore) -> None:
    with_success = store.with_options({"tag.create-success-file": "true"})
    create_tag(with_success, "a", taggable_snapshot(with_success, 1))
    create_tag(with_success, "b", taggable_snapshot(with_success, 2))
    replace_tag(with_success, "a", taggable_snapshot(with_success, 2))
    rename_tag(with_success, "b", "c")
    folder = Path(store.root, "tag", "tag-success-file")
    assert sorted(p.name for p in folder.iterdir()) == ["a_SUCCESS", "c_SUCCESS"]
    found = json.loads((folder / "a_SUCCESS").read_text("utf-8"))
    assert 0 < found["creationTime"] <= found["modificationTime"]
    assert tag_names(store) == ["a", "c"]
    delete_tags(with_success, ["a", "c"])
    assert list(folder.iterdir()) == []
