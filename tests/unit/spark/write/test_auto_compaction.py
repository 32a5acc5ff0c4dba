from __future__ import annotations

import logging
from typing import Any

import pytest

from paimon_core.errors import CommitConflictError, PaimonError, StorageError
from paimon_sql.spark.write import auto_compaction


@pytest.mark.parametrize(
    ("error", "level"),
    [(CommitConflictError("they were faster"), logging.DEBUG), (StorageError("disk full"), logging.WARNING)],
)
def test_a_compaction_that_loses_its_races_is_no_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: PaimonError, level: int
) -> None:
    def fail(*_: object, is_last: bool) -> bool:
        if not is_last and isinstance(error, CommitConflictError):
            return False
        raise error

    class Named:
        name = "db.t"

    nobody: Any = None
    table: Any = Named()
    monkeypatch.setattr(auto_compaction, "_compact", fail)
    with caplog.at_level(logging.DEBUG):
        auto_compaction.compact_after_write(nobody, table, [], overwrites=False)
    assert [r.levelno for r in caplog.records if "Rows are committed" in r.getMessage()] == [level]
