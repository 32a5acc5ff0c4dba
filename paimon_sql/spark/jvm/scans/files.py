"""Spark's own scans of files, listings of folders by Hadoop's file systems, and scans in two parts: Spark reads files
that need no merge, Python workers read the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from py4j.java_gateway import JavaObject
from pyspark.sql.types import StructType

from paimon_core.dataclass import dataclass
from paimon_sql.spark.jvm import classes, connector
from paimon_sql.spark.jvm.gateway import Jvm, simple_name
from paimon_sql.spark.jvm.hooks import constructor, hook, java_type, method
from paimon_sql.spark.jvm.sessions import add_last_optimization, add_strategy, settings_of

_DIVIDED = ("ParquetFileFormat", "OrcFileFormat")  # files that Spark may divide into tasks as it likes


@hook(
    "`ParquetScanBuilder`, `InMemoryFileIndex`",
    "scans without a merge, which read Parquet in the JVM",
    constructor(classes.PARQUET_SCAN_BUILDER, 5),
    constructor(classes.IN_MEMORY_FILE_INDEX, 7),
    method(classes.PARTITION_SPEC, "emptySpec", 0),
)
def parquet_scan_builder(
    jvm: Jvm,
    session: JavaObject,
    paths: Iterable[str],
    schema: StructType,
    settings: Mapping[str, str],
    sizes: Sequence[int] | None = None,
) -> JavaObject:
    """Return Spark's own scan of Parquet files, with Hadoop settings for this scan only.

    Without `sizes`, Spark lists the files when the scan is made, and skips missing files. With the sizes of the files,
    it sends no request.
    """
    columns = jvm.struct_type(schema.toNullable())
    # take the names of files literally, not as patterns
    options = connector.string_map(jvm, {"__globPaths__": "false", **settings})
    index = file_index(jvm, session, paths) if sizes is None else _known_index(jvm, session, paths, sizes, settings)
    return jvm.java_class(classes.PARQUET_SCAN_BUILDER)(session, index, columns, columns, options)


def file_index(jvm: Jvm, session: JavaObject, paths: Iterable[str]) -> JavaObject:
    """Spark's listing of files and folders."""
    return jvm.java_class(classes.IN_MEMORY_FILE_INDEX)(
        session, jvm.paths(paths), jvm.empty_map, jvm.none, *_nothing_known(jvm), jvm.none
    )


@hook(
    "`FileStatusCache`",
    "scans without a merge on object stores, which read Parquet in the JVM",
    method(classes.FILE_STATUS_CACHE, "getLeafFiles", 1),
    constructor(classes.IN_MEMORY_FILE_INDEX, 7),
)
def _known_index(
    jvm: Jvm, session: JavaObject, paths: Iterable[str], sizes: Iterable[int], settings: Mapping[str, str]
) -> JavaObject:
    """Spark's index of files with these sizes."""
    found, (_, no_columns) = jvm.paths(paths), _nothing_known(jvm)
    known = jvm.compiled("KnownFiles").of(found, ",".join(map(str, sizes)))
    return jvm.java_class(classes.IN_MEMORY_FILE_INDEX)(
        session, found, jvm.scala_map(settings), jvm.none, known, no_columns, jvm.none
    )


def has_s3a(jvm: Jvm) -> bool:
    """Return whether Hadoop's connector for S3 is on the class path, with Amazon's library that it uses."""
    return all(jvm.has(java_type(name)) for name in classes.S3A_CONNECTOR)


@lru_cache(1)
def _nothing_known(jvm: Jvm) -> tuple[JavaObject, JavaObject]:
    """Return an empty cache of listings, and no partition columns: partition values are never taken from paths."""
    return jvm.scala_object(classes.NOOP_CACHE), jvm.some(jvm.scala_object(classes.PARTITION_SPEC).emptySpec())


@dataclass(frozen=True, slots=True)
class FileRelation:
    """Files that Spark reads itself: the approximate number of tasks that read them, and the most tasks of
    a shuffle.
    """

    tasks: int
    most_tasks: int


@hook(
    "`HadoopFsRelation`, `FilePartition.maxSplitBytes`",
    "loads of large files are shuffled although they need not be",
    method(classes.HADOOP_RELATION, "location", 0),
    method(classes.HADOOP_RELATION, "fileFormat", 0),
    method(classes.FILE_PARTITION, "maxSplitBytes", 2),
)
def file_relation(jvm: Jvm, relation: JavaObject) -> FileRelation | None:
    """Return a relation of files if Spark itself decides how to divide them into tasks; None for any other relation."""
    if simple_name(relation) != "HadoopFsRelation" or simple_name(relation.location()) != "InMemoryFileIndex":
        return None
    if simple_name(relation.fileFormat()) not in _DIVIDED:
        return None
    session, index = relation.sparkSession(), relation.location()
    settings = settings_of(session)
    listed = index.listFiles(jvm.empty_seq, jvm.empty_seq)
    most = int(jvm.scala_object(classes.FILE_PARTITION).maxSplitBytes(session, listed))
    opening = len(index.inputFiles()) * int(settings.filesOpenCostInBytes())
    tasks = -(-(int(index.sizeInBytes()) + opening) // most)  # Spark divides large files, and packs small ones
    return FileRelation(tasks, int(settings.numShufflePartitions()))


def hadoop_settings(session: JavaObject, names: Iterable[str]) -> dict[str, str | None]:
    """Return Hadoop's settings of a session, None for a setting that is missing."""
    found = session.sessionState().newHadoopConf()
    return {name: found.get(name) for name in names}


def hadoop_status(jvm: Jvm, session: JavaObject, path: str) -> Any | None:
    """Return the statuses of a folder's entries in Hadoop's file system; None if the path does not exist."""
    hadoop = jvm.java_class(classes.HADOOP_PATH)(path)
    storage = hadoop.getFileSystem(session.sessionState().newHadoopConf())
    return storage.listStatus(hadoop) if storage.exists(hadoop) else None


@hook(
    "`DataSourceV2ScanRelation`, `UnionExec`",
    "workers read all files of a scan if some files need a merge",
    method(classes.SCAN_RELATION, "keyGroupedPartitioning", 0),
    constructor(classes.UNION_EXEC, 1),
    method(classes.TREE_NODE, "makeCopy", 1),
)
def install_divided_scans(jvm: Jvm, session: JavaObject) -> None:
    """Add the strategy, and the rule that it needs, to a running session."""
    divided = jvm.compiled("DividedScans")
    add_strategy(jvm, session, divided.strategy())
    add_last_optimization(jvm, session, divided.rule())
