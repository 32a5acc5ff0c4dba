"""CREATE, REPLACE, DELETE and RENAME TAG of a table."""

from __future__ import annotations

from paimon_core.maintenance.tags import rename_tag, replace_tag, taggable_snapshot
from paimon_core.store.tags import has_tag, require_tag
from paimon_core.table import Table
from paimon_sql.preprocess.statements import CreateTag, DeleteTags, RenameTag
from paimon_sql.procedures.arguments import time_to_live


def change_tags(table: Table, statement: CreateTag | DeleteTags | RenameTag) -> None:
    """Run the statement. Raises `PaimonError` for a tag that is missing, or exists already."""
    match statement:
        case CreateTag():
            _create(table, statement)
        case DeleteTags():
            _delete(table, statement)
        case RenameTag():
            rename_tag(table.store, statement.tag, statement.target)


def _create(table: Table, statement: CreateTag) -> None:
    store, tag = table.store, statement.tag
    exists = has_tag(store, tag)
    if exists and statement.if_not_exists:
        return
    if statement.must_exist:
        require_tag(store, tag)
    snapshot = taggable_snapshot(store, statement.snapshot)
    retained = time_to_live("time_retained", statement.retained)
    if exists and statement.replaces:
        replace_tag(store, tag, snapshot, retained)
    else:
        table.versions.create_tag(tag, snapshot, retained)


def _delete(table: Table, statement: DeleteTags) -> None:
    """One tag, or several with commas between their names: all or none."""
    store = table.store
    names = [statement.tags] if has_tag(store, statement.tags) else [n.strip() for n in statement.tags.split(",")]
    if not statement.if_exists:
        for name in names:
            if not has_tag(store, name):
                require_tag(store, name)  # says which tags there are
    table.versions.delete_tags(names)
