"""Arrow rows as arrays of Spark's internal rows."""

from __future__ import annotations

import pickle
from functools import lru_cache

import pyarrow as pa
from py4j.java_collections import JavaArray
from py4j.java_gateway import JavaObject
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import ArrayType, StructType

from paimon_sql.spark.jvm import classes, connector
from paimon_sql.spark.jvm.arrow_schemas import arrow_schema
from paimon_sql.spark.jvm.gateway import Jvm, simple_name
from paimon_sql.spark.jvm.hooks import hook, method

_NUMBERS = {pa.timestamp("us").id: pa.int64(), pa.date32().id: pa.int32()}  # in the units of Spark's rows
_PICKLED_ROWS = 1_000


def internal_rows(jvm: Jvm, session: JavaObject, table: pa.Table, schema: StructType) -> JavaArray:
    """Arrow rows as an array of Spark's internal rows, in one crossing."""
    if table.num_rows == 0:
        return connector.internal_rows(jvm, [])
    typed = table.cast(arrow_schema(schema))
    is_small = table.num_rows <= _PICKLED_ROWS and all(map(_is_plain, typed.schema.types))
    return _pickled_rows(jvm, typed, schema) if is_small else _planned_rows(jvm, session, typed, schema)


@hook(
    "`EvaluatePython.makeFromJava`, Spark's unpickler",
    "small answers of system tables, counts and procedures",
    method(classes.EVALUATE_PYTHON, "makeFromJava", 1),
    method(classes.UNPICKLER, "loads", 1),
)
def _pickled_rows(jvm: Jvm, table: pa.Table, schema: StructType) -> JavaArray:
    """Send a few rows, each value pickled. Spark then makes no plan for them, which would add 10 ms to a query of
    metadata.
    """
    columns = [c.cast(_NUMBERS[c.type.id]) if c.type.id in _NUMBERS else c for c in table.columns]
    pickled = pickle.dumps(list(zip(*(c.to_pylist() for c in columns), strict=True)), protocol=2)
    values = jvm.java_class(classes.UNPICKLER)().loads(bytearray(pickled))
    convert = jvm.scala_object(classes.EVALUATE_PYTHON).makeFromJava
    rows = convert(jvm.data_type(ArrayType(schema))).apply(values)
    return rows.toArray(jvm.struct_type(schema), _row_tag(jvm))


@hook(
    "`PythonSQLUtils.toDataFrame`, `LocalRelation.data`, `executeCollect`",
    "large or nested rows of the driver",
    method(classes.PYTHON_SQL_UTILS, "toDataFrame", 3),
    method(classes.LOCAL_RELATION, "data", 0),
)
def _planned_rows(jvm: Jvm, session: JavaObject, table: pa.Table, schema: StructType) -> JavaArray:
    execution = _execution(jvm, session, table, schema)
    plan = execution.logical()
    if simple_name(plan) != "LocalRelation":  # Spark would run a job for many rows
        return execution.executedPlan().executeCollect()
    return plan.data().toArray(_row_tag(jvm))


def rows_relation(jvm: Jvm, session: JavaObject, table: pa.Table) -> JavaObject:
    """Return rows of the driver as the plan of a query."""
    return _execution(jvm, session, table, from_arrow_schema(table.schema)).logical()


def _execution(jvm: Jvm, session: JavaObject, table: pa.Table, schema: StructType) -> JavaObject:
    batches = jvm.array_list(batch.serialize().to_pybytes() for batch in table.combine_chunks().to_batches())
    as_scala = jvm.java_class(classes.COLLECTION_CONVERTERS).asScala(batches.iterator())
    return jvm.java_class(classes.PYTHON_SQL_UTILS).toDataFrame(as_scala, schema.json(), session).queryExecution()


@lru_cache(1)
def _row_tag(jvm: Jvm) -> JavaObject:
    row = jvm.java_class(classes.SPARK_UTILS).classForName(classes.INTERNAL_ROW, True, False)
    return jvm.scala_object(classes.CLASS_TAG).apply(row)


def _is_plain(arrow_type: pa.DataType) -> bool:
    """Return whether values cross pickled in a form that Spark accepts."""
    types = pa.types
    is_number = types.is_integer(arrow_type) or types.is_floating(arrow_type) or types.is_boolean(arrow_type)
    return is_number or types.is_string(arrow_type) or arrow_type.id in _NUMBERS
