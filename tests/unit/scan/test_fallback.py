"""Versions of the past of a table that reads partitions of a branch: each side has the columns of that time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import InvalidOptionError
from paimon_core.maintenance.branches import create_branch
from paimon_core.scan.read import read_split
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import BIGINT, INT, STRING
from paimon_core.store.branches import open_branch, open_lending_branch
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import AddColumn, RenameColumn
from paimon_core.table import Table
from paimon_core.write.writer import open_writer
from paimon_sql.catalog.filesystem import FileSystemCatalog
from paimon_sql.catalog.load import load_catalog
from tests.support.tables import fields

T = Identifier("default", "t")
SIDE = Identifier("default", "t", branch="side")


@pytest.fixture
def catalog(tmp_path: Path) -> Any:
    """A table with a row in partition x, and a branch with a row in partition y."""
    catalog = load_catalog({"warehouse": str(tmp_path)})
    schema = new_table_schema(fields(k=INT, v=STRING, p=STRING), partition_keys=["p"], options={})
    catalog.create_table(T, schema)
    insert(catalog, T, k=1, v="main", p="x")
    create_branch(catalog.load_table(T).store, "side")
    insert(catalog, SIDE, k=2, v="side", p="y")
    insert(catalog, T, k=3, v="main", p="x")
    return catalog


def table(catalog: FileSystemCatalog, name: Identifier) -> Table:
    found = catalog.load_table(T)
    return found if name == T else Table(open_branch(found.store, "side"))


def insert(catalog: FileSystemCatalog, name: Identifier, **row: Any) -> None:
    to = table(catalog, name)
    writer = open_writer(to.store, sequence_start=0)
    types = {
        f.name: pa.int32() if f.type == INT else pa.int64() if f.type == BIGINT else pa.string()
        for f in to.schema.fields
    }
    writer.write(pa.record_batch([pa.array([row[n]], t) for n, t in types.items()], names=list(types)))
    to.commit(writer.finish(), CommitInfo(user="tester"))


def rows(catalog: FileSystemCatalog, version: str | None = None) -> list[tuple[Any, ...]]:
    """The rows with those of the fallback branch."""
    options = {"scan.fallback-branch": "side"} | ({"scan.version": version} if version else {})
    read = table(catalog, T).with_options(options)
    snapshot = read.snapshot(version)
    read = read.at(snapshot) if version else read
    names = [f.name for f in read.schema.fields]
    batches = [b for s in read.plan(snapshot).splits for b in read_split(read.store, s, names)]
    return sorted(tuple(row.values()) for b in batches for row in b.to_pylist())


def test_columns_that_both_sides_got_later(catalog: FileSystemCatalog) -> None:
    before = [(1, "main", "x"), (2, "side", "y"), (3, "main", "x")]
    assert rows(catalog) == before
    for name in (T, SIDE):
        catalog.alter_table(name, [RenameColumn(("v",), "text"), AddColumn(("v",), BIGINT)])
        insert(catalog, name, k=4, text="new", v=4, p="z" if name == SIDE else "x")
    assert [len(row) for row in rows(catalog)] == [4] * 5
    assert rows(catalog, "2") == before


def test_a_column_that_the_branch_alone_got_later(catalog: FileSystemCatalog) -> None:
    """The latest versions have other columns, and are refused; earlier versions are read."""
    before = rows(catalog)
    catalog.alter_table(SIDE, [AddColumn(("w",), BIGINT)])
    insert(catalog, SIDE, k=4, v="new", p="z", w=4)
    with pytest.raises(InvalidOptionError, match="the branch has other columns"):
        rows(catalog)
    assert rows(catalog, "2") == before


def test_parts_of_variants_are_by_the_field_ids_of_one_side(catalog: FileSystemCatalog) -> None:
    """Fields with the same name may have other ids in a branch: it reads whole VARIANTs."""
    store = replace(catalog.load_table(T).store, variant_paths={1: (("a",),)})
    assert open_lending_branch(store, "side").variant_paths == {}
