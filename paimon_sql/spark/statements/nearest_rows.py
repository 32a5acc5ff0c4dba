"""`paimon_nearest_rows(table, column, vector, arguments)`: the nearest rows of a vector as an array of structs.

`preprocess/rules/vector_search.py` writes calls of it for `vector_search` with a vector of each row in LATERAL joins.
Workers compare the vectors of a batch of rows with all vectors of the table's version.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import ArrayType, FloatType, StructField, StructType

from paimon_core.arrow.chars import with_spaces
from paimon_core.arrow.nearest import SEARCH_SCORE, Floats, VectorQuery, nearest_of_each
from paimon_core.errors import ColumnNotFoundError, InvalidDataError, InvalidOptionError, UnsupportedFeatureError
from paimon_core.format_table.kind import is_format_table
from paimon_core.object_table import is_object_table
from paimon_core.scan.derived_tables import DerivedTable
from paimon_core.scan.execution import check_full_scan
from paimon_core.scan.vector_search import indexed_search
from paimon_core.spec.split import DATA_SPLIT
from paimon_core.spec.types import FLOAT, DataField, Kind, LengthType, VectorType
from paimon_core.store.features import shown_part
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_sql.preprocess import NEAREST_ROWS
from paimon_sql.spark.jvm.arrow_schemas import arrow_schema
from paimon_sql.spark.jvm.classes import CHAR_VARCHAR_METADATA, FUNCTION_1
from paimon_sql.spark.jvm.collections import items
from paimon_sql.spark.jvm.expressions import cast, column, constant_of, expression
from paimon_sql.spark.jvm.functions import column_udf, put_temporary_function, takes_arrow
from paimon_sql.spark.jvm.sessions import is_temporary_view
from paimon_sql.spark.proxy import Proxy
from paimon_sql.spark.statements.catalog_registry import CatalogRegistry
from paimon_sql.spark.types import string_types, to_struct
from paimon_sql.spark.workers.worker import split_batches

_VECTORS = ArrayType(FloatType())


class NearestRows(Proxy):
    """The Scala function that makes the expression of a call from the expressions of its arguments."""

    def __init__(self, registry: CatalogRegistry) -> None:
        super().__init__(registry.jvm)
        self.registry = registry

    def apply(self, arguments: Any) -> Any:
        name, searched, vector, more = items(arguments)
        if not takes_arrow(self.jvm):
            raise UnsupportedFeatureError("vector_search in a LATERAL join needs Spark 4.1: search for one vector.")
        table, given = self._table(str(constant_of(name))), json.loads(str(constant_of(more)))
        query = _query(table, str(constant_of(searched)), given["k"], given["options"], self.registry)
        plan = table.plan(table.latest_snapshot())
        check_full_scan(table.store, plan)
        metric = indexed_search(table.store, plan, query).query.metric
        columns = _row_types(table.schema.fields)
        splits = tuple(DATA_SPLIT.encode(s) for s in plan.splits)
        search = partial(nearest_rows, table.store, splits, columns, replace(query, metric=metric))
        call = column_udf(self.jvm, search, [_VECTORS], ArrayType(_with_score(columns)))
        return expression(self.jvm, call(cast(self.jvm, column(self.jvm, vector), _VECTORS, ansi=True)))

    def _table(self, name: str) -> Table:
        """Load the table to search in. Raises `UnsupportedFeatureError` if it is not a table with snapshots."""
        found = self.registry.find_name(name)
        is_temporary = is_temporary_view(self.registry.session, *self.registry.bridge.name_parts(name))
        if is_temporary or (found is not None and found[0].has_view(found[1])):
            kind = "a temporary view" if is_temporary else "a view"
            raise UnsupportedFeatureError(f"A search cannot read {name}: it is {kind}. Name the table that it reads.")
        if found is None:
            raise UnsupportedFeatureError(f"A search cannot read {name}: it is not in a Paimon catalog.")
        catalog, identifier = found
        table = self.registry.bridge.in_zone(catalog.catalog.load_table(catalog.audits.source(identifier)))
        options = table.schema.options
        if identifier.system_table is not None or is_format_table(options) or is_object_table(options):
            raise UnsupportedFeatureError(
                f"A search cannot read {name}: it reads tables with snapshots only. Name such a table."
            )
        if shown_part(table.store) is not None:
            raise UnsupportedFeatureError(
                f"Table {table.name} cannot be searched: the catalog shows its user only some of the rows, or masks "
                "columns. Query the table with conditions, or search as another user."
            )
        return table

    class Java:
        implements = [FUNCTION_1]


def _query(table: Table, searched: str, limit: int, options: dict[str, str], registry: CatalogRegistry) -> VectorQuery:
    known_as = registry.bridge.known_as
    fields = [f for f in table.schema.fields if known_as(f.name) == known_as(searched)]
    if len(fields) != 1:
        raise ColumnNotFoundError(f"Table {table.name} has no column {searched!r} to search in.")
    (field,) = fields
    length = field.type.length if isinstance(field.type, VectorType) else 1
    return VectorQuery.of(field, (0.0,) * length, limit, options, table.store.options.values)


def register_nearest_rows(registry: CatalogRegistry) -> None:
    """Make the function callable in a session."""
    put_temporary_function(registry.session, NEAREST_ROWS, NearestRows(registry), is_table=False)


def nearest_rows(
    store: TableStore, splits: Sequence[str], columns: StructType, query: VectorQuery, vectors: pa.Array
) -> pa.Array:
    """Return the nearest rows of each vector, an empty array for NULL. Raises `InvalidDataError` for vectors of another
    length, or with elements that are not finite numbers.
    """
    given = vectors.drop_null()
    asked = _matrix(given, query)
    batches = _batches(store, splits, columns) if len(asked) else ()
    counts, rows = nearest_of_each(batches, query, asked, arrow_schema(columns))
    whole = arrow_schema(_with_score(columns))
    of_each = np.zeros(len(vectors), np.int64)
    of_each[vectors.is_valid().to_numpy(zero_copy_only=False)] = counts
    offsets = pa.array(np.concatenate([[0], np.cumsum(of_each)]), pa.int32())
    types = [*(f.type for f in store.schema.fields), FLOAT]
    parts = [with_spaces(c.combine_chunks(), t) for c, t in zip(rows.cast(whole).columns, types, strict=True)]
    found = pa.StructArray.from_arrays(parts, fields=list(whole))
    return pa.ListArray.from_arrays(offsets, found)


def _batches(store: TableStore, splits: Sequence[str], columns: StructType) -> Iterator[pa.RecordBatch]:
    for split in splits:
        yield from split_batches(store, columns, None, DerivedTable.ROWS, DATA_SPLIT.decode(split))


def _matrix(vectors: pa.Array, query: VectorQuery) -> Floats:
    lengths = pc.unique(pc.list_value_length(vectors)).to_pylist()
    if len(lengths) > 1:
        raise InvalidDataError(
            f"The vectors to search for in column {query.column!r} have {min(lengths)} to {max(lengths)} elements: "
            "they must all have the length of the column's vectors."
        )
    values: Floats = vectors.flatten().to_numpy(zero_copy_only=False).astype(np.float32)
    values = values.reshape(len(vectors), lengths[0] if lengths else len(query.vector))
    if not np.isfinite(values).all():
        raise InvalidOptionError("A vector to search for must be a list of finite numbers: one has NULL or NaN.")
    return values


def _row_types(fields: Sequence[DataField]) -> StructType:
    """Return Spark's schema of rows, with STRING for CHAR and VARCHAR. As in the columns of a scan, metadata marks CHAR
    columns, so that Spark pads constants in comparisons with them.
    """
    columns = string_types(to_struct(fields)).fields
    return StructType([_column(field, column) for field, column in zip(fields, columns, strict=True)])


def _column(field: DataField, column: StructField) -> StructField:
    if not isinstance(field.type, LengthType) or field.type.kind is not Kind.CHAR:
        return column
    metadata = {**column.metadata, CHAR_VARCHAR_METADATA: f"char({field.type.length})"}
    return StructField(column.name, column.dataType, column.nullable, metadata)


def _with_score(columns: StructType) -> StructType:
    return StructType([*columns, StructField(SEARCH_SCORE, FloatType())])
