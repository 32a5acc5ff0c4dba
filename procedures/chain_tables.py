"""`CALL sys.compact_chain_table`: full partitions of a chain table, made from older ones and the changes since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from paimon_core.commit.changes import Overwrite
from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import InvalidOptionError
from paimon_core.insert import insert_rows
from paimon_core.maintenance.chain_tables import fill_job, full_branch
from paimon_core.options import CHAIN_TABLE, PARTITION_DEFAULT_NAME, SCAN_DELTA_BRANCH, SCAN_SNAPSHOT_BRANCH
from paimon_core.scan.chain import has_full_partition, is_chain, splits_to_fill
from paimon_core.spec.snapshot import Operation
from paimon_core.spec.split import DataSplit
from paimon_core.store.features import check_selectable
from paimon_core.table import Table
from paimon_sql.procedures.arguments import partition_specs
from paimon_sql.procedures.registry import DryRunRows, ProcedureContext, Rows, procedure


@procedure(result="boolean")
def compact_chain_table(
    context: ProcedureContext, table: str, partition: str, overwrite: bool | None = None, dry_run: bool = False
) -> Rows:
    """Make a full partition out of a partition with changes (`date="20250811"`): merge the latest earlier full
    partition with the changes since then, and write the result to the branch of full partitions. With `overwrite`,
    replace an existing full partition.

    The result is false if the full partition existed already, or if there are no changes. With `dry_run` nothing
    changes: the result has the files that would be merged.
    """
    target = context.load_table(table)
    _check_chain(target)
    if not partition.strip():
        raise InvalidOptionError("Partition string cannot be empty: write it as 'date=\"20250811\"'.")
    if ";" in partition:
        raise InvalidOptionError(
            f"compact_chain_table only supports a single partition, but multiple partitions were provided: {partition}."
        )
    target.check_writable()
    fields, default = target.schema.partition_fields, target.store.options[PARTITION_DEFAULT_NAME]
    wanted = partition_specs(partition, fields, default, context.zone, case_sensitive=context.case_sensitive)
    exists = has_full_partition(target.store, wanted)
    splits = [] if exists and not overwrite else splits_to_fill(target.store, wanted, again=exists)
    if dry_run:
        check_selectable(target.store)
        return _merged_rows(splits, partition)
    if not splits:
        return [(False,)]
    full = replace(target, store=full_branch(target.store)).for_write()  # check before the rows get numbers
    messages = full.run(context.executor, fill_job(target.store, splits))
    operation = Operation.OVERWRITE if exists else Operation.WRITE
    info = CommitInfo(user=full.new_commit_user(), operation=operation)
    insert_rows(full, messages, info, context.executor, Overwrite(dynamic=True) if exists else None)
    return [(True,)]


def _merged_rows(splits: Sequence[DataSplit], partition: str) -> DryRunRows:
    files = [file for split in splits for file in split.files]
    size, rows = sum(f.file_size for f in files), sum(f.row_count for f in files)
    return DryRunRows([("compact_chain_table", partition, None, len(files), size, rows, "merged")] if files else [])


def _check_chain(table: Table) -> None:
    if not table.store.options[CHAIN_TABLE]:
        raise InvalidOptionError(
            f"compact_chain_table only supports chain tables, and {table.name} is not a chain table."
        )
    if not is_chain(table.store):
        options = f"'{SCAN_SNAPSHOT_BRANCH.key}' and '{SCAN_DELTA_BRANCH.key}'"
        raise InvalidOptionError(f"Table {table.name} is not a chain table: set {options} to its branches.")
