"""From a schema and changes to the next schema: pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from paimon_core.spec.schema import TableSchema
from paimon_core.store.new_schema import check_schema
from paimon_core.store.option_changes import KEY_OPTIONS, check_option_removed, check_option_set
from paimon_sql.catalog.base import RemoveOption, SetOption, TableChange, UpdateComment


def apply_changes(schema: TableSchema, changes: Sequence[TableChange], time_millis: int) -> TableSchema:
    """The next version; the same object where nothing changes. Raises `InvalidOptionError`, `InvalidSchemaError`."""
    options, comment = dict(schema.options), schema.comment
    for change in changes:
        match change:
            case SetOption(key, value):
                check_option_set(schema, key, value)
                if key not in KEY_OPTIONS:
                    options[key] = value
            case RemoveOption(key):
                if key in options:
                    check_option_removed(key)
                options.pop(key, None)
            case UpdateComment(text):
                comment = text
    if options == schema.options and comment == schema.comment:
        return schema
    changed = replace(schema, id=schema.id + 1, options=options, comment=comment, time_millis=time_millis)
    check_schema(changed)
    return changed
