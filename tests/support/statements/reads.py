"""Queries: of rows, of changes, of derived and system tables."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from paimon_core.expressions.predicate import Compare, Predicate
from paimon_core.scan.changes.increment import increment_of_options
from paimon_core.scan.derived_tables import DerivedTable, derived_fields, read_derived
from paimon_core.scan.read import read_split
from paimon_core.system_tables.registry import SYSTEM_TABLES
from paimon_core.table import Table
from tests.support.place import Place, rows_of
from tests.support.statements.calls import BRANCHED, after, chain_table, format_table, with_deletes
from tests.support.statements.kind import Run, Statement
from tests.support.statements.writes import EVOLVED, KEYED, NEW, OLD, VECTORS, table_of

THREE = ([(1, "a")], [(2, "b")], [(3, "c")])
LOGGED = table_of(OLD, NEW, **KEYED, changelog_producer="input")


def filtered(table: Table, predicate: Predicate) -> Any:
    """Return a SELECT k … WHERE that uses the filter to skip files."""
    splits = table.plan(table.latest_snapshot(), predicate).splits
    return [b.to_pylist() for s in splits for b in read_split(table.store, s, ["k"], predicate)]


def incremental(place: Place) -> Any:
    table = place.table().with_options({"incremental-between": "1,2"})
    return rows_of(table, increment_of_options(table.store, UTC))


def derived(kind: DerivedTable) -> Run:
    def run(place: Place) -> Any:
        table = place.table()
        columns = [f.name for f in derived_fields(table.store, kind)]
        splits = table.plan(table.latest_snapshot(), derived=kind).splits
        return [b.to_pylist() for s in splits for b in read_derived(table.store, kind, s, columns)]

    return run


def query(name: str, prepare: Run, run: Run = Place.rows) -> Statement:
    return Statement(f"SELECT {name}", prepare, run)


def is_two(place: Place) -> Any:
    return filtered(place.table(), Compare("k", "=", 2))


INDEXED = table_of(OLD, NEW, file_index__bloom_filter__columns="k")
GLOBALLY = after(table_of(*THREE, **EVOLVED), ("create_global_index", {"index_column": "k", "index_type": "btree"}))
READS = [
    query("append", table_of(*THREE)),
    query("orc", table_of(*THREE, file__format="orc")),
    query("avro", table_of(*THREE, file__format="avro")),
    query("vectors", with_deletes(table_of(OLD, [(3, "old"), (4, "old")], **VECTORS))),
    query("data evolution", with_deletes(table_of(OLD, [(3, "old"), (4, "old")], **EVOLVED, **VECTORS))),
    query("merged", table_of(OLD, NEW, **KEYED)),
    query("chain table", chain_table),
    query("format table", format_table),
    query("branch", BRANCHED, lambda place: place.rows("t$branch_b")),
    query("tag", BRANCHED, lambda place: rows_of(place.table(), place.table().snapshot("one"))),
    query("file index", INDEXED, is_two),
    query("global index", GLOBALLY, is_two),
    query("incremental", LOGGED, incremental),
    *(
        query(f"${kind}", LOGGED, derived(kind))
        for kind in (DerivedTable.AUDIT_LOG, DerivedTable.BINLOG, DerivedTable.READ_OPTIMIZED)
    ),
    *(
        query(f"${name}", BRANCHED, lambda place, name=name: place.table().system_table(name, UTC).to_pylist())
        for name in SYSTEM_TABLES
    ),
    query(
        "databases and tables",
        BRANCHED,
        lambda place: [place.catalog.list_tables(d) for d in place.catalog.list_databases()],
    ),
]
