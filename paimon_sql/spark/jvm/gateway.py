"""The way into the JVM: the only module that names Spark's internal classes through py4j.

A `Jvm` is one gateway. Classes are addressed by name without round trips; values cross as Java collections.
What is used here is internal to Spark and pinned by `pyspark>=4.3,<4.4`; `tests/spark/test_hooks.py` tries each alone.
"""

from __future__ import annotations

import pickle
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Any

import pyarrow as pa
from py4j.java_collections import JavaArray
from py4j.java_gateway import JavaClass, JavaObject
from pyspark import SparkContext
from pyspark.core.rdd import _prepare_for_python_RDD
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, DataType, StructType

SQL = "org.apache.spark.sql"
CATALOG = f"{SQL}.connector.catalog"
READ = f"{SQL}.connector.read"
PYTHON_SOURCE = f"{SQL}.execution.datasources.v2.python"
_FILES = f"{SQL}.execution.datasources"
_PYTHON_UTILS = "org.apache.spark.api.python.PythonUtils"
_HADOOP_STRINGS = "org.apache.hadoop.util.StringUtils"
_NUL = "\0"  # in no path
_NUMBERS = {pa.timestamp("us").id: pa.int64(), pa.date32().id: pa.int32()}  # as Spark's rows hold them
_PICKLED_ROWS = 1_000
_KEPT = 256  # values kept per kind: Spark asks for the same ones in every statement, and never changes them
_KEPT_STATISTICS = 16  # asked for several times in a statement, and others after the next commit


