"""Write, audit, publish: the branch of an audit, and its publication beside other commits and under kills."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from paimon_core.commit.publish import AtomicPublisher, PublishOutcome, UnsafePublisher
from paimon_core.errors import (
    BranchNotFoundError,
    CommitConflictError,
    PaimonError,
    SnapshotNotFoundError,
    StorageRefusedError,
)
from paimon_core.maintenance import turns
from paimon_core.maintenance.advance import follow_table, publish_branch
from paimon_core.maintenance.after_commit import expire_published
from paimon_core.maintenance.snapshot_expiry import Retention, expire_snapshots
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.branches import branch_names, open_branch
from paimon_core.store.ddl.schema_changes import SchemaChange, SetOption, apply_changes
from paimon_core.store.schemas import create_schema, list_schemas
from paimon_core.store.snapshots import latest_snapshot, list_snapshots
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import tag_names
from paimon_core.table import Table
from paimon_core.versions import FileVersions, create_audit_branch, drop_audit_tag
from tests.support.interleaving import InterleavedIO, KilledError, MemoryIO
from tests.support.tables import data_file, info, message, new_store

WAP = {"write.wap.enabled": "true"}


def fresh(io: Any, branch: str = "") -> TableStore:
    """Return the store of a new process."""
    schema = list_schemas(TableStore.of(io, "/db.db/t", TableSchema(fields=(), highest_field_id=0)))[-1]
    store = TableStore.of(io, "/db.db/t", schema)
    return open_branch(store, branch) if branch else store


def write(io: Any, branch: str = "") -> Snapshot:
    store = fresh(io, branch)
    made = Table(store).commit([message(store, data_file(store, 1, 5))], info())
    assert made is not None
    return made


def audit(io: Any) -> None:
    store = fresh(io)
    create_audit_branch(store, FileVersions(store), "audit")


def publish(io: Any) -> tuple[int, int]:
    store = fresh(io)
    return publish_branch(store, "audit", AtomicPublisher(store.io))


def follow(io: Any) -> None:
    store = fresh(io)
    follow_table(store, "audit", AtomicPublisher(store.io))


def history(io: Any, branch: str = "") -> list[Snapshot]:
    return list_snapshots(fresh(io, branch))


def alter(io: Any, branch: str, *changes: SchemaChange) -> None:
    store = fresh(io, branch)
    changed = apply_changes(store.schema, changes, 1)
    assert create_schema(store.io, store.paths.version_root, changed)


@pytest.fixture
def io() -> MemoryIO:
    """Two snapshots, and a branch from the second with three of its own."""
    io = MemoryIO()
    new_store("", io, **WAP)  # type: ignore[arg-type]
    write(io)
    write(io)
    audit(io)
    for _ in range(3):
        write(io, "audit")
    return io


def test_the_branch_begins_with_the_latest_rows(io: MemoryIO) -> None:
    assert [s.id for s in history(io, "audit")] == [2, 3, 4, 5]
    assert history(io) == [history(io)[0], history(io, "audit")[0]]
    assert (tag_names(fresh(io)), tag_names(fresh(io, "audit"))) == ([], [])
    before = dict(io.files)
    audit(io)  # it is there
    assert io.files == before


def test_a_branch_of_an_empty_table() -> None:
    io = MemoryIO()
    new_store("", io, **WAP)  # type: ignore[arg-type]
    audit(io)
    write(io, "audit")
    assert publish(io) == (0, 1)
    assert history(io) == history(io, "audit")


def test_publish_adds_the_snapshots_of_the_branch(io: MemoryIO) -> None:
    assert publish(io) == (2, 5)
    assert history(io)[1:] == history(io, "audit")
    assert publish(io) == (5, 5)
    write(io, "audit")
    assert publish(io) == (5, 6)


def test_a_table_that_has_moved_is_not_replaced(io: MemoryIO) -> None:
    made = write(io)
    before = history(io)
    with pytest.raises(CommitConflictError, match=r"lacks snapshots 3 to 3\. Nothing was published.*merge_branch"):
        publish(io)
    assert history(io) == before and latest_snapshot(fresh(io)) == made


def test_schemas_are_published(io: MemoryIO) -> None:
    alter(io, "audit", SetOption("x", "y"))
    write(io, "audit")
    publish(io)
    assert fresh(io).schema.options["x"] == "y" and history(io)[-1].schema_id == 1
    alter(io, "audit", SetOption("x", "z"))
    assert publish(io) == (6, 6)
    assert fresh(io).schema.options["x"] == "z"


def test_an_altered_table_keeps_its_definition(io: MemoryIO) -> None:
    alter(io, "audit", SetOption("x", "y"))
    alter(io, "", SetOption("x", "z"))
    with pytest.raises(CommitConflictError, match="different schemas 1. Nothing was published"):
        publish(io)
    assert fresh(io).schema.options["x"] == "z" and len(history(io)) == 2


def test_an_expired_snapshot_cannot_be_published(io: MemoryIO) -> None:
    branch = fresh(io, "audit")
    expire_snapshots(branch, Retention(least=1, most=1, older_than=2**62, limit=10), 2**61)
    with pytest.raises(SnapshotNotFoundError, match="before 5 have expired, and .* only the snapshots up to 2"):
        publish(io)
    assert len(history(io)) == 2


def test_an_unknown_branch(io: MemoryIO) -> None:
    store = fresh(io)
    with pytest.raises(BranchNotFoundError, match="its branches are main, audit"):
        publish_branch(store, "nope", AtomicPublisher(store.io))


def test_a_published_branch_follows_its_table(io: MemoryIO) -> None:
    follow(io)
    assert len(history(io, "audit")) == 4  # it has rows of its own
    publish(io)
    write(io)
    alter(io, "", SetOption("x", "y"))
    write(io)
    follow(io)
    assert history(io, "audit") == history(io)[1:]
    assert fresh(io, "audit").schema.options["x"] == "y"
    write(io, "audit")
    assert publish(io) == (7, 8)


def test_a_branch_gets_the_definition_that_the_table_has_now() -> None:
    """The latest snapshot may be older than the latest ALTER TABLE."""
    io = MemoryIO()
    new_store("", io)  # type: ignore[arg-type]
    write(io)
    alter(io, "", *(SetOption(key, value) for key, value in WAP.items()))
    audit(io)
    follow(io)
    assert fresh(io, "audit").schema == fresh(io).schema
    write(io, "audit")
    assert publish(io) == (1, 2)
    alter(io, "", SetOption("x", "y"))
    follow(io)
    assert fresh(io, "audit").schema.options["x"] == "y" and len(history(io, "audit")) == 2


def test_only_the_publisher_of_a_table_changes_its_schemas(io: MemoryIO) -> None:
    """A catalog's server refuses schemas, and a lock protects a storage without an atomic create."""

    class OfServer(AtomicPublisher):
        def publish(self, path: str, data: bytes) -> PublishOutcome:
            if "/schema/" in path:
                raise StorageRefusedError("only the server changes schemas")
            return super().publish(path, data)

    alter(io, "audit", SetOption("x", "y"))
    write(io, "audit")
    before = dict(io.files)
    with pytest.raises(StorageRefusedError, match="only the server"):
        publish_branch(fresh(io), "audit", OfServer(fresh(io).io))
    assert {p for p in io.files if p not in before} <= {p for p in io.files if "/upkeep/" in p}
    io = unlocked(io)
    assert publish_branch(fresh(io), "audit", UnsafePublisher(io)) == (2, 6)  # type: ignore[arg-type]


