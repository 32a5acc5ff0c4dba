"""The requests of operations to a remote storage, and the longest chain of requests that wait for one another.

The numbers only sink: at 50 ms a request, a chain of 20 takes a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch
from uuid import UUID

import pytest

from paimon_core.errors import DatabaseNotFoundError, TableNotFoundError
from paimon_core.io.file_io import FileStatus
from paimon_core.lsm.strategy import Strategy
from paimon_core.maintenance import after_commit
from paimon_core.maintenance.orphans.search import find_orphans
from paimon_core.maintenance.release import delete_files
from paimon_core.maintenance.rollback import roll_back
from paimon_core.maintenance.snapshot_expiry import Retention, expire_snapshots
from paimon_core.maintenance.tags import create_tag, delete_tags, expired_tags, taggable_snapshot
from paimon_core.row_level.rules import update_rules
from paimon_core.row_level.statement import RowLevelStatement
from paimon_core.row_level.writer import ChangesResult
from paimon_core.scan.read import read_split
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.message import BucketState, CommitMessage
from paimon_core.spec.snapshot import encode_snapshot
from paimon_core.spec.tag import Tag, encode_tag
from paimon_core.spec.types import INT, STRING
from paimon_core.store import early_look, schemas
from paimon_core.store.cache import MetadataCache
from paimon_core.store.changelogs import list_changelogs, write_changelog
from paimon_core.store.consumers import list_consumers, write_consumer
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.manifests import live_files
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.snapshots import (
    find_snapshot,
    first_snapshots,
    latest_for_read,
    latest_snapshot,
    list_snapshots,
    read_snapshot,
    snapshot_ids,
)
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import tag_names
from paimon_core.system_tables.registry import read_system_table
from paimon_core.table import Table
from paimon_core.write.compaction.bucket import compact_append, compact_bucket
from paimon_core.write.compaction.job import live_buckets
from paimon_sql.catalog.filesystem import FileSystemCatalog
from paimon_sql.procedures import PROCEDURES, ProcedureContext
from tests.support import row_changes, stored
from tests.support.counted_requests import CountingIO, Requests, TaggingIO
from tests.support.executors import TextExecutor
from tests.support.tables import data_file, fields, info, message, new_store

RETAINED = {"snapshot.num-retained.min": "200", "snapshot.num-retained.max": "300"}
T = Identifier("default", "t")
KEYED = {"primary_key": "k", "bucket": "1"}


@pytest.fixture(autouse=True)
def _still_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at the opening of a table counts for a short time: on a busy machine, it may be outdated."""
    monkeypatch.setattr(early_look, "time", SimpleNamespace(monotonic=lambda: 0.0))


def table_of(root: Path, io: CountingIO, snapshots: int, **options: str) -> TableStore:
    store = new_store(root, io, **RETAINED, **options)
    for number in range(snapshots):
        Table(store).commit([message(store, data_file(store, number, number))], info())
    return store


def forgetful(store: TableStore) -> TableStore:
    """The table as a new session has it."""
    return replace(store, cache=MetadataCache())


def check(made: Requests, *, count: int, chain: int) -> None:
    assert made.count <= count and made.chain <= chain, f"{made.count}, {made.chain}: {made.made}"


@pytest.mark.parametrize("options", [{}, KEYED], ids=["append", "keyed"])
def test_a_commit(tmp_path: Path, options: dict[str, str]) -> None:
    io = CountingIO()
    store = table_of(tmp_path, io, 20, **options)
    with io.counted() as made:
        Table(store).for_write().commit([message(store, data_file(store, 99, 99))], info())
    check(made, count=14, chain=7)
    with io.counted() as made:
        Table(store).plan(latest_for_read(store))
    check(made, count=2, chain=2)  # the manifests that the session has written


