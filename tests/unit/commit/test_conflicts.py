from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paimon_core.commit.attempt import Attempt
from paimon_core.commit.changes import Change
from paimon_core.commit.conflicts import find_conflict, lookup_conflict
from paimon_core.errors import BucketConflictError, CommitConflictError
from paimon_core.io.file_io import MOST_TEXT
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.binary_row import EMPTY_ROW
from paimon_core.spec.index_manifest import HASH_INDEX, IndexFileMeta, IndexManifestEntry
from paimon_core.spec.manifest import FileKind, ManifestEntry
from paimon_core.spec.snapshot import CommitKind
from paimon_core.store.partitions import PartitionFilter
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
    change = Change(kind=CommitKind.APPEND, entries=(), scope=PartitionFilter(()), index_base=1)
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
    assert "snapshot 7, which the buckets of its keys were looked up in, has expired. Nothing" in str(error)
    conflict = find_conflict(replace(expired, change=attempt.change))
    assert conflict is not None and conflict.reason.endswith("which this commit replaces, is no longer live")