def unlocked(io: MemoryIO) -> MemoryIO:
    return replace(io.copy(), atomic_create=False)


def test_a_branch_with_its_own_rows_does_not_follow(io: MemoryIO) -> None:
    before = history(io, "audit")
    write(io)
    follow(io)
    assert history(io, "audit") == before


def steps_of(act: Callable[[Any], object], io: MemoryIO) -> int:
    counted = InterleavedIO(io.copy())
    act(counted)
    return len(counted.calls)


def test_whoever_commits_while_a_branch_is_published_loses_nothing(io: MemoryIO) -> None:
    """Another process commits before each of the storage calls of the publication."""
    ours = history(io, "audit")
    for at in range(1, steps_of(publish, io) + 1):
        inner, made = io.copy(), list[Snapshot]()
        busy = InterleavedIO(inner, at, lambda made=made, inner=inner: made.append(write(inner)))  # type: ignore[misc]
        try:
            publish(busy)
            published = True
        except CommitConflictError:
            published = False
        found = history(inner)
        assert made[0] in found, at
        assert [s.id for s in found] == list(range(1, len(found) + 1))
        others = [s for s in found if s != made[0]]
        assert others == [history(io)[0], *ours][: len(others)], at  # a first part of the audited history
        assert published == (len(others) == 5), at


