"""Stored procedures: `CALL sys.name(…)`. Each is a typed function in a module of its own subject."""

from __future__ import annotations

from paimon_sql.procedures import (
    absent,
    branches,
    chain_tables,
    cloning,
    column_statements,
    consumers,
    copying,
    expiry,
    file_indexes,
    files,
    global_indexes,
    manifests,
    migration,
    partitions,
    rollback,
    tag_statements,
    tags,
)
from paimon_sql.procedures.compaction import compact, compact_database
from paimon_sql.procedures.registry import Executor, ForeignTable, Parameter, Procedure, ProcedureContext, procedure
from paimon_sql.procedures.rescale import rescale

__all__ = [
    "PROCEDURES",
    "STATEMENTS",
    "Executor",
    "ForeignTable",
    "Parameter",
    "Procedure",
    "ProcedureContext",
    "procedure",
]

PROCEDURES = {
    p.name: p
    for p in (
        absent.alter_function,
        absent.alter_view_dialect,
        absent.create_function,
        absent.drop_function,
        absent.refresh_object_table,
        branches.create_branch,
        branches.delete_branch,
        branches.fast_forward,
        branches.merge_branch,
        branches.rename_branch,
        chain_tables.compact_chain_table,
        cloning.clone,
        compact,
        compact_database,
        consumers.clear_consumers,
        consumers.reset_consumer,
        copying.copy,
        expiry.expire_changelogs,
        expiry.expire_partitions,
        expiry.expire_snapshots,
        expiry.expire_tags,
        file_indexes.rewrite_file_index,
        files.purge_files,
        files.remove_orphan_files,
        files.remove_unexisting_files,
        global_indexes.create_global_index,
        global_indexes.drop_global_index,
        manifests.compact_manifest,
        migration.migrate_database,
        migration.migrate_table,
        partitions.drop_partition,
        partitions.mark_partition_done,
        rescale,
        rollback.repair,
        rollback.repair_earliest_snapshot,
        rollback.rollback,
        rollback.rollback_to_timestamp,
        rollback.rollback_to_watermark,
        tags.create_tag,
        tags.create_tag_from_timestamp,
        tags.delete_tag,
        tags.rename_tag,
        tags.replace_tag,
        tags.trigger_tag_automatic_creation,
    )
}
# what statements become; found by name, not listed
STATEMENTS = {
    p.name: p
    for p in (
        column_statements.change_columns,
        tag_statements.delete_tags,
        tag_statements.make_tag,
        tag_statements.name_tag,
    )
}
