"""The rules for options that cannot change after a table's creation, neither by ALTER TABLE nor for one use."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_core.errors import InvalidOptionError
from paimon_core.options import (
    BUCKET,
    DELETION_VECTORS,
    DELETION_VECTORS_MODIFIABLE,
    RECORD_TIME_FIELD,
    ROW_KIND_FIELD,
    Change,
    TableOptions,
    names,
)
from paimon_core.options.support import change_of
from paimon_core.spec.schema import TableSchema
from paimon_core.store.ddl.column_lists import COLUMN_LISTS
from paimon_core.store.ddl.constraints import check_constraint_set

KEY_OPTIONS = (
    "primary-key",
    "partition",
)  # users may write keys as options, but a schema does not store them as options
# options with the names of columns as the value; a BLOB column cannot be renamed
_OF_COLUMNS = (
    *(name for name in COLUMN_LISTS if not name.startswith("blob-")),
    RECORD_TIME_FIELD.key,
    ROW_KIND_FIELD.key,
)


def check_option_set(schema: TableSchema, key: str, value: str, *, has_snapshots: bool = True) -> None:
    """Raise `InvalidOptionError` if the value of the option cannot be changed."""
    if schema.options.get(key) == value or _says_what_is(schema, key, value):
        return
    check_constraint_set(schema.options, key)
    if _is_fixed(key, has_snapshots):
        raise InvalidOptionError(f"Option {key!r} cannot be changed after the table was created: create another table.")
    if not has_snapshots:
        return
    if key == BUCKET.key:
        old, new = TableOptions(schema.options)[BUCKET], TableOptions({key: value})[BUCKET]
        if -1 in (old, new):
            raise InvalidOptionError(f"Option 'bucket' cannot change from '{old}' to '{new}': create another table.")
    switches = _is_true(schema, key) != (value.strip().lower() == "true")
    if key == DELETION_VECTORS.key and switches and not _is_true(schema, DELETION_VECTORS_MODIFIABLE.key):
        raise InvalidOptionError(
            f"Option {key!r} cannot be changed: existing rows might appear twice. Compact the table in full, then set "
            f"'{DELETION_VECTORS_MODIFIABLE.key}' = 'true' to allow it."
        )
    if change_of(key) is Change.ONE_WAY and _is_true(schema, key) and value.strip().lower() == "false":
        raise InvalidOptionError(
            f"Option {key!r} cannot be disabled again: the table lacks the rows that writers ignored meanwhile. "
            "Create another table."
        )


def check_option_removed(schema: TableSchema, key: str, *, has_snapshots: bool = True) -> None:
    """Raise `InvalidOptionError` if the option cannot be removed."""
    if _is_fixed(key, has_snapshots) or (has_snapshots and key == BUCKET.key):
        is_key = dict(zip(KEY_OPTIONS, (schema.primary_keys, schema.partition_keys), strict=True)).get(key)
        if key in schema.options or is_key:
            raise InvalidOptionError(
                f"Option {key!r} cannot be removed after the table was created: create another table."
            )
    if key == DELETION_VECTORS.key and key in schema.options:
        check_option_set(schema, key, "false", has_snapshots=has_snapshots)


def _is_fixed(key: str, has_snapshots: bool) -> bool:
    change = change_of(key)
    return change is Change.NEVER or (has_snapshots and change is Change.EMPTY)


def rename_in_options(options: Mapping[str, str], old: str, new: str) -> dict[str, str]:
    """Rename a column in all options that name columns."""
    return dict(_renamed(key, value, old, new) for key, value in options.items())


def _renamed(key: str, value: str, old: str, new: str) -> tuple[str, str]:
    if key in _OF_COLUMNS:
        return key, _in_list(value, old, new)
    if not key.startswith("fields."):
        return key, value
    columns, dot, setting = key[len("fields.") :].partition(".")
    if dot and setting in ("sequence-group", "nested-key"):
        value = _in_list(value, old, new)
    return (f"fields.{_in_list(columns, old, new)}.{setting}" if dot else key), value


def _in_list(text: str, old: str, new: str) -> str:
    return ",".join(new if name.strip() == old else name for name in text.split(","))


def _is_true(schema: TableSchema, key: str) -> bool:
    return schema.options.get(key, "false").strip().lower() == "true"


def _says_what_is(schema: TableSchema, key: str, value: str) -> bool:
    """Return whether the option only repeats the present keys or the present type of the table."""
    if key == "type":
        return value.strip().lower() == schema.options.get(key, "table").strip().lower()
    keys = dict(zip(KEY_OPTIONS, (schema.primary_keys, schema.partition_keys), strict=True))
    return key in keys and names(value) == keys[key]
