"""Upkeep killed (SIGKILL) before each system call that changes something: what is to stay reads as before.

A kill before a call that only reads has the same effect as one before the next change.
"""

from __future__ import annotations

import os
import random
import shutil
import uuid
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from paimon_core.commit.commit import compact_manifests
from paimon_core.commit.publish import AtomicPublisher
from paimon_core.errors import PaimonError
from paimon_core.maintenance.branch_rename import rename_branch
from paimon_core.maintenance.branches import create_branch, delete_branch
from paimon_core.maintenance.consumers import clear_consumers
from paimon_core.maintenance.done_partitions import mark_done
from paimon_core.maintenance.fast_forward import fast_forward
from paimon_core.maintenance.orphans.job import OrphanSearch
from paimon_core.maintenance.orphans.packs import purge
from paimon_core.maintenance.orphans.search import remove_orphans
from paimon_core.maintenance.partitions import drop_partitions
from paimon_core.maintenance.rollback import roll_back
from paimon_core.maintenance.snapshot_expiry import expire_changelogs
from paimon_core.maintenance.tags import create_tag, delete_tags, rename_tag, replace_tag
from paimon_core.spec.schema import TableSchema
from paimon_core.store.snapshots import latest_snapshot, read_snapshot
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from tests.support.histories import FOREVER, History, bucket, expire, newest, versions
from tests.support.killing import CHANGES, Fuse, forking, killed_at
from tests.support.orphan_tasks import Lost
from tests.support.tables import info, message

PARTS = 4  # the gate has one of an act's parts


def partition(store: TableStore) -> bytes:
    return message(store, p=1).partition


def empty(store: TableStore) -> None:
    """What `purge_files` does."""
    Table(store).truncate(info())
    purge(store, FOREVER)


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
    "expire changelogs": lambda store: expire_changelogs(store, newest(2)),
    "drop partitions": lambda store: drop_partitions(store, [partition(store)], "u", AtomicPublisher(store.io)),
    "compact manifests": lambda store: compact_manifests(store, info(), AtomicPublisher(store.io)),
    "clear consumers": lambda store: clear_consumers(store, None, None),
    "mark partitions done": lambda store: mark_done(store, [store.partition_spec(partition(store))]),
    "purge": empty,
    "remove orphans": lambda store: remove_orphans(store, FOREVER),
    "remove orphans by tasks": lambda store: Lost(OrphanSearch(store, FOREVER), travels=False).delete(),
}


def prepared(root: Path) -> History:
    """Snapshots 3 to 7 and changelogs of 1 and 2, tags of 1, 2 and 6, a branch from 2 with three snapshots of its own,
    a consumer, an orphan, all data in one partition."""
    history = History(root, random.Random(0), changelogs=True, partitioned=True)
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
    (bucket(main) / f"data-{uuid.uuid4()}-0.parquet").touch()
    main.io.write_bytes(f"{main.paths.consumer_dir}/consumer-c", b'{"nextSnapshot": 5}')
    history.check()
    return history


def seen(store: TableStore) -> dict[str, str]:
    return {f"{branch.name} {name}": s.delta_manifest_list for branch, name, s in versions(store)}


def run(root: str, schema: TableSchema, act: str, kill_at: int, report: Connection) -> None:
    """Do an act, report how many changes it took."""
    fuse = Fuse(kill_at, CHANGES, only_these=True)
    os.fsync = lambda _: None
    fuse.count_system_calls()
    ACTS[act](TableStore.of(fuse, root, schema))
    report.send(fuse.operations)


@pytest.fixture(scope="module")
def context() -> ForkServerContext:
    return forking()


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("act", ACTS)
def test_killed_at_every_change(tmp_path: Path, context: ForkServerContext, act: str, part: int) -> None:
    history = prepared(tmp_path / "first")
    if act == "purge":  # of a small table: what it does with branches and tags are acts of their own
        delete_branch(history.fresh(), "b")
        delete_tags(history.fresh(), ["t1", "t2"])
        expire(history.fresh(), 1)
    before = seen(history.fresh())
    first = Path(history.store.root)
    copies = tmp_path / "copy"
    shutil.copytree(first, copies)
    act_on = (str(first), history.store.schema, act)
    operations, _ = killed_at(context, run, *act_on, 0)
    assert operations
    stay = before.items() & seen(history.fresh()).items()
    history.check()

    for k in range(1 + part, operations + 1, PARTS):
        shutil.rmtree(first)
        shutil.copytree(copies, first)
        assert killed_at(context, run, *act_on, k) == (None, True)
        history.check()
        assert stay <= seen(history.fresh()).items(), f"change {k}: a version is missing that had to stay"
        assert latest_snapshot(history.fresh()) is not None, f"change {k}: the table is empty"
        with suppress(PaimonError):  # what the first try had done before it was killed
            ACTS[act](history.fresh())
        remove_orphans(history.fresh(), FOREVER)
        history.check()
        history.check_clean()
