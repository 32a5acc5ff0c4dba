"""The search for orphans with Spark. The files found and the files needed are rows of DataFrames, and the driver gets
only their number and size.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from paimon_core.dataclass import dataclass
from paimon_core.maintenance.orphans.job import FOLDER, SOURCE, OrphanSearch
from paimon_sql.spark.errors.java import of_worker
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.workers import map_batches
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.workers.stage_phase import spark_phase
from paimon_sql.spark.workers.worker import delete_function, found_function, needed_function

_SHUFFLE = "spark.sql.shuffle.partitions"
_FOUND, _NEEDED = "path string, size long", "chain long, name string, weight long"


@dataclass(frozen=True, slots=True)
class FoundFrame:
    """Orphans as a DataFrame that is computed once. If a worker with rows of it is lost, the DataFrame fails."""

    jvm: Jvm
    search: OrphanSearch
    files: DataFrame
    count: int
    size: int

    def delete(self) -> None:
        """Delete the orphans, see `Found.delete`."""
        try:
            with spark_phase(self.jvm, f"delete {self.count} orphans of {self.search.store.name}"):
                map_batches(self.files, delete_function(self.search), "deleted long").agg(F.sum("deleted")).collect()
        except CapturedException as error:
            raise of_worker(error) from error


def find_orphans(session: SessionBridge, search: OrphanSearch, parallelism: int | None) -> FoundFrame:
    """Return the files that a search finds and that no version needs."""
    spark = session.python_session
    tasks = parallelism or max(spark.sparkContext.defaultParallelism, int(session.setting(_SHUFFLE)))
    needed = map_batches(_texts(spark, map(SOURCE.encode, search.sources()), tasks), needed_function(search), _NEEDED)
    weighed = needed.groupBy("chain", "name").agg(F.sum("weight").alias("weight")).where("weight > 0")
    found = map_batches(_texts(spark, map(FOLDER.encode, search.folders()), tasks), found_function(search), _FOUND)
    named = found.withColumn("name", F.substring_index("path", "/", -1))
    files = named.join(weighed.select("name"), "name", "left_anti").select("path", "size").localCheckpoint()
    count, size = files.agg(F.count("path"), F.coalesce(F.sum("size"), F.lit(0))).collect()[0]
    return FoundFrame(session.jvm, search, files, count, size)


def _texts(spark: SparkSession, texts: Iterable[str], tasks: int) -> DataFrame:
    rows = [(t,) for t in texts]
    return spark.createDataFrame(rows, "text string").repartition(min(tasks, max(1, len(rows))))
