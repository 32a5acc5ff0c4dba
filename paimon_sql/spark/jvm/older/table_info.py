"""The description of a new table that Spark gives to a catalog: from 4.1 on a `TableInfo`, before 4.1 its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from py4j.java_gateway import JavaObject
from pyspark.sql.types import StructType

from paimon_core.dataclass import dataclass
from paimon_core.store.ddl.constraints import Constraint
from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.collections import python_map
from paimon_sql.spark.jvm.connector import partitioning
from paimon_sql.spark.jvm.constraints import new_constraints
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.generated_columns import generated_expressions
from paimon_sql.spark.jvm.hooks import Variant, hook, method

_RAW = method(f"{classes.CHAR_VARCHAR_UTILS}$", "getRawSchema", 1)
_WHOLE = Variant.of("a TableInfo", method(classes.STAGING_TABLE_CATALOG, "stageCreate", 2), _RAW)
_PARTS = Variant.of(
    "its parts",
    method(classes.STAGING_TABLE_CATALOG, "stageCreate", 4),
    method(classes.CATALOG_UTIL, "v2ColumnsToStructType", 1),
    _RAW,
)


@dataclass(frozen=True, slots=True)
class NewTable:
    """The definition of a new table: columns as Spark's JSON, connector transforms, properties, constraints, and the
    expressions of generated columns by name.
    """

    schema_json: str
    partitions: Sequence[Any]
    properties: Mapping[str, str]
    constraints: tuple[Constraint, ...] = ()
    generated: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of_struct(
        cls, jvm: Jvm, schema: StructType, partitions: Sequence[str], properties: Mapping[str, str]
    ) -> NewTable:
        """Return the new table of a struct that has CHAR and VARCHAR in the metadata of its text columns, as Spark
        stores them.
        """
        columns = jvm.scala_object(classes.CHAR_VARCHAR_UTILS).getRawSchema(jvm.struct_type(schema))
        return cls(str(columns.json()), partitioning(jvm, partitions), properties)


@hook("`TableInfo`", "CREATE TABLE, and AS SELECT", _WHOLE, _PARTS)
def new_table(jvm: Jvm, definition: Sequence[JavaObject]) -> NewTable:
    """Return the new table from the arguments that Spark passes to `createTable` and similar methods after the name."""
    if jvm.variant(new_table) is _PARTS:
        columns, partitions, properties = definition
        schema = jvm.java_class(classes.CATALOG_UTIL).v2ColumnsToStructType(columns)
        made = generated_expressions(jvm, columns)
        return NewTable(str(schema.json()), list(partitions), python_map(properties), generated=made)
    (info,) = definition
    about = list(info.partitions()), python_map(info.properties()), new_constraints(jvm, info)
    return NewTable(str(info.schema().json()), *about, generated_expressions(jvm, info.columns()))
