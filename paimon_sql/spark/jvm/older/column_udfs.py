"""Functions over whole columns: Arrow's, or before 4.1 Pandas', made of Arrow's on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructField, StructType

from paimon_sql.spark.jvm.arrow_schemas import arrow_schema
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.hooks import Variant, hook, python

_ARROW = Variant.of("of Arrow", python("pyspark.sql.functions", "arrow_udf"))
_PANDAS = Variant.of("of Pandas", python("pyspark.sql.functions", "pandas_udf"))


@hook("PySpark's `arrow_udf`", "functions of `sys` of columns", _ARROW, _PANDAS)
def column_udf(jvm: Jvm, function: Callable[..., pa.Array], takes: Sequence[DataType], result: DataType) -> Any:
    """Return a function of Columns that calls `function` with Arrow arrays of Spark's types `takes`. Workers unpickle
    `function` by its name. The variant of Pandas needs Pandas on the workers."""
    if jvm.variant(column_udf) is _ARROW:
        return F.arrow_udf(function, result, F.ArrowUDFType.SCALAR)
    types = arrow_schema(StructType([StructField(f"c{i}", t) for i, t in enumerate(takes)])).types
    return F.pandas_udf(partial(_of_series, function, types), result, F.PandasUDFType.SCALAR)


def _of_series(function: Callable[..., pa.Array], types: Sequence[pa.DataType], *series: Any) -> Any:
    return function(*(pa.Array.from_pandas(s, type=t) for s, t in zip(series, types, strict=True))).to_pandas()
