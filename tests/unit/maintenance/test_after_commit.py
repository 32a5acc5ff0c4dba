from __future__ import annotations

import logging
from pathlib import Path

import pytest

from paimon_core.errors import (
    CommitConflictError,
    CorruptFileError,
    SnapshotNotFoundError,
    StorageError,
    TagExistsError,
)
from paimon_core.maintenance import after_commit
from paimon_core.table import Table
from tests.support.tables import data_file, info, message, new_store


@pytest.mark.parametrize(
    ("error", "others_commit", "level"),
    [
        (CommitConflictError("they were faster"), False, logging.DEBUG),
        (TagExistsError("they were faster"), False, logging.DEBUG),
        (SnapshotNotFoundError("it has expired"), True, logging.DEBUG),
        (CorruptFileError("manifest-1", "it is not there"), True, logging.DEBUG),
        (CorruptFileError("manifest-1", "it is not there"), False, logging.WARNING),
        (StorageError("disk full"), True, logging.WARNING),
        (ZeroDivisionError("ours"), True, logging.WARNING),
    ],
)
def test_races_of_upkeep_are_no_warnings(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    others_commit: bool,
    level: int,
) -> None:
    store = new_store(tmp_path)
    write_only = Table(store.with_options({"write-only": "true"}))

    def fail(*_: object) -> None:
        if others_commit:
            write_only.commit([message(store, data_file(store, 2, 2))], info())
        raise error

    monkeypatch.setattr(after_commit, "_expire_snapshots", fail)
    with caplog.at_level(logging.DEBUG):
        assert Table(store).commit([message(store, data_file(store, 1, 1))], info()) is not None
    failed = [r for r in caplog.records if "the step after it failed (expire snapshots)" in r.getMessage()]
    assert [r.levelno for r in failed] == [level]


@pytest.mark.parametrize(
    "options",
    [
        {"write-only": "maybe"},
        {"write-only": "true", "tag.automatic-creation": "later"},
        {"partition.end-input-to-done": "maybe"},
        {"metadata.iceberg.storage": "later"},
    ],
    ids=str,
)
def test_options_of_upkeep_that_are_not_valid_are_warnings(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, options: dict[str, str]
) -> None:
    """An error here would let the writer delete the files of the snapshot that it has just committed."""
    store = new_store(tmp_path, partition="p")
    table = Table(store)
    made = table.commit([message(store, data_file(store, 1, 1), p=1)], info())
    assert made is not None
    caplog.clear()
    after_commit.maintain(store.with_options(options), made, table.publisher, {b"x"})
    assert "is committed, but the step after it failed (read the options of upkeep)" in caplog.text
