"""The Arrow schemas of rows that Spark takes and gives; workers on executors use them, too."""

from __future__ import annotations

from inspect import signature

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from paimon_sql.spark.jvm.hooks import hook, python


@hook(
    "PySpark's `to_arrow_schema`",
    "every scan and write in Python workers",
    python("pyspark.sql.pandas.types", "to_arrow_schema"),
)
def arrow_schema(schema: StructType) -> pa.Schema:
    """The Arrow schema of Spark's rows; moments are in UTC."""
    # before 4.2 there is no zone but UTC here, and a flag for it, which is set by default
    zone = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
    return to_arrow_schema(schema, **zone)
