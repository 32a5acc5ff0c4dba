"""The way into the JVM: the only module that names Spark's internal classes through py4j.

A `Jvm` is one gateway. Classes are addressed by name without round trips; values cross as Java collections.
What is used here is internal to Spark and pinned by `pyspark>=4.3,<4.4`; `tests/spark/test_hooks.py` tries each alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Any

import pyarrow as pa
from py4j.java_collections import JavaArray
from py4j.java_gateway import JavaClass, JavaObject
from pyspark import SparkContext
from pyspark.core.rdd import _prepare_for_python_RDD
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DataType, StructType

SQL = "org.apache.spark.sql"
CATALOG = f"{SQL}.connector.catalog"
READ = f"{SQL}.connector.read"
PYTHON_SOURCE = f"{SQL}.execution.datasources.v2.python"
_KEPT = 256  # values kept per kind: Spark asks for the same ones in every statement, and never changes them


class Jvm:
    """One Spark driver's JVM."""

    def __init__(self, context: SparkContext) -> None:
        self.context = context
        self.gateway = context._gateway
        ensure_callback_server_started(self.gateway)
        # without this a Java exception raised by a proxy reaches Spark as text
        self.gateway.callback_server_parameters.propagate_java_exceptions = True
        self._constants: dict[tuple[str, str], Any] = {}
        self._type_of_json = lru_cache(_KEPT)(lambda json: self.java_class(f"{SQL}.types.DataType").fromJson(json))
        self._columns_of_json = lru_cache(_KEPT)(self._make_columns)
        self._array_of = lru_cache(_KEPT)(self._make_array)
        self._constants_of = lru_cache(_KEPT)(self._make_constants)

    def java_class(self, name: str) -> Any:
        """A Java class by its full name (`$` before nested ones): call it to construct, or use its static members."""
        return JavaClass(name, self.gateway._gateway_client)

    def scala_object(self, name: str) -> Any:
        """A Scala singleton by its full name, without the trailing `$`."""
        return self.constant(name + "$", "MODULE$")

    def constant(self, class_name: str, name: str) -> Any:
        """A static member of a Java class, asked for once."""
        key = class_name, name
        if key not in self._constants:
            self._constants[key] = getattr(self.java_class(class_name), name)
        return self._constants[key]

    def constants(self, class_name: str, *names: str) -> JavaObject:
        """A set of static members of a Java class."""
        return self._constants_of(class_name, names)

    def array(self, class_name: str, items: Iterable[Any]) -> JavaArray:
        values = tuple(items)
        return self._make_array(class_name, values) if values else self._array_of(class_name, ())

    def strings(self, items: Iterable[str]) -> JavaArray:
        return self._array_of("java.lang.String", tuple(items))

    def map(self, items: Mapping[str, str]) -> JavaObject:
        out = self.java_class("java.util.HashMap")()
        for key, value in items.items():
            out.put(key, value)
        return out

    def seq(self, items: Iterable[Any]) -> JavaObject:
        """A Scala Seq."""
        return self.java_class("org.apache.spark.api.python.PythonUtils").toSeq(list(items))

    @cached_property
    def none(self) -> JavaObject:
        return self.java_class("scala.Option").empty()

    @cached_property
    def opens_unicode_names(self) -> bool:
        """Whether this JVM opens files whose names are not ASCII: in the locale C it does not."""
        return str(self.java_class("java.lang.System").getProperty("sun.jnu.encoding")).upper() == "UTF-8"

    def some(self, value: Any) -> JavaObject:
        return self.java_class("scala.Some")(value)

    def struct_type(self, schema: StructType) -> JavaObject:
        return self._type_of_json(schema.json())

    def data_type(self, data_type: DataType) -> JavaObject:
        return self._type_of_json(data_type.json())

    def columns(self, schema: StructType) -> JavaArray:
        """Connector columns of a schema."""
        return self._columns_of_json(schema.json())

    def python_function(self) -> JavaObject:
        """An empty Python function: says which interpreter, files and environment executors use."""
        command, broadcasts, env, includes = _prepare_for_python_RDD(self.context, int)
        make = self.java_class("org.apache.spark.api.python.SimplePythonFunction")
        python, version, accumulator = self.context.pythonExec, self.context.pythonVer, self.context._javaAccumulator
        return make(bytearray(command), env, includes, python, version, broadcasts, accumulator)

    def identifier(self, namespace: Iterable[str], name: str) -> JavaObject:
        return self.java_class(f"{CATALOG}.Identifier").of(self.strings(namespace), name)

    def option(self, value: Any | None) -> JavaObject:
        """A Scala Option."""
        return self.none if value is None else self.some(value)

    def items(self, sequence: JavaObject) -> list[Any]:
        """The members of a Scala Seq."""
        return [sequence.apply(i) for i in range(sequence.size())]

    def frame(self, session: JavaObject, plan: JavaObject) -> JavaObject:
        """The DataFrame of a logical plan; a command runs at once."""
        return self.java_class(f"{SQL}.classic.Dataset").ofRows(session, plan)

    def column(self, expression: JavaObject) -> JavaObject:
        """The Column of a Catalyst expression."""
        return self.java_class(f"{SQL}.classic.ExpressionUtils").column(expression)

    def append(self, table: Any, query: JavaObject) -> JavaObject:
        """The command that appends a query's rows to a connector table, by position."""
        relation = self.java_class(f"{SQL}.execution.datasources.v2.DataSourceV2Relation")
        target = relation.create(table, self.none, self.none)
        empty = self.java_class("org.apache.spark.api.python.PythonUtils").toScalaMap(self.map({}))
        return self.java_class(f"{SQL}.catalyst.plans.logical.AppendData").byPosition(target, query, empty, False)

    def create_namespace(self, catalog: Any, name: str) -> JavaObject:
        """The command that creates a namespace."""
        namespace = self.java_class(f"{SQL}.catalyst.analysis.ResolvedNamespace")
        command = self.java_class(f"{SQL}.catalyst.plans.logical.CreateNamespace")
        nothing = self.java_class("org.apache.spark.api.python.PythonUtils").toScalaMap(self.map({}))
        return command(namespace(catalog, self.seq([name]), nothing), False, nothing)

    def rows(self, session: JavaObject, table: pa.Table, schema: StructType) -> JavaArray:
        """Arrow rows as an array of Spark's internal rows, in one crossing."""
        if table.num_rows == 0:
            return self.array(f"{SQL}.catalyst.InternalRow", [])
        batches = self.java_class("java.util.ArrayList")()
        for batch in table.cast(to_arrow_schema(schema, timezone="UTC")).combine_chunks().to_batches():
            batches.add(batch.serialize().to_pybytes())
        as_scala = self.java_class("scala.jdk.javaapi.CollectionConverters").asScala(batches.iterator())
        frame = self.java_class(f"{SQL}.api.python.PythonSQLUtils").toDataFrame(as_scala, schema.json(), session)
        plan = frame.queryExecution().logical()
        if class_name(plan) != "LocalRelation":  # of many rows Spark makes a job
            return frame.queryExecution().executedPlan().executeCollect()
        return plan.data().toArray(self._row_tag)

    @cached_property
    def _row_tag(self) -> JavaObject:
        row = self.java_class("org.apache.spark.util.Utils").classForName(f"{SQL}.catalyst.InternalRow", True, False)
        return self.scala_object("scala.reflect.ClassTag").apply(row)

    def _make_array(self, class_name: str, items: tuple[Any, ...]) -> JavaArray:
        out = self.gateway.new_array(self.java_class(class_name), len(items))
        for i, item in enumerate(items):
            if hasattr(item, "Java"):  # py4j assigns no proxies
                self.java_class("java.lang.reflect.Array").set(out, i, item)
            else:
                out[i] = item
        return out

    def _make_constants(self, class_name: str, names: tuple[str, ...]) -> JavaObject:
        out = self.java_class("java.util.HashSet")()
        for name in names:
            out.add(self.constant(class_name, name))
        return out

    def _make_columns(self, schema_json: str) -> JavaArray:
        to_columns = self.java_class(f"{CATALOG}.CatalogV2Util").structTypeToV2Columns
        return to_columns(self._type_of_json(schema_json), False)


def class_name(value: JavaObject) -> str:
    """The name of a Java object's class, without its package."""
    return str(value.getClass().getSimpleName())


def python_map(java_map: Any) -> dict[str, str]:
    """A Java map of strings. Through an array: the end of a Java iterator is an exception, which costs 70 ms."""
    return {str(e.getKey()): str(e.getValue()) for e in java_map.entrySet().toArray()}
