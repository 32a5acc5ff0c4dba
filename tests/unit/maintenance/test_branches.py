from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from paimon_core.commit.publish import create_if_missing
from paimon_core.errors import (
    BranchExistsError,
    BranchNotFoundError,
    InvalidDataError,
    InvalidNameError,
    SnapshotNotFoundError,
    TagNotFoundError,
)
from paimon_core.io import local
from paimon_core.maintenance import rollback
from paimon_core.maintenance.branch_rename import rename_branch
from paimon_core.maintenance.branches import (
    create_branch,
    delete_branch,
    files_to_merge,
)
from paimon_core.maintenance.fast_forward import fast_forward
from paimon_core.maintenance.rollback import roll_back, snapshot_at_watermark
from paimon_core.maintenance.tags import create_tag, delete_tags
from paimon_core.store.branches import branch_names, open_branch
from paimon_core.store.snapshots import latest_snapshot, read_snapshot, snapshot_ids
from paimon_core.store.tags import tag_names
from paimon_core.table import Table
from tests.support.histories import History, expire
from tests.support.tables import data_file, info, message


@pytest.fixture
def history(tmp_path: Path) -> History:
    """Three snapshots, a tag of the second, a branch from it with a snapshot of its own, an empty branch."""
    history = History(tmp_path, random.Random(0))
    for _ in range(3):
        history.write()
    store = history.fresh()
    create_tag(store, "t", read_snapshot(store, 2))
    create_branch(store, "b", "t")
    create_branch(store, "empty")
    history.write("b")
    return history


def test_a_branch_has_versions_of_its_own(history: History) -> None:
    branch = history.fresh(branch="b")
    assert branch.name == "db.t$branch_b"
    assert (snapshot_ids(branch), tag_names(branch)) == ([2, 3], ["t"])
    assert snapshot_ids(history.fresh()) == [1, 2, 3]
    assert latest_snapshot(history.fresh(branch="empty")) is None
    history.check()


def test_fast_forward_makes_the_table_the_branch(history: History) -> None:
    store = history.fresh()
    create_tag(store, "late", read_snapshot(store, 3))
    fast_forward(store, "b")
    ours, theirs = (latest_snapshot(s) for s in (history.fresh(), history.fresh(branch="b")))
    assert ours == theirs and ours is not None and ours.id == 3
    assert (snapshot_ids(store), tag_names(store)) == ([1, 2, 3], ["t"])
    expire(store, 1)
    history.check()  # what the branch still reads is there


def test_branches_are_renamed_and_deleted(history: History) -> None:
    store = history.fresh()
    rename_branch(store, "b", "c")
    assert branch_names(store) == ["c", "empty"]
    delete_branch(store, "c")
    history.check()
    history.check_clean()
    with pytest.raises(BranchNotFoundError, match=r"no branch 'c'; its branches are main, empty"):
        delete_branch(store, "c")


def test_what_is_wrong_is_told_and_changes_nothing(history: History) -> None:
    store = history.fresh()
    with pytest.raises(BranchExistsError, match="'b'"):
        create_branch(store, "b")
    with pytest.raises(BranchExistsError):
        rename_branch(store, "b", "empty")
    with pytest.raises(TagNotFoundError, match=r"no tag 'x' \(its tags: t\)"):
        create_branch(store, "x", "x")
    with pytest.raises(SnapshotNotFoundError, match="no snapshot"):
        fast_forward(store, "empty")
    for name in ("main", "", "12", "a/b", "a$b"):
        with pytest.raises(InvalidNameError):
            create_branch(store, name)
    for act in (fast_forward, delete_branch):
        with pytest.raises(BranchNotFoundError, match="'no'"):
            act(store, "no")
    with pytest.raises(InvalidNameError, match="main"):
        fast_forward(store, "main")
    assert branch_names(store) == ["b", "empty"]
    history.check()


def test_rows_of_a_branch_are_merged_once(history: History) -> None:
    main, branch = history.fresh(), history.fresh(branch="b")
    messages = files_to_merge(branch, main)
    assert len(messages) == 1
    made = Table(main).commit(messages, info())
    assert made is not None and made.total_record_count == 4
    assert files_to_merge(branch, history.fresh()) == []
    with pytest.raises(SnapshotNotFoundError):
        files_to_merge(history.fresh(branch="empty"), main)
    expire(history.fresh(), 1)  # what happened before is no longer known
    with pytest.raises(InvalidDataError, match="snapshots of it have expired"):
        files_to_merge(history.fresh(branch="b"), history.fresh())
    history.write("b", "overwrite")
    with pytest.raises(InvalidDataError, match="replaced or compacted"):
        files_to_merge(history.fresh(branch="b"), main)


def test_what_is_left_of_a_branch(history: History) -> None:
    main = history.fresh()
    branch = history.fresh(branch="b")
    main.io.delete(branch.paths.schema(0))  # its deletion was killed here
    with pytest.raises(BranchNotFoundError, match="halfway. Call delete_branch"):
        open_branch(main, "b")
    create_branch(main, "b")
    assert latest_snapshot(open_branch(main, "b")) is None
    Path(main.root, "branch", "branch-half").mkdir()  # so was the making of this one
    delete_branch(main, "half")
    assert branch_names(main) == ["b", "empty"]
    history.check()


def test_rollback(history: History) -> None:
    store = history.fresh()
    create_tag(store, "late", read_snapshot(store, 3))
    with pytest.raises(SnapshotNotFoundError, match="no snapshot 9: the snapshots 1 to 3 exist"):
        roll_back(store, snapshot_id=9)
    with pytest.raises(TagNotFoundError, match="'x'"):
        roll_back(store, tag="x")
    with pytest.raises(SnapshotNotFoundError, match="watermark"):
        snapshot_at_watermark(store, 5)
    assert roll_back(store, tag="t") == (3, 2)
    assert (snapshot_ids(store), tag_names(store)) == ([1, 2], ["t"])
    expire(store, 1)
    history.write()
    history.write()
    expire(store, 1)
    assert roll_back(store, tag="t") == (4, 2)
    assert snapshot_ids(store) == [2]
    marked = Table(store).commit([message(store, data_file(store, 1, 1))], info(watermark=7))
    assert marked is not None and snapshot_at_watermark(store, 7) == marked


def test_a_rollback_to_a_tag_that_is_deleted_meanwhile(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    store = history.fresh()
    delete_branch(store, "b")
    expire(store, 1)

    def late(*arguments: Any) -> bool:
        delete_tags(history.fresh(), ["t"])
        return create_if_missing(*arguments)

    monkeypatch.setattr(local, "_SLOT_PATIENCE", 0.05)  # the rollback has the slot until the tag is deleted
    monkeypatch.setattr(rollback, "create_if_missing", late)
    with pytest.raises(SnapshotNotFoundError, match="deleted meanwhile"):
        roll_back(store, tag="t")
    assert snapshot_ids(store) == [3]
    history.check()


def test_an_empty_table_cannot_be_rolled_back(tmp_path: Path) -> None:
    with pytest.raises(SnapshotNotFoundError, match="it has no snapshots yet"):
        roll_back(History(tmp_path, random.Random(0)).fresh(), snapshot_id=1)
