"""CREATE, REPLACE, DELETE and RENAME TAG of a table."""

from __future__ import annotations

from paimon_core.maintenance.tags import create_tag, delete_tags, rename_tag, replace_tag, taggable_snapshot
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import read_tag, require_tag
from paimon_sql.preprocess.statements import CreateTag, DeleteTags, RenameTag
from paimon_sql.procedures.arguments import time_to_live


def change_tags(store: TableStore, statement: CreateTag | DeleteTags | RenameTag) -> None:
    """Do what the statement says. Raises `PaimonError` for a tag that is missing, or exists."""
    match statement:
        case CreateTag():
            _create(store, statement)
        case DeleteTags():
            _delete(store, statement)
        case RenameTag():
            rename_tag(store, statement.tag, statement.target)


def _create(store: TableStore, statement: CreateTag) -> None:
    tag = statement.tag
    exists = read_tag(store, tag) is not None
    if exists and statement.if_not_exists:
        return
    if statement.must_exist:
        require_tag(store, tag)
    act = replace_tag if exists and statement.replaces else create_tag
    act(store, tag, taggable_snapshot(store, statement.snapshot), time_to_live("time_retained", statement.retained))


def _delete(store: TableStore, statement: DeleteTags) -> None:
    """One tag, or several with commas between their names: all or none."""
    names = [statement.tags] if read_tag(store, statement.tags) else [n.strip() for n in statement.tags.split(",")]
    if not statement.if_exists:
        for name in names:
            require_tag(store, name)
    delete_tags(store, names)
