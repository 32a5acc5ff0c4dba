"""What ALTER TABLE … TAG becomes: called by the preprocessor's text, not shown by SHOW PROCEDURES."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paimon_core.maintenance import tags as core
from paimon_core.store.tags import read_tag, require_tag
from paimon_sql.procedures.arguments import time_to_live
from paimon_sql.procedures.registry import ProcedureContext, procedure

Rows = Sequence[tuple[Any, ...]]


@procedure()
def make_tag(
    context: ProcedureContext,
    table: str,
    tag: str,
    mode: str,
    snapshot: int | None = None,
    time_retained: str | None = None,
) -> Rows:
    """CREATE TAG, CREATE TAG IF NOT EXISTS, REPLACE TAG and CREATE OR REPLACE TAG, by `mode`."""
    store = context.load_table(table).store
    exists = read_tag(store, tag) is not None
    if exists and mode == "if_not_exists":
        return []
    replaces = mode == "replace" or (exists and mode == "create_or_replace")
    act = core.replace_tag if replaces else core.create_tag
    if replaces:
        require_tag(store, tag)
    act(store, tag, core.taggable_snapshot(store, snapshot), time_to_live("time_retained", time_retained))
    return []


@procedure()
def delete_tags(context: ProcedureContext, table: str, tags: str, if_exists: bool) -> Rows:
    """DELETE TAG: one, or several with commas between them; all or none."""
    store = context.load_table(table).store
    names = [tags] if read_tag(store, tags) else [n.strip() for n in tags.split(",")]
    if not if_exists:
        for name in names:
            require_tag(store, name)
    core.delete_tags(store, names)
    return []


@procedure()
def name_tag(context: ProcedureContext, table: str, tag: str, target_tag: str) -> Rows:
    """RENAME TAG."""
    core.rename_tag(context.load_table(table).store, tag, target_tag)
    return []
