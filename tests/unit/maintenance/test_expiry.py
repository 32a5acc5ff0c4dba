from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paimon_core.commit.changes import Overwrite
from paimon_core.errors import InvalidOptionError
from paimon_core.maintenance import snapshot_expiry
from paimon_core.maintenance.after_commit import maintain
from paimon_core.maintenance.release import release
from paimon_core.maintenance.rollback import cut_history, roll_back
from paimon_core.maintenance.snapshot_expiry import (
    Retention,
    changelog_retention_of,
    expire_changelogs,
    expire_snapshots,
    retention_of,
)
from paimon_core.maintenance.tags import create_tag, delete_tags
from paimon_core.options import TableOptions
from paimon_core.store.changelogs import changelog_ids, write_changelog
from paimon_core.store.consumers import write_consumer
from paimon_core.store.snapshots import earliest_snapshot, latest_snapshot, read_snapshot, snapshot_ids
from paimon_core.table import Table
from tests.support.histories import History, expire, file_name
from tests.support.tables import data_file, info, message, new_store


def retention(**given: int) -> Retention:
    return Retention(**{"least": 1, "most": 1000, "older_than": 0, "limit": 1000} | given)


@pytest.mark.parametrize(
    ("given", "first_read", "expected"),
    [
        ({"older_than": 2**62}, None, 10),  # the latest always stays
        ({"older_than": 2**62, "least": 3}, None, 8),
        ({"older_than": 2**62, "least": 50}, None, 1),
        ({"older_than": 2**62, "limit": 4}, None, 5),
        ({"older_than": 2**62}, 6, 6),
        ({"most": 4}, None, 7),
        ({"most": 4}, 3, 3),
        ({"older_than": 500}, None, 4),  # 5 was made at 500: until then 4 was the latest
        ({}, None, 1),
    ],
)
def test_which_snapshot_is_the_first_that_stays(given: Any, first_read: int | None, expected: int) -> None:
    ids = list(range(1, 11))
    assert retention(**given).first_kept(ids, lambda n: n * 100, first_read) == expected


def test_retention_of_options() -> None:
    options = TableOptions({"snapshot.num-retained.min": "2", "snapshot.time-retained": "1 s"})
    assert retention_of(options, 5000) == Retention(least=2, most=2**31 - 1, older_than=4000, limit=50)
    assert retention_of(options, 5000, {"most": 3, "least": None}).most == 3
    with pytest.raises(InvalidOptionError, match=r"retain_max \(1\) is less than retain_min \(2\)"):
        retention_of(options, 0, {"most": 1})
    with pytest.raises(InvalidOptionError, match="retain_min cannot be 0"):
        retention_of(options, 0, {"least": 0})
    assert changelog_retention_of(options, 0) is None
    longer = changelog_retention_of(options.merged({"changelog.num-retained.min": "5"}), 0)
    assert longer is not None and longer.least == 5


def test_files_of_expired_snapshots_are_deleted_and_those_of_tags_kept(tmp_path: Path) -> None:
    history = History(tmp_path, random.Random(0))
    for kind in ("append", "overwrite", "overwrite", "append"):
        history.write(kind=kind)
    store = history.fresh()
    create_tag(store, "two", read_snapshot(store, 2))
    assert expire(store, 1) == 3
    assert snapshot_ids(store) == [4]
    early = earliest_snapshot(history.fresh())
    assert early is not None and early.id == 4
    history.check()
    history.check_clean()
    assert sorted(p.name for p in Path(store.root, "bucket-0").iterdir()) == [file_name(n) for n in (2, 3, 4)]
    delete_tags(store, ["two"])
    history.check_clean()
    manifests = {p.name for p in Path(store.paths.manifest_dir).iterdir()}
    latest = latest_snapshot(store)
    assert latest is not None and len(manifests) == 2 + 4  # lists, and the manifests of all


