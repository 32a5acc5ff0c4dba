"""Spark's `TableChange`s as changes of a Paimon schema."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from paimon_core.errors import InvalidOptionError, InvalidSchemaError, UnsupportedFeatureError
from paimon_core.spec.casts import can_cast
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.kinds import TEXTS
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import DataType
from paimon_core.store.ddl.constraints import refuse_constraint_option
from paimon_core.store.ddl.generated_columns import refuse_generated_option
from paimon_core.store.ddl.nested_columns import ColumnPosition, Path
from paimon_core.store.ddl.schema_changes import (
    AddColumn,
    DropColumn,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetOption,
    UpdateColumnComment,
    UpdateColumnDefault,
    UpdateColumnNullability,
    UpdateColumnPosition,
    UpdateColumnType,
    UpdateComment,
)
from paimon_sql.spark.jvm.scans.pushdown import ChangeKind, change_kind, column_before
from paimon_sql.spark.tables.clustering import Spelling, clustering_changes
from paimon_sql.spark.types import from_spark

_COMMENT, _LOCATION = "comment", "location"
_STARTS = "__START_AT"  # a column of tables with the older rows of each key, which AUTO CDC of type 2 writes


def schema_changes(
    identifier: Identifier, changes: Iterable[Any], is_pipeline: Callable[[], bool], spelled: Spelling
) -> list[SchemaChange]:
    """Translate all changes of one statement, each as `schema_change` does. A pipeline may drop and add columns at
    once, as it replaces the rows, too. `spelled` returns a column in the table's spelling.
    """
    translated = [made for c in changes for made in _translated(c, spelled)]
    if {AddColumn, DropColumn} <= {type(c) for c in translated} and not is_pipeline():
        raise UnsupportedFeatureError(
            f"ALTER TABLE … REPLACE COLUMNS is not supported, as it would empty the columns of {identifier}: use "
            "RENAME COLUMN, ALTER COLUMN … TYPE, DROP COLUMN and ADD COLUMN."
        )
    return translated


def _translated(change: Any, spelled: Spelling) -> list[SchemaChange]:
    is_clustering = change_kind(change) == ChangeKind.CLUSTER_BY
    return clustering_changes(change, spelled) if is_clustering else [schema_change(change)]


def check_history(
    identifier: Identifier, columns: Collection[str], key: Collection[str], is_pipeline: Callable[[], bool]
) -> None:
    """Raise `UnsupportedFeatureError` for a pipeline's table with the older rows of each key, which a primary key would
    replace.
    """
    if key and _STARTS in columns and _STARTS not in key and is_pipeline():
        raise UnsupportedFeatureError(
            f"Table {identifier} cannot keep the older rows of AUTO CDC with stored_as_scd_type=2: its primary key "
            f"({', '.join(key)}) keeps only one row of each key. Create the table without a primary key, or use type 1."
        )


def loosens_key(schema: TableSchema, change: SchemaChange) -> bool:
    """Return whether a change would let a column of the primary key be NULL."""
    if not isinstance(change, UpdateColumnNullability) or not change.nullable:
        return False
    return change.path[0] in schema.primary_keys and len(change.path) == 1


def with_new_columns(schema: TableSchema, changes: Sequence[SchemaChange]) -> list[SchemaChange]:
    """Return the changes of a table that gets all of its rows anew: a view of a pipeline, or a table without rows. If
    old values cannot be converted to a new type, the column is replaced by a new column at the same position, in which
    old values are NULL. Changes of key columns are not replaced, and are then refused.
    """
    dropped = {change.path[0] for change in changes if isinstance(change, DropColumn)}
    return [made for change in changes for made in _with_new_column(schema, change, dropped)]


def _with_new_column(schema: TableSchema, change: SchemaChange, dropped: Iterable[str]) -> list[SchemaChange]:
    if not isinstance(change, UpdateColumnType) or len(change.path) > 1:
        return [change]
    (name,) = change.path
    field = schema.field_by_name.get(name)
    if field is None or name in schema.primary_keys + schema.partition_keys or _converts(field.type, change.type):
        return [change]
    names = [f.name for f in schema.fields]
    before = next((n for n in reversed(names[: names.index(name)]) if n not in dropped), None)
    position = ColumnPosition("first") if before is None else ColumnPosition("after", before)
    new = change.type.with_nullable(True)
    return [DropColumn(change.path), AddColumn(change.path, new, field.description, position)]


def _converts(old: DataType, new: DataType) -> bool:
    """Return whether each value of a type converts to another; texts may not parse."""
    return can_cast(old, new) and (old.kind not in TEXTS or new.kind in TEXTS)


def schema_change(change: Any) -> SchemaChange:
    """Translate a Java `TableChange`. Raises `UnsupportedFeatureError` with the name of an unsupported change."""
    kind = change_kind(change)
    translate = _TRANSLATIONS.get(kind) if isinstance(kind, ChangeKind) else None
    if translate is None:
        raise UnsupportedFeatureError(
            f"ALTER TABLE with {kind} is not supported: Paimon tables cannot be changed in this way."
        )
    return translate(change)


def _set_property(change: Any) -> SchemaChange:
    key, value = str(change.property()), str(change.value())
    refuse_constraint_option([key])
    refuse_generated_option([key])
    if key == _COMMENT:
        return UpdateComment(value)
    if key == _LOCATION:
        raise InvalidOptionError("The location of a table cannot be changed: rename the table, or create another one.")
    return SetOption(key, value)


def _remove_property(change: Any) -> SchemaChange:
    key = str(change.property())
    refuse_constraint_option([key])
    return UpdateComment(None) if key == _COMMENT else RemoveOption(key)


def _add_column(change: Any) -> SchemaChange:
    path = _path(change)
    if change.defaultValue() is not None:
        raise InvalidSchemaError(
            f"Column '{'.'.join(path)}' cannot be added with a default value: add it, then give it one by "
            "ALTER TABLE … ALTER COLUMN … SET DEFAULT."
        )
    data_type = from_spark(change.dataType().json(), *path).with_nullable(change.isNullable())
    position = change.position()
    return AddColumn(path, data_type, change.comment(), None if position is None else _position(position))


def _position(position: Any) -> ColumnPosition:
    column = column_before(position)
    return ColumnPosition("first") if column is None else ColumnPosition("after", column)


def _path(change: Any) -> Path:
    return tuple(str(name) for name in change.fieldNames())


_TRANSLATIONS: dict[ChangeKind, Callable[[Any], SchemaChange]] = {
    ChangeKind.SET_PROPERTY: _set_property,
    ChangeKind.REMOVE_PROPERTY: _remove_property,
    ChangeKind.ADD_COLUMN: _add_column,
    ChangeKind.RENAME_COLUMN: lambda c: RenameColumn(_path(c), str(c.newName())),
    ChangeKind.DELETE_COLUMN: lambda c: DropColumn(_path(c)),
    ChangeKind.UPDATE_COLUMN_TYPE: lambda c: UpdateColumnType(_path(c), from_spark(c.newDataType().json(), *_path(c))),
    ChangeKind.UPDATE_COLUMN_NULLABILITY: lambda c: UpdateColumnNullability(_path(c), bool(c.nullable())),
    ChangeKind.UPDATE_COLUMN_COMMENT: lambda c: UpdateColumnComment(_path(c), c.newComment()),
    ChangeKind.UPDATE_COLUMN_POSITION: lambda c: UpdateColumnPosition(_path(c), _position(c.position())),
    ChangeKind.UPDATE_COLUMN_DEFAULT: lambda c: UpdateColumnDefault(_path(c), c.newDefaultValue() or None),
}