@pytest.mark.parametrize("options", [{}, KEYED], ids=["append", "keyed"])
def test_a_statement_that_writes_a_file_to_an_object_store(tmp_path: Path, options: dict[str, str]) -> None:
    """The table has more versions than must be kept, and a tag."""
    io = TaggingIO()
    store = new_store(tmp_path, io, **options)
    catalog = FileSystemCatalog(io=io, warehouse=str(tmp_path))
    table = catalog.load_table(Identifier("db", "t"))
    for number in range(20):
        table.commit([message(store, data_file(store, number, number))], info())
    create_tag(table.store, "kept", read_snapshot(store, 1), timedelta(days=1))
    table.commit([message(store, data_file(store, 98, 98))], info())
    with io.counted() as made:
        table = catalog.load_table(Identifier("db", "t")).for_write()
        assert table.max_sequence_number() >= 0
        io.write_bytes(f"{store.root}/bucket-0/data-99", b"")
        table.commit([message(store, data_file(store, 99, 99))], info())
    check(made, count=14, chain=8)


@pytest.mark.parametrize("options", [{}, {"primary-key": "k", "bucket": "1"}], ids=["append", "keyed"])
def test_the_statement_after_the_first_one_of_a_new_table(tmp_path: Path, options: dict[str, str]) -> None:
    """The session has written the hint of the earliest version itself, so it need not look for it."""
    io = TaggingIO()
    catalog = FileSystemCatalog(io=io, warehouse=str(tmp_path))
    catalog.create_table(T, new_table_schema(fields(k=INT, v=STRING), options=options))
    first = catalog.load_table(T)
    first.commit([message(first.store, data_file(first.store, 1, 1))], info())
    with io.counted() as made:
        table = catalog.load_table(T).for_write()
        io.write_bytes(f"{table.store.root}/bucket-0/data-99", b"")
        table.commit([message(table.store, data_file(table.store, 2, 2))], info())
    check(made, count=14, chain=7)


def test_a_statement_that_changes_rows_by_key_looks_for_the_latest_version_once(tmp_path: Path) -> None:
    io = TaggingIO()
    store = table_of(tmp_path, io, 5, **KEYED, write_only="true")
    table = Table(store).for_write()
    changes = ChangesResult((message(store, data_file(store, 99, 99)),))
    with io.counted() as made:
        RowLevelStatement(table, update_rules(store, None, ["v"]), TextExecutor()).commit([changes])
    check(made, count=12, chain=5)


def test_an_update_of_files_needs_no_second_look_and_removes_its_patches_beside_the_commit(tmp_path: Path) -> None:
    io = TaggingIO()
    stored.create_table(str(tmp_path))
    table = FileSystemCatalog(io=io, warehouse=str(tmp_path)).load_table(stored.T)
    stored.insert(table, [(1, "a"), (2, "b")])
    staged, planned = row_changes.update(table, {1}), table.for_write()
    with io.counted() as made:
        staged.commit(planned)
    # it rewrites a file in 3 requests, looks 4 times, writes 4 files, looks twice and writes the hints
    check(made, count=16, chain=8)
    assert [m.split()[0] for m in made.made if "delete" in m] == ["delete_many_below"]
    assert stored.read(table) == [(1, "new"), (2, "b")]
    assert not list(tmp_path.rglob("*.arrow"))


def test_tags_and_versions_that_expire_are_found_although_the_session_remembers_others(tmp_path: Path) -> None:
    io = TaggingIO()
    store = new_store(tmp_path, io, **{"snapshot.time-retained": "1 h", "snapshot.num-retained.min": "2"})
    other, now = forgetful(store), datetime.now().replace(microsecond=0)
    number = count()

    def write(at: datetime) -> None:
        with (
            patch.object(after_commit, "local_now", lambda: at),
            patch.object(after_commit, "now_millis", lambda: int(at.timestamp() * 1000)),
        ):
            Table(store).commit([message(store, data_file(store, next(number), 0))], info())

    for _ in range(4):
        write(now)
    create_tag(store, "mine", read_snapshot(store, 1), timedelta(days=1))
    write(now)
    create_tag(other, "other", read_snapshot(store, 1), timedelta(days=1))
    write(now + timedelta(days=2))
    assert snapshot_ids(store) == [5, 6]
    assert tag_names(store) == ["mine", "other"]
    store.cache.tag_looks.put(store.paths.version_root, 0)  # a minute later
    write(now + timedelta(days=2))
    assert tag_names(store) == []
    create_tag(store, "new", read_snapshot(store, 7), timedelta(days=1))
    write(now + timedelta(days=4))
    assert tag_names(store) == []


