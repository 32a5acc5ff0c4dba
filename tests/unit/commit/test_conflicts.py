from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paimon_core.commit.attempt import Attempt
from paimon_core.commit.changes import CommitChange
from paimon_core.commit.conflicts import find_conflict, lookup_conflict
from paimon_core.errors import BucketConflictError, CommitConflictError
from paimon_core.io.file_io import MOST_TEXT
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.binary_row import EMPTY_ROW
from paimon_core.spec.index_manifest import HASH_INDEX, IndexFileMeta, IndexManifestEntry
from paimon_core.spec.manifest import FileKind, ManifestEntry
from paimon_core.spec.snapshot import CommitKind
from paimon_core.spec.types import INT, DataField
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.schemas import create_schema, load_schema
from paimon_core.table import Table
from tests.support.tables import data_file, info, message, new_store


class Reads(LocalFileIO):
    paths: list[str] = []

    def read_bytes(self, path: str, most: int = MOST_TEXT) -> bytes:
        self.paths.append(path)
        return super().read_bytes(path, most)


@pytest.fixture
def attempt(tmp_path: Path) -> Attempt:
    """Nothing, on top of a snapshot of one file, by a writer that looked its keys up in it."""
    store = new_store(tmp_path)
    made = Table(store).commit([message(store, data_file(store, 1, 5))], info())
    change = CommitChange(kind=CommitKind.APPEND, entries=(), scope=PartitionFilter(()), index_base=1)
    return Attempt(store=store, change=change, latest=made, live={}, entries=(), indexes=(), index_entries=())


def test_the_snapshot_that_keys_were_looked_up_in_is_read_once(attempt: Attempt) -> None:
    io = Reads()
    assert lookup_conflict(replace(attempt, store=replace(attempt.store, io=io))) is None
    assert [p.rpartition("/")[2] for p in io.paths].count("snapshot-1") == 1


def test_a_conflict_is_the_error_that_callers_handle(attempt: Attempt) -> None:
    file = IndexFileMeta(index_type=HASH_INDEX, file_name="index-1", file_size=1, row_count=1)
    other = IndexManifestEntry(kind=FileKind.ADD, partition=EMPTY_ROW, bucket=0, file=file)
    found = replace(attempt, indexes=[other])
    conflict = find_conflict(found)
    assert conflict is not None
    with pytest.raises(BucketConflictError, match="given new keys their buckets .*snapshot 1, a APPEND by user"):
        raise conflict.as_error(found)


def test_the_first_rule_that_does_not_hold_is_named(attempt: Attempt) -> None:
    deleted = ManifestEntry(
        kind=FileKind.DELETE, partition=EMPTY_ROW, bucket=0, total_buckets=1, file=data_file(attempt.store, 1, 5)
    )
    expired = replace(attempt, change=replace(attempt.change, index_base=7), entries=[deleted])
    conflict = find_conflict(expired)
    assert conflict is not None
    error = conflict.as_error(expired)
    assert type(error) is CommitConflictError
    assert "the buckets of its keys in snapshot 7, which has expired. Nothing" in str(error)
    conflict = find_conflict(replace(expired, change=attempt.change))
    assert conflict is not None and conflict.reason.endswith("which this commit replaces, is no longer live")


@pytest.fixture
def rewriter(attempt: Attempt) -> Attempt:
    """Rewrites a file that another statement wrote after it had added a column."""
    store = attempt.store
    more = (*store.schema.fields, DataField(id=9, name="added", type=INT))
    newer = replace(store.schema, id=1, fields=more, highest_field_id=9)
    assert create_schema(store.io, store.root, newer)
    old, new = (data_file(store, 1, 5, schema_id=number) for number in (1, 0))
    deleted, added = (
        ManifestEntry(kind=kind, partition=EMPTY_ROW, bucket=0, total_buckets=-1, file=file)
        for kind, file in ((FileKind.DELETE, old), (FileKind.ADD, new))
    )
    change = replace(attempt.change, kind=CommitKind.COMPACT, index_base=None)
    return replace(attempt, change=change, live={deleted.identifier: deleted}, entries=[deleted, added])


def test_files_with_columns_that_a_rewrite_does_not_know_are_a_conflict(rewriter: Attempt) -> None:
    conflict = find_conflict(rewriter)
    assert conflict is not None
    assert "which has the columns of schema 1, but it uses the columns of schema 0" in conflict.reason


def test_who_knows_the_columns_rewrites_the_file(rewriter: Attempt) -> None:
    newer = load_schema(rewriter.store.io, rewriter.store.root, 1)
    assert find_conflict(replace(rewriter, store=rewriter.store.under(newer, ""))) is None


def test_files_of_a_schema_that_only_has_other_options_are_rewritten(rewriter: Attempt) -> None:
    same = replace(rewriter.store.schema, id=2, options={"a": "b"})
    assert create_schema(rewriter.store.io, rewriter.store.root, same)
    entries = [replace(e, file=replace(e.file, schema_id=2)) for e in rewriter.entries[:1]]
    live = {e.identifier: e for e in entries}
    assert find_conflict(replace(rewriter, live=live, entries=[*entries, rewriter.entries[1]])) is None


def test_an_overwrite_replaces_files_of_any_columns(rewriter: Attempt) -> None:
    assert find_conflict(replace(rewriter, change=replace(rewriter.change, replaces=True))) is None
