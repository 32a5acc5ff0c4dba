"""Column changes of ALTER TABLE … MODIFY and ADD as changes of a Paimon schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from paimon_core.arrow.evolution import spelled
from paimon_core.errors import InvalidSchemaError
from paimon_core.spec.types import CollectionType, DataType, MapType, RowType, parse_type
from paimon_core.store.ddl.nested_columns import ColumnPosition, Fields, Path, without_field
from paimon_core.store.ddl.schema_changes import (
    AddColumn,
    DropColumn,
    SchemaChange,
    UpdateColumnComment,
    UpdateColumnNullability,
    UpdateColumnPosition,
    UpdateColumnType,
)
from paimon_sql.preprocess.statements import ColumnChange


def schema_changes_of(
    changes: Sequence[ColumnChange], fields: Fields, *, case_sensitive: bool = False
) -> list[SchemaChange]:
    """Return the changes of a statement as changes of a schema with these fields. Raises `InvalidSchemaError`.

    If `case_sensitive`, `id` and `ID` are two columns.
    """
    return [made for change in changes for made in _changes(change, fields, case_sensitive)]


def _changes(change: ColumnChange, fields: Fields, exact: bool) -> Iterator[SchemaChange]:
    new = parse_type(change.type)
    position = ColumnPosition("first") if change.first else None
    if change.after is not None:
        position = ColumnPosition("after", _as_spelled(fields, change.after, exact))
    if change.adds:
        known_as = str if exact else str.lower
        if known_as(change.name) in {known_as(f.name) for f in fields}:
            raise InvalidSchemaError(f"Column {change.name!r} already exists.")
        yield AddColumn((change.name,), new, change.comment, position)
        return
    field, _ = without_field(fields, _as_spelled(fields, change.name, exact))
    path = (field.name,)
    yield from _retyped(path, field.type, new, exact)
    if change.comment is not None and change.comment != field.description:
        yield UpdateColumnComment(path, change.comment)
    if position is not None and not (position.side == "first" and fields[0] is field):
        yield UpdateColumnPosition(path, position)


def _retyped(path: Path, old: DataType, new: DataType, exact: bool) -> Iterator[SchemaChange]:
    """Yield the changes that turn one type into another: in a ROW, field by field."""
    match old, new:
        case RowType(), RowType():
            yield from _other_fields(path, old.fields, new.fields, exact)
        case CollectionType(), CollectionType() if old.kind is new.kind:
            yield from _retyped((*path, "element"), old.element, new.element, exact)
        case MapType(), MapType() if old.key.with_nullable(True).sql() == new.key.with_nullable(True).sql():
            yield from _retyped((*path, "value"), old.value, new.value, exact)
        case _ if old.with_nullable(True).sql() != new.with_nullable(True).sql():
            yield UpdateColumnType(path, new)
    if old.nullable != new.nullable:
        yield UpdateColumnNullability(path, new.nullable)


def _other_fields(path: Path, old: Fields, new: Fields, exact: bool) -> Iterator[SchemaChange]:
    before, given = [f.name for f in old], frozenset(f.name for f in new)
    wanted = [spelled(before, f.name, given, exact=exact) or f.name for f in new]
    for field, name in zip(new, wanted, strict=True):
        if name not in before:
            yield AddColumn((*path, name), field.type, field.description)
        else:
            yield from _retyped((*path, name), old[before.index(name)].type, field.type, exact)
    for name in before:
        if name not in wanted:
            yield DropColumn((*path, name))
    kept = [n for n in before if n in wanted] + [n for n in wanted if n not in before]
    if kept != wanted:
        if kept[0] != wanted[0]:
            yield UpdateColumnPosition((*path, wanted[0]), ColumnPosition("first"))
        for previous, name in pairwise(wanted):
            yield UpdateColumnPosition((*path, name), ColumnPosition("after", previous))


def _as_spelled(fields: Fields, name: str, exact: bool) -> str:
    """Return the name of a column in the table's spelling; unchanged if the table has no such column."""
    return spelled([f.name for f in fields], name, exact=exact) or name