def test_a_remembered_number_counts_only_if_the_hint_names_it(tmp_path: Path) -> None:
    io = CountingIO()
    store = table_of(tmp_path, io, 5)
    latest = latest_snapshot(store)
    with io.counted() as made:
        assert latest_snapshot(store) == latest
    check(made, count=3, chain=2)
    other = forgetful(store)
    Table(other).commit([message(other, data_file(other, 9, 9))], info())
    assert latest_snapshot(store) == latest_snapshot(other) != latest
    newest = read_snapshot(store, 6)
    for number in range(1, 7):  # others commit and expire, and a commit at a freed number is not withdrawn yet
        Path(store.paths.snapshot(number)).unlink()
    for number in (3, 7):
        Path(store.paths.snapshot(number)).write_bytes(encode_snapshot(replace(newest, id=number)))
    Path(store.paths.latest_hint).write_bytes(b"7")
    store.cache.latest_numbers.put(store.paths.version_root, 3)
    found = latest_snapshot(store)
    assert found is not None and found.id == 7


def test_small_files_of_a_split_are_requested_side_by_side(tmp_path: Path) -> None:
    for options in ({}, {"primary_key": "k", "bucket": "1", "write_only": "true"}):
        warehouse, io = str(tmp_path / str(len(options))), CountingIO()
        stored.create_table(warehouse, **options)
        table = stored.open_table(warehouse, io)
        for number in range(20):
            stored.commit(table, stored.write(table, [(0, str(number)), (number + 1, "")]), "tester")
        (split,) = table.plan(latest_for_read(table.store)).splits
        with io.counted() as made:
            rows = [row for b in read_split(table.store, split, ["k", "v"]) for row in b.to_pylist()]
        assert len(rows) == (21 if options else 40) and {"k": 0, "v": "19"} in rows
        check(made, count=20, chain=1)
        with io.counted() as made:
            assert compacted(table)
        check(made, count=23, chain=4)


def test_a_compaction_with_its_upkeep(tmp_path: Path) -> None:
    """`CALL sys.compact` of 22 files of a keyed table, which has more versions than must be kept."""
    io, warehouse = TaggingIO(), str(tmp_path)
    catalog = FileSystemCatalog(io=io, warehouse=warehouse)
    keyed = {"primary-key": "k", "bucket": "1", "write-only": "true"}
    catalog.create_table(T, new_table_schema(fields(k=INT, v=STRING), options=keyed))
    for number in range(22):
        stored.insert(catalog.load_table(T), [(number, "")])
    context = ProcedureContext(catalog, "default", TextExecutor())  # type: ignore[arg-type]
    for rows, most in ((22, (40, 11)), (1, (16, 9))):
        with io.counted() as made:
            assert PROCEDURES["compact"].call(context, {"table": "t", "compact_strategy": "full"}) == [(True,)]
        check(made, count=most[0], chain=most[1])
        assert len(live_files(catalog.load_table(T).store, latest_for_read(catalog.load_table(T).store))) == 1
        stored.insert(catalog.load_table(T), [(rows, "again")])


