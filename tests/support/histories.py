"""Histories of a table: its versions and the files they read, checked against the storage as a new process sees it.

Data files are empty but exist, so that a deletion is noticed. The files that a version reads are recorded when it is
made, under its delta manifest list, which no other version has.
"""

from __future__ import annotations

import os
import random
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paimon_core.commit.changes import Overwrite
from paimon_core.io.file_io import FileIO
from paimon_core.io.local import LocalFileIO
from paimon_core.maintenance.branches import branch_exists, create_branch, delete_branch
from paimon_core.maintenance.fast_forward import fast_forward
from paimon_core.maintenance.orphans.search import remove_orphans
from paimon_core.maintenance.rollback import roll_back
from paimon_core.maintenance.snapshot_expiry import Retention, expire_changelogs, expire_snapshots
from paimon_core.maintenance.tags import create_tag, delete_tags, rename_tag, replace_tag
from paimon_core.spec.manifest import FileKind, ManifestEntry
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.branches import branch_names, open_branch
from paimon_core.store.cache import MetadataCache, S
from paimon_core.store.changelogs import list_changelogs
from paimon_core.store.manifests import live_files, read_entries, read_manifest_list
from paimon_core.store.snapshots import latest_snapshot, list_snapshots, snapshot_ids
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import tag_names
from paimon_core.table import Table
from tests.support.all_tags import list_tags
from tests.support.tables import data_file, info, message, new_store

FOREVER = 2**62  # as a time: everything is older


class CheckedCache(MetadataCache):
    """The decoded content of files, each for as long as the file exists and is the same. A new process would read the
    same.
    """

    def get(self, path: str, load: Callable[[], S]) -> S:
        try:
            found = os.stat(path)
        except OSError:
            return load()
        return super().get(f"{path} {found.st_size} {found.st_mtime_ns}", load)


@dataclass
class History:
    """A table, the files that each of its versions had when it was made, and the random numbers that decide the next
    step.
    """

    root: Path
    dice: random.Random
    reads: dict[str, frozenset[str]] = field(default_factory=dict)
    count: int = 0
    changelogs: bool = False  # appends write changelog files, which are kept longer than snapshots
    partitioned: bool = False  # all rows are in the partition p=1
    io: FileIO | None = None  # a `FileIO` for the operations, if they are to fail
    decoded: CheckedCache = field(default_factory=CheckedCache)

    def __post_init__(self) -> None:
        kept = {"changelog.num-retained.min": "12"} if self.changelogs else {}
        kept |= {"partition": "p"} if self.partitioned else {}
        self.store = new_store(self.root, **{"write-only": "true", "commit.min-retry-wait": "0 ms"} | kept)

    def fresh(self, io: FileIO | None = None, branch: str = "main") -> TableStore:
        """Return the table, or a branch, as a new process opens it. If calls can fail, no cache
        saves any of them.
        """
        failing = io or self.io
        cache = MetadataCache() if failing else self.decoded
        store = TableStore.of(
            failing or LocalFileIO(), self.store.root, self.store.schema, cache, identifier=self.store.identifier
        )
        return store if branch == "main" else open_branch(store, branch)

    def write(self, branch: str = "main", kind: str = "append") -> None:
        store = self.fresh(branch=branch)
        live = [e.file for e in live_files(store, latest_snapshot(store)).values()]
        new = self._file(store)
        match kind:
            case "append":
                changes = (self._file(store),) if self.changelogs else ()
                messages, overwrite = [message(store, new, p=1, new_changelog=changes)], None
            case "overwrite":
                messages, overwrite = [message(store, new, p=1)], Overwrite()
            case _:
                old = tuple(live[:2])
                after = (new,) if old else ()
                messages, overwrite = [message(store, p=1, compact_before=old, compact_after=after)], None
        made = Table(store).commit(messages, info(), overwrite)
        if made is not None:
            self.learn(store, made)

    def learn(self, store: TableStore, snapshot: Snapshot) -> None:
        self.reads[snapshot.delta_manifest_list] = _read(store, snapshot)

    def step(self) -> str:
        """Do one random operation. Return its name."""
        main = self.fresh()
        branches, tags = branch_names(main), tag_names(main)
        where = self.dice.choice(["main", "main", *branches])
        acts: dict[str, Any] = {
            kind: lambda kind=kind: self.write(where, kind) for kind in ("append", "overwrite", "compact")
        }
        acts["expire"] = lambda: expire(self.fresh(branch=where), self.dice.randint(1, 3))
        if self.changelogs:
            kept = self.dice.randint(1, 6)
            acts["expire changelogs"] = lambda: expire_changelogs(self.fresh(branch=where), newest(kept))
        acts["orphans"] = lambda: remove_orphans(main, FOREVER)
        if latest_snapshot(main) is not None:
            number = self.dice.choice(snapshot_ids(main))
            snapshot = next(s for s in list_snapshots(main) if s.id == number)
            acts["tag"] = lambda: create_tag(main, self._name("t"), snapshot)
            acts["roll back"] = lambda: roll_back(main, snapshot_id=number)
        if tags:
            tag = self.dice.choice(tags)
            acts["delete tag"] = lambda: delete_tags(main, [tag])
            acts["rename tag"] = lambda: rename_tag(main, tag, self._name("t"))
            acts["replace tag"] = lambda: replace_tag(main, tag, latest_snapshot(main))
            acts["branch"] = lambda: create_branch(main, self._name("b"), tag)
            acts["roll back to tag"] = lambda: roll_back(main, tag=tag)
        if len(branches) < 2:
            acts["empty branch"] = lambda: create_branch(main, self._name("b"))
        else:
            acts.pop("branch", None)
        if branches:
            branch = self.dice.choice(branches)
            acts["delete branch"] = lambda: delete_branch(main, branch)
            if latest_snapshot(open_branch(main, branch)) is not None:
                acts["fast forward"] = lambda: fast_forward(main, branch)
        weights = {"append": 6, "overwrite": 3, "compact": 5, "expire": 4}
        chosen: str = self.dice.choices(list(acts), [weights.get(a, 1) for a in acts])[0]
        acts[chosen]()
        return f"{chosen} ({where})"

    def check(self) -> None:
        """Check that every existing version reads the files that it had when it was made, and that all of
        these exist.
        """
        for store, name, snapshot in versions(self.fresh()):
            known = self.reads.setdefault(snapshot.delta_manifest_list, _read(store, snapshot))
            assert _read(store, snapshot) == known, f"{store.name} {name}"
        for store, _, changes in changelog_lists(self.fresh()):
            _require(store, _changes(store, changes))

    def check_clean(self) -> None:
        """Check that every file belongs to a version."""
        fresh = self.fresh()
        needed = {f for _, _, s in versions(fresh) for f in self.reads[s.delta_manifest_list]}
        lists = list(changelog_lists(fresh))
        needed |= {f for store, _, name in lists for f in _changes(store, name)}
        there = {p.name for p in Path(fresh.root).glob("**/bucket-*/*")}
        assert needed <= there <= needed | {f for store, _, name in lists for f in _named(store, name)}

    def _file(self, store: TableStore) -> Any:
        self.count += 1
        file = data_file(store, 1, 1, file_name=file_name(self.count))
        path = bucket(store) / file.file_name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        return file

    def _name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"


