"""Upkeep killed before each storage call that changes something: what was there, and is to stay, reads as before."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from paimon_core.errors import PaimonError
from paimon_core.io.local import LocalFileIO
from paimon_core.maintenance.branches import create_branch, delete_branch, fast_forward, rename_branch
from paimon_core.maintenance.orphan_job import OrphanSearch
from paimon_core.maintenance.orphans import remove_orphans
from paimon_core.maintenance.purge import purge
from paimon_core.maintenance.rollback import roll_back
from paimon_core.maintenance.tags import create_tag, delete_tags, rename_tag, replace_tag
from paimon_core.store.snapshots import latest_snapshot, read_snapshot
from paimon_core.store.table_store import TableStore
from tests.support.faulty_io import Fault, FaultyIO, SimulatedCrash
from tests.support.histories import FOREVER, History, expire, versions
from tests.support.orphan_tasks import Lost

ACTS: dict[str, Callable[[TableStore], object]] = {
    "create tag": lambda store: create_tag(store, "new", read_snapshot(store, 3)),
    "replace tag": lambda store: replace_tag(store, "t2", read_snapshot(store, 4)),
    "rename tag": lambda store: rename_tag(store, "t2", "other"),
    "delete tag": lambda store: delete_tags(store, ["t1", "t2"]),
    "create branch": lambda store: create_branch(store, "more", "t2"),
    "create empty branch": lambda store: create_branch(store, "more"),
    "delete branch": lambda store: delete_branch(store, "b"),
    "fast forward": lambda store: fast_forward(store, "b"),
    "roll back": lambda store: roll_back(store, snapshot_id=4),
    "roll back to a tag": lambda store: roll_back(store, tag="t2"),
    "expire": lambda store: expire(store, 1),
    "rename branch": lambda store: rename_branch(store, "b", "c"),
    "purge": lambda store: purge(store, FOREVER),
    "remove orphans": lambda store: remove_orphans(store, FOREVER),
    "remove orphans by tasks": lambda store: Lost(OrphanSearch(store, FOREVER), travels=False).delete(),
}


def prepared(root: Path) -> History:
    """Snapshots 3 to 7, tags of 1, 2 and 6, a branch from 2 with three snapshots of its own, an orphan."""
    history = History(root, random.Random(0))
    history.write()
    history.write()
    main = history.fresh()
    for number in (1, 2):
        create_tag(main, f"t{number}", read_snapshot(main, number))
    create_branch(main, "b", "t2")
    for branch, kind in (("main", "compact"), ("b", "append"), ("main", "append"), ("b", "compact"), ("b", "append")):
        history.write(branch, kind)
    for kind in ("overwrite", "append", "append"):
        history.write("main", kind)
    create_tag(main, "t6", read_snapshot(main, 6))
    assert expire(main, 5) == 2
    Path(main.root, "bucket-0", "orphan").touch()
    history.check()
    return history


def seen(store: TableStore) -> dict[str, str]:
    return {f"{branch.name} {name}": s.delta_manifest_list for branch, name, s in versions(store)}


@pytest.mark.parametrize("act", ACTS)
def test_killed_at_every_call(tmp_path: Path, act: str) -> None:
    history = prepared(tmp_path / "first")
    counted = FaultyIO(LocalFileIO())
    before = seen(history.fresh())
    first = Path(history.store.root)
    copies = tmp_path / "copy"
    shutil.copytree(first, copies)
    ACTS[act](history.fresh(counted))
    stay = before.items() & seen(history.fresh()).items()
    history.check()

    for k in counted.moments(Fault.CRASH):
        shutil.rmtree(first)
        shutil.copytree(copies, first)
        with pytest.raises(SimulatedCrash):
            ACTS[act](history.fresh(FaultyIO(LocalFileIO(), k, Fault.CRASH)))
        history.check()
        assert stay <= seen(history.fresh()).items(), f"call {k}: a version is gone that had to stay"
        assert latest_snapshot(history.fresh()) is not None, f"call {k}: the table is empty"
        with suppress(PaimonError):  # what the first try had done before it was killed
            ACTS[act](history.fresh())
        remove_orphans(history.fresh(), FOREVER)
        history.check()
        history.check_clean()
