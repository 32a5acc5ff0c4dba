"""DataFrames of what a function makes of Arrow batches.

PySpark's own `DataFrame.mapInArrow` wants pandas to be installed, which neither it nor its workers use.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.spark.workers.worker import BatchFunction


def map_batches(frame: DataFrame, function: BatchFunction, schema: StructType | str) -> DataFrame:
    """As `frame.mapInArrow(function, schema)`, without pandas."""
    mapped = UserDefinedFunction(
        function, returnType=schema, name="map_batches", evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF
    )
    column = mapped(*(frame[quoted_name(name)] for name in frame.columns))
    return DataFrame(frame._jdf.mapInArrow(column._jc, False, None), frame.sparkSession)
