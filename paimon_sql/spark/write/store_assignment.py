"""Values as a table's columns take them: by CAST, where Spark's assignment of values refuses what CAST can do.

Spark stores no STRING in an INT column; Paimon casts it, and a text that is no number is an error then. What Spark
assigns itself stays its own, and so is everything where `spark.sql.storeAssignmentPolicy` asks for another policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from paimon_core.options import TableOptions
from paimon_core.table import Table
from paimon_sql.spark.jvm.gateway import SQL, Jvm, with_elements
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.types import string_types, to_struct
from paimon_sql.spark.write.alignment import Alignment, aligned, has_same_fields, has_same_names
from paimon_sql.spark.write.insert_columns import in_hive_order, inserted_columns

_POLICY = "spark.sql.storeAssignmentPolicy"


def with_casts(jvm: Jvm, session: SessionBridge, table: Table, options: TableOptions, insert: Any) -> Any:
    """A parsed INSERT INTO a table, with the options of the statement, its query casting what Spark would refuse.

    The query is analyzed to know its types, and stays so: files whose schema Spark infers are opened once.
    """
    try:
        query = DataFrame(jvm.frame(session.session, insert.query()), SparkSession(jvm.context, session.session))
    except CapturedException:
        return insert  # Spark says what is wrong, and knows what DEFAULT means in it
    insert = in_hive_order(jvm, table.schema, options, insert, query.columns)
    columns = inserted_columns(jvm, table.schema, insert, query.columns)
    stored = as_stored(jvm, session, table, query, columns, by_name=insert.byName())
    return with_elements(jvm, insert, query=stored._jdf.queryExecution().analyzed())


def as_stored(
    jvm: Jvm, session: SessionBridge, table: Table, query: DataFrame, columns: Sequence[str], *, by_name: bool
) -> DataFrame:
    """A query with the values that a table stores; each of its columns goes to one of `columns`, there or not.

    The very same where there is nothing to cast, and where their numbers differ: Spark says what is wrong.
    """
    known_as, fields = session.known_as, string_types(to_struct(table.schema.fields)).fields
    types = {known_as(f.name): f.dataType for f in fields} | {f.name: f.dataType for f in fields}
    targets = [types.get(c, types.get(known_as(c))) for c in columns]
    if len(targets) != len(query.columns):
        return query
    if by_name:
        query, targets = _by_name(table, query, targets)
    return castable(jvm, session, query, targets)


def _by_name(
    table: Table, frame: DataFrame, targets: Sequence[DataType | None]
) -> tuple[DataFrame, list[DataType | None]]:
    """The frame with its nested fields in the order of their targets; where these have other fields, Spark judges."""
    fields = frame.schema.fields
    known = [
        t if t is not None and has_same_fields(f.dataType, t) else None for f, t in zip(fields, targets, strict=True)
    ]
    if all(t is None or has_same_names(f.dataType, t) for f, t in zip(fields, known, strict=True)):
        return frame, known
    names = [f"c{i}" for i in range(len(fields))]  # names may occur twice
    values = (
        F.col(c) if t is None else aligned(F.col(c), f.dataType, t, Alignment(table.name, f.name))
        for c, f, t in zip(names, fields, known, strict=True)
    )
    return frame.toDF(*names).select(*(v.alias(f.name) for v, f in zip(values, fields, strict=True))), known


def castable(jvm: Jvm, session: SessionBridge, frame: DataFrame, targets: Sequence[DataType | None]) -> DataFrame:
    """The frame, each column that Spark would not store as its target cast to it; the very same where there is none."""
    wanted = [
        target if target is not None and needs_cast(jvm, session, field.dataType, target) else None
        for field, target in zip(frame.schema.fields, targets, strict=True)
    ]
    if not any(wanted):
        return frame
    names = [f"c{i}" for i in range(len(wanted))]  # names may occur twice
    values = [
        F.col(c) if t is None else cast_as_spark(jvm, session, F.col(c), t) for c, t in zip(names, wanted, strict=True)
    ]
    return frame.toDF(*names).select(*(v.alias(n) for v, n in zip(values, frame.columns, strict=True)))


def _casts(session: SessionBridge) -> bool:
    return session.conf(_POLICY, "ANSI").upper() == "ANSI"


def needs_cast(jvm: Jvm, session: SessionBridge, source: DataType, target: DataType) -> bool:
    """Whether a value can be stored in a column only by CAST."""
    if source == target or not _casts(session):
        return False
    cast = jvm.java_class(f"{SQL}.catalyst.expressions.Cast")
    types = jvm.data_type(source), jvm.data_type(target)
    if cast.canANSIStoreAssign(*types):
        return False
    return bool(cast.canAnsiCast(*types) if _is_ansi(session) else cast.canCast(*types))


def cast_as_spark(jvm: Jvm, session: SessionBridge, value: Column, target: DataType) -> Column:
    """A value as CAST(… AS …) makes it in this session."""
    return Column(jvm.cast(value._jc, target, ansi=_is_ansi(session)))


def _is_ansi(session: SessionBridge) -> bool:
    return session.conf("spark.sql.ansi.enabled", "true") == "true"
