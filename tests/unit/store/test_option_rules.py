from __future__ import annotations

import pytest

from paimon_core.errors import InvalidOptionError
from paimon_core.spec.types import INT, STRING
from paimon_core.store.new_schema import new_table_schema
from tests.support.tables import fields

COLUMNS = fields(k=INT, v=STRING)
KEYED = {"primary-key": "k", "bucket": "1"}
REFUSED: list[tuple[str, dict[str, str]]] = [
    ("file.format", {"file.format": "excel"}),
    ("file.format", {"file.format.per.level": "0:excel"}),
    ("snapshot.num-retained.min", {"snapshot.num-retained.min": "0"}),
    ("snapshot.num-retained.max", {"snapshot.num-retained.min": "5", "snapshot.num-retained.max": "3"}),
    ("changelog.num-retained.min", {"changelog.num-retained.min": "0"}),
    ("target-file-row-num", {"target-file-row-num": "0"}),
    ("full-compaction.delta-commits", {"changelog-producer": "lookup", "full-compaction.delta-commits": "2", **KEYED}),
    ("streaming-read-overwrite", {"streaming-read-overwrite": "true"}),
    ("streaming-read-overwrite", {"streaming-read-overwrite": "true", "changelog-producer": "lookup", **KEYED}),
    ("sequence-group", {"merge-engine": "partial-update", "fields.v.xsequence-group": "v", **KEYED}),
]


@pytest.mark.parametrize(("named", "options"), REFUSED)
def test_what_no_table_can_have_is_refused_by_name(named: str, options: dict[str, str]) -> None:
    with pytest.raises(InvalidOptionError, match=named):
        new_table_schema(COLUMNS, options=options)


@pytest.mark.parametrize(
    "options",
    [
        {"file.format": "ORC", "snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"},
        {"snapshot.num-retained.max": "3", "target-file-row-num": "1"},
        {"streaming-read-overwrite": "true", "changelog-producer": "input", **KEYED},
        {"changelog-producer": "full-compaction", "full-compaction.delta-commits": "2", **KEYED},
    ],
)
def test_others_are_taken(options: dict[str, str]) -> None:
    assert new_table_schema(COLUMNS, options=options).options.items() <= options.items()
