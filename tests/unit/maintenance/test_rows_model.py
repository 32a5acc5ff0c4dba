"""Random histories of a table with rows: every snapshot, tag and branch reads the rows it had when it was made.

A model keeps the rows of each version. At the end all is cleaned up: the folders then hold the files that reads of
the remaining versions opened, and nothing else.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pyarrow as pa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from paimon_core.arrow.types import VALUE_KIND
from paimon_core.commit.changes import Overwrite
from paimon_core.commit.commit import compact_manifests
from paimon_core.commit.draft import CommitInfo
from paimon_core.commit.publish import AtomicPublisher
from paimon_core.expressions.predicate import equals
from paimon_core.io.local import LocalFileIO
from paimon_core.lsm.strategy import Strategy
from paimon_core.maintenance.branch_rename import rename_branch
from paimon_core.maintenance.branches import create_branch, delete_branch
from paimon_core.maintenance.fast_forward import fast_forward
from paimon_core.maintenance.orphans.packs import purge
from paimon_core.maintenance.orphans.search import remove_orphans
from paimon_core.maintenance.partitions import drop_partitions
from paimon_core.maintenance.rollback import roll_back
from paimon_core.maintenance.snapshot_expiry import expire_changelogs
from paimon_core.maintenance.tags import create_tag, delete_tags, rename_tag, replace_tag
from paimon_core.scan.read import read_split
from paimon_core.spec.binary_row import encode_row
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.paths import data_file_path
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.statistics import TableStatistics
from paimon_core.spec.types import INT, STRING
from paimon_core.store.branches import branch_names, open_branch
from paimon_core.store.cache import MetadataCache
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.indexes.index_files import index_entries, index_path
from paimon_core.store.manifests import live_files, read_entries, read_manifest_list
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.schemas import create_schema
from paimon_core.store.snapshots import latest_snapshot, snapshot_ids
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import tag_names
from paimon_core.table import Table
from paimon_core.write.compaction.job import compaction_job, live_buckets
from paimon_core.write.writer import open_writer
from tests.support.examples import examples
from tests.support.executors import run_job
from tests.support.faulty_io import FaultyIO
from tests.support.histories import FOREVER, changelog_lists, expire, newest, versions
from tests.support.tables import fields

T = TypeVar("T")
Rows = dict[tuple[str, int], str]  # partition and key -> value
KEYED = {"primary-key": "dt,k"}
KINDS: dict[str, dict[str, str]] = {
    "changelogs": KEYED | {"bucket": "1", "changelog-producer": "input", "changelog.num-retained.min": "9"},
    "deletion vectors": KEYED
    | {"bucket": "1", "deletion-vectors.enabled": "true", "deletion-vectors.merge-on-read": "true"},
    "dynamic buckets": KEYED | {"bucket": "-1", "dynamic-bucket.target-row-num": "2"},
    "file indexes": KEYED
    | {"bucket": "2", "file-index.bloom-filter.columns": "v", "file-index.in-manifest-threshold": "1 b"},
}
ALL = {"write-only": "true", "commit.min-retry-wait": "0 ms", "manifest.merge-min-count": "4"}
DAYS = ("1", "2")
METADATA = ("/schema/", "/snapshot/", "/tag/", "/changelog/", "/consumer/")
rows = st.dictionaries(st.tuples(st.sampled_from(DAYS), st.integers(0, 5)), st.text("abc", max_size=2), min_size=1)
pick = st.randoms(use_true_random=False)


class Watched(FaultyIO):
    """A `FileIO` that records which paths were used."""

    def __init__(self) -> None:
        super().__init__(LocalFileIO())
        self.opened = set[str]()

    def call(self, path: str, act: Callable[[], T], *args: Any, **kwargs: Any) -> T:
        self.opened.add(path)
        return act()


class Histories(RuleBasedStateMachine):
    """One table, its branches, and the rows of all their versions, by the delta manifest list that no other has."""

    @initialize(kind=st.sampled_from(list(KINDS)))
    def make(self, kind: str) -> None:
        self.folder = tempfile.mkdtemp()
        schema = new_table_schema(fields(k=INT, v=STRING, dt=STRING), ["dt"], options=KINDS[kind] | ALL)
        self.path, self.count = f"{self.folder}/db.db/t", 0
        create_schema(LocalFileIO(), self.path, schema)
        self.main = TableStore.of(LocalFileIO(), self.path, schema)
        self.reads: dict[str, Rows] = {}

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            try:
                self.clean_up()
            finally:
                shutil.rmtree(self.folder)

    # -- writes -----------------------------------------------------------------------------------------------------

    @rule(new=rows, dice=pick)
    def upsert(self, new: Rows, dice: Any) -> None:
        store = self.somewhere(dice)
        self.commit(store, self.written(store, new), self.latest(store) | new)

    @rule(dice=pick)
    def delete(self, dice: Any) -> None:
        store = self.somewhere(dice)
        before = self.latest(store)
        deleted = {key: before[key] for key in list(before)[:2]}
        if deleted:
            kept = {k: v for k, v in before.items() if k not in deleted}
            self.commit(store, self.written(store, deleted, kind=3), kept)

    @rule(new=rows, dice=pick)
    def overwrite(self, new: Rows, dice: Any) -> None:
        store, day = self.somewhere(dice), dice.choice(DAYS)
        new = {(day, k): v for (_, k), v in new.items()}
        kept = {key: v for key, v in self.latest(store).items() if key[0] != day}
        replaced = Overwrite(predicate=equals(["dt"], [day]))
        self.commit(store, self.written(store, new, overwrite=True), kept | new, replaced)

    @rule(dice=pick, strategy=st.sampled_from(Strategy))
    def compact(self, dice: Any, strategy: Strategy) -> None:
        store = self.somewhere(dice)
        before = self.latest(store)
        Table(store).commit(compacted(store, strategy), CommitInfo(user="u"))
        self.learn(store, before)

    @rule(dice=pick)
    def compact_manifests(self, dice: Any) -> None:
        store = self.somewhere(dice)
        compact_manifests(store, CommitInfo(user="u"), AtomicPublisher(store.io))

    @precondition(lambda self: latest_snapshot(self.main) is not None)
    @rule()
    def analyze(self) -> None:
        Table(self.main).commit_statistics(TableStatistics(snapshot_id=1, schema_id=0), CommitInfo(user="u"))

    @rule(dice=pick)
    def drop_partition(self, dice: Any) -> None:
        store, day = self.somewhere(dice), dice.choice(DAYS)
        kept = {key: v for key, v in self.latest(store).items() if key[0] != day}
        drop_partitions(store, [encode_row([STRING], [day])], "u", AtomicPublisher(store.io))
        self.learn(store, kept)

    # -- upkeep -----------------------------------------------------------------------------------------------------

    @rule(dice=pick, kept=st.integers(1, 3))
    def expire(self, dice: Any, kept: int) -> None:
        expire(self.somewhere(dice), kept)

    @rule(dice=pick, kept=st.integers(1, 5))
    def expire_changelogs(self, dice: Any, kept: int) -> None:
        expire_changelogs(self.somewhere(dice), newest(kept))

    @rule()
    def remove_orphans(self) -> None:
        remove_orphans(self.main, FOREVER)

    @precondition(lambda self: latest_snapshot(self.main) is not None)
    @rule(dice=pick)
    def tag(self, dice: Any) -> None:
        number = dice.choice(snapshot_ids(self.main))
        create_tag(self.main, self.name("t"), Table(self.main).snapshot(str(number)))

    @precondition(lambda self: tag_names(self.main))
    @rule(dice=pick, act=st.sampled_from(["delete", "rename", "replace", "branch", "branch", "roll back"]))
    def use_a_tag(self, dice: Any, act: str) -> None:
        tag = dice.choice(tag_names(self.main))
        match act:
            case "delete":
                delete_tags(self.main, [tag])
            case "rename":
                rename_tag(self.main, tag, self.name("t"))
            case "replace":
                replace_tag(self.main, tag, latest_snapshot(self.main))
            case "branch":
                create_branch(self.main, self.name("b"), tag)
            case _:
                roll_back(self.main, tag=tag)

    @precondition(lambda self: latest_snapshot(self.main) is not None)
    @rule(dice=pick)
    def roll_back(self, dice: Any) -> None:
        roll_back(self.main, snapshot_id=dice.choice(snapshot_ids(self.main)))

    @precondition(lambda self: branch_names(self.main))
    @rule(dice=pick, act=st.sampled_from(["delete", "rename", "fast forward", "fast forward"]))
    def use_a_branch(self, dice: Any, act: str) -> None:
        branch = dice.choice(branch_names(self.main))
        match act:
            case "delete":
                delete_branch(self.main, branch)
            case "rename":
                rename_branch(self.main, branch, self.name("b"))
            case _:
                fast_forward(self.main, branch)

    @rule(dice=st.integers(0, 9))
    def purge(self, dice: int) -> None:
        if dice == 0 and latest_snapshot(self.main) is not None:
            Table(self.main).truncate(CommitInfo(user="u"))
            purge(self.main, FOREVER)
            self.learn(self.main, {})

    # -- what holds -------------------------------------------------------------------------------------------------

    @invariant()
    def every_version_reads_its_rows(self) -> None:
        for store, name, snapshot in versions(self.fresh()):
            found = read(store, snapshot)  # no step has a snapshot that changed no rows, or the first of two
            assert found == self.reads.setdefault(snapshot.delta_manifest_list, found), f"{store.name} {name}"

    def clean_up(self) -> None:
        for name in ("main", *branch_names(self.main)):
            expire(open_branch(self.fresh(), name), 1)
        remove_orphans(self.fresh(), FOREVER)
        self.every_version_reads_its_rows()
        watched = Watched()
        for store, _, snapshot in versions(self.fresh(watched)):
            read(store, snapshot)
            watched.opened |= set(beside_rows(store, snapshot))
        for store, _, name in changelog_lists(self.fresh(watched)):
            watched.opened |= set(changes(store, name))
        there = {f"{folder}/{name}" for folder, _, names in os.walk(self.path) for name in names}
        of_versions = {path for path in there if not any(part in path for part in METADATA)}
        assert not of_versions - watched.opened, sorted(of_versions - watched.opened)

    # -- helpers ----------------------------------------------------------------------------------------------------

    def fresh(self, io: FaultyIO | None = None) -> TableStore:
        """The table as a new process opens it."""
        return TableStore.of(io or LocalFileIO(), self.path, self.main.schema, MetadataCache())

    def somewhere(self, dice: Any) -> TableStore:
        return open_branch(self.fresh(), dice.choice(["main", "main", *branch_names(self.main)]))

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def latest(self, store: TableStore) -> Rows:
        snapshot = latest_snapshot(store)
        return {} if snapshot is None else self.reads[snapshot.delta_manifest_list]

    def learn(self, store: TableStore, after: Rows) -> None:
        snapshot = latest_snapshot(store)
        if snapshot is not None:
            self.reads[snapshot.delta_manifest_list] = after

    def written(self, store: TableStore, new: Rows, *, kind: int = 0, overwrite: bool = False) -> list[CommitMessage]:
        table = Table(store)
        base = table.assignment_base(1, Overwrite() if overwrite else None)
        writer = open_writer(store, sequence_start=table.max_sequence_number() + 1, base=base)
        keys = sorted(new)
        columns = {"k": pa.array([k for _, k in keys], pa.int32()), "v": pa.array([new[key] for key in keys])}
        columns |= {"dt": pa.array([day for day, _ in keys]), VALUE_KIND: pa.array([kind] * len(keys), pa.int8())}
        writer.write(pa.RecordBatch.from_pydict(columns))
        return writer.finish()

    def commit(
        self, store: TableStore, messages: list[CommitMessage], after: Rows, overwrite: Overwrite | None = None
    ) -> None:
        Table(store).commit(messages, CommitInfo(user="u"), overwrite)
        self.learn(store, after)


def compacted(store: TableStore, strategy: Strategy) -> list[CommitMessage]:
    buckets = live_buckets(store, latest_snapshot(store), PartitionFilter(()))
    return run_job(compaction_job(store, buckets, strategy))


def read(store: TableStore, snapshot: Snapshot) -> Rows:
    """The rows of a version; each key once."""
    batches = [
        b for s in Table(store).plan(snapshot).splits for b in read_split(store, s, ["dt", "k", "v"]) if b.num_rows
    ]
    found = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
    assert len({(day, k) for day, k, _ in found}) == len(found)
    return {(day, k): v for day, k, v in found}


def beside_rows(store: TableStore, snapshot: Snapshot) -> Iterator[str]:
    """Files of a version that its rows need not be read from; they are there."""
    found = [index_path(store, e.partition, e.bucket, e.file) for e in index_entries(store, snapshot)]
    if snapshot.statistics is not None:
        found.append(store.paths.statistics(snapshot.statistics))
    found += [store.paths.manifest(snapshot.delta_manifest_list)]
    found += [store.paths.manifest(m.file_name) for m in read_manifest_list(store, snapshot.delta_manifest_list)]
    for entry in live_files(store, snapshot).values():
        folder = store.bucket_dir(entry.partition, entry.bucket)
        found += [f"{folder}/{name}" for name in entry.file.extra_files]
    for path in found:
        assert os.path.exists(path), path
    return iter(found)


def changes(store: TableStore, changelog: str) -> Iterator[str]:
    """The files of a changelog: those that it adds, and those that it deletes."""
    yield store.paths.manifest(changelog)
    for entry in read_entries(store, read_manifest_list(store, changelog)):
        yield data_file_path(store.bucket_dir(entry.partition, entry.bucket), entry.file)


TestHistories = Histories.TestCase
TestHistories.settings = settings(
    max_examples=examples(8), stateful_step_count=25, suppress_health_check=list(HealthCheck)
)
