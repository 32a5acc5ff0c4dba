"""The function `sys.blob_view(table, column, row id)`: a reference to a value of a BLOB column in another table.

The names of the table and the column are constants: the driver looks them up while Spark analyzes the statement, with
the rights of the catalog's user. Tasks only add the ids of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import BinaryType, LongType

from paimon_core.arrow.columns import fixed_values, validity
from paimon_core.errors import InvalidNameError, InvalidSchemaError, UnsupportedFeatureError
from paimon_core.options import DATA_EVOLUTION
from paimon_core.spec.encodings.blob_view import VIEW_TAIL, view_head
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import Kind
from paimon_core.store.features import check_selectable
from paimon_core.table import Table
from paimon_sql.catalog.base import Catalog
from paimon_sql.spark.jvm.classes import FUNCTION_1
from paimon_sql.spark.jvm.collections import items
from paimon_sql.spark.jvm.expressions import cast, column, constant_of, expression, literal
from paimon_sql.spark.jvm.functions import column_udf
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.proxy import Proxy

BLOB_VIEW = "blob_view"
FindTable = Callable[[str], Table]
_TAKES = (("string",), ("string",), ("long", "integer"))


def encode_views(head: bytes, field_id: int, row_ids: pa.Array) -> pa.Array:
    """Return the views of rows of one column, NULL for NULL."""
    tails = np.zeros(len(row_ids), dtype=[("field", "<i4"), ("row", "<i8")])
    tails["field"], tails["row"] = field_id, fixed_values(row_ids, np.int64)
    bounds = pa.py_buffer(np.arange(len(tails) + 1, dtype=np.int32) * VIEW_TAIL)
    ends = pa.Array.from_buffers(pa.binary(), len(tails), [None, bounds, pa.py_buffer(tails)])
    views = pc.binary_join_element_wise(pa.scalar(head, pa.binary()), ends, pa.scalar(b"", pa.binary()))
    return pc.if_else(pa.array(validity(row_ids)), views, None)


def viewed_column(table: Table, column_name: str) -> tuple[bytes, int]:
    """Return the first bytes of the views of a column, and the id of the column. Raises `InvalidSchemaError`,
    `UnsupportedFeatureError`, `NoPrivilegeError`."""
    named = _checked(table.identifier)
    check_selectable(table.store)
    found = table.schema.field_by_name.get(column_name)
    if found is None or found.type.kind is not Kind.BLOB:
        blobs = ", ".join(f.name for f in table.schema.fields if f.type.kind is Kind.BLOB) or "none"
        raise InvalidSchemaError(
            f"Function sys.{BLOB_VIEW}: table {table.name} has no BLOB column {column_name!r}. "
            f"Its BLOB columns: {blobs}."
        )
    if table.schema.primary_keys or not table.store.options[DATA_EVOLUTION]:
        raise UnsupportedFeatureError(
            f"Function sys.{BLOB_VIEW}: column {column_name!r} of table {table.name} cannot have views. Views are of "
            f"BLOBs in tables with '{DATA_EVOLUTION.key}' = 'true'."
        )
    return view_head(str(named)), found.id


def load_viewed(catalog: Catalog, named: Identifier) -> Table:
    """Return a table for views of it. Raises `UnsupportedFeatureError` for a name that views cannot have."""
    return catalog.load_table(_checked(named))


def _checked(named: Identifier) -> Identifier:
    """Return a name if a reader of a view of it finds the same table."""
    try:
        if Identifier.parse(str(named)) == named.base:
            return named
    except InvalidNameError:
        pass
    raise UnsupportedFeatureError(
        f"Function sys.{BLOB_VIEW}: views cannot name {named}. They name tables, not branches or system tables, by a "
        "database and a table without dots in their names."
    )


class BlobViewCall(Proxy):
    """A Scala function that makes the expression of a call from the expressions of its arguments."""

    def __init__(self, jvm: Jvm, find: FindTable) -> None:
        super().__init__(jvm)
        self.find = find

    def apply(self, arguments: Any) -> Any:
        expressions = items(arguments)
        types = [str(e.dataType().json()).strip('"') for e in expressions]
        names = [constant_of(e) if e.foldable() else None for e in expressions[:2]]
        fits = len(types) == len(_TAKES) and all(t in takes for t, takes in zip(types, _TAKES, strict=True))
        if not fits or not all(isinstance(n, str) for n in names):
            given = ", ".join(str(e.dataType().sql()) for e in expressions)
            raise UnsupportedFeatureError(
                f"Function sys.{BLOB_VIEW} takes the names of a table and of its BLOB column, both as constants, and "
                f"the id of a row, BIGINT, not ({given})."
            )
        make = partial(encode_views, *viewed_column(self.find(str(names[0])), str(names[1])))
        if expressions[2].foldable():  # VALUES accepts only constants
            given_id = constant_of(expressions[2])
            row_ids = pa.array([None if given_id is None else int(given_id)], pa.int64())
            return literal(self.jvm, make(row_ids)[0].as_py(), BinaryType())
        row_id = cast(self.jvm, column(self.jvm, expressions[2]), LongType(), ansi=True)
        return expression(self.jvm, column_udf(self.jvm, make, [LongType()], BinaryType())(row_id))

    class Java:
        implements = [FUNCTION_1]
