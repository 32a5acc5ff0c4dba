"""Which buckets are compacted behind a write."""

from __future__ import annotations

import pytest

from paimon_core.spec.message import CommitMessage
from paimon_core.table import Table
from tests.support import stored


def written(warehouse: str, count: int) -> tuple[Table, list[CommitMessage]]:
    """Some upserts of all keys; the table and the messages of the last."""
    messages: list[CommitMessage] = []
    for n in range(count):
        table = stored.open_table(warehouse)
        messages = stored.write(table, [(k, f"{n}") for k in range(20)])
        stored.commit(table, messages, "tester")
    return stored.open_table(warehouse), messages


@pytest.mark.parametrize(("writes", "due"), [(2, 0), (3, 2), (4, 2)])
def test_buckets_with_enough_runs_of_a_size_are_due(warehouse: str, writes: int, due: int) -> None:
    stored.create_table(warehouse, primary_key="k", bucket="2", num_sorted_run__compaction_trigger="3")
    table, messages = written(warehouse, writes)
    tasks = table.due_compactions(messages)
    assert len(tasks) == due
    assert all(len(t.files) == writes for t in tasks)


def test_only_buckets_written_to_are_due(warehouse: str) -> None:
    stored.create_table(warehouse, primary_key="k", bucket="2", num_sorted_run__compaction_trigger="2")
    table, messages = written(warehouse, 3)
    assert {t.bucket for t in table.due_compactions(messages[:1])} == {messages[0].bucket}
    assert table.due_compactions([]) == []


@pytest.mark.parametrize(
    ("options", "due"),
    [
        ({"write_only": "true", "primary_key": "k", "bucket": "1"}, 0),
        ({"primary_key": "k", "bucket": "1"}, 1),
        ({}, 0),
        ({"bucket": "1", "bucket_key": "k"}, 1),
        ({"bucket": "1", "bucket_key": "k", "target_file_size": "1 b"}, 0),
    ],
)
def test_tables_whose_writers_compact(warehouse: str, options: dict[str, str], due: int) -> None:
    stored.create_table(warehouse, **options)
    table, messages = written(warehouse, 5)
    assert len(table.due_compactions(messages)) == due