def test_a_remembered_first_version_is_not_that_of_an_earlier_table(tmp_path: Path) -> None:
    io = TaggingIO()
    store = table_of(tmp_path, io, 9)
    for number in (1, 2):
        Path(store.paths.snapshot(number)).unlink()
    Path(store.paths.earliest_hint).write_bytes(b"3")
    store.cache.earliest_numbers.put(store.paths.version_root, 3)
    with io.counted() as made:
        assert [s and s.id for s in first_snapshots(store)] == [3, 4]
    check(made, count=3, chain=1)
    Path(store.paths.snapshot(3)).unlink()  # it has expired
    assert [s and s.id for s in first_snapshots(store)] == [4, 5]
    with io.counted() as made:
        assert [s and s.id for s in first_snapshots(store)] == [4, 5]
    check(made, count=3, chain=1)
    for number in (1, 2, 3):  # another table has the name
        Path(store.paths.snapshot(number)).write_bytes(encode_snapshot(replace(read_snapshot(store, 5), id=number)))
    Path(store.paths.earliest_hint).write_bytes(b"1")
    assert [s and s.id for s in first_snapshots(store)] == [1, 2]


def compacted(table: Table) -> list[CommitMessage]:
    buckets = live_buckets(table.store, latest_for_read(table.store), PartitionFilter(()))
    return [m for b in buckets if (m := compact(table.store, b)) is not None]


def compact(store: TableStore, bucket: BucketState) -> CommitMessage | None:
    return (compact_bucket if store.has_primary_key else compact_append)(store, bucket, Strategy.FULL)


def test_a_table_is_opened_by_one_request_after_the_first_time(tmp_path: Path) -> None:
    io = TaggingIO()
    catalog = FileSystemCatalog(io=io, warehouse=str(tmp_path))
    one, other = (new_table_schema(fields(**{name: INT}), options={}) for name in ("a", "b"))
    catalog.create_table(T, one)
    with io.counted() as made:
        assert catalog.load_table(T).schema.fields[0].name == "a"
    check(made, count=2, chain=1)
    with io.counted() as made:
        assert catalog.load_table(T).schema.fields[0].name == "a"
    check(made, count=1, chain=1)
    catalog.drop_table(T)
    catalog.create_table(T, other)  # a schema of the same number and size, perhaps in the same second
    assert catalog.load_table(T).schema.fields[0].name == "b"
    catalog.drop_table(T)
    with pytest.raises(TableNotFoundError):
        catalog.load_table(T)
    with pytest.raises(DatabaseNotFoundError):
        catalog.load_table(Identifier("missing", "t"))


@pytest.mark.parametrize("before", [None, "b"], ids=["created", "replaced"])
def test_a_table_that_is_created_while_it_is_opened_has_its_own_schema(tmp_path: Path, before: str | None) -> None:
    """The first schema is read beside the listing of the schemas, and before it."""

    class Late(TaggingIO):
        def list(self, path: str) -> Iterator[FileStatus]:
            if path.endswith("schema") and not done:
                done.append(path)
                if before is not None:
                    maker.drop_table(T)
                maker.create_table(T, one)
            return super().list(path)

    done = list[str]()
    one, other = (new_table_schema(fields(**{name: INT}), options={}) for name in ("a", "b"))
    maker = FileSystemCatalog(io=TaggingIO(), warehouse=str(tmp_path))
    if before is not None:
        maker.create_table(T, other)
    with patch.object(schemas, "both", lambda io, first, second: (second(), first())[::-1]):
        assert FileSystemCatalog(io=Late(), warehouse=str(tmp_path)).load_table(T).schema.fields[0].name == "a"


def test_a_table_is_created_without_waiting_for_one_look_after_the_other(tmp_path: Path) -> None:
    io = TaggingIO()
    catalog = FileSystemCatalog(io=io, warehouse=str(tmp_path))
    with io.counted() as made:
        assert not catalog.table_exists(Identifier("db", "t"))
    check(made, count=2, chain=1)
    catalog.create_database("db")
    with io.counted() as made:
        catalog.create_table(Identifier("db", "t"), new_table_schema(fields(k=INT), options={}))
    check(made, count=5, chain=2)
    with io.counted() as made:
        catalog.drop_table(Identifier("db", "t"))
    check(made, count=2, chain=2)
    assert not catalog.table_exists(Identifier("db", "t"))


