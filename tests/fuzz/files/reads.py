"""What reads a file: the entry functions that queries use, on a table opened afresh."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC
from functools import cache
from itertools import islice
from pathlib import Path

import pyarrow as pa

from paimon_core.arrow.types import arrow_schema
from paimon_core.expressions.predicate import Predicate
from paimon_core.format_table.iceberg import read_iceberg_table
from paimon_core.format_table.scan import read_format_split
from paimon_core.format_table.table import FormatTable
from paimon_core.io.local import LocalFileIO
from paimon_core.scan.changes.increment import increment_of_options
from paimon_core.scan.read import read_split
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.split import DataSplit
from paimon_core.store.blob.references import read_references
from paimon_core.store.cache import MetadataCache
from paimon_core.store.consumers import list_consumers
from paimon_core.store.indexes.index_files import index_entries
from paimon_core.store.manifests import data_manifests
from paimon_core.store.snapshots import earliest_snapshot
from paimon_core.table import Table
from paimon_core.write.buckets.dynamic import load_partition
from paimon_sql import open_catalog
from paimon_sql.catalog.load import load_catalog
from paimon_sql.python.table import PaimonTable
from tests.support.all_tags import list_tags

_FIRST_BATCHES = 8
_FOUND = 5  # rows that a search returns
Read = Callable[[Path], None]  # of the table in a folder


def load(root: Path, branch: str | None = None) -> Table:
    """The table in `WAREHOUSE/DATABASE.db/NAME`, as a session loads it."""
    name = Identifier(root.parent.stem, root.name, branch=branch)
    found = load_catalog({"warehouse": str(root.parents[1])}).load_table(name)
    assert isinstance(found, Table)
    return found


@cache
def _loaded(root: Path) -> Table:
    return load(root)


@cache
def planned_splits(root: Path) -> tuple[DataSplit, ...]:
    """The plan of a SELECT *, made once."""
    table = _loaded(root)
    return tuple(table.plan(table.latest_snapshot()).splits)


def known(root: Path) -> Table:
    """The table as it was loaded before, without metadata that it has read."""
    table = _loaded(root)
    return replace(table, store=replace(table.store, cache=MetadataCache()))


def defined(root: Path) -> None:
    """A session that comes to the table: its definition, versions of it, and the plan of a SELECT *."""
    table = load(root)
    for name in ("schemas", "options"):
        table.system_table(name, UTC).validate(full=True)
    table.plan(table.latest_snapshot())


def data(root: Path) -> None:
    """The tasks of a SELECT *, whose plan is made."""
    check_splits(known(root), planned_splits(root))


def packs(root: Path) -> None:
    """The packs that data files name, as the search for packs that no row needs reads them; and a SELECT *."""
    table = known(root)
    for split in planned_splits(root):
        for file in split.files:
            for name in file.extra_files:
                read_references(table.store.io, f"{split.bucket_dir}/{name}")
    data(root)


def planned(*system_tables: str) -> Read:
    """The plan of a SELECT *, and system tables."""

    def read(root: Path) -> None:
        table = known(root)
        table.plan(table.latest_snapshot())
        for name in system_tables:
            table.system_table(name, UTC).validate(full=True)

    return read


def filtered(*predicates: Predicate) -> Read:
    """SELECT k WHERE …, by each predicate."""

    def read(root: Path) -> None:
        table = known(root)
        schema = arrow_schema(table.schema.select(("k",)))
        for predicate in predicates:
            for split in table.plan(table.latest_snapshot(), predicate).splits:
                check_batches(read_split(table.store, split, ["k"], predicate), schema)

    return read


def changes(first: int, last: int) -> Read:
    """The changes between two snapshots."""

    def read(root: Path) -> None:
        table = known(root).with_options({"incremental-between": f"{first},{last}"})
        check_splits(table, table.plan(increment_of_options(table.store)).splits)

    return read


def versions(root: Path) -> None:
    """The snapshots of a table, and what the last one names."""
    table = known(root)
    table.system_table("snapshots", UTC).validate(full=True)
    _named(table, table.latest_snapshot())


def hints(root: Path) -> None:
    """The first and the last snapshot, which hints only help to find."""
    table = known(root)
    for snapshot in (earliest_snapshot(table.store), table.latest_snapshot()):
        _named(table, snapshot)


def tags(root: Path) -> None:
    table = known(root)
    for tag in list_tags(table.store):
        found = table.snapshot(tag.name)
        _named(table.at(found), found)


def _named(table: Table, snapshot: Snapshot | None) -> None:
    """Find the manifests and the index files of a version."""
    if snapshot is not None:
        data_manifests(table.store, snapshot)
        index_entries(table.store, snapshot)


def consumers(root: Path) -> None:
    list_consumers(known(root).store)


def statistics(root: Path) -> None:
    table = known(root)
    table.statistics(table.latest_snapshot())
    table.system_table("statistics", UTC).validate(full=True)


def hash_index(root: Path) -> None:
    """The buckets of all known keys."""
    table = known(root)
    snapshot = table.latest_snapshot()
    for partition in {e.partition for e in index_entries(table.store, snapshot)}:
        load_partition(table.store, snapshot, partition)


def branch(name: str) -> Read:
    """The plan of a branch."""

    def read(root: Path) -> None:
        table = load(root, name)
        table.plan(table.latest_snapshot())

    return read


def format_table(root: Path) -> None:
    """SELECT * of a folder of files. Nothing says how many rows they have, so a packed one may have millions: the first
    ones have to come at once."""
    found = FormatTable.of(_loaded(root).store)
    names = [f.name for f in found.schema.fields]
    for split in found.plan().splits:
        batches = read_format_split(found.store, split, names)
        check_batches(islice(batches, _FIRST_BATCHES), arrow_schema(found.schema.fields))


def iceberg(root: Path) -> None:
    """What a migration reads of an Iceberg table."""
    read_iceberg_table(LocalFileIO(), str(root))


def check_splits(table: Table, splits: Sequence[DataSplit]) -> None:
    """Read all columns; the rows are of the table's types."""
    names, schema = [f.name for f in table.schema.fields], arrow_schema(table.schema.fields)
    for split in splits:
        check_batches(read_split(table.store, split, names), schema)


def check_batches(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> None:
    for batch in batches:
        assert batch.schema.equals(schema), f"{batch.schema} is not {schema}"
        try:
            batch.validate(full=True)
        except pa.ArrowInvalid as e:
            if "Invalid UTF8" not in str(e):  # Paimon's readers hand texts over as they are stored
                raise


def searched(search: Callable[[PaimonTable], pa.Table]) -> Read:
    """A search in a table, in Python without Spark. It finds rows of the table."""

    def read(root: Path) -> None:
        found = search(open_catalog(str(root.parents[1])).table(f"{root.parent.stem}.{root.name}"))
        keys = found.column("k").to_pylist()
        assert len(keys) <= _FOUND and len(set(keys)) == len(keys), keys

    return read
