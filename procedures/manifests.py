"""`CALL sys.compact_manifest`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paimon_core.commit.commit import compact_manifests
from paimon_core.commit.draft import CommitInfo
from paimon_core.commit.publish import publisher_for
from paimon_core.options import COMMIT_UNSAFE_STORAGE
from paimon_sql.procedures.arguments import table_options
from paimon_sql.procedures.registry import ProcedureContext, procedure


@procedure(result="boolean")
def compact_manifest(
    context: ProcedureContext, table: str, options: str | None = None, dry_run: bool = False
) -> Sequence[tuple[Any, ...]]:
    """Rewrite the table's manifests into few, without the files that are gone. With `dry_run` nothing changes.

    The result is true.
    """
    target = context.load_table(table).with_options(table_options(options or ""))
    target.check_writable()
    if not dry_run:
        publisher = publisher_for(target.store.io, target.lock, target.store.options[COMMIT_UNSAFE_STORAGE])
        compact_manifests(target.store, CommitInfo(user=target.new_commit_user()), publisher)
    return [(True,)]