def test_consumers_hold_snapshots_back(tmp_path: Path) -> None:
    history = History(tmp_path, random.Random(0))
    for _ in range(5):
        history.write()
    store = history.fresh()
    write_consumer(store, "reader", 3)
    assert expire(store, 1) == 2
    assert snapshot_ids(store) == [3, 4, 5]
    changelog_only = store.with_options({"consumer.changelog-only": "true"})
    assert expire(changelog_only, 1) == 2


def test_changelogs_outlive_snapshots_where_they_are_kept_longer(tmp_path: Path) -> None:
    history = History(tmp_path, random.Random(0))
    for kind in ("append", "overwrite", "append"):
        history.write(kind=kind)
    store = history.fresh().with_options({"changelog.num-retained.min": "20"})
    assert expire_snapshots(store, retention(older_than=2**62), 0) == 2
    assert changelog_ids(store) == [1, 2]
    hints = [Path(store.paths.changelog_earliest_hint), Path(store.paths.changelog_latest_hint)]
    assert [h.read_text() for h in hints] == ["1", "2"]
    assert Path(store.root, "bucket-0", file_name(1)).exists()
    assert expire_changelogs(store, retention(older_than=2**62)) == 2
    assert changelog_ids(store) == [] and [h.read_text() for h in hints] == ["-1", "-1"]
    assert not Path(store.root, "bucket-0", file_name(1)).exists()
    history.check()
    for number in (1, 2, 9):
        write_changelog(store, replace(read_snapshot(store, 3), id=number))
    cut_history(store, read_snapshot(store, 3))
    assert changelog_ids(store) == [1, 2] and [h.read_text() for h in hints] == ["1", "2"]


def test_commits_expire_and_do_not_fail_when_that_fails(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = new_store(tmp_path, **{"snapshot.num-retained.min": "2", "snapshot.time-retained": "0 ms"})
    for k in range(5):
        Table(store).commit([message(store, data_file(store, k, k))], info())
    assert snapshot_ids(store) == [4, 5] or snapshot_ids(store) == [3, 4, 5]  # made in the same millisecond
    broken = store.with_options({"snapshot.num-retained.max": "1"})
    made = Table(broken).commit([message(store, data_file(store, 9, 9))], info())
    assert made is not None and "failed (expire snapshots): retain_max (1)" in caplog.text
    maintain(store.with_options({"write-only": "true", "snapshot.num-retained.max": "1"}), made, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("clean", [True, False])
def test_folders_that_expiry_empties(tmp_path: Path, clean: bool) -> None:
    history = History(tmp_path, random.Random(0), partitioned=True)
    store = history.fresh().with_options({"snapshot.clean-empty-directories": str(clean).lower()})
    for p in (1, 2):
        file = data_file(store, 1, 1)
        folder = Path(store.bucket_dir(message(store, p=p).partition, 0))
        folder.mkdir(parents=True)
        (folder / file.file_name).touch()
        Table(store).commit([message(store, file, p=p)], info(), Overwrite())
    assert expire(store, 1) == 1
    root = Path(store.root)
    assert sorted(p.name for p in root.glob("p=*")) == (["p=2"] if clean else ["p=1", "p=2"])
    assert len(list(root.glob("p=2/bucket-0/*"))) == 1 and (root / "manifest").is_dir()


def test_a_rollback_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To a snapshot that was about to go: the table would be without any."""
    history = History(tmp_path, random.Random(0))
    for _ in range(4):
        history.write()

    def late(*arguments: Any, **named: Any) -> None:
        monkeypatch.setattr(snapshot_expiry, "release", release)
        roll_back(history.fresh(), snapshot_id=2)
        release(*arguments, **named)

    monkeypatch.setattr(snapshot_expiry, "release", late)
    assert expire(history.fresh(), 1) == 1  # the first: what is latest has been decided anew
    assert snapshot_ids(history.fresh()) == [2]
    history.check()
