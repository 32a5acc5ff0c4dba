"""`write.merge-schema`: INSERT BY NAME adds the columns that a table lacks.

Spark does this itself for a statement WITH SCHEMA EVOLUTION, if the table declares the changes it accepts. The option
has the same effect as these words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql.types import ArrayType, MapType, NullType, StructField, StructType

from paimon_core.options import MERGE_SCHEMA, MERGE_SCHEMA_EXPLICIT_CAST, MERGE_SCHEMA_TYPE_WIDENING
from paimon_core.spec.casts import can_cast
from paimon_core.spec.types import DataField, DataType, DecimalType, LengthType, RowType, TimeType
from paimon_core.store.ddl.nested_columns import Path, children, find_field
from paimon_core.store.ddl.schema_changes import AddColumn, SchemaChange, UpdateColumnType
from paimon_core.store.table_store import TableStore
from paimon_sql.spark.tables.table_changes import schema_change
from paimon_sql.spark.types import from_struct


def takes_change(store: TableStore, change: Any) -> bool:
    """Return whether a table accepts a Java `TableChange` during a write; if not, Spark casts the values instead."""
    return _takes(store, schema_change(change))


def schema_changes(
    store: TableStore, source: StructType, known_as: Callable[[str], str] = str.lower
) -> list[SchemaChange]:
    """Return the changes that let a table store rows of a Spark schema by name: new columns, nested fields, wider
    types.
    """
    found = _changes(store.schema.fields, from_struct(_typed(source)), (), known_as)
    return [change for change in found if _takes(store, change)]


def _typed(data_type: Any) -> Any:
    """Return a Spark type without fields of type NULL: these need no column."""
    match data_type:
        case StructType():
            typed = [f for f in data_type.fields if not isinstance(f.dataType, NullType)]
            return StructType([StructField(f.name, _typed(f.dataType), f.nullable, f.metadata) for f in typed])
        case ArrayType():
            return ArrayType(_typed(data_type.elementType), data_type.containsNull)
        case MapType():
            return MapType(_typed(data_type.keyType), _typed(data_type.valueType), data_type.valueContainsNull)
    return data_type


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


def _takes(store: TableStore, wanted: SchemaChange) -> bool:
    if isinstance(wanted, AddColumn):
        return True
    if not isinstance(wanted, UpdateColumnType):
        return False
    if store.options[MERGE_SCHEMA] and not store.options[MERGE_SCHEMA_TYPE_WIDENING]:
        return False
    found = find_field(store.schema.fields, wanted.path)
    return found is not None and _widens(found, wanted.type, explicit=store.options[MERGE_SCHEMA_EXPLICIT_CAST])


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
