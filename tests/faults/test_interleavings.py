"""Every pair of operations, the second one whole before each storage call of the first, on a storage without a queue.

Whatever comes between any two of its lines, afterwards the table is as if one ran after the other, every version is
readable, and cleaning up takes no file that one needs. A call that commutes with the second operation is skipped:
it makes no difference whether that comes before or after.

`PAIMON_SQL_INTERLEAVINGS=all` tries every pair; otherwise it is those that have most to do with each other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from paimon_core.commit.changes import Overwrite
from paimon_core.commit.commit import compact_manifests
from paimon_core.commit.publish import AtomicPublisher
from paimon_core.errors import PaimonError
from paimon_core.maintenance.branches import (
    branch_exists,
    create_branch,
    delete_branch,
    rename_branch,
)
from paimon_core.maintenance.consumers import clear_consumers, reset_consumer
from paimon_core.maintenance.fast_forward import fast_forward
from paimon_core.maintenance.orphans.job import OrphanSearch
from paimon_core.maintenance.orphans.search import in_peace, remove_orphans
from paimon_core.maintenance.rollback import roll_back
from paimon_core.maintenance.snapshot_expiry import expire_changelogs, expire_snapshots
from paimon_core.maintenance.tags import create_tag, delete_tags, rename_tag, replace_tag
from paimon_core.spec.manifest import FileKind
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.branches import branch_names, open_branch
from paimon_core.store.changelogs import list_changelogs
from paimon_core.store.manifests import live_files, read_entries, read_manifest_list
from paimon_core.store.snapshots import latest_snapshot, list_snapshots, read_snapshot, snapshot_ids
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import list_tags
from paimon_core.table import Table
from tests.support.histories import FOREVER, newest
from tests.support.interleaving import CountedCache, Footprint, InterleavedIO, MemoryIO
from tests.support.orphan_tasks import Lost
from tests.support.tables import data_file, info, message, new_store

Act = Callable[[TableStore, str], object]
State = dict[str, frozenset[str]]  # of the latest version of each branch and of each tag, the data files
EVERYTHING = os.environ.get("PAIMON_SQL_INTERLEAVINGS") == "all"


def file_name(name: str, kind: str = "data") -> str:
    """One that may be an orphan's."""
    return f"{kind}-01234567-0123-0123-0123-0123456789ab-{name}.parquet"


def on(store: TableStore, branch: str) -> TableStore:
    return open_branch(store, branch)


def write(store: TableStore, name: str, kind: str = "append", branch: str = "main") -> None:
    """Write a file of a name and commit it: appended, or replacing all others, or two."""
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
    """A write that is not committed."""
    file = data_file(store, 1, 1, file_name=file_name(name))
    store.io.write_bytes(f"{store.bucket_dir(message(store).partition, 0)}/{file.file_name}", b"")
    Table(store).abort([message(store, file)])


def expire(store: TableStore, least: int) -> None:
    expire_snapshots(store, newest(least), 0)


ACTS: dict[str, Act] = {
    "append": lambda store, name: write(store, name),
    "compact": lambda store, name: write(store, name, "compact"),
    "overwrite": lambda store, name: write(store, name, "overwrite"),
    "append to branch": lambda store, name: write(store, name, branch="b"),
    "give up": give_up,
    "merge manifests": lambda store, _: compact_manifests(store, info(), AtomicPublisher(store.io)),
    "expire": lambda store, _: expire(store, 1),
    "expire some": lambda store, _: expire(store, 3),
    "expire in branch": lambda store, _: expire(on(store, "b"), 1),
    "expire changelogs": lambda store, _: expire_changelogs(store, newest(2)),
    "tag first": lambda store, name: create_tag(store, f"new-{name}", read_snapshot(store, 3)),
    "tag latest": lambda store, name: create_tag(store, f"new-{name}", require_latest(store)),
    "replace tag": lambda store, _: replace_tag(store, "t2", read_snapshot(store, 4)),
    "rename tag": lambda store, name: rename_tag(store, "t2", f"new-{name}"),
    "delete tags": lambda store, _: delete_tags(store, ["t1", "t2"]),
    "branch": lambda store, name: create_branch(store, f"new-{name}", "t2"),
    "empty branch": lambda store, name: create_branch(store, f"new-{name}"),
    "delete branch": lambda store, _: delete_branch(store, "b"),
    "rename branch": lambda store, name: rename_branch(store, "b", f"new-{name}"),
    "fast forward": lambda store, _: fast_forward(store, "b"),
    "roll back": lambda store, _: roll_back(store, snapshot_id=4),
    "roll back to tag": lambda store, _: roll_back(store, tag="t2"),
    "reset consumer": lambda store, _: reset_consumer(store, "c", 4),
    "clear consumers": lambda store, _: clear_consumers(store, None, None),
}


def require_latest(store: TableStore) -> Snapshot:
    latest = latest_snapshot(store)
    assert latest is not None
    return latest


