"""`CALL sys.copy`: a table's rows as another table, file by file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from paimon_core.commit.changes import Overwrite
from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.maintenance.copying import adopt_schemas, check_takes_files, copy_files
from paimon_core.options import PARTITION_DEFAULT_NAME
from paimon_core.spec.snapshot import Operation
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.schemas import create_schema, list_schemas
from paimon_core.table import Table
from paimon_sql.procedures.arguments import partition_specs
from paimon_sql.procedures.registry import ProcedureContext, procedure

_EQUALITY = re.compile(r"\s*`?(\w+)`?\s*=\s*('(?:[^'\\]|'')*'|\"[^\"\\]*\"|[\w.+-]+)\s*")


@procedure(result="boolean")
def copy(
    context: ProcedureContext, source_table: str, target_table: str, where: str | None = None
) -> Sequence[tuple[Any, ...]]:
    """Make a new table of the rows of another: its schema, options and files, without its history. Of a table that is
    there the partitions that get rows are replaced; it has to have the other's keys, buckets and columns.

    `where` takes partitions only, as `dt = '2024-01-01' AND hh = 10`. The result is true.
    """
    source, identifier = context.load_table(source_table), context.identifier(target_table)
    which = _partitions(source, where)
    if context.catalog.table_exists(identifier):
        _replace(source, context.load_table(target_table), which)
        return [(True,)]
    first, *later = list_schemas(source.store)
    context.catalog.create_table(identifier, first)
    target = context.catalog.load_table(identifier)
    for schema in later:
        create_schema(target.store.io, target.store.root, schema)
    target = context.catalog.load_table(identifier)
    target.check_writable()
    messages = copy_files(source.store, source.latest_snapshot(), target.store, which)
    target.commit(messages, CommitInfo(user=target.new_commit_user(), operation=Operation.WRITE))
    return [(True,)]


def _replace(source: Table, target: Table, which: PartitionFilter) -> None:
    """Let partitions of a table have the rows that another has in them."""
    if source.store.root == target.store.root:
        raise InvalidOptionError(f"Table {source.name} cannot be copied into itself.")
    target.check_writable()
    check_takes_files(source.store, target.store)
    snapshot = source.latest_snapshot()
    schemas = adopt_schemas(source.store, snapshot, target.store)
    messages = copy_files(source.store, snapshot, target.store, which, schemas)
    if messages:
        info = CommitInfo(user=target.new_commit_user(), operation=Operation.OVERWRITE)
        target.commit(messages, info, Overwrite(dynamic=True))


def _partitions(table: Table, where: str | None) -> PartitionFilter:
    fields = table.schema.partition_fields
    if where is None or not where.strip():
        return PartitionFilter(fields)
    matches = [_EQUALITY.fullmatch(part) for part in re.split(r"\bAND\b", where, flags=re.IGNORECASE)]
    pairs = [(m[1], m[2]) for m in matches if m]
    if len(pairs) < len(matches) or any("," in v or ";" in v for _, v in pairs):
        raise UnsupportedFeatureError(
            f"where cannot be {where!r} yet: name partitions, as in \"dt = '2024-01-01' AND hh = 10\"."
        )
    spec = ",".join(f"{name}={value}" for name, value in pairs)
    return PartitionFilter(fields, predicate=partition_specs(spec, fields, table.store.options[PARTITION_DEFAULT_NAME]))