def test_a_branch_that_is_removed_while_it_is_published_leaves_nothing_behind(io: MemoryIO) -> None:
    """Another engine, which takes no turn, removes the branch before each of the storage calls of the publication."""
    before, ours, ends = history(io), history(io, "audit"), set[bool]()
    for at in range(1, steps_of(publish, io) + 1):
        inner, then = io.copy(), list[Snapshot]()

        def remove(inner: MemoryIO = inner, then: list[Snapshot] = then) -> None:
            then.extend(history(inner))
            inner.delete_dir("/db.db/t/branch/branch-audit")

        try:
            publish(InterleavedIO(inner, at, remove))
            published = True
        except PaimonError:
            published = False
        assert history(inner) == ([before[0], *ours] if published else before), at
        assert not published or then == history(inner), at  # its files were in the table before they were deleted
        ends.add(published)
    assert ends == {True, False}


def test_a_table_that_is_rolled_back_while_a_branch_is_published_has_no_gap(io: MemoryIO) -> None:
    """Another engine rolls the table back before each of the storage calls of the publication."""
    for at in range(1, steps_of(publish, io) + 1):
        inner = io.copy()

        def cut(inner: MemoryIO = inner) -> None:
            for snapshot in reversed(history(inner)[1:]):
                inner.delete(f"/db.db/t/snapshot/snapshot-{snapshot.id}")

        with suppress(PaimonError):
            publish(InterleavedIO(inner, at, cut))
        assert [s.id for s in history(inner)] == [1], at


def test_a_killed_publication_goes_on(io: MemoryIO) -> None:
    ours = history(io, "audit")
    for at in range(1, steps_of(publish, io) + 1):
        inner = io.copy()
        with pytest.raises(KilledError):
            publish(InterleavedIO(inner, at, killed=True))
        found = history(inner)
        assert found == [history(io)[0], *ours][: len(found)], at
        for path in [p for p in inner.files if "/upkeep/" in p]:
            inner.delete(path)  # the turn of the killed process is over after some minutes
        publish(inner)
        assert history(inner) == [history(io)[0], *ours], at


def test_a_killed_creation_of_the_branch_is_repeated() -> None:
    io = MemoryIO()
    new_store("", io, **WAP)  # type: ignore[arg-type]
    first = write(io)
    for at in range(1, steps_of(audit, io) + 1):
        inner = io.copy()
        with pytest.raises(KilledError):
            audit(InterleavedIO(inner, at, killed=True))
        for path in [p for p in inner.files if "/upkeep/" in p]:
            inner.delete(path)
        audit(inner)
        assert branch_names(fresh(inner)) == ["audit"]
        assert history(inner, "audit") == [first] and tag_names(fresh(inner, "audit"))[1:] == [], at
        drop_audit_tag(FileVersions(fresh(inner)), "audit")
        assert tag_names(fresh(inner)) == [], at


def test_two_processes_create_the_branch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_PATIENCE", 0)
    io = MemoryIO()
    new_store("", io, **WAP)  # type: ignore[arg-type]
    first = write(io)
    for at in range(1, steps_of(audit, io) + 1):
        inner = io.copy()
        try:
            audit(InterleavedIO(inner, at, lambda inner=inner: audit(inner)))  # type: ignore[misc]
        except CommitConflictError:
            continue  # the other one has the turn
        assert history(inner, "audit") == [first], at


def test_a_branch_keeps_what_is_not_published(io: MemoryIO) -> None:
    """Commits to an audited branch expire no snapshot."""
    few = [SetOption(f"snapshot.num-retained.{kind}", "1") for kind in ("min", "max")]
    alter(io, "audit", *few)
    for _ in range(3):
        write(io, "audit")
    assert len(history(io, "audit")) == 7
    assert publish(io) == (2, 8)
    expire_published(fresh(io), "audit", 8)
    assert [s.id for s in history(io, "audit")] == [8]
    write(io, "audit")
    assert publish(io) == (8, 9)
    for _ in range(2):  # another session writes before the expiry
        write(io, "audit")
    expire_published(fresh(io), "audit", 9)
    assert [s.id for s in history(io, "audit")] == [9, 10, 11]
    assert publish(io) == (9, 11)