@dataclass
class World:
    """A table in memory: snapshots 3 to 6 with changelogs of 1 and 2, tags of 1, 2 and 5, a branch from 2 with two
    snapshots of its own, a consumer, an orphan."""

    io: MemoryIO
    store: TableStore
    decoded: dict[tuple[str, int], Any] = field(default_factory=dict)

    @staticmethod
    def made() -> World:
        io = MemoryIO()
        options = {"write-only": "true", "commit.min-retry-wait": "0 ms", "changelog.num-retained.min": "12"}
        world = World(io, new_store(Path("/w"), io, **options))
        store = world.opened()
        for number, kind in enumerate(("append", "append"), 1):
            write(store, f"file-{number}", kind)
            create_tag(store, f"t{number}", read_snapshot(store, number))
        create_branch(store, "b", "t2")
        for number, (branch, kind) in enumerate(
            (("b", "append"), ("main", "compact"), ("main", "append"), ("b", "compact"), ("main", "append"))
            + (("main", "compact"),),
            3,
        ):
            write(store, f"file-{number}", kind, branch)
        create_tag(store, "t5", read_snapshot(store, 5))
        expire(store, 4)
        io.write_bytes(f"{store.bucket_dir(message(store).partition, 0)}/{file_name('orphan')}", b"")
        io.write_bytes(f"{store.paths.consumer_dir}/consumer-c", b'{"nextSnapshot": 6}')
        return world

    def copy(self) -> World:
        return replace(self, io=self.io.copy())

    def opened(self, io: InterleavedIO | None = None) -> TableStore:
        """As a new process opens it."""
        io = io or InterleavedIO(self.io)
        return TableStore.of(io, self.store.root, self.store.schema, CountedCache(io, self.decoded))

    def run(self, act: Act, name: str, io: InterleavedIO | None = None) -> bool:
        """Whether an act did not fail."""
        try:
            act(self.opened(io), name)
        except PaimonError:
            return False
        return True

    def state(self) -> State:
        """What can be read. Every version and every changelog is readable; numbers have no gaps."""
        found: State = {}
        store = self.opened()
        for name in ("main", *(b for b in branch_names(store) if branch_exists(store, b))):
            branch = open_branch(store, name)
            ids, latest = snapshot_ids(branch), latest_snapshot(branch)
            assert ids == list(range(ids[0], ids[-1] + 1)) if ids else True, f"{name} has the snapshots {ids}"
            assert (None if latest is None else [latest.id]) == (ids[-1:] or None)
            for snapshot in list_snapshots(branch):
                found[f"{name}"] = self._read(branch, snapshot)
                self._check_changes(branch, snapshot.changelog_manifest_list)
            found |= {f"{name} tag {t.name}": self._read(branch, t.snapshot) for t in list_tags(branch)}
            for changelog in list_changelogs(branch):
                self._check_changes(branch, changelog.changelog_manifest_list or changelog.delta_manifest_list)
        assert "main" in found, "the table has no snapshot"
        return found

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


MADE = World.made()
# files that were there before are old, those that are written meanwhile are not
ACTS["remove orphans"] = lambda store, _: remove_orphans(store, MADE.io.writes + 1)
ACTS["remove orphans by tasks"] = lambda store, _: in_peace(
    store, lambda: Lost(OrphanSearch(store, MADE.io.writes + 1), travels=False)
).delete()


@cache
def in_order(*names: str) -> State:
    """The state after acts that follow one another; the first is "A", the second "B", an empty one is skipped."""
    world = MADE.copy()
    for name in names:
        act, _, role = name.partition("/")
        world.run(ACTS[act], role)
    return world.state()


def interleaved(first: str, second: str, at: int) -> tuple[InterleavedIO, Footprint]:
    """Do `first`, and `second` before a call of it, and check the state afterwards."""
    world = MADE.copy()
    other, done = InterleavedIO(world.io), list[bool]()
    io = InterleavedIO(world.io, at, lambda: done.append(world.run(ACTS[second], "B", other)))
    done.append(world.run(ACTS[first], "A", io))
    if len(done) == 1:
        return io, other.footprint()
    a, b = f"{first}/A", f"{second}/B"
    allowed = [in_order(a, b), in_order(b, a)]
    allowed += [] if done[0] else [in_order(a)]  # the second failed
    allowed += [] if done[1] else [in_order(b)]
    state = world.state()
    assert state in allowed, f"{done} resulted in {shown(state)}, in order it is {[shown(s) for s in allowed]}"
    world.clean()
    cleaned = world.state()
    assert cleaned == state
    write(world.opened(), "later")
    assert world.state()["main"] == state["main"] | {file_name("later")}
    return io, other.footprint()


def shown(state: State) -> dict[str, list[str]]:
    return {k: sorted(v) for k, v in state.items()}


def tried(first: str, second: str) -> Iterator[int]:
    """Try a pair at every call where it makes a difference; returns these calls."""
    at = 1
    while True:
        io, other = interleaved(first, second, at)
        if at > len(io.calls):
            return
        yield at
        while at <= len(io.calls) and io.calls[at - 1].commutes(other):
            at += 1
        at += 1


@pytest.mark.skipif(not EVERYTHING, reason="takes long: PAIMON_SQL_INTERLEAVINGS=all runs it")
@pytest.mark.parametrize("first", ACTS)
def test_every_pair(first: str) -> None:
    assert all(list(tried(first, second)) for second in ACTS)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("expire", "expire some"),
        ("expire some", "roll back to tag"),
        ("append", "roll back"),
        ("roll back", "append"),
        ("rename tag", "delete tags"),
        ("replace tag", "expire"),
        ("branch", "replace tag"),
        ("fast forward", "delete branch"),
        ("append to branch", "delete branch"),
    ],
)
def test_pairs_that_meet(first: str, second: str) -> None:
    assert list(tried(first, second))
