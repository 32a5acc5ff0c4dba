"""A table that cannot be loaded, and a scan that cannot be planned, for statements that only list or describe tables.

SHOW TABLE EXTENDED, DESCRIBE and RENAME load tables that they do not read. A damaged or unsupported table must not hide
others, and users can still describe and rename it. They cannot read or write it.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql.types import NullType, StructField, StructType

from paimon_core.errors import PaimonError
from paimon_sql.spark.jvm import classes, connector
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.proxy import TableProxy, WithoutMetrics

_HEADING = "# error"  # in the form of Spark's headings below the columns in DESCRIBE


class UnreadableTable(TableProxy):
    """A table with only a name, and the error in its metadata. It can be neither read nor written."""

    def __init__(self, jvm: Jvm, name: str, error: PaimonError) -> None:
        super().__init__(jvm)
        self.table_name, self.error = name, error
        about = StructField(_HEADING, NullType(), metadata={"comment": str(error)})
        self.spark_schema = StructType([about])

    def name(self) -> str:
        return self.table_name

    def schema(self) -> Any:
        return self.jvm.struct_type(self.spark_schema)

    def columns(self) -> Any:
        return self.jvm.columns(self.spark_schema)

    def partitioning(self) -> Any:
        return connector.partitioning(self.jvm)

    def properties(self) -> Any:
        return self.jvm.map({"provider": "paimon", "error": str(self.error)})

    def capabilities(self) -> Any:
        return connector.capabilities(self.jvm)

    def truncateTable(self, options: Any = None) -> bool:
        raise self.error

    class Java:
        implements = [classes.TRUNCATABLE_TABLE]


class UnreadableScan(WithoutMetrics):
    """A scan that could not be planned, and its builder: it has no statistics, and reading rows raises the error."""

    def __init__(self, jvm: Jvm, schema: StructType, error: PaimonError) -> None:
        super().__init__(jvm)
        self.spark_schema, self.error = schema, error

    def build(self) -> Any:
        return self

    def readSchema(self) -> Any:
        return self.jvm.struct_type(self.spark_schema)

    def description(self) -> str:
        return f"PaimonScan that cannot be planned: {self.error}"

    def toBatch(self) -> Any:
        raise self.error

    def columnarSupportMode(self) -> Any:
        return connector.not_columnar(self.jvm)

    class Java:
        implements = [classes.SCAN, classes.SCAN_BUILDER]