def test_a_table_with_rows_is_dropped_in_few_requests_and_its_versions_first(tmp_path: Path) -> None:
    io = TaggingIO()
    catalog = FileSystemCatalog(io=io, warehouse=str(tmp_path))
    store = new_store(tmp_path, io)
    table = catalog.load_table(Identifier("db", "t"))
    table.commit([message(store, data_file(store, 1, 1))], info())
    create_tag(table.store, "kept", read_snapshot(store, 1), None)
    io.write_bytes(f"{store.root}/bucket-0/data-99", b"")
    with io.counted() as made:
        catalog.drop_table(Identifier("db", "t"))
    check(made, count=5, chain=5)
    assert [m.split()[0] for m in made.made] == ["files_below", *["delete_many_below"] * 3, "delete_dir"]
    assert not Path(store.root).exists()


def test_tables_and_views_are_listed_without_a_look_at_the_database_before(tmp_path: Path) -> None:
    io = TaggingIO()
    catalog = FileSystemCatalog(io=io, warehouse=str(tmp_path))
    catalog.create_database("db")
    with io.counted() as made:
        assert catalog.list_tables("db") == []
    check(made, count=2, chain=2)
    for name in ("b", "a", "c"):
        catalog.create_table(Identifier("db", name), new_table_schema(fields(k=INT), options={}))
    with io.counted() as made:
        assert catalog.list_tables("db") == ["a", "b", "c"]
    check(made, count=1 + 3, chain=2)
    with io.counted() as made:
        assert catalog.list_tables("db") == ["a", "b", "c"]
    check(made, count=1 + 3, chain=1)  # the session expects the same tables
    other = FileSystemCatalog(io=io, warehouse=str(tmp_path))
    other.drop_table(Identifier("db", "b"))
    other.create_table(Identifier("db", "d"), new_table_schema(fields(k=INT), options={}))
    with io.counted() as made:
        assert catalog.list_tables("db") == ["a", "c", "d"]
    check(made, count=1 + 4, chain=2)
    other.create_table(Identifier("db", "b"), new_table_schema(fields(k=INT), options={}))
    other.drop_table(Identifier("db", "d"))
    assert [catalog.list_tables("db") for _ in range(2)] == [["a", "b", "c"]] * 2
    with io.counted() as made:
        assert catalog.list_views("db") == []
    check(made, count=2, chain=1)
    with io.counted() as made:
        assert catalog.list_relations("db") == (["a", "b", "c"], [])
    check(made, count=1 + 4 + 1, chain=1)  # the folder of the dropped table is there
    for look in (catalog.list_tables, catalog.list_views, catalog.list_relations):
        with pytest.raises(DatabaseNotFoundError):
            look("missing")


def test_the_plan_of_a_table_with_many_manifests(tmp_path: Path) -> None:
    io = CountingIO()
    store = forgetful(table_of(tmp_path, io, 20))
    with io.counted() as made:
        plan = Table(store).plan(latest_snapshot(store))
    assert plan.files_kept == 20
    check(made, count=25, chain=5)


def test_a_session_that_has_read_a_table_looks_for_its_latest_version_in_two_requests(tmp_path: Path) -> None:
    io = CountingIO()
    store = table_of(tmp_path, io, 20)
    with io.counted() as made:
        assert latest_for_read(store) == latest_snapshot(forgetful(store))
    check(made, count=2 + 3, chain=2 + 3)


def test_a_storage_with_tags_shows_by_one_listing_that_a_version_is_the_latest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    io = TaggingIO()
    store = table_of(tmp_path, io, 20)
    mine, other = forgetful(store), forgetful(store)
    assert latest_for_read(mine) == find_snapshot(store, 20)
    with io.counted() as made:
        assert latest_for_read(mine) == find_snapshot(other, 20)
    check(made, count=1 + 1, chain=1 + 1)  # one of them by the test
    Table(mine).commit([message(mine, data_file(mine, 97, 97))], info())
    with io.counted() as made:
        assert latest_for_read(mine).id == 21
    check(made, count=1, chain=1)  # the commit has read it
    Table(other).commit([message(other, data_file(other, 98, 98))], info())
    with io.counted() as made:
        assert latest_for_read(mine).id == 22
    check(made, count=2, chain=2)
    monkeypatch.setattr(early_look, "MOST_LISTED", 21)
    with io.counted() as made:
        assert latest_for_read(mine).id == 22
    check(made, count=2, chain=2)  # two small reads instead of a long listing


