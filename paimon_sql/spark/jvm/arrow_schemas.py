"""Arrow schemas of the rows that Spark exchanges with this package. Workers on executors use this module, too."""

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
    """Return the Arrow schema of Spark's rows, with TIMESTAMP in UTC."""
    # Before 4.2 PySpark always uses UTC and has a flag for it, on by default. From 4.2 on, the zone is a parameter.
    zone = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
    return to_arrow_schema(schema, **zone)
