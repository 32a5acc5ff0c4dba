"""The functions of `sys`, and among them `sys.max_pt('table')`: the largest value of a table's first partition column.

`max_pt` depends only on the table's name: Spark computes it in the driver while it optimizes, and filters by it skip
partitions.
"""

from __future__ import annotations

from datetime import tzinfo
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import StringType

from paimon_core.errors import FunctionNotFoundError, InvalidOptionError, UnsupportedFeatureError
from paimon_core.format_table.kind import is_format_table
from paimon_core.format_table.table import FormatTable
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import Kind
from paimon_core.spec.value_texts import cast_text
from paimon_core.table import Table
from paimon_sql.catalog.base import Catalog
from paimon_sql.spark.jvm import classes, connector
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.older.named_functions import expression_function
from paimon_sql.spark.proxy import Proxy
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.tables.blob_view_function import BLOB_VIEW, BlobViewCall, load_viewed
from paimon_sql.spark.tables.column_functions import COLUMN_FUNCTIONS, column_function
from paimon_sql.spark.tables.presigned_url_function import TRY_URL, URL, URL_FUNCTIONS, PresignedUrlCall

MAX_PT = "max_pt"
_USAGES = {
    BLOB_VIEW: "blob_view(table, column, row id): the BLOB of a row of another table, as BINARY that refers to it",
    URL: f"{URL}(table, descriptor, validity): a URL from which anyone can get the BLOB for the time of an INTERVAL",
    TRY_URL: f"{TRY_URL}(table, descriptor, validity): the same, NULL for a BLOB that cannot have a URL",
    MAX_PT: "max_pt(table): the largest value of the table's first partition column",
}
FUNCTIONS = tuple(sorted((*COLUMN_FUNCTIONS, *URL_FUNCTIONS, BLOB_VIEW, MAX_PT)))


def check_function(name: str) -> str:
    """Return the name of a function of `sys`. Raises `FunctionNotFoundError` for other names."""
    known = name.lower()
    there = f"the functions of sys are {', '.join(FUNCTIONS)}"
    if known not in FUNCTIONS:
        raise FunctionNotFoundError(f"There is no function sys.{name}: {there}.")
    return known


def usage_of(name: str) -> str:
    """Return what a function of `sys` takes and returns, for DESCRIBE FUNCTION."""
    if name in _USAGES:
        return _USAGES[name]
    function = COLUMN_FUNCTIONS[name]
    return f"{name}: takes {function.usage}, and returns {function.result.simpleString().upper()}"


def system_function(jvm: Jvm, session: SessionBridge, catalog: Catalog, catalog_name: str, name: str) -> Any:
    """Return a function of `sys` in the form that Spark's analyzer takes. Raises the errors of `check_function`."""
    known = check_function(name)
    if known == BLOB_VIEW:
        identifier = partial(_identifier, session, catalog_name, known)
        return expression_function(jvm, known, BlobViewCall(jvm, lambda text: load_viewed(catalog, identifier(text))))
    if known in URL_FUNCTIONS:
        identifier = partial(_identifier, session, catalog_name, known)
        call = PresignedUrlCall(jvm, known, lambda text: catalog.load_table(identifier(text)))
        return expression_function(jvm, known, call)
    return MaxPartition(jvm, session, catalog, catalog_name) if known == MAX_PT else column_function(jvm, known)


class MaxPartition(Proxy):
    """The function `max_pt`, unbound and bound."""

    def __init__(self, jvm: Jvm, session: SessionBridge, catalog: Catalog, catalog_name: str) -> None:
        super().__init__(jvm)
        self.session, self.catalog, self.catalog_name = session, catalog, catalog_name

    def name(self) -> str:
        return MAX_PT

    def description(self) -> str:
        return _USAGES[MAX_PT]

    def bind(self, inputs: Any) -> Any:
        types = [f.dataType().typeName() for f in inputs.fields()]
        if types != ["string"]:
            raise UnsupportedFeatureError(f"{MAX_PT} takes the name of a table, a text, not ({', '.join(types)}).")
        return self

    def inputTypes(self) -> Any:
        return connector.data_types(self.jvm, [self.jvm.data_type(StringType())])

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
        identifier = _identifier(self.session, self.catalog_name, MAX_PT, str(row.getString(0)))
        text = _largest(self.catalog.load_table(identifier), self.session.time_zone())
        return connector.utf8(self.jvm, text)

    class Java:
        implements = [classes.UNBOUND_FUNCTION, classes.SCALAR_FUNCTION]


def _identifier(session: SessionBridge, catalog_name: str, function: str, text: str) -> Identifier:
    """Return the name of the table that an argument of a function names."""
    parts = session.name_parts(text)
    if len(parts) == 3 and parts[0] == catalog_name:
        parts = parts[1:]
    if len(parts) > 2:
        raise UnsupportedFeatureError(
            f"{function}: {text} is not a table of catalog {catalog_name}. Name one of its tables."
        )
    return Identifier.of(parts[0] if len(parts) == 2 else session.current_database(), parts[-1])


def _largest(table: Table, zone: tzinfo) -> str:
    if not table.schema.partition_keys:
        raise UnsupportedFeatureError(
            f"{MAX_PT}: table {table.name} is not a partitioned table. Name a partitioned table."
        )
    if is_format_table(table.schema.options):
        largest = FormatTable.of(table.store).largest_value()
    else:
        found = table.partitions(table.latest_snapshot())
        largest = pc.max(found.column(0)) if found.num_rows else None
    if largest is None or not largest.is_valid:
        raise UnsupportedFeatureError(f"{MAX_PT}: no partition of table {table.name} has any rows.")
    first = table.schema.partition_fields[0].type
    if first.kind is Kind.TIMESTAMP_LTZ:
        return cast_text(first, divmod(largest.cast(pa.timestamp("ns", "UTC")).value, 1_000_000), zone)
    return str(largest.cast("string").as_py())
