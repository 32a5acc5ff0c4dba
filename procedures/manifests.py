"""`CALL sys.compact_manifest`."""

from __future__ import annotations

from paimon_core.commit.commit import compact_manifests
from paimon_core.commit.draft import CommitInfo
from paimon_core.options import (
    MANIFEST_SORT_ENABLED,
    MANIFEST_SORT_FIELD,
    MANIFEST_SORT_SIZE,
)
from paimon_sql.procedures.arguments import table_options
from paimon_sql.procedures.registry import ProcedureContext, Rows, procedure


@procedure(result="boolean")
def compact_manifest(
    context: ProcedureContext,
    table: str,
    options: str | None = None,
    dry_run: bool = False,
    manifest_sort_enabled: bool | None = None,
    manifest_sort_partition_field: str | None = None,
    manifest_sort_max_rewrite_size: str | None = None,
) -> Rows:
    """Rewrite the table's manifests into few, without entries of deleted files. With `dry_run` nothing changes.

    `manifest_sort_enabled`, `…_partition_field` and `…_max_rewrite_size` are the options `manifest-sort.…`: rewritten
    entries are sorted by a partition column. The result is true.
    """
    sort = {
        MANIFEST_SORT_ENABLED.key: None if manifest_sort_enabled is None else str(manifest_sort_enabled).lower(),
        MANIFEST_SORT_FIELD.key: manifest_sort_partition_field,
        MANIFEST_SORT_SIZE.key: manifest_sort_max_rewrite_size,
    }
    given = table_options(options or "") | {key: value for key, value in sort.items() if value is not None}
    target = context.load_table(table).with_options(given)
    target.check_writable()
    if not dry_run:
        compact_manifests(target.store, CommitInfo(user=target.new_commit_user()), target.publisher)
    return [(True,)]
