"""A table that cannot be loaded, and a scan that cannot be planned, for statements that tell what there is.

SHOW TABLE EXTENDED, DESCRIBE and RENAME load tables that they do not read: one that is damaged or not supported
must not hide others, and can be looked at and renamed itself. Nothing is read from it or written to it.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql.types import NullType, StructField, StructType

from paimon_core.errors import PaimonError
from paimon_sql.spark.jvm.gateway import CATALOG, READ, SQL, Jvm
from paimon_sql.spark.proxy import Proxy

_HEADING = "# error"  # as Spark heads what DESCRIBE tells behind the columns
# methods and classes of Spark that are under way while a statement does not ask for rows: it does not tell us
_NAMES_TABLES = ("lookupTableOrView", "ShowTablesExtendedExec")
_DESCRIBES = ("DescribeTableExec",)


def is_named_only(jvm: Jvm) -> bool:
    """Whether Spark loads a table for a command about it, not to read or write its rows."""
    return jvm.is_within(_NAMES_TABLES)


def is_described(jvm: Jvm) -> bool:
    """Whether Spark plans a scan for its statistics alone."""
    return jvm.is_within(_DESCRIBES)


class UnreadableTable(Proxy):
    """A table of which only the name is known, and what is wrong with it. It can be neither read nor written."""

    def __init__(self, jvm: Jvm, name: str, error: PaimonError) -> None:
        super().__init__(jvm)
        self.table_name, self.error = name, error
        about = StructField(_HEADING, NullType(), metadata={"comment": str(error)})
        self.spark_schema = StructType([about])

    def id(self) -> None:
        return None

    def version(self) -> None:
        return None

    def name(self) -> str:
        return self.table_name

    def schema(self) -> Any:
        return self.jvm.struct_type(self.spark_schema)

    def columns(self) -> Any:
        return self.jvm.columns(self.spark_schema)

    def partitioning(self) -> Any:
        return self.jvm.array(f"{SQL}.connector.expressions.Transform", [])

    def constraints(self) -> Any:
        return self.jvm.array(f"{CATALOG}.constraints.Constraint", [])

    def properties(self) -> Any:
        return self.jvm.map({"provider": "paimon", "error": str(self.error)})

    def capabilities(self) -> Any:
        return self.jvm.constants(f"{CATALOG}.TableCapability")

    def truncateTable(self, options: Any = None) -> bool:
        raise self.error

    def supportedCustomMetrics(self) -> Any:
        return self.jvm.array(f"{SQL}.connector.metric.CustomMetric", [])

    def reportDriverMetrics(self) -> Any:
        return self.jvm.array(f"{SQL}.connector.metric.CustomTaskMetric", [])

    class Java:
        implements = [f"{CATALOG}.TruncatableTable"]


class UnreadableScan(Proxy):
    """A scan that could not be planned, and its builder: it has no statistics, and who wants rows gets the error."""

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
        return self.jvm.constant(f"{READ}.Scan$ColumnarSupportMode", "UNSUPPORTED")

    def supportedCustomMetrics(self) -> Any:
        return self.jvm.array(f"{SQL}.connector.metric.CustomMetric", [])

    def reportDriverMetrics(self) -> Any:
        return self.jvm.array(f"{SQL}.connector.metric.CustomTaskMetric", [])

    class Java:
        implements = [f"{READ}.Scan", f"{READ}.ScanBuilder"]
