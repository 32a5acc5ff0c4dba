"""A table against its model: each version, tag and changelog reads the same as when it was made, whatever is done to
the table and wherever it is killed; and after a clean-up no file remains that nobody needs."""

from __future__ import annotations

import itertools
import multiprocessing
import random
import tempfile
import time
from contextlib import suppress
from multiprocessing.synchronize import Event
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.commit.commit import compact_manifests
from paimon_core.commit.publish import AtomicPublisher
from paimon_core.errors import CommitConflictError, PaimonError, SnapshotNotFoundError
from paimon_core.io.local import LocalFileIO
from paimon_core.maintenance.branches import create_branch, delete_branch
from paimon_core.maintenance.fast_forward import fast_forward
from paimon_core.maintenance.orphans.search import DEFAULT_AGE, find_orphans, remove_orphans
from paimon_core.maintenance.rollback import roll_back
from paimon_core.maintenance.tags import create_tag, delete_tags, rename_tag
from paimon_core.store.branches import branch_names
from paimon_core.store.manifests import live_files
from paimon_core.store.schemas import latest_schema
from paimon_core.store.snapshots import latest_snapshot, snapshot_ids
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import readable_tags, tag_names
from paimon_core.table import Table
from tests.support.examples import examples
from tests.support.faulty_io import Fault, FaultyIO, SimulatedCrash
from tests.support.histories import FOREVER, History, expire
from tests.support.tables import data_file, info, message

COMMITS = 25


def clean_up(history: History) -> None:
    """Expire, remove orphans; then only what versions need is there."""
    expire(history.fresh(), 1)
    remove_orphans(history.fresh(), FOREVER)
    history.check()
    history.check_clean()
    assert find_orphans(history.fresh(), FOREVER).paths == ()


@settings(max_examples=examples(8))
@given(dice=st.randoms(use_true_random=False), steps=st.integers(5, 30))
def test_histories_with_changelogs(dice: random.Random, steps: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        history = History(Path(folder), dice, changelogs=True)
        for _ in range(steps):
            history.step()
            history.check()
        clean_up(history)


@settings(max_examples=examples(15))
@given(dice=st.randoms(use_true_random=False), steps=st.integers(3, 12), data=st.data())
def test_killed_anywhere(dice: random.Random, steps: int, data: st.DataObject) -> None:
    """Steps that die at a call of their own, one after the other, and others that do not."""
    with tempfile.TemporaryDirectory() as folder:
        history = History(Path(folder), dice, changelogs=True)
        for _ in range(steps):
            dies_at = data.draw(st.integers(0, 40), "call to die at; 0: none")
            history.io = FaultyIO(LocalFileIO(), dies_at, Fault.CRASH) if dies_at else None
            with suppress(SimulatedCrash, PaimonError):
                history.step()
            history.io = None
            history.check()
        history.write()
        clean_up(history)


def opened(path: str) -> TableStore:
    """The table as another process finds it."""
    schema = latest_schema(LocalFileIO(), path)
    assert schema is not None
    return TableStore.of(LocalFileIO(), path, schema)


def write_all(path: str) -> None:
    """Appends, each fifth time a compaction of two files, as a process of its own does them."""
    for number in range(COMMITS):
        store = opened(path)
        new = data_file(store, 1, 1)
        Path(path, "bucket-0", new.file_name).touch()
        old = tuple(e.file for e in live_files(store, latest_snapshot(store)).values())[:2]
        made = message(store, compact_before=old, compact_after=(new,)) if number % 5 == 4 else message(store, new)
        with suppress(CommitConflictError):  # what it compacts may be rolled back
            Table(store).commit([made], info("writer"))


def maintain(path: str, name: str, done: Event) -> None:
    """Tags, branches, expiry, orphans, while other processes write and do the same."""
    for count in itertools.count():
        if done.is_set():
            return
        latest, tag = latest_snapshot(opened(path)), f"{name}{count:04}"
        with suppress(SnapshotNotFoundError):  # it may expire while it is tagged
            if latest is not None:
                create_tag(opened(path), tag, latest)
                if count % 3 == 0:
                    create_branch(opened(path), f"{name}b{count}", tag)
        with suppress(CommitConflictError):  # the table is rolled back all the time
            expire(opened(path), 2)
        delete_tags(opened(path), [t for t in tag_names(opened(path)) if t.startswith(name)][:-3])
        for branch in [b for b in branch_names(opened(path)) if b.startswith(name)][:-1]:
            delete_branch(opened(path), branch)
        with suppress(CommitConflictError):  # versions are made and removed all the time
            remove_orphans(opened(path), time.time_ns() // 1_000_000 - DEFAULT_AGE)


def go_back(path: str, done: Event) -> None:
    """Rollbacks, fast-forwards, renamed tags, rewritten manifests, while other processes write and expire."""
    dice = random.Random(3)
    for count in itertools.count():
        if done.is_set():
            return
        store, act = opened(path), dice.choice(("roll back", "manifests", "branch", "fast forward", "rename"))
        latest, ids = latest_snapshot(store), snapshot_ids(store)
        branches = [b for b in branch_names(store) if b.startswith("back")]
        tags = [t for t in tag_names(store) if t.startswith("back")]
        with suppress(PaimonError):  # what was found may be deleted by now
            if act == "roll back":
                roll_back(store, snapshot_id=ids[-2:][0])
            elif act == "manifests":
                compact_manifests(store, info("manifests"), AtomicPublisher(store.io))
            elif act == "branch" and latest is not None:
                create_tag(store, f"back{count}", latest)
                create_branch(store, f"back{count}", f"back{count}")
            elif act == "fast forward" and branches:
                fast_forward(store, branches[-1])
                for branch in branches[:-1]:
                    delete_branch(store, branch)
            elif act == "rename" and tags:
                rename_tag(store, tags[0], f"back{count}")


def test_processes_that_go_back(tmp_path: Path) -> None:
    """What writers commit may be undone at once: what remains is whole."""
    spawn = multiprocessing.get_context("spawn")
    history = History(tmp_path, random.Random(1))
    history.write()
    root, done = history.store.root, spawn.Event()
    writer = spawn.Process(target=write_all, args=(root,))
    others = [
        spawn.Process(target=go_back, args=(root, done)),
        spawn.Process(target=maintain, args=(root, "one", done)),
    ]
    for process in (*others, writer):
        process.start()
    writer.join(120)
    done.set()
    for process in others:
        process.join(60)
    assert [p.exitcode for p in (writer, *others)] == [0, 0, 0]
    history.check()
    ids = snapshot_ids(history.fresh())
    assert ids == list(range(ids[0], ids[-1] + 1))
    clean_up(history)


def test_processes_side_by_side(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    history = History(tmp_path, random.Random(1))
    history.write()
    root = history.store.root
    done = spawn.Event()
    writer = spawn.Process(target=write_all, args=(root,))
    keepers = [spawn.Process(target=maintain, args=(root, name, done)) for name in ("one", "two")]
    for process in (*keepers, writer):
        process.start()
    writer.join(120)
    done.set()
    for process in keepers:
        process.join(60)
    assert [p.exitcode for p in (writer, *keepers)] == [0, 0, 0]
    history.check()
    latest = latest_snapshot(history.fresh())
    assert latest is not None and latest.id > COMMITS
    assert len(readable_tags(history.fresh())) >= 1
    clean_up(history)
