from __future__ import annotations

import logging
from typing import Any

import pytest

from paimon_core import insert
from paimon_core.errors import CommitConflictError, PaimonError, StorageError


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
    monkeypatch.setattr(insert, "_compact", fail)
    with caplog.at_level(logging.DEBUG):
        insert.compact_after_write(table, [], nobody, overwrites=False)
    assert [r.levelno for r in caplog.records if "Rows are committed" in r.getMessage()] == [level]
