"""`sys.max_pt('table')`: the largest value of a table's first partition column, as a function of Spark's.

It is of its name alone, so Spark works it out in the driver while it optimizes; filters by it prune partitions.
"""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc
from pyspark.sql.types import StringType

from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.table import Table
from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.spark.jvm import CATALOG, SQL, Jvm
from paimon_sql.spark.proxy import Proxy
from paimon_sql.spark.session_bridge import SessionBridge

MAX_PT = "max_pt"


class MaxPartition(Proxy):
    """The function, unbound and bound."""

    def __init__(self, jvm: Jvm, session: SessionBridge, catalog: Catalog, catalog_name: str) -> None:
        super().__init__(jvm)
        self.session, self.catalog, self.catalog_name = session, catalog, catalog_name

    def name(self) -> str:
        return MAX_PT

    def description(self) -> str:
        return "max_pt(table): the largest value of the table's first partition column"

    def bind(self, inputs: Any) -> Any:
        types = [f.dataType().typeName() for f in inputs.fields()]
        if types != ["string"]:
            raise UnsupportedFeatureError(f"{MAX_PT} takes the name of a table, a text, not ({', '.join(types)}).")
        return self

    def inputTypes(self) -> Any:
        return self.jvm.array(f"{SQL}.types.DataType", [self.jvm.data_type(StringType())])

    def resultType(self) -> Any:
        return self.jvm.data_type(StringType())

    def isResultNullable(self) -> bool:
        return False

    def isDeterministic(self) -> bool:
        return True

    def canonicalName(self) -> str:
        return f"paimon.{MAX_PT}(string)"

    def produceResult(self, row: Any) -> Any:
        if row.isNullAt(0):
            raise InvalidOptionError(f"{MAX_PT}: the name of a table cannot be NULL.")
        text = _largest(self.catalog.load_table(self._identifier(str(row.getString(0)))))
        return self.jvm.java_class("org.apache.spark.unsafe.types.UTF8String").fromString(text)

    def _identifier(self, text: str) -> Identifier:
        parts = self.session.name_parts(text)
        if len(parts) == 3 and parts[0] == self.catalog_name:
            parts = parts[1:]
        if len(parts) > 2:
            raise UnsupportedFeatureError(f"{MAX_PT}: {text} is no table of catalog {self.catalog_name}.")
        return Identifier.of(parts[0] if len(parts) == 2 else self.session.current_database(), parts[-1])

    class Java:
        implements = [f"{CATALOG}.functions.UnboundFunction", f"{CATALOG}.functions.ScalarFunction"]


def _largest(table: Table) -> str:
    if not table.schema.partition_keys:
        raise UnsupportedFeatureError(f"{MAX_PT}: table {table.name} is not a partitioned table.")
    found = table.partitions(table.latest_snapshot())
    largest = pc.max(found.column(0)) if found.num_rows else None
    if largest is None or not largest.is_valid:
        raise UnsupportedFeatureError(f"{MAX_PT}: no partition of table {table.name} has any rows.")
    return str(largest.cast("string").as_py())
