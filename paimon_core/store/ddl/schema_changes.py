"""Changes of a table's schema, and the resulting next version: pure functions.

A change names a column by its path, see `nested_columns`. A column always keeps its field id, and the id is never used
again: old files are read by field ids. Source: Paimon's pages "Altering Tables" and "Schema".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidSchemaError, UnsupportedFeatureError
from paimon_core.options import ADD_BEFORE_PARTITION, NO_EXPLICIT_CAST, NO_NULL_TO_NOT_NULL, TableOptions
from paimon_core.spec.casts import can_cast
from paimon_core.spec.schema import TableSchema, highest_field_id
from paimon_core.spec.types import DataField, DataType
from paimon_core.store.ddl.blob_schema import check_not_renamed, with_directive, without_blob
from paimon_core.store.ddl.constraints import check_not_constrained
from paimon_core.store.ddl.generated_columns import (
    check_not_generated,
    check_not_made,
    without_generated,
)
from paimon_core.store.ddl.key_index_rules import check_not_indexed
from paimon_core.store.ddl.nested_columns import (
    ColumnPosition,
    Fields,
    Path,
    edit_field,
    edit_siblings,
    insert_at,
    without_field,
)
from paimon_core.store.ddl.new_schema import check_schema, numbered
from paimon_core.store.ddl.option_changes import KEY_OPTIONS, check_option_removed, check_option_set, rename_in_options
from paimon_core.store.ddl.vector_schema import renamed_vector, with_vector_directive, without_vector
from paimon_core.store.features import check_definable


@dataclass(frozen=True, slots=True)
class SetOption:
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class RemoveOption:
    key: str


@dataclass(frozen=True, slots=True)
class UpdateComment:
    """Sets the comment of the table. None removes it."""

    comment: str | None


@dataclass(frozen=True, slots=True)
class AddColumn:
    path: Path
    type: DataType
    comment: str | None = None
    position: ColumnPosition | None = None


@dataclass(frozen=True, slots=True)
class RenameColumn:
    path: Path
    new_name: str


@dataclass(frozen=True, slots=True)
class DropColumn:
    path: Path


@dataclass(frozen=True, slots=True)
class UpdateColumnType:
    """Sets the type of a column, which keeps its nullability."""

    path: Path
    type: DataType


@dataclass(frozen=True, slots=True)
class UpdateColumnNullability:
    path: Path
    nullable: bool


@dataclass(frozen=True, slots=True)
class UpdateColumnComment:
    """Sets the comment of a column. None removes it."""

    path: Path
    comment: str | None


@dataclass(frozen=True, slots=True)
class UpdateColumnPosition:
    path: Path
    position: ColumnPosition


@dataclass(frozen=True, slots=True)
class UpdateColumnDefault:
    """Sets the default value of a column, as SQL text of a constant. None removes it."""

    path: Path
    default: str | None


_ColumnChange = (
    AddColumn
    | RenameColumn
    | DropColumn
    | UpdateColumnType
    | UpdateColumnNullability
    | UpdateColumnComment
    | UpdateColumnPosition
    | UpdateColumnDefault
)
SchemaChange = SetOption | RemoveOption | UpdateComment | _ColumnChange


def keep_columns(changes: Iterable[SchemaChange]) -> bool:
    """Return whether changes concern only options and the comment of a table."""
    return all(isinstance(c, SetOption | RemoveOption | UpdateComment) for c in changes)


def apply_changes(
    schema: TableSchema, changes: Sequence[SchemaChange], time_millis: int, *, has_snapshots: bool = True
) -> TableSchema:
    """Return the next version of a schema, or the same object if nothing changes.

    A table without snapshots may also change options that are fixed once it has rows. Raises `InvalidOptionError`,
    `InvalidSchemaError`, `UnsupportedFeatureError`.
    """
    changed = schema
    for change in changes:
        changed = _apply(schema, changed, change, has_snapshots)
    if changed == schema:
        return schema
    changed = replace(changed, id=schema.id + 1, time_millis=time_millis)
    if schema.fields and not changed.fields:
        raise InvalidSchemaError("All columns cannot be dropped: a table keeps at least one.")
    check_schema(changed, schema)
    given = {key: value for key, value in changed.options.items() if schema.options.get(key) != value}
    check_definable(given, keyed=bool(changed.primary_keys))
    return changed


def _apply(first: TableSchema, schema: TableSchema, change: SchemaChange, has_snapshots: bool) -> TableSchema:
    match change:
        case SetOption(key, value):
            check_option_set(first, key, value, has_snapshots=has_snapshots)
            kept = key in KEY_OPTIONS
            return schema if kept else replace(schema, options={**schema.options, key: value})
        case RemoveOption(key):
            check_option_removed(first, key, has_snapshots=has_snapshots)
            return replace(schema, options={k: v for k, v in schema.options.items() if k != key})
        case UpdateComment(text):
            return replace(schema, comment=text)
        case AddColumn():
            return _add(schema, change)
        case RenameColumn():
            return _rename(schema, change)
        case UpdateColumnPosition(path, position):
            return replace(schema, fields=edit_siblings(schema.fields, path, lambda s: _moved(s, path[-1], position)))
        case DropColumn(path):
            _check_not_key(schema, path, "dropped", schema.partition_keys + schema.primary_keys)
            check_not_constrained(schema, path[0], "dropped")
            check_not_generated(schema, path[0], "dropped")
            fields = edit_siblings(schema.fields, path, lambda s: _without(s, path))
            options = schema.options
            if len(path) == 1:
                options = without_vector(path[0], without_blob(path[0], options))
                options = without_generated(path[0], options)
            return replace(schema, fields=fields, options=options)
        case _:
            return replace(schema, fields=edit_field(schema.fields, change.path, lambda f: _edited(schema, f, change)))


def _add(schema: TableSchema, change: AddColumn) -> TableSchema:
    name = change.path[-1]
    if not change.type.nullable:
        raise InvalidSchemaError(
            f"Column {_dotted(change.path)} cannot be added as NOT NULL: existing rows have NULL in it. Add "
            "it without NOT NULL."
        )
    first_id = max(schema.highest_field_id, highest_field_id(schema.fields)) + 1
    draft = DataField(id=first_id, name=name, type=change.type, description=change.comment)
    field, options = numbered(draft, count(first_id)), dict(schema.options)
    if len(change.path) == 1:
        field, options = with_vector_directive(*with_directive(field, options))
    position = change.position or _default_position(schema, change.path)

    def insert(siblings: Fields) -> Fields:
        _check_new(siblings, name, change.path)
        return insert_at(siblings, field, position)

    fields = edit_siblings(schema.fields, change.path, insert)
    return replace(schema, fields=fields, highest_field_id=highest_field_id((field,)), options=options)


def _default_position(schema: TableSchema, path: Path) -> ColumnPosition:
    if len(path) == 1 and schema.partition_keys and TableOptions(schema.options)[ADD_BEFORE_PARTITION]:
        return ColumnPosition("before", next(f.name for f in schema.fields if f.name in schema.partition_keys))
    return ColumnPosition("last")


def _rename(schema: TableSchema, change: RenameColumn) -> TableSchema:
    _check_not_key(schema, change.path, "renamed", schema.partition_keys)
    check_not_constrained(schema, change.path[0], "renamed")
    check_not_generated(schema, change.path[0], "renamed")
    check_not_made(schema, change.path[0], "renamed")
    old, new = change.path[-1], change.new_name

    def rename(siblings: Fields) -> Fields:
        field, others = without_field(siblings, old)
        check_not_renamed(field)
        _check_new(others, new, (*change.path[:-1], new))
        return tuple(replace(f, name=new) if f is field else f for f in siblings)

    fields = edit_siblings(schema.fields, change.path, rename)
    if len(change.path) > 1:
        return replace(schema, fields=fields)
    return replace(
        schema,
        fields=fields,
        primary_keys=tuple(new if k == old else k for k in schema.primary_keys),
        options=renamed_vector(rename_in_options(schema.options, old, new), old, new),
    )


def _moved(siblings: Fields, name: str, position: ColumnPosition) -> Fields:
    field, others = without_field(siblings, name)
    if position.reference == name:
        raise InvalidSchemaError(f"Column {name!r} cannot be moved {position.side} itself. Name another column.")
    if position.side == "first" and field is siblings[0]:
        raise InvalidSchemaError(f"Column {name!r} cannot be moved to the front: it is the first column.")
    return insert_at(others, field, position)


def _without(siblings: Fields, path: Path) -> Fields:
    _, others = without_field(siblings, path[-1])
    # A table may be without columns for a moment: REPLACE COLUMNS adds its new columns later.
    if not others and len(path) > 1:
        raise InvalidSchemaError(
            f"Column {_dotted(path)} cannot be dropped: it is the only field of its struct. Drop the struct."
        )
    return others


def _edited(schema: TableSchema, field: DataField, change: _ColumnChange) -> DataField:
    match change:
        case UpdateColumnType(path, new):
            _check_not_key(schema, path, "given another type", schema.partition_keys + schema.primary_keys)
            check_not_generated(schema, path[0], "given another type")
            check_not_made(schema, path[0], "given another type")
            _check_type(schema, field, path, new)
            return replace(field, type=new.with_nullable(field.type.nullable))
        case UpdateColumnNullability(path, nullable):
            _check_nullability(schema, field, path, nullable)
            return replace(field, type=field.type.with_nullable(nullable))
        case UpdateColumnComment(_, comment):
            return replace(field, description=comment)
        case UpdateColumnDefault(path, default):
            check_not_made(schema, path[0], "given a default")
            return replace(field, default=default)
    raise UnsupportedFeatureError(f"Column {field.name!r} does not support the change {change}.")


def _check_type(schema: TableSchema, field: DataField, path: Path, new: DataType) -> None:
    explicit = not TableOptions(schema.options)[NO_EXPLICIT_CAST]
    if can_cast(field.type, new, explicit=explicit):
        return
    why = "" if explicit or not can_cast(field.type, new) else f" while '{NO_EXPLICIT_CAST.key}' = 'true'"
    raise InvalidSchemaError(
        f"Column {_dotted(path)} of type {field.type.sql()} cannot become {new.sql()}{why}: values would not convert. "
        "Add another column of that type."
    )


def _check_nullability(schema: TableSchema, field: DataField, path: Path, nullable: bool) -> None:
    if nullable:
        _check_not_key(schema, path, "made nullable", schema.primary_keys)
    elif field.type.nullable and TableOptions(schema.options)[NO_NULL_TO_NOT_NULL]:
        raise InvalidSchemaError(
            f"Column {_dotted(path)} cannot become NOT NULL: existing rows may have NULL in it. To change it all the "
            f"same, set '{NO_NULL_TO_NOT_NULL.key}' = 'false'."
        )


def _check_not_key(schema: TableSchema, path: Path, verb: str, keys: Sequence[str]) -> None:
    if len(path) > 1:
        return
    check_not_indexed(schema, path[0], verb)
    if path[0] in keys:
        kind = "partition key" if path[0] in schema.partition_keys else "primary key"
        raise InvalidSchemaError(f"Column {path[0]!r} cannot be {verb}: it is in the {kind}.")


def _check_new(siblings: Fields, name: str, path: Path) -> None:
    if name in (f.name for f in siblings):
        raise InvalidSchemaError(f"Column {_dotted(path)} already exists. Choose another name.")


def _dotted(path: Path) -> str:
    return repr(".".join(path))