def test_a_version_behind_freed_numbers_is_not_taken_from_a_listing(tmp_path: Path) -> None:
    store = table_of(tmp_path, TaggingIO(), 9)
    mine, newest = forgetful(store), read_snapshot(store, 9)
    for number in (6, 7, 8, 9):
        Path(store.paths.snapshot(number)).unlink()  # a rollback
    Path(store.paths.latest_hint).write_bytes(b"5")
    assert latest_for_read(mine).id == 5
    assert latest_for_read(mine).id == 5
    Path(store.paths.snapshot(9)).write_bytes(encode_snapshot(newest))  # by a writer that will withdraw it
    assert latest_for_read(mine).id == 5
    Path(store.paths.snapshot(9)).unlink()
    Path(store.paths.snapshot(5)).write_bytes(encode_snapshot(replace(newest, id=5)))  # another content
    assert latest_for_read(mine) == replace(newest, id=5)
    for number in range(1, 6):
        Path(store.paths.snapshot(number)).unlink()
    Path(store.paths.snapshot(9)).write_bytes(encode_snapshot(newest))  # commits and an expiry by others
    Path(store.paths.latest_hint).write_bytes(b"9")
    assert latest_for_read(mine) == newest


def test_a_version_that_others_have_replaced_or_removed_is_not_remembered(tmp_path: Path) -> None:
    store, other = table_of(tmp_path / "one", CountingIO(), 5), table_of(tmp_path / "two", CountingIO(), 9)
    assert latest_for_read(store) == latest_snapshot(forgetful(store))
    for number in (4, 5):
        Path(store.paths.snapshot(number)).unlink()  # a rollback
    found = latest_for_read(store)
    assert found is not None and found.id == 3
    for number in (4, 5):  # and new versions at the same numbers
        Path(store.paths.snapshot(number)).write_bytes(Path(other.paths.snapshot(number)).read_bytes())
    assert latest_for_read(store) == find_snapshot(other, 5)
    for number in range(1, 10):  # commits and an expiry by others
        Path(store.paths.snapshot(number)).unlink(missing_ok=True)
    for number in (8, 9):
        Path(store.paths.snapshot(number)).write_bytes(Path(other.paths.snapshot(number)).read_bytes())
    assert latest_for_read(store) == find_snapshot(other, 9)


def test_a_hundred_snapshots_are_read_side_by_side(tmp_path: Path) -> None:
    io = CountingIO()
    store = table_of(tmp_path, io, 100)
    with io.counted() as made:
        assert len(list_snapshots(store)) == 100
    check(made, count=101, chain=5)
    with io.counted() as made:
        assert read_system_table(store, "snapshots").num_rows == 100
    check(made, count=101, chain=5)


def test_expiry_of_fifty_snapshots(tmp_path: Path) -> None:
    io = CountingIO()
    store = forgetful(table_of(tmp_path, io, 60))
    with io.counted() as made:
        assert expire_snapshots(store, Retention(least=1, most=10, older_than=0, limit=50), 0) == 50
    check(made, count=314, chain=26)
    assert snapshot_ids(store) == list(range(51, 61))
    assert latest_snapshot(store) is not None


def test_a_rollback_waits_once_for_each_snapshot(tmp_path: Path) -> None:
    io = CountingIO()
    store = table_of(tmp_path, io, 40)
    with io.counted() as made:
        assert roll_back(store, snapshot_id=20) == (40, 20)
    check(made, count=78, chain=37)
    assert snapshot_ids(store) == list(range(1, 21))


