"""CREATE, ALTER, RENAME, REPLACE and DROP of tables and databases, and ANALYZE."""

from __future__ import annotations

from typing import Any

from paimon_core.commit.changes import Overwrite
from paimon_core.commit.draft import CommitInfo
from paimon_core.insert import insert_rows
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.snapshot import Operation
from paimon_core.spec.statistics import TableStatistics
from paimon_core.spec.types import BIGINT, INT, STRING
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import (
    AddColumn,
    DropColumn,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetOption,
    UpdateColumnComment,
    UpdateColumnType,
    UpdateComment,
)
from paimon_sql.catalog.base import StagedTable
from tests.support.place import Place, Rows
from tests.support.statements.kind import LAYOUT, Run, Statement
from tests.support.statements.writes import KEYED, NEW, OLD, table_of
from tests.support.tables import fields

UNDER_NEW_COLUMNS = frozenset({"rows", "snapshots"})  # until their commit, old rows have the new columns
T, U = Identifier("default", "t"), Identifier("default", "u")


def nothing(_: Place) -> None:
    """An empty warehouse."""


def definition(name: str, prepare: Run, run: Run, **traits: Any) -> Statement:
    return Statement(name, prepare, run, commits=False, **traits)


def alter(name: str, *changes: SchemaChange) -> Statement:
    return definition(
        f"ALTER TABLE {name}", table_of(OLD, **KEYED), lambda place: place.catalog.alter_table(T, changes)
    )


def staged(place: Place, made: StagedTable, rows: Rows, operation: Operation, overwrite: Overwrite | None) -> None:
    """Write the rows of a query and the table that they define, see `StagedSparkTable`."""
    try:
        table = made.table
        messages = place.write(table, rows, overwrite)
        info = CommitInfo(user=table.new_commit_user(), operation=operation)
        insert_rows(table, messages, info, place.executor, overwrite, made.publish)
        made.finish()
    except Exception:
        made.discard()
        raise


def create_as_select(place: Place) -> None:
    schema = new_table_schema(fields(k=INT, v=STRING), options={})
    staged(place, place.catalog.stage_create(T, schema), NEW, Operation.CREATE_TABLE_AS_SELECT, None)


def replace_as_select(place: Place, schema: TableSchema, rows: Rows) -> None:
    made = place.catalog.stage_replace(T, schema)
    staged(place, made, rows, Operation.REPLACE_TABLE_AS_SELECT, Overwrite())


def insert_with_new_column(place: Place) -> None:
    """INSERT with schema evolution: the column comes with its rows."""
    made = place.catalog.stage_alter(T, [AddColumn(("n",), BIGINT)])
    messages = place.write(made.table, [(3, "new", 7)])
    info = CommitInfo(user=made.table.new_commit_user(), operation=Operation.WRITE)
    insert_rows(made.table, messages, info, place.executor, None, made.publish)


def analyze(place: Place) -> None:
    table = place.table()
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    statistics = TableStatistics(
        snapshot_id=snapshot.id, schema_id=table.schema.id, columns={"k": {"colId": 0, "distinctCount": 2}}
    )
    table.commit_statistics(statistics, CommitInfo(user=table.new_commit_user()))


def database_of_two(place: Place) -> None:
    place.catalog.create_database("d")
    for name in ("a", "b"):
        place.catalog.create_table(Identifier("d", name), new_table_schema(fields(k=INT), options={}))


def rename(place: Place) -> None:
    place.catalog.rename_table(T, U)


DEFINITIONS = [
    definition("CREATE DATABASE", nothing, lambda place: place.catalog.create_database("d", ignore_if_exists=True)),
    definition(
        "DROP DATABASE", database_of_two, lambda place: place.catalog.drop_database("d", cascade=True), steps=True
    ),
    definition("CREATE TABLE", nothing, lambda place: place.create(**KEYED)),
    definition("CREATE TABLE AS SELECT", nothing, create_as_select, steps=True),
    definition("DROP TABLE", table_of(OLD, NEW, **KEYED), lambda place: place.catalog.drop_table(T), steps=True),
    definition("RENAME TABLE", table_of(OLD, **KEYED), rename),
    definition(
        "REPLACE TABLE AS SELECT",
        table_of(OLD),
        lambda place: replace_as_select(
            place, new_table_schema(fields(k=INT, v=STRING, n=BIGINT), options={}), [(3, "new", 7)]
        ),
        steps=True,
        upkeep=UNDER_NEW_COLUMNS,
    ),
    definition(
        "REPLACE TABLE AS SELECT, other partitions",
        table_of(OLD),
        lambda place: replace_as_select(place, new_table_schema(fields(k=INT, p=STRING), ["p"], {}), [(3, "a")]),
        steps=True,
        leaves="default.t_(replaced|replacing)_.*",
    ),
    Statement(
        "INSERT new column",
        table_of(OLD),
        insert_with_new_column,
        commits=False,
        steps=True,
        upkeep=LAYOUT | UNDER_NEW_COLUMNS,
        repeatable=False,
    ),
    alter("ADD COLUMN", AddColumn(("n",), BIGINT)),
    alter("DROP COLUMN", DropColumn(("v",))),
    alter("RENAME COLUMN", RenameColumn(("v",), "w")),
    alter("ALTER COLUMN TYPE", UpdateColumnType(("v",), STRING), UpdateColumnComment(("v",), "text")),
    alter("SET", SetOption("snapshot.num-retained.min", "2"), UpdateComment("ours")),
    alter("UNSET", RemoveOption("commit.max-retries")),
    Statement("ANALYZE", table_of(OLD), analyze, upkeep=frozenset({"snapshots"})),
]
