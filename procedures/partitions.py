"""`CALL sys.mark_partition_done` and `sys.drop_partition`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import InvalidOptionError
from paimon_core.maintenance.done_partitions import mark_done
from paimon_core.options import PARTITION_DEFAULT_NAME, PARTITION_LEGACY_NAME
from paimon_core.spec.value_texts import folder_text
from paimon_core.store.partitions import PartitionFilter
from paimon_core.table import Table
from paimon_sql.procedures.arguments import column_named, partition_specs, partition_texts, partition_value, unquoted
from paimon_sql.procedures.dry_runs import removed_rows
from paimon_sql.procedures.registry import ProcedureContext, Rows, procedure


@procedure(result="boolean")
def mark_partition_done(context: ProcedureContext, table: str, partitions: str) -> Rows:
    """Mark partitions (`dt=2024-01-01,hh=10;dt=2024-01-02,hh=0`) as complete.

    The option `partition.mark-done-action` chooses a `_SUCCESS` file in each (`success-file`), a POST to
    `partition.mark-done-action.http.url` (`http-report`), or both. The result is true.
    """
    target = context.load_table(table)
    keys = target.schema.partition_keys
    if not keys:
        raise InvalidOptionError(f"Table {target.name} is not partitioned: there are no partitions to mark.")
    specs = [
        _folders(target, _spec(parts, keys, case_sensitive=context.case_sensitive), context.zone)
        for parts in partition_texts(partitions)
    ]
    if not specs:
        raise InvalidOptionError(
            f"partitions is empty: name partitions of {target.name} by the columns {', '.join(keys)}."
        )
    mark_done(target.store, specs)
    return [(True,)]


@procedure(result="boolean")
def drop_partition(context: ProcedureContext, table: str, partitions: str, dry_run: bool = False) -> Rows:
    """Remove the rows of partitions (`dt=2024-01-01,hh=10;dt=2024-01-02`) in one commit.

    The result is true. With `dry_run` nothing changes: the result has a row for each partition, with its data files,
    bytes and rows.
    """
    target = context.load_table(table)
    target.check_writable()
    fields, default = target.schema.partition_fields, target.store.options[PARTITION_DEFAULT_NAME]
    dropped = partition_specs(partitions, fields, default, context.zone, case_sensitive=context.case_sensitive)
    if dry_run:
        chosen = PartitionFilter(fields, predicate=dropped)
        return removed_rows("drop_partition", target.store, target.latest_snapshot(), chosen)
    target.truncate(CommitInfo(user=target.new_commit_user()), dropped)
    return [(True,)]


def _folders(table: Table, spec: dict[str, str], zone: tzinfo | None) -> dict[str, str]:
    """Return values in the spelling of folder names. A text that is not a value of its column's type is taken for such
    a spelling.
    """
    fields, spelled = table.schema.field_by_name, dict[str, str]()
    for name, text in spec.items():
        try:
            value = partition_value(fields[name], text, zone)
        except ValueError:
            spelled[name] = text
        else:
            spelled[name] = folder_text(fields[name], value, legacy=table.store.options[PARTITION_LEGACY_NAME])
    return spelled


def _spec(parts: Sequence[str], keys: tuple[str, ...], *, case_sensitive: bool) -> dict[str, str]:
    known, text = {key: key for key in keys}, ",".join(parts)
    pairs = (part.partition("=") for part in parts)
    found = {column_named(k.strip(), known, case_sensitive=case_sensitive): unquoted(v.strip()) for k, _, v in pairs}
    if None in found:
        raise InvalidOptionError(
            f"partitions has {text.strip()!r}: write column=value; the partition columns are {', '.join(keys)}."
        )
    given = [k for k in keys if k in found]
    if tuple(given) != keys[: len(given)] or not all(found.values()):
        raise InvalidOptionError(f"partitions has {text.strip()!r}: give values for {', '.join(keys)}, in this order.")
    return {k: found[k] for k in given}
