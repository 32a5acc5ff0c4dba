"""`write.merge-schema`: INSERT BY NAME adds the columns that a table lacks.

Spark does this itself for a statement WITH SCHEMA EVOLUTION, if the table declares the changes it accepts. The option
has the same effect as these words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql.types import ArrayType, MapType, NullType, StructField, StructType

from paimon_core.store.ddl import merged_schema
from paimon_core.store.ddl.schema_changes import SchemaChange
from paimon_core.store.table_store import TableStore
from paimon_sql.spark.tables.table_changes import schema_change
from paimon_sql.spark.types import from_struct


def takes_change(store: TableStore, change: Any) -> bool:
    """Return whether a table accepts a Java `TableChange` during a write; if not, Spark casts the values instead."""
    return merged_schema.takes_change(store, schema_change(change))


def schema_changes(
    store: TableStore, source: StructType, known_as: Callable[[str], str] = str.lower
) -> list[SchemaChange]:
    """Return the changes that let a table store rows of a Spark schema by name: new columns, nested fields, wider
    types.
    """
    return merged_schema.merging_changes(store, from_struct(_typed(source)), known_as)


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
