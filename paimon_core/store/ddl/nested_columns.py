"""Columns by path: `("v", "element", "f")` is the field `f` of the rows in the array `v`.

The steps below a column are names of fields of a ROW, `element` of an ARRAY or MULTISET, `key` and `value` of a MAP.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidSchemaError
from paimon_core.spec.types import CollectionType, DataField, DataType, MapType, RowType, VectorType

Fields = tuple[DataField, ...]
Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ColumnPosition:
    """The position of a column among its siblings: before or after the column `reference`, or first or last."""

    side: Literal["first", "last", "before", "after"]
    reference: str | None = None


def edit_siblings(fields: Fields, path: Path, edit: Callable[[Fields], Fields]) -> Fields:
    """Apply `edit` to the list of fields that contains the last step of a path, or would contain it. Return all
    columns.

    Raises `InvalidSchemaError` if the earlier steps do not exist.
    """
    if len(path) == 1:
        return edit(fields)
    at = index_of(fields, path[0])
    return _with(fields, at, replace(fields[at], type=_edit_below(fields[at], path[1:], edit)))


def edit_field(fields: Fields, path: Path, edit: Callable[[DataField], DataField]) -> Fields:
    """Change one field of the columns. Raises `InvalidSchemaError` if it does not exist."""

    def change(siblings: Fields) -> Fields:
        at = index_of(siblings, path[-1])
        return _with(siblings, at, edit(siblings[at]))

    return edit_siblings(fields, path, change)


def find_field(fields: Fields, path: Path) -> DataField | None:
    """Return the field at a path, or None if it does not exist."""
    for step in path[:-1]:
        found = next((f for f in fields if f.name == step), None)
        fields = () if found is None else children(found.type)
    return next((f for f in fields if f.name == path[-1]), None)


def insert_at(siblings: Fields, field: DataField, position: ColumnPosition) -> Fields:
    """Add a field to the list. Raises `InvalidSchemaError` if the list does not contain the position's reference."""
    if position.side in ("first", "last"):
        at = 0 if position.side == "first" else len(siblings)
    else:
        at = index_of(siblings, position.reference or "") + (position.side == "after")
    return (*siblings[:at], field, *siblings[at:])


def without_field(siblings: Fields, name: str) -> tuple[DataField, Fields]:
    """Return a field, and the list without it. Raises `InvalidSchemaError`."""
    at = index_of(siblings, name)
    return siblings[at], siblings[:at] + siblings[at + 1 :]


def index_of(siblings: Fields, name: str) -> int:
    """Return the index of a field. Raises `InvalidSchemaError`, which lists the columns."""
    for i, field in enumerate(siblings):
        if field.name == name:
            return i
    known = ", ".join(f.name for f in siblings)
    raise InvalidSchemaError(f"There is no column {name!r}; the columns are {known}.")


def _edit_below(field: DataField, path: Path, edit: Callable[[Fields], Fields]) -> DataType:
    if isinstance(field.type, VectorType):
        raise InvalidSchemaError(
            f"Column {field.name!r} cannot become a VECTOR of other elements: its files contain {field.type.sql()} "
            "values. Add another column, and copy the values."
        )
    parts = children(field.type)
    if not parts:
        raise InvalidSchemaError(f"Column {field.name!r} of type {field.type.sql()} has no field {path[0]!r}.")
    changed = edit_siblings(parts, path, edit)
    names = [f.name for f in changed]
    match field.type:
        case RowType():
            return replace(field.type, fields=changed)
        case MapType() if names == ["key", "value"] and changed[0] == parts[0]:
            return replace(field.type, value=changed[1].type)
        case CollectionType() if names == ["element"]:
            return replace(field.type, element=changed[0].type)
    raise InvalidSchemaError(
        f"Column {field.name!r} is of type {field.type.sql()}: only the types of array elements and map values "
        "can be changed."
    )


def children(data_type: DataType) -> Fields:
    """Return the parts of a type as fields. Elements have the names that paths use for them."""
    match data_type:
        case RowType(fields=fields):
            return fields
        case MapType(key=key, value=value):
            return DataField(id=-1, name="key", type=key), DataField(id=-1, name="value", type=value)
        case CollectionType(element=element):
            return (DataField(id=-1, name="element", type=element),)
    return ()


def _with(fields: Fields, at: int, field: DataField) -> Fields:
    return (*fields[:at], field, *fields[at + 1 :])
