"""`CALL sys.copy`: a table's rows as another table, file by file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from paimon_core.commit.changes import Overwrite
from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import InvalidOptionError
from paimon_core.maintenance.copying import adopt_schemas, check_takes_files, copy_files
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.snapshot import Operation
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.schemas import create_schema, list_schemas
from paimon_core.table import Table
from paimon_sql.catalog.base import SupportsDatabases
from paimon_sql.procedures.file_copies import copying
from paimon_sql.procedures.partition_choice import chosen_partitions
from paimon_sql.procedures.registry import ProcedureContext, has_table, load_table, procedure


@procedure(result="boolean")
def copy(
    context: ProcedureContext, source_table: str, target_table: str, where: str | None = None
) -> Sequence[tuple[Any, ...]]:
    """Make a new table of the rows of another: its schema, options and files, without its history. Of a table that is
    there the partitions that get rows are replaced; it has to have the other's keys, buckets and columns.

    Both may be of any Paimon catalog of the session (`catalog.database.table`). `where` takes conditions on partition
    columns only, as `dt >= '2024-01-01' AND hh = 10`. The result is true.
    """
    source = load_table(*context.place(source_table))
    catalog, identifier = context.place(target_table)
    copy_table(context, source, catalog, identifier, where)
    return [(True,)]


def copy_table(
    context: ProcedureContext,
    source: Table,
    catalog: SupportsDatabases,
    identifier: Identifier,
    where: str | None,
    options: Mapping[str, str] | None = None,
) -> None:
    """See `copy`; `options` are of a table that is made, beside the source's."""
    which = chosen_partitions(context, source, source.latest_snapshot(), None, where)
    if has_table(catalog, identifier):
        _replace(context, source, load_table(catalog, identifier), which)
        return
    target = create_alike(source, catalog, identifier, options or {})
    target.check_writable()
    messages = copy_files(source.store, source.latest_snapshot(), target.store, which, None, copying(context))
    target.commit(messages, CommitInfo(user=target.new_commit_user(), operation=Operation.WRITE))


def create_alike(
    source: Table, catalog: SupportsDatabases, identifier: Identifier, options: Mapping[str, str]
) -> Table:
    """A new table with all schema versions of another, and more options; its database is made, too."""
    first, *later = (replace(s, options={**s.options, **options}) for s in list_schemas(source.store))
    catalog.create_database(identifier.database, ignore_if_exists=True)
    catalog.create_table(identifier, first)
    target = catalog.load_table(identifier)
    for schema in later:
        create_schema(target.store.io, target.store.root, schema)
    return catalog.load_table(identifier)


def _replace(context: ProcedureContext, source: Table, target: Table, which: PartitionFilter) -> None:
    """Let partitions of a table have the rows that another has in them."""
    if source.store.root == target.store.root:
        raise InvalidOptionError(f"Table {source.name} cannot be copied into itself.")
    target.check_writable()
    check_takes_files(source.store, target.store)
    snapshot = source.latest_snapshot()
    schemas = adopt_schemas(source.store, snapshot, target.store)
    messages = copy_files(source.store, snapshot, target.store, which, schemas, copying(context))
    if messages:
        info = CommitInfo(user=target.new_commit_user(), operation=Operation.OVERWRITE)
        target.commit(messages, info, Overwrite(dynamic=True))