class Jvm:
    """One Spark driver's JVM."""

    def __init__(self, context: SparkContext) -> None:
        self.context = context
        self.gateway = context._gateway
        ensure_callback_server_started(self.gateway)
        # without this a Java exception raised by a proxy reaches Spark as text
        self.gateway.callback_server_parameters.propagate_java_exceptions = True
        server = JavaObject("GATEWAY_SERVER", self.gateway._gateway_client)
        self.compiled("CallbackConnections").install(server.getGateway())
        self._constants: dict[tuple[str, str], Any] = {}
        self._type_of_json = lru_cache(_KEPT)(lambda json: self.java_class(f"{SQL}.types.DataType").fromJson(json))
        self._columns_of_json = lru_cache(_KEPT)(self._make_columns)
        self._array_of = lru_cache(_KEPT)(self._make_array)
        self._set_of = lru_cache(_KEPT)(self.string_set)
        self._constants_of = lru_cache(_KEPT)(self._make_constants)
        self._statistics_of = lru_cache(_KEPT_STATISTICS)(self._make_statistics)

    def java_class(self, name: str) -> Any:
        """A Java class by its full name (`$` before nested ones): call it to construct, or use its static members."""
        return JavaClass(name, self.gateway._gateway_client)

    def scala_object(self, name: str) -> Any:
        """A Scala singleton by its full name, without the trailing `$`."""
        return self.constant(name + "$", "MODULE$")

    def constant(self, class_name: str, name: str) -> Any:
        """A static member of a Java class, a value or a method, asked for once."""
        key = class_name, name
        if key not in self._constants:
            self._constants[key] = getattr(self.java_class(class_name), name)
        return self._constants[key]

    def constants(self, class_name: str, *names: str) -> JavaObject:
        """A set of static members of a Java class."""
        return self._constants_of(class_name, names)

    def is_within(self, names: Sequence[str]) -> bool:
        """Whether one of these methods or classes of Spark is among the callers of what we answer. It costs a look at
        the stack: for answers that are errors otherwise."""
        trace = self.java_class("java.lang.Thread").currentThread().getStackTrace()
        shown = str(self.java_class("scala.runtime.ScalaRunTime").stringOf(trace))
        return any(name in shown for name in names)

    def compiled(self, name: str) -> JavaObject:
        """An object of a class in `java/`, compiled once by Janino, with which Spark compiles the code it generates."""
        return _compiled(self.gateway, name)

    def with_cached_answers(self, value: Any) -> Any:
        """A Python proxy behind an object that caches its answers to the methods in `CACHED`; others as they are."""
        names = getattr(type(value), "CACHED", ())  # of its class: a Java object has members of every name
        return self.compiled("CachedAnswers").before(value, self._set_of(names)) if names else value

    def array(self, class_name: str, items: Iterable[Any]) -> JavaArray:
        values = tuple(items)
        return self._make_array(class_name, values) if values else self.cached_array(class_name, ())

    def cached_array(self, class_name: str, items: Iterable[Hashable]) -> JavaArray:
        """An array that is made once for equal items."""
        return self._array_of(class_name, tuple(items))

    def strings(self, items: Iterable[str]) -> JavaArray:
        return self.cached_array("java.lang.String", items)

    def string_set(self, items: Iterable[str]) -> JavaObject:
        out = self.java_class("java.util.HashSet")()
        for item in items:
            out.add(item)
        return out

    def map(self, items: Mapping[str, Any]) -> JavaObject:
        out = self.java_class("java.util.HashMap")()
        for key, value in items.items():
            out.put(key, value)
        return out

    def seq(self, items: Iterable[Any]) -> JavaObject:
        """A Scala Seq."""
        values = list(items)
        return self._to_seq(values) if values else self._empty_seq

    def paths(self, paths: Iterable[str]) -> JavaObject:
        """A Scala Seq of Hadoop paths, in a few crossings however many there are."""
        joined = _NUL.join(paths)
        if not joined:
            return self._empty_seq
        strings = self.constant(_HADOOP_STRINGS, "getStrings")(joined, _NUL)
        found = self.constant(_HADOOP_STRINGS, "stringToPath")(strings)
        return self.scala_object("scala.collection.immutable.ArraySeq").unsafeWrapArray(found)

    @cached_property
    def _to_seq(self) -> Any:
        return self.constant(_PYTHON_UTILS, "toSeq")

    @cached_property
    def _empty_seq(self) -> JavaObject:
        return self._to_seq([])

    @cached_property
    def empty_map(self) -> JavaObject:
        """A Scala Map without entries."""
        return self.scala_map({})

    @cached_property
    def none(self) -> JavaObject:
        return self.java_class("scala.Option").empty()

    @cached_property
    def opens_unicode_names(self) -> bool:
        """Whether this JVM opens files whose names are not ASCII: in the locale C it does not."""
        return str(self.java_class("java.lang.System").getProperty("sun.jnu.encoding")).upper() == "UTF-8"

    def weak_reference(self, value: JavaObject) -> JavaObject:
        """A reference, whose `get` gives the object, that does not keep it alive."""
        return self.java_class("java.lang.ref.WeakReference")(value)

    def some(self, value: Any) -> JavaObject:
        return self.java_class("scala.Some")(value)

    def struct_type(self, schema: StructType) -> JavaObject:
        return self._type_of_json(schema.json())

    def data_type(self, data_type: DataType) -> JavaObject:
        return self._type_of_json(data_type.json())

    def columns(self, schema: StructType) -> JavaArray:
        """Connector columns of a schema."""
        return self._columns_of_json(schema.json())

    def fork_workers_from(self, module: str) -> None:
        """Have this machine's Python workers forked from a module's process, unless the user has set one."""
        self.context_settings.setIfMissing("spark.python.daemon.module", module)

    @property
    def context_settings(self) -> JavaObject:
        """The settings of the context, those in force: `getConf` gives copies."""
        return self.context._jsc.sc().conf()

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

    def items_of_product(self, product: JavaObject) -> list[Any]:
        """The members of a Scala tuple or case class."""
        return [product.productElement(i) for i in range(product.productArity())]

    def frame(self, session: JavaObject, plan: JavaObject) -> JavaObject:
        """The DataFrame of a logical plan; a command runs at once."""
        return self.java_class(f"{SQL}.classic.Dataset").ofRows(session, plan)

    def column(self, expression: JavaObject) -> JavaObject:
        """The Column of a Catalyst expression."""
        return self.java_class(f"{SQL}.classic.ExpressionUtils").column(expression)

    def expression(self, column: JavaObject) -> JavaObject:
        """The Catalyst expression of a Column."""
        return self.java_class(f"{SQL}.classic.ExpressionUtils").expression(column)

    def literal(self, value: str | bytes | None, data_type: DataType) -> JavaObject:
        """The Catalyst expression of a value."""
        return self.scala_object(f"{SQL}.catalyst.expressions.Literal").create(value, self.data_type(data_type))

    def cast(self, column: JavaObject, data_type: DataType, *, ansi: bool) -> JavaObject:
        """A Column cast to a type. PySpark's own `cast` puts a place in our sources into Spark's messages."""
        cast = self.scala_object(f"{SQL}.catalyst.expressions.Cast")
        return self.column(cast.apply(self.expression(column), self.data_type(data_type), ansi))

    def append(self, table: Any, query: JavaObject) -> JavaObject:
        """The command that appends a query's rows to a connector table, by position."""
        relation = self.java_class(f"{SQL}.execution.datasources.v2.DataSourceV2Relation")
        target = relation.create(table, self.none, self.none)
        append = self.java_class(f"{SQL}.catalyst.plans.logical.AppendData")
        return append.byPosition(target, query, self.empty_map, False)

    def create_namespace(self, catalog: Any, name: str) -> JavaObject:
        """The command that creates a namespace."""
        namespace = self.java_class(f"{SQL}.catalyst.analysis.ResolvedNamespace")
        command = self.java_class(f"{SQL}.catalyst.plans.logical.CreateNamespace")
        return command(namespace(catalog, self.seq([name]), self.empty_map), False, self.empty_map)

    def resolved_procedure(self, procedure: Any, name: str) -> JavaObject:
        """What CALL calls: a procedure in a catalog, which are one object."""
        resolved = self.java_class(f"{SQL}.catalyst.analysis.ResolvedProcedure")
        return resolved(procedure, self.identifier([], name), procedure)

    def parquet_scan_builder(
        self, session: JavaObject, paths: Iterable[str], schema: StructType, settings: Mapping[str, str]
    ) -> JavaObject:
        """Spark's own scan of Parquet files, with Hadoop settings for it alone. It lists them when it is made: the
        paths of files that are not there are passed over."""
        index = self.java_class(f"{_FILES}.InMemoryFileIndex")(
            session, self.paths(paths), self.empty_map, self.none, self._no_status_cache, self._no_partitions, self.none
        )
        make = self.java_class(f"{_FILES}.v2.parquet.ParquetScanBuilder")
        columns = self.struct_type(schema.toNullable())
        # names of files are names, no patterns
        given = self.map({"__globPaths__": "false", **settings})
        options = self.java_class(f"{SQL}.util.CaseInsensitiveStringMap")(given)
        return make(session, index, columns, columns, options)

    def add_last_optimization(self, session: JavaObject, rule: JavaObject) -> None:
        """Put an optimizer's rule behind those of a running session, once."""
        methods = session.experimental()
        rules = self.items(methods.extraOptimizations())
        if rule.ruleName() not in [r.ruleName() for r in rules]:
            getattr(methods, "extraOptimizations_$eq")(self.seq([*rules, rule]))

    def add_strategy(self, session: JavaObject, strategy: JavaObject) -> None:
        """Put a planner's strategy before those of a running session, once; its name is its text."""
        methods = session.experimental()
        strategies = self.items(methods.extraStrategies())
        if str(strategy.toString()) not in [str(s.toString()) for s in strategies]:
            getattr(methods, "extraStrategies_$eq")(self.seq([*strategies, strategy]))

    def file_tasks(self, session: JavaObject, index: JavaObject) -> int:
        """About how many tasks read the files of an index: Spark divides large ones, and packs small ones."""
        listed = index.listFiles(self._empty_seq, self._empty_seq)
        most = int(self.scala_object(f"{_FILES}.FilePartition").maxSplitBytes(session, listed))
        opening = len(index.inputFiles()) * int(session.sessionState().conf().filesOpenCostInBytes())
        return -(-(int(index.sizeInBytes()) + opening) // most)

    @cached_property
    def _no_status_cache(self) -> JavaObject:
        return self.scala_object(f"{_FILES}.NoopCache")

    @cached_property
    def _no_partitions(self) -> JavaObject:
        """Columns are never taken from paths."""
        return self.some(self.scala_object(f"{_FILES}.PartitionSpec").emptySpec())

    def column_statistics(self, frame: JavaObject, names: Iterable[str]) -> tuple[int, dict[str, dict[str, str]]]:
        """The rows of a Java DataFrame, and of columns what Spark's statistics say, as the texts it stores."""
        plan, wanted = frame.queryExecution().analyzed(), set(names)
        attributes = self.seq([a for a in self.items(plan.output()) if a.name() in wanted])
        compute = self.scala_object(f"{SQL}.execution.command.CommandUtils").computeColumnStats
        rows, columns = self.items_of_product(compute(frame.sparkSession(), plan, attributes))
        found: dict[str, dict[str, str]] = {}
        for attribute in self.items(attributes):
            name = str(attribute.name())
            kept = columns.apply(attribute).toCatalogColumnStat(name, attribute.dataType()).toMap(name)
            as_java = self.java_class("scala.jdk.javaapi.CollectionConverters").asJava(kept)
            found[name] = {k.removeprefix(f"{name}."): v for k, v in python_map(as_java).items()}
        return int(rows), found

    def statistics(
        self, size: int, rows: int, columns: Mapping[str, Mapping[str, str]], schema: StructType
    ) -> JavaObject:
        """A connector's `Statistics`: bytes, rows, and of columns what `column_statistics` gives."""
        texts = tuple((name, tuple(known.items())) for name, known in columns.items())
        return self._statistics_of(size, rows, texts, schema.json())

    def scala_map(self, items: Mapping[str, Any]) -> JavaObject:
        """An immutable Scala map."""
        return self.constant(_PYTHON_UTILS, "toScalaMap")(self.map(items))

    def rows(self, session: JavaObject, table: pa.Table, schema: StructType) -> JavaArray:
        """Arrow rows as an array of Spark's internal rows, in one crossing."""
        if table.num_rows == 0:
            return self.array(f"{SQL}.catalyst.InternalRow", [])
        typed = table.cast(to_arrow_schema(schema, timezone="UTC"))
        is_small = table.num_rows <= _PICKLED_ROWS and all(map(_is_plain, typed.schema.types))
        return self._pickled_rows(typed, schema) if is_small else self._planned_rows(session, typed, schema)

    def _pickled_rows(self, table: pa.Table, schema: StructType) -> JavaArray:
        """Few rows, a value each: Spark makes no plan for them, which would take a query of metadata 10 ms."""
        columns = [c.cast(_NUMBERS[c.type.id]) if c.type.id in _NUMBERS else c for c in table.columns]
        pickled = pickle.dumps(list(zip(*(c.to_pylist() for c in columns), strict=True)), protocol=2)
        values = self.java_class("net.razorvine.pickle.Unpickler")().loads(bytearray(pickled))
        convert = self.scala_object(f"{SQL}.execution.python.EvaluatePython").makeFromJava
        rows = convert(self.data_type(ArrayType(schema))).apply(values)
        return rows.toArray(self.struct_type(schema), self._row_tag)

    def _planned_rows(self, session: JavaObject, table: pa.Table, schema: StructType) -> JavaArray:
        batches = self.java_class("java.util.ArrayList")()
        for batch in table.combine_chunks().to_batches():
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
                self.java_class("java.lang.reflect.Array").set(out, i, self.with_cached_answers(item))
            else:
                out[i] = item
        return out

    def _make_statistics(
        self, size: int, rows: int, columns: tuple[tuple[str, tuple[tuple[str, str], ...]], ...], schema_json: str
    ) -> JavaObject:
        # Scala's BigInt does not cross to Python: numbers travel as texts, and in collections
        numbers = ((("distinctCount", str(size)),), (("distinctCount", str(rows)),))
        every = (*zip(("", " "), numbers, strict=True), *columns)
        texts = self.scala_map({f"{n}.{k}": v for n, known in every for k, v in (*known, ("version", "2"))})
        read = self.java_class(f"{SQL}.catalyst.catalog.CatalogColumnStat").fromMap
        found = {name: read("", name, texts).get() for name, _ in every}
        members = self.java_class("java.util.ArrayList")()
        as_java = self.java_class("scala.jdk.javaapi.CollectionConverters").asJava
        members.addAll(as_java(found.pop("").distinctCount().toList()))
        members.add(found.pop(" ").distinctCount())
        members.add(self.scala_map(found))
        statistics = self.java_class("java.lang.Class").forName(f"{SQL}.catalyst.catalog.CatalogStatistics")
        made = statistics.getConstructors()[0].newInstance(members.toArray())
        relation = self.java_class(f"{SQL}.execution.datasources.v2.DataSourceV2Relation")
        return relation.v1StatsToV2Stats(made, self._type_of_json(schema_json))

    def _make_constants(self, class_name: str, names: tuple[str, ...]) -> JavaObject:
        out = self.java_class("java.util.HashSet")()
        for name in names:
            out.add(self.constant(class_name, name))
        return out

    def _make_columns(self, schema_json: str) -> JavaArray:
        to_columns = self.java_class(f"{CATALOG}.CatalogV2Util").structTypeToV2Columns
        return to_columns(self._type_of_json(schema_json), False)


@lru_cache(_KEPT)
def _compiled(gateway: Any, name: str) -> JavaObject:
    """See `Jvm.compiled`: once per gateway, as py4j knows methods by the name of their class."""

    def java_class(full: str) -> Any:
        return JavaClass(full, gateway._gateway_client)

    compiler = java_class("org.codehaus.janino.SimpleCompiler")()
    compiler.setParentClassLoader(java_class("org.apache.spark.util.Utils").getContextOrSparkClassLoader())
    compiler.cook(files(__package__).joinpath("java", f"{name}.java").read_text("utf-8"))
    nothing = gateway.new_array(java_class("java.lang.Class"), 0)
    made = compiler.getClassLoader().loadClass(name).getDeclaredConstructor(nothing)
    return made.newInstance(gateway.new_array(java_class("java.lang.Object"), 0))


def _is_plain(arrow_type: pa.DataType) -> bool:
    """Whether values cross pickled as Spark takes them."""
    types = pa.types
    is_number = types.is_integer(arrow_type) or types.is_floating(arrow_type) or types.is_boolean(arrow_type)
    return is_number or types.is_string(arrow_type) or arrow_type.id in _NUMBERS


def class_name(value: JavaObject) -> str:
    """The name of a Java object's class, without its package."""
    return str(value.getClass().getSimpleName())


def option_map(options: Any) -> dict[str, str]:
    """The options of a statement, a `CaseInsensitiveStringMap`, names as typed. Most statements have none."""
    return {} if options.isEmpty() else python_map(options.asCaseSensitiveMap())


def python_map(java_map: Any) -> dict[str, str]:
    """A Java map of strings. Through an array: the end of a Java iterator is an exception, which costs 70 ms."""
    return {str(e.getKey()): str(e.getValue()) for e in java_map.entrySet().toArray()}


def scala_map_of(jvm: Jvm, scala_map: Any) -> dict[str, str | None]:
    """A Scala map of strings, some of them null."""
    entries = jvm.items(scala_map.toSeq())
    return {str(e._1()): None if e._2() is None else str(e._2()) for e in entries}


def python_options(scala_map: Any) -> dict[str, str | None]:
    """A Scala map to Options of strings."""
    pairs = scala_map.toSeq()
    entries = ((e._1(), e._2()) for e in (pairs.apply(i) for i in range(pairs.size())))
    return {str(k): str(v.get()) if v.isDefined() else None for k, v in entries}


def with_elements(jvm: Jvm, plan: JavaObject, **elements: Any) -> JavaObject:
    """A copy of a logical plan, some of its constructor's arguments, by name, replaced."""
    names = [str(plan.productElementName(i)) for i in range(plan.productArity())]
    arguments = [elements[name] if name in elements else plan.productElement(i) for i, name in enumerate(names)]
    return plan.makeCopy(jvm.array("java.lang.Object", arguments))