def tagged_table(root: Path, io: CountingIO, count: int) -> TableStore:
    """A table of 5 snapshots; each tag keeps one of the first four, for a day from the year 2026 on."""
    store = table_of(root, io, 5)
    for number in range(count):
        snapshot = read_snapshot(store, 1 + number % 4)
        tag = Tag(name=f"t{number:02}", snapshot=snapshot, created=datetime(2026, 1, 1), retained=timedelta(days=1))
        store.io.write_bytes(store.paths.tag(tag.name), encode_tag(tag))
    return store


def test_tags_are_read_and_removed_side_by_side(tmp_path: Path) -> None:
    io = CountingIO()
    store = forgetful(tagged_table(tmp_path, io, 48))
    with io.counted() as made:
        assert len(expired_tags(store, datetime(2027, 1, 1))) == 48
    check(made, count=1 + 48, chain=1 + 2)
    with io.counted() as made:
        assert expired_tags(store, datetime(2026, 1, 1)) == []
    check(made, count=1 + 48, chain=1 + 2)
    with io.counted() as made:
        assert len(delete_tags(store, [f"t{number:02}" for number in range(48)])) == 48
    check(made, count=132, chain=18)
    assert tag_names(store) == []


def test_a_snapshot_that_exists_is_tagged_without_a_look_at_other_tags(tmp_path: Path) -> None:
    io = CountingIO()
    store = tagged_table(tmp_path, io, 32)
    with io.counted() as made:
        assert taggable_snapshot(store, 2) == find_snapshot(store, 2)
    check(made, count=1 + 1, chain=1 + 1)
    expected = read_snapshot(store, 2)
    io.inner.delete(store.paths.snapshot(2))
    with io.counted() as made:
        assert taggable_snapshot(store, 2) == expected
    check(made, count=1 + 1 + 32, chain=1 + 1 + 1)


def test_changelogs_and_consumers_are_read_side_by_side(tmp_path: Path) -> None:
    io = CountingIO()
    store = table_of(tmp_path, io, 32)
    for snapshot in list_snapshots(store):
        write_changelog(store, snapshot)
        write_consumer(store, f"reader-{snapshot.id}", snapshot.id)
    with io.counted() as made:
        assert list_changelogs(store) == list_snapshots(store)
    check(made, count=66, chain=4)
    with io.counted() as made:
        assert sorted(list_consumers(store).values()) == list(range(1, 33))
    check(made, count=1 + 32, chain=1 + 1)


def test_unneeded_files_are_deleted_by_the_thousand(tmp_path: Path) -> None:
    io = CountingIO()
    store = new_store(tmp_path, io)
    files = [f"{store.root}/bucket-0/data-{number}" for number in range(20_000)]
    io.inner.write_bytes(files[-1], b"")
    with io.counted() as made:
        delete_files(store, files)
    check(made, count=20, chain=1)
    assert not io.inner.exists(files[-1])
    with io.counted() as made:
        delete_files(store, [])
    check(made, count=0, chain=0)


def test_folders_are_searched_for_orphans_side_by_side(tmp_path: Path) -> None:
    io = CountingIO()
    store = new_store(tmp_path, io, partition="p")
    orphans = [f"{store.root}/p={number}/bucket-0/data-{UUID(int=number)}-0.parquet" for number in range(64)]
    for path in orphans:
        io.inner.write_bytes(path, b"12")
    with io.counted() as made:
        found = find_orphans(store, 2**62)
    assert (sorted(found.paths), found.size) == (sorted(orphans), 128)
    check(made, count=161, chain=18)


def test_the_chain_is_computed_from_who_waits_for_whom(tmp_path: Path) -> None:
    io, store = CountingIO(), new_store(tmp_path)
    with io.counted() as made:
        io.exists(store.root)
    assert (made.count, made.chain) == (1, 1)
    for number in range(1, 34):
        Table(store).commit([message(store, data_file(store, number, number))], info())
    with io.counted() as made:
        list_snapshots(replace(store, io=io))
        io.exists(store.root)
    assert made.chain == 1 + 2 + 1  # a listing, 33 files by 32 threads, a look
