"""Chain tables and primary branches: which partitions come from which branch, and what they are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.expressions.predicate import And, Compare, Predicate
from paimon_core.io.local import LocalFileIO
from paimon_core.maintenance.branches import create_branch
from paimon_core.scan.derived_tables import DerivedTable, read_derived
from paimon_core.scan.read import read_split
from paimon_core.spec.types import INT, STRING
from paimon_core.store.branches import open_branch
from paimon_core.store.schemas import create_schema
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_core.write.writer import open_writer
from tests.support.data import make_batch, make_store
from tests.support.golden import golden_checks, golden_table
from tests.support.stored import compact
from tests.support.tables import info

CHAIN = {
    "chain-table.enabled": "true",
    "scan.fallback-snapshot-branch": "full",
    "scan.fallback-delta-branch": "delta",
    "chain-table.chain-partition-keys": "day",
}
COLUMNS = {"region": STRING, "day": INT, "k": INT, "v": STRING, "n": INT, "op": STRING}
Row = tuple[str, int, int, str, int]


@pytest.fixture
def store(tmp_path: Path) -> TableStore:
    """A table with the branches `full` and `delta`, which have partitions of two regions."""
    keys = ["region", "day", "k"]
    store = make_store(
        tmp_path, COLUMNS, keys=keys, partitions=keys[:2], bucket="2", sequence__field="n", rowkind__field="op"
    )
    create_schema(LocalFileIO(), store.root, store.schema)
    for name in ("full", "delta"):
        create_branch(store, name)
    insert(store, "full", [("A", 10, 1, "a", 1), ("A", 10, 2, "b", 1), ("A", 13, 9, "full", 1)])
    insert(store, "delta", [("A", 9, 7, "too early", 1), ("A", 11, 2, "b2", 2), ("A", 11, 3, "c", 1)])
    insert(store, "delta", [("A", 12, 1, "older", 0), ("A", 14, 9, "newer", 2), ("B", 11, 1, "other", 1)])
    insert(store, "delta", [("A", 12, 3, "c", 2)], op="-D")
    return store


def insert(store: TableStore, branch: str, rows: Sequence[Row], op: str = "+I") -> None:
    target = open_branch(store, branch)
    writer = open_writer(target, sequence_start=Table(target).max_sequence_number() + 1)
    writer.write(make_batch(target, [(*row, op) for row in rows]))
    Table(target).commit(writer.finish(), info())


def rows(store: TableStore, predicate: Predicate | None = None, *, names: str = "region day k v") -> list[Any]:
    """Rows, those that match where a predicate is given."""
    table, found = Table(store), []
    for split in table.plan(table.latest_snapshot(), predicate).splits:
        for batch in read_split(store, split, names.split(), predicate):
            found += [tuple(r.values()) for r in batch.to_pylist()]
    return sorted(found)


def test_a_partition_is_made_of_the_full_one_before_it_and_the_changes_since(store: TableStore) -> None:
    assert rows(store.with_options(CHAIN)) == [
        ("A", 9, 7, "too early"),
        ("A", 10, 1, "a"),
        ("A", 10, 2, "b"),
        ("A", 11, 1, "a"),
        ("A", 11, 2, "b2"),
        ("A", 11, 3, "c"),
        ("A", 12, 1, "a"),
        ("A", 12, 2, "b2"),
        ("A", 13, 9, "full"),
        ("A", 14, 9, "newer"),
        ("B", 11, 1, "other"),
    ]


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        (And((Compare("day", "=", 12), Compare("region", "=", "A"))), [("A", 12, 1, "a"), ("A", 12, 2, "b2")]),
        (Compare("region", "=", "B"), [("B", 11, 1, "other")]),
        (And((Compare("day", "=", 11), Compare("k", "=", 2))), [("A", 11, 2, "b2")]),
        (And((Compare("day", "=", 12), Compare("v", "=", "older"))), []),
    ],
)
def test_what_is_asked_for(store: TableStore, predicate: Predicate, expected: list[Any]) -> None:
    chain = store.with_options(CHAIN)
    assert rows(chain, predicate) == expected
    days = {s.partition for s in Table(chain).plan(None, predicate).splits}
    assert len(days) <= 2


def test_levels_of_partitions_are_not_compared(tmp_path: Path) -> None:
    keys = ["day", "k"]
    store = make_store(
        tmp_path, {"day": INT, "k": INT, "n": INT}, keys=keys, partitions=keys[:1], bucket="1",
        sequence__field="n", deletion_vectors__enabled="true",
    )  # fmt: skip
    create_schema(LocalFileIO(), store.root, store.schema)
    for name, rows_ in (("full", [(10, 1, 1), (10, 2, 1)]), ("delta", [(11, 2, 2), (11, 3, 1)])):
        create_branch(store, name)
        target = open_branch(store, name)
        writer = open_writer(target, sequence_start=0)
        writer.write(make_batch(target, rows_))
        Table(target).commit(writer.finish(), info())
        compact(Table(target))
    made = rows(store.with_options(CHAIN), Compare("day", "=", 11), names="k n")
    assert made == [(1, 1), (2, 2), (3, 1)]


def test_all_partitions_are_one_chain_without_chain_keys(store: TableStore) -> None:
    options = {k: v for k, v in CHAIN.items() if k != "chain-table.chain-partition-keys"}
    found = rows(store.with_options(options), Compare("region", "=", "B"))
    assert found == [("B", 11, 1, "other"), ("B", 11, 9, "newer")]


def test_deleted_rows_are_in_the_log_and_only_full_partitions_are_compacted(store: TableStore) -> None:
    table, log = Table(store.with_options(CHAIN)), []
    for split in table.plan(None, Compare("day", "=", 12), DerivedTable.AUDIT_LOG).splits:
        for batch in read_derived(table.store, DerivedTable.AUDIT_LOG, split, ["rowkind", "day", "k"]):
            log += [tuple(r.values()) for r in batch.to_pylist()]
    assert ("-D", 12, 3) in log
    assert table.plan(None, None, DerivedTable.READ_OPTIMIZED).splits == ()


def test_partitions_of_branches_are_shown(store: TableStore) -> None:
    chain = Table(store.with_options(CHAIN)).system_table("partitions")
    assert chain["partition"].to_pylist() == [f"region=A/day={d}" for d in (10, 11, 12, 13, 14, 9)] + [
        "region=B/day=11"
    ]


def test_what_chains_cannot_do_is_refused(store: TableStore) -> None:
    with pytest.raises(
        UnsupportedFeatureError, match="chain table, which has no versions of its own.*'full' or 'delta'"
    ):
        Table(store.with_options(CHAIN | {"scan.tag-name": "t"})).plan(None)
    other = store.schema.options | {"bucket": "3"}
    create_schema(store.io, f"{store.root}/branch/branch-delta", replace(store.schema, id=1, options=other))
    insert(store, "delta", [("A", 15, 1, "x", 1)])
    with pytest.raises(InvalidOptionError, match="'full' and 'delta' have partitions of other columns or numbers"):
        Table(store.with_options(CHAIN)).plan(None, Compare("day", "=", 15))


def test_the_partitions_of_the_primary_branch_come_first(store: TableStore) -> None:
    insert(store, "main", [("A", 10, 1, "main", 1), ("A", 99, 1, "main", 1)])
    first = store.with_options({"scan.primary-branch": "full"})
    assert rows(first) == [("A", 10, 1, "a"), ("A", 10, 2, "b"), ("A", 13, 9, "full"), ("A", 99, 1, "main")]
    last = store.with_options({"scan.fallback-branch": "full"})
    assert rows(last) == [("A", 10, 1, "main"), ("A", 13, 9, "full"), ("A", 99, 1, "main")]
    shown = [Table(s).system_table("partitions")["record_count"].to_pylist() for s in (first, last)]
    assert shown == [[2, 1, 1], [1, 1, 1]]
    now = Table(last).latest_snapshot()
    counts = Table(last).partition_counts(now, Compare("day", "=", 13))
    assert Table(last).partitions(now)["day"].to_pylist() == [10, 13, 99]
    assert (counts["recordCount"], counts["fileCount"]) == (1, 1)


def test_a_chain_that_java_wrote() -> None:
    table = golden_table("chain")
    (check,) = (c for c in golden_checks("chain") if c["query"] == "SELECT * FROM golden.chain")
    assert rows(table.store, names="t1 t2 t3 day") == sorted(map(tuple, check["rows"]))
