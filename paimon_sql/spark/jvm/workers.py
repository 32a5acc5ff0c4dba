"""Spark's objects for Python functions that run on executors: sources, partitions, factories, jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from py4j.java_collections import JavaArray
from py4j.java_gateway import JavaObject
from pyspark import RDD
from pyspark.core.rdd import _prepare_for_python_RDD
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.hooks import constructor, hook, method, python


@hook(
    "`SimplePythonFunction`, PySpark's `_prepare_for_python_RDD`",
    "every task of this package",
    constructor(classes.PYTHON_FUNCTION, 7),
    python("pyspark.core.rdd", "_prepare_for_python_RDD"),
)
def python_function(jvm: Jvm, function: Any, environment: Mapping[str, str] | None = None) -> JavaObject:
    """Return a function in the form that executors run, with the interpreter, the files and the environment of the
    context. `environment` adds variables.
    """
    context = jvm.context
    command, broadcasts, env, includes = _prepare_for_python_RDD(context, function)
    env = {**env, **(environment or {})}
    make = jvm.java_class(classes.PYTHON_FUNCTION)
    python, version, accumulator = context.pythonExec, context.pythonVer, context._javaAccumulator
    return make(bytearray(command), env, includes, python, version, broadcasts, accumulator)


@hook(
    "`UserDefinedPythonDataSource`",
    "every scan and write in Python workers",
    constructor(classes.PYTHON_DATA_SOURCE, 1),
)
def python_source(jvm: Jvm) -> JavaObject:
    """Return a data source that runs functions for scans and writes. The factories bring the functions."""
    return jvm.java_class(classes.PYTHON_DATA_SOURCE)(python_function(jvm, int))


def task_command(function: Any, result: StructType) -> bytearray:
    """Return a function with the schema of its results, pickled as factories take it."""
    return bytearray(CloudPickleSerializer().dumps((function, result)))


@hook(
    "`PythonPartitionReaderFactory`",
    "scans in Python workers",
    constructor(classes.PYTHON_READER_FACTORY, 3, fits=True),
)
def reader_factory(jvm: Jvm, function: Any, schema: StructType) -> JavaObject:
    """Return a factory of partition readers. `function` returns the rows."""
    make = jvm.java_class(classes.PYTHON_READER_FACTORY)
    given = python_source(jvm), task_command(function, schema), jvm.struct_type(schema)
    return make(*jvm.fitted(classes.PYTHON_READER_FACTORY, "", *given))


@hook("`PythonBatchWriterFactory`", "every write", constructor(classes.PYTHON_WRITER_FACTORY, 3, fits=True))
def writer_factory(jvm: Jvm, function: Any, result: StructType, rows: JavaObject) -> JavaObject:
    """Return a factory of task writers. They pass rows of the Java schema `rows` to `function`, which returns a result
    of the schema `result`.
    """
    make = jvm.java_class(classes.PYTHON_WRITER_FACTORY)
    given = python_source(jvm), task_command(function, result), rows
    return make(*jvm.fitted(classes.PYTHON_WRITER_FACTORY, "", *given))


def message_bytes(message: JavaObject) -> bytes:
    """Return the bytes that a task of a `writer_factory` has sent as its result."""
    return bytes(message.pickledMessage())


@hook("`PythonInputPartition`", "scans in Python workers", constructor(classes.PYTHON_INPUT_PARTITION, 2))
def partitions(jvm: Jvm, splits: Sequence[bytes], buckets: Sequence[int] | None = None) -> JavaArray:
    """Return partitions that carry splits to Python workers. With `buckets`, Spark groups them by bucket."""
    contents = [bytearray(split) for split in splits]
    if buckets is None:
        make = jvm.java_class(classes.PYTHON_INPUT_PARTITION)
        return jvm.array(classes.INPUT_PARTITION, [make(i, content) for i, content in enumerate(contents)])
    of_split = jvm.compiled("BucketPartitions").ofSplit
    found = [of_split(i, content, b) for i, (content, b) in enumerate(zip(contents, buckets, strict=True))]
    return jvm.array(classes.INPUT_PARTITION, found)


@hook(
    "`FilePartition`, `HasPartitionKey` of partitions that are subclasses",
    "joins of equal buckets without a shuffle",
    constructor(classes.FILE_PARTITION, 2),
)
def file_batch(
    jvm: Jvm, batch: JavaObject, bucket_of_file: Mapping[str, int] | None, in_turn: Sequence[str] | None = None
) -> JavaObject:
    """Return the batch of a scan of files, which is planned once. With `bucket_of_file`, Spark groups its partitions by
    bucket. With `in_turn`, each bucket is one partition, which reads the bucket's files in the given order.
    """
    buckets = None if bucket_of_file is None else jvm.map(bucket_of_file)
    turns = None if in_turn is None else jvm.map({name: i for i, name in enumerate(in_turn)})
    return jvm.compiled("BucketPartitions").kept(batch, buckets, turns)


def bucket_function(jvm: Jvm, columns: JavaObject) -> JavaObject:
    """Return the function `bucket`, bound to the types of its arguments, the columns of a Java schema."""
    return jvm.compiled("BucketPartitions").bucket(columns)


@hook(
    "PySpark's `PythonRDD` and the parts of a `PipelinedRDD`",
    "jobs of procedures and compactions on executors",
    constructor(classes.PYTHON_RDD, 4),
    python("pyspark.core.rdd", "PipelinedRDD"),
)
def run_tasks(
    jvm: Jvm, function: Callable[[str], str], items: Sequence[str], environment: Mapping[str, str]
) -> list[str]:
    """Run a task for each item and return the results in order. Workers get `environment` in addition to the context's
    own.
    """
    source = jvm.context.parallelize(items, len(items))
    mapped = source.map(function)
    command = mapped.func, None, mapped._prev_jrdd_deserializer, mapped._jrdd_deserializer
    task = python_function(jvm, command, environment)
    rdd = jvm.java_class(classes.PYTHON_RDD)(source._jrdd.rdd(), task, False, False)
    return list(RDD(rdd.asJavaRDD(), jvm.context, mapped._jrdd_deserializer).collect())


@hook(
    "`SparkStatusTracker.getJobIdsForTag`",
    "the progress of sort compaction and of the search for orphans",
    method(classes.STATUS_TRACKER, "getJobIdsForTag", 1),
)
def jobs_with_tag(jvm: Jvm, tag: str) -> list[int]:
    """Return the numbers of the jobs with a tag."""
    return list(jvm.context._jsc.sc().statusTracker().getJobIdsForTag(tag))


@hook(
    "`Dataset.mapInArrow`, the UDF type of PySpark's `mapInArrow`",
    "sort compaction, the search for orphans",
    method(classes.DATASET, "mapInArrow", 3),
    python("pyspark.util", "PythonEvalType.SQL_MAP_ARROW_ITER_UDF"),
)
def map_batches(frame: DataFrame, function: Any, schema: StructType | str) -> DataFrame:
    """Return `frame.mapInArrow(function, schema)`, but without pandas, which PySpark requires but does not use here."""
    mapped = UserDefinedFunction(
        function, returnType=schema, name="map_batches", evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF
    )
    column = mapped(*(frame[quoted_name(name)] for name in frame.columns))
    return DataFrame(frame._jdf.mapInArrow(column._jc, False, None), frame.sparkSession)
