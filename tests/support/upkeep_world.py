"""A table in memory with versions of every kind, the operations that change it, and the rows that can be read of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

from paimon_core.commit.changes import Overwrite
from paimon_core.commit.commit import commit_statistics, compact_manifests
from paimon_core.commit.publish import AtomicPublisher
from paimon_core.errors import PaimonError
from paimon_core.maintenance.auto_tags import create_automatic_tags
from paimon_core.maintenance.branch_rename import rename_branch
from paimon_core.maintenance.branches import (
    branch_exists,
    create_branch,
    delete_branch,
    merge_branch,
)
from paimon_core.maintenance.consumers import clear_consumers, reset_consumer
from paimon_core.maintenance.fast_forward import fast_forward
from paimon_core.maintenance.orphans.job import OrphanSearch
from paimon_core.maintenance.orphans.packs import purge
from paimon_core.maintenance.orphans.search import in_peace, remove_orphans
from paimon_core.maintenance.rollback import roll_back
from paimon_core.maintenance.snapshot_expiry import expire_changelogs, expire_snapshots
from paimon_core.maintenance.tags import create_tag, delete_tags, rename_tag, replace_tag, taggable_snapshot
from paimon_core.spec.manifest import FileKind
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.statistics import TableStatistics
from paimon_core.store.branches import branch_names, open_branch
from paimon_core.store.changelogs import list_changelogs
from paimon_core.store.consumers import list_consumers
from paimon_core.store.manifests import live_files, read_entries, read_manifest_list
from paimon_core.store.schemas import create_schema
from paimon_core.store.snapshots import latest_snapshot, list_snapshots, read_snapshot, snapshot_ids
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from tests.support.all_tags import list_tags
from tests.support.histories import FOREVER, newest
from tests.support.interleaving import CountedCache, InterleavedIO, MemoryIO
from tests.support.orphan_tasks import Lost
from tests.support.schedules import sleep
from tests.support.tables import data_file, info, message, new_store

Act = Callable[[TableStore, str], object]
State = dict[str, frozenset[str]]  # for the latest version of each branch and for each tag: its data files
NOW = 1_700_000_000_000_000_000  # nanoseconds
KILLED = 10**9  # milliseconds after which no process waits for a killed one


def file_name(name: str, kind: str = "data") -> str:
    """Return a name that an orphan may have."""
    return f"{kind}-01234567-0123-0123-0123-0123456789ab-{name}.parquet"


def on(store: TableStore, branch: str) -> TableStore:
    return open_branch(store, branch)


def write(store: TableStore, name: str, kind: str = "append", branch: str = "main") -> None:
    """Write a file with a name and commit it: append it, replace all others by it, or append two."""
    store = on(store, branch)
    live = [e.file for e in live_files(store, latest_snapshot(store)).values()]
    new, changes = (data_file(store, 1, 1, file_name=file_name(name, of)) for of in ("data", "changelog"))
    folder = store.bucket_dir(message(store).partition, 0)
    for file in (new, changes):
        store.io.write_bytes(f"{folder}/{file.file_name}", b"")
    overwrite = Overwrite() if kind == "overwrite" else None
    if kind == "compact":
        written = message(store, compact_before=tuple(live[:2]), compact_after=(new,))
    else:
        written = message(store, new, new_changelog=() if overwrite else (changes,))
    Table(store).commit_or_abort([written], info(name), overwrite)


def give_up(store: TableStore, name: str) -> None:
    """Write a file without committing it."""
    file = data_file(store, 1, 1, file_name=file_name(name))
    store.io.write_bytes(f"{store.bucket_dir(message(store).partition, 0)}/{file.file_name}", b"")
    Table(store).abort([message(store, file)])


def expire(store: TableStore, least: int) -> None:
    expire_snapshots(store, newest(least), 0)


def alter(store: TableStore) -> None:
    """Write the next version of the schema, as ALTER TABLE does."""
    new = replace(store.schema, id=store.schema.id + 1)
    if not create_schema(store.io, store.root, new):
        raise PaimonError("altered meanwhile")


def empty(store: TableStore) -> None:
    """Empty the table as `purge_files` does. Uncommitted files of other writers stay."""
    Table(store).truncate(info())
    purge(store, BEFORE)


def tag_latest(store: TableStore, name: str) -> None:
    create_tag(store, f"new-{name}", taggable_snapshot(store, None))


def tagging(store: TableStore) -> TableStore:
    """Return the store with options by which each commit moves the tag t2."""
    return store.with_options({"tag.automatic-creation": "batch", "tag.batch.customized-name": "t2"})


BEFORE = 10**6  # as a time: files that existed before are old, files written meanwhile are not
ACTS: dict[str, Act] = {
    "append": lambda store, name: write(store, name),
    "compact": lambda store, name: write(store, name, "compact"),
    "overwrite": lambda store, name: write(store, name, "overwrite"),
    "append to branch": lambda store, name: write(store, name, branch="b"),
    "give up": give_up,
    "analyze": lambda store, _: commit_statistics(
        store, TableStatistics(snapshot_id=1, schema_id=0, columns={}), info(), AtomicPublisher(store.io)
    ),
    "alter": lambda store, _: alter(store),
    "merge manifests": lambda store, _: compact_manifests(store, info(), AtomicPublisher(store.io)),
    "expire": lambda store, _: expire(store, 1),
    "expire some": lambda store, _: expire(store, 3),
    "expire in branch": lambda store, _: expire(on(store, "b"), 1),
    "expire changelogs": lambda store, _: expire_changelogs(store, newest(2)),
    "tag first": lambda store, name: create_tag(store, f"new-{name}", read_snapshot(store, 3)),
    "tag latest": tag_latest,
    "tag alike": lambda store, _: create_tag(store, "t2", read_snapshot(store, 4)),
    "tag in branch": lambda store, name: tag_latest(on(store, "b"), name),
    "tag each commit": lambda store, _: create_automatic_tags(tagging(store)),
    "replace tag": lambda store, _: replace_tag(store, "t2", read_snapshot(store, 4)),
    "retain tag": lambda store, _: replace_tag(store, "t2", None, timedelta(days=1)),
    "rename tag": lambda store, name: rename_tag(store, "t2", f"new-{name}"),
    "delete tags": lambda store, _: delete_tags(store, ["t1", "t2"]),
    "branch": lambda store, name: create_branch(store, f"new-{name}", "t2"),
    "branch alike": lambda store, _: create_branch(store, "new", "t2"),
    "empty branch": lambda store, name: create_branch(store, f"new-{name}"),
    "delete branch": lambda store, _: delete_branch(store, "b"),
    "rename branch": lambda store, name: rename_branch(store, "b", f"new-{name}"),
    "merge branch": lambda store, _: merge_branch(
        store, "b", "main", lambda into, messages: Table(into).commit(messages, info())
    ),
    "fast forward": lambda store, _: fast_forward(store, "b"),
    "roll back": lambda store, _: roll_back(store, snapshot_id=4),
    "roll back to tag": lambda store, _: roll_back(store, tag="t2"),
    "reset consumer": lambda store, _: reset_consumer(store, "c", 4),
    "clear consumers": lambda store, _: clear_consumers(store, None, None),
    "remove orphans": lambda store, _: remove_orphans(store, BEFORE),
    "remove orphans by tasks": lambda store, _: in_peace(
        store, lambda: Lost(OrphanSearch(store, BEFORE), travels=False)
    ).delete(),
    "purge": lambda store, _: empty(store),
}


_current = threading.local()


@contextmanager
def _dice_of(name: str) -> Iterator[None]:
    before, _current.dice = getattr(_current, "dice", None), Random(name)
    try:
        yield
    finally:
        _current.dice = before


def _random(size: int) -> bytes:
    dice: Random | None = getattr(_current, "dice", None)
    return (dice or _OTHERS).randbytes(size)


_OTHERS = Random(0)


@contextmanager
def repeatable() -> Iterator[None]:
    """Make operations repeatable: with the same name they write the same bytes if they find the same ones, so that a
    world is recognized when it comes again. A sleep lets other operations run.
    """
    with mock.patch("os.urandom", _random), mock.patch("time.time_ns", lambda: NOW), mock.patch("time.sleep", sleep):
        yield


@dataclass
class World:
    """A table in memory: "used" has snapshots 3 to 6 with changelogs of 1 and 2, tags of 1, 2 and 5, a branch from 2
    with two snapshots of its own, a consumer, an orphan; of "grown", nothing has expired and nothing was rewritten."""

    io: MemoryIO
    store: TableStore
    decoded: dict[tuple[str, int], Any] = field(default_factory=dict)
    states: dict[int, State] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)

    @staticmethod
    @cache
    def made(kind: str = "used") -> World:
        io = MemoryIO()
        options = {"write-only": "true", "commit.min-retry-wait": "0 ms", "changelog.num-retained.min": "12"}
        world = World(io, new_store(Path("/w"), io, **options))
        store = world.opened()
        for number, act in enumerate(("append", "append"), 1):
            write(store, f"file-{number}", act)
            create_tag(store, f"t{number}", read_snapshot(store, number))
        create_branch(store, "b", "t2")
        for number, (branch, act) in enumerate(
            (("b", "append"), ("main", "compact"), ("main", "append"), ("b", "compact"), ("main", "append"))
            + (("main", "compact"),),
            3,
        ):
            write(store, f"file-{number}", act if kind == "used" else "append", branch)
        create_tag(store, "t5", read_snapshot(store, 5))
        if kind == "used":
            expire(store, 4)
        io.write_bytes(f"{store.bucket_dir(message(store).partition, 0)}/{file_name('orphan')}", b"")
        io.write_bytes(f"{store.paths.consumer_dir}/consumer-c", b'{"nextSnapshot": 6}')
        io.writes = BEFORE
        return world

    def copy(self) -> World:
        return replace(self, io=self.io.copy())

    def opened(self, io: InterleavedIO | None = None) -> TableStore:
        """Return the table as a new process opens it."""
        io = io or InterleavedIO(self.io)
        return TableStore.of(io, self.store.root, self.store.schema, CountedCache(io, self.decoded))

    def run(self, act: str, name: str, io: InterleavedIO | None = None) -> bool:
        """Run an operation. Return whether it succeeded."""
        try:
            with _dice_of(f"{act} {name}"):
                ACTS[act](self.opened(io), name)
        except PaimonError:
            return False
        return True

    def key(self) -> int:
        """Return a key that differs for worlds with other files."""
        return hash(frozenset((path, data) for path, (data, _) in self.io.files.items()))

    def state(self) -> State:
        """What can be read. Every version and every changelog is readable; numbers have no gaps."""
        key = self.key()
        if key not in self.states:
            self.states[key] = self._state()
        return self.states[key]

    def _state(self) -> State:
        found: State = {}
        store = self.opened()
        for name in ("main", *(b for b in branch_names(store) if branch_exists(store, b))):
            branch = open_branch(store, name)
            ids, latest = snapshot_ids(branch), latest_snapshot(branch)
            assert ids == list(range(ids[0], ids[-1] + 1)) if ids else True, f"{name} has the snapshots {ids}"
            assert (None if latest is None else [latest.id]) == (ids[-1:] or None)
            found[f"{name} exists"] = frozenset()
            for snapshot in list_snapshots(branch):
                found[f"{name}"] = self._read(branch, snapshot)
                self._check_changes(branch, snapshot.changelog_manifest_list)
            found |= {f"{name} tag {t.name}": self._read(branch, t.snapshot) for t in list_tags(branch)}
            found[f"{name} consumers"] = frozenset(f"{c} {n}" for c, n in list_consumers(branch).items())
            for changelog in list_changelogs(branch):
                self._check_changes(branch, changelog.changelog_manifest_list or changelog.delta_manifest_list)
        assert "main" in found, "the table has no snapshot"
        return found

    def check_use(self) -> None:
        """What is there is kept by a clean-up, and can be written to."""
        key, before = self.key(), self.state()
        if key in self.used:
            return
        self.used.add(key)
        after = self.copy()
        after.clean()
        assert after.state() == before
        write(after.opened(), "later")
        assert after.state()["main"] == before["main"] | {file_name("later")}

    def clean(self) -> None:
        store = self.opened()
        for name in ("main", *(b for b in branch_names(store) if branch_exists(store, b))):
            expire(open_branch(store, name), 1)
        remove_orphans(store, FOREVER)

    def _read(self, store: TableStore, snapshot: Snapshot) -> frozenset[str]:
        names = frozenset(e.file.file_name for e in live_files(store, snapshot).values())
        self._check_files(store, names)
        return names

    def _check_changes(self, store: TableStore, changes: str | None) -> None:
        entries = read_entries(store, read_manifest_list(store, changes)) if changes is not None else ()
        self._check_files(store, frozenset(e.file.file_name for e in entries if e.kind is FileKind.ADD))

    def _check_files(self, store: TableStore, names: frozenset[str]) -> None:
        folder = store.bucket_dir(message(store).partition, 0)
        missing = sorted(n for n in names if f"{folder}/{n}" not in self.io.files)
        assert not missing, f"{store.name} has lost {missing}"


@cache
def in_order(world: str, *acts: tuple[str, str]) -> State:
    """The state after acts, each under a name, that follow one another."""
    made = World.made(world).copy()
    for act, name in acts:
        made.run(act, name)
    return made.state()


def shown(state: State) -> dict[str, list[str]]:
    return {k: sorted(v) for k, v in state.items()}
