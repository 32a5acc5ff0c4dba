"""`write.merge-schema`: the changes that let a table store rows with other columns, as Java's `SchemaMergingUtils`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from paimon_core.options import MERGE_SCHEMA, MERGE_SCHEMA_EXPLICIT_CAST, MERGE_SCHEMA_TYPE_WIDENING
from paimon_core.spec.casts import can_cast
from paimon_core.spec.types import DataField, DataType, DecimalType, LengthType, RowType, TimeType
from paimon_core.store.ddl.nested_columns import Path, children, find_field
from paimon_core.store.ddl.schema_changes import AddColumn, SchemaChange, UpdateColumnType
from paimon_core.store.table_store import TableStore


def merging_changes(
    store: TableStore, given: tuple[DataField, ...], known_as: Callable[[str], str] = str.lower
) -> list[SchemaChange]:
    """Return the changes that let a table store rows of the columns `given` by name: new columns, nested fields, wider
    types. `known_as` maps names that mean the same column to one text.
    """
    return [change for change in _changes(store.schema.fields, given, (), known_as) if takes_change(store, change)]


def takes_change(store: TableStore, wanted: SchemaChange) -> bool:
    """Return whether a table accepts a change during a write. If not, the values are cast instead."""
    if isinstance(wanted, AddColumn):
        return True
    if not isinstance(wanted, UpdateColumnType):
        return False
    if store.options[MERGE_SCHEMA] and not store.options[MERGE_SCHEMA_TYPE_WIDENING]:
        return False
    found = find_field(store.schema.fields, wanted.path)
    return found is not None and _widens(found, wanted.type, explicit=store.options[MERGE_SCHEMA_EXPLICIT_CAST])


def _changes(
    own: tuple[DataField, ...], given: tuple[DataField, ...], path: Path, known_as: Callable[[str], str]
) -> Iterator[SchemaChange]:
    by_name = {known_as(f.name): f for f in own}
    for field in given:
        known = by_name.get(known_as(field.name))
        if known is None:
            by_name[known_as(field.name)] = field  # one column, even if the rows have it twice
            yield AddColumn((*path, field.name), field.type.with_nullable(True), field.description)
        elif type(known.type) is type(field.type) and children(known.type):
            yield from _changes(children(known.type), children(field.type), (*path, known.name), known_as)
        elif known.type.with_nullable(True) != field.type.with_nullable(True):
            yield UpdateColumnType((*path, known.name), field.type.with_nullable(known.type.nullable))


def _widens(field: DataField, new: DataType, *, explicit: bool) -> bool:
    old = field.type
    if isinstance(old, RowType) or not can_cast(old, new, explicit=explicit):
        return False
    match old, new:
        case DecimalType(), DecimalType():
            return old.scale == new.scale and (explicit or old.precision < new.precision)
        case LengthType(), LengthType():
            return explicit or old.length <= new.length
        case TimeType(), TimeType():
            return explicit or old.precision <= new.precision
    return True