def file_name(number: int) -> str:
    """Return the name of the `number`-th file."""
    return f"data-{uuid.UUID(int=number)}-0.parquet"


def bucket(store: TableStore) -> Path:
    """Return the folder of all data files."""
    return Path(store.bucket_dir(message(store, p=1).partition, 0))


def expire(store: TableStore, least: int) -> int:
    """Keep the newest snapshots only."""
    return expire_snapshots(store, newest(least), 0)


def newest(least: int) -> Retention:
    return Retention(least=least, most=least, older_than=FOREVER, limit=1000)


def versions(store: TableStore) -> Iterator[tuple[TableStore, str, Snapshot]]:
    """Yield every snapshot and tag of every branch, except those that are only half made or deleted."""
    for name in ("main", *(b for b in branch_names(store) if branch_exists(store, b))):
        branch = open_branch(store, name)
        yield from ((branch, f"snapshot {s.id}", s) for s in list_snapshots(branch))
        yield from ((branch, f"tag {t.name}", t.snapshot) for t in list_tags(branch))


def changelog_lists(store: TableStore) -> Iterator[tuple[TableStore, str, str]]:
    """Yield the manifest lists of changes: of snapshots, tags and changelogs, including deltas."""
    for branch, name, snapshot in versions(store):
        if snapshot.changelog_manifest_list is not None:
            yield branch, name, snapshot.changelog_manifest_list
    for name in ("main", *(b for b in branch_names(store) if branch_exists(store, b))):
        branch = open_branch(store, name)
        for changelog in list_changelogs(branch):
            name = changelog.changelog_manifest_list or changelog.delta_manifest_list
            yield branch, f"changelog {changelog.id}", name


def _changes(store: TableStore, name: str) -> frozenset[str]:
    """Return the files with the rows of a changelog."""
    return frozenset(e.file.file_name for e in _entries(store, name) if e.kind is FileKind.ADD)


def _named(store: TableStore, name: str) -> frozenset[str]:
    """Return these files, and files that were removed with them, which may be missing."""
    return frozenset(e.file.file_name for e in _entries(store, name))


def _entries(store: TableStore, name: str) -> Iterator[ManifestEntry]:
    return read_entries(store, read_manifest_list(store, name))


def _require(store: TableStore, names: frozenset[str]) -> None:
    folder = bucket(store)
    missing = {n for n in names if not (folder / n).exists()}
    assert not missing, f"{store.name} has lost {missing}"


def _read(store: TableStore, snapshot: Snapshot) -> frozenset[str]:
    """Return the data files of a version, which must all exist."""
    names = {e.file.file_name for e in live_files(store, snapshot).values()}
    _require(store, frozenset(names))
    return frozenset(names)
