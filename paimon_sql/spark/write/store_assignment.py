"""Values in the types of a table's columns. A value that Spark's store assignment refuses is cast if CAST can convert
it.

Spark does not store a STRING in an INT column. Paimon casts it, and a text that is not a number is then an error. Spark
still assigns all values that it accepts, and every value if `spark.sql.storeAssignmentPolicy` sets another policy.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from paimon_core.arrow.evolution import spelled
from paimon_core.options import TableOptions
from paimon_core.spec.types import DataField
from paimon_core.store.ddl.row_rules import RowRules
from paimon_core.table import Table
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.spark.jvm import expressions
from paimon_sql.spark.jvm.commands import by_position, with_query, with_values_for_default
from paimon_sql.spark.jvm.frames import analyzed, frame
from paimon_sql.spark.jvm.functions import type_sql
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.plans import Insert
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.types import default_sql, string_types, to_struct
from paimon_sql.spark.write.alignment import Alignment, aligned, has_same_fields, has_same_names
from paimon_sql.spark.write.insert_columns import (
    in_hive_order,
    inserted_columns,
    without_generated,
    without_null_partitions,
)

_POLICY = "spark.sql.storeAssignmentPolicy"


def with_casts(jvm: Jvm, session: SessionBridge, table: Table, options: TableOptions, insert: Insert) -> Insert:
    """Return a parsed INSERT INTO a table with a query that casts the values that Spark would refuse. `options` include
    the options of the statement.

    The query is analyzed for its types, and stays analyzed: Spark infers the schema of its files only once.
    """
    insert = without_null_partitions(jvm, table.schema, insert)
    try:
        query = frame(jvm, session.session, insert.query)
    except CapturedException:
        resolved = _without_default(jvm, session, table, insert)
        if resolved is None:
            return insert  # Spark reports the error, or resolves a DEFAULT in the query
        query = resolved
    insert = in_hive_order(jvm, table.schema, options, insert, query.columns)
    insert = without_generated(jvm, table.schema, insert, len(query.columns))
    columns = inserted_columns(table.schema, insert, query.columns)
    stored = as_stored(jvm, session, table, query, columns, by_name=insert.by_name)
    if insert.by_name or insert.columns:
        whole = whole_rows(session, table, stored, columns, insert.static_partition)
        if whole is not None:
            return by_position(jvm, insert, analyzed(whole))
    return with_query(jvm, insert, analyzed(stored))


def whole_rows(
    session: SessionBridge, table: Table, rows: DataFrame, columns: Sequence[str], static: Collection[str] = ()
) -> DataFrame | None:
    """Return rows with all columns of the table in the table's order, without a `static` partition; `columns` are the
    names of the columns that the rows have.

    A missing column gets its default, or NULL, as in Spark since 4.1. Return None if no column is missing, or if Spark
    must report an error.
    """
    known_as = session.known_as
    given = {known_as(c): f"c{i}" for i, c in enumerate(columns)}
    fields = [f for f in table.schema.fields if known_as(f.name) not in {known_as(c) for c in static}]
    is_odd = len(given) != len(columns) or len(columns) != len(rows.columns)
    is_odd = is_odd or not given.keys() <= {known_as(f.name) for f in fields}
    left_out = [f for f in fields if known_as(f.name) not in given]
    made = RowRules.of(table.schema).made
    if is_odd or not left_out or any(not (f.type.nullable or f.default or f.name in made) for f in left_out):
        return None
    values = []
    for field in fields:
        name = given.get(known_as(field.name))
        values.append((default_value(field) if name is None else F.col(name)).alias(field.name))
    return with_generated(session, table, rows.toDF(*given.values()).select(*values), [f.name for f in fields])


def default_value(field: DataField) -> Column:
    """Return a column's default, or NULL, in the column's type: the policy STRICT refuses a NULL without a type."""
    (declared,) = string_types(to_struct([field])).fields
    return F.expr(default_sql(field)).cast(declared.dataType)


def as_stored(
    jvm: Jvm, session: SessionBridge, table: Table, query: DataFrame, columns: Sequence[str], *, by_name: bool
) -> DataFrame:
    """Return a query with values as the table stores them. Each column of the query goes to one of `columns`, which may
    be new.

    Return the query itself if it needs no change, or if the numbers of columns differ: Spark then reports the error.
    """
    known_as, fields = session.known_as, string_types(to_struct(table.schema.fields)).fields
    types = {known_as(f.name): f.dataType for f in fields} | {f.name: f.dataType for f in fields}
    targets = [types.get(c, types.get(known_as(c))) for c in columns]
    if len(targets) != len(query.columns):
        return query
    if by_name:
        query, targets = _by_name(table, query, targets)
    filled = _with_checked_defaults(session, table, castable(jvm, session, query, targets), columns)
    return with_generated(session, table, filled, columns)


def _with_checked_defaults(session: SessionBridge, table: Table, query: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Return a query with defaults instead of NULL in the columns that CHECK constraints name: Spark checks the rows
    before tasks store the defaults.
    """
    known_as = session.known_as
    defaults = {known_as(f.name): default_value(f) for f in RowRules.of(table.schema).defaults}
    filled = [defaults.get(known_as(c)) for c in columns]
    if not any(value is not None for value in filled):
        return query
    names = [f"c{i}" for i in range(len(filled))]  # a name may occur twice
    values = [F.col(c) if d is None else F.coalesce(F.col(c), d) for c, d in zip(names, filled, strict=True)]
    return query.toDF(*names).select(*(v.alias(n) for v, n in zip(values, query.columns, strict=True)))


def with_generated(session: SessionBridge, table: Table, query: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Return a query with the values of generated columns instead of NULL. Its columns go to `columns`. A generated
    column is left as it is if the query lacks a column that it is made from.
    """
    known_as = session.known_as
    generated = RowRules.of(table.schema).generated
    places = {known_as(c): i for i, c in enumerate(columns)}
    made = [g for g in generated if {known_as(c) for c in (g.name, *g.columns)} <= places.keys()]
    if not made or len(places) < len(columns):
        return query
    types = {f.name: f.dataType for f in string_types(to_struct(table.schema.fields)).fields}
    names = [f"__paimon_c{i}" for i in range(len(columns))]  # a name may occur twice
    values = {c: F.col(names[places[known_as(c)]]) for g in made for c in (g.name, *g.columns)}
    rows = query.toDF(*names).withColumns({c: v.cast(types[c]) for c, v in values.items()})
    stored = [F.col(n) for n in names]
    for column in made:
        given, value = F.col(quoted_name(column.name)), F.expr(column.expression).cast(types[column.name])
        stored[places[known_as(column.name)]] = F.coalesce(given, value)
    return rows.select(*(v.alias(n) for v, n in zip(stored, query.columns, strict=True)))


def _without_default(jvm: Jvm, session: SessionBridge, table: Table, insert: Insert) -> DataFrame | None:
    """Return VALUES with the value of each DEFAULT, for a table with generated columns. Return None if Spark must
    resolve the query.
    """
    made = RowRules.of(table.schema).made
    if not made or insert.by_name:
        return None
    fields = table.schema.field_by_name
    columns = [fields.get(spelled(fields, c) or "") for c in inserted_columns(table.schema, insert, ())]

    def values(width: int) -> list[str] | None:
        known = [c for c in columns if c is not None and (width == len(columns) or c.name not in made)]
        types = {f.name: type_sql(jvm, f.dataType) for f in string_types(to_struct(known)).fields}
        return [f"CAST({default_sql(c)} AS {types[c.name]})" for c in known] if len(known) == width else None

    query = with_values_for_default(jvm, insert.query, values)
    try:
        return None if query is None else frame(jvm, session.session, query)
    except CapturedException:
        return None


def _by_name(
    table: Table, frame: DataFrame, targets: Sequence[DataType | None]
) -> tuple[DataFrame, list[DataType | None]]:
    """Return the frame with its nested fields in the order of their targets. If the fields differ, Spark decides."""
    fields = frame.schema.fields
    known = [
        t if t is not None and has_same_fields(f.dataType, t) else None for f, t in zip(fields, targets, strict=True)
    ]
    if all(t is None or has_same_names(f.dataType, t) for f, t in zip(fields, known, strict=True)):
        return frame, known
    return _aligned(table, frame, known), known


def with_null_fields(session: SessionBridge, table: Table, query: DataFrame) -> DataFrame:
    """Return a query with NULL in nested fields that it lacks; its columns go to the table's columns by name. Return
    the query itself if it lacks no field.
    """
    known_as = session.known_as
    types = {known_as(f.name): f.dataType for f in string_types(to_struct(table.schema.fields)).fields}
    fields = query.schema.fields
    targets = [types.get(known_as(f.name)) for f in fields]
    lacking = [
        t
        if t is not None and not has_same_fields(f.dataType, t) and has_same_fields(f.dataType, t, some=True)
        else None
        for f, t in zip(fields, targets, strict=True)
    ]
    if not any(lacking):
        return query
    return _aligned(table, query, lacking, fills=True)


def _aligned(table: Table, frame: DataFrame, targets: Sequence[DataType | None], *, fills: bool = False) -> DataFrame:
    """Return the frame with the nested fields of its columns aligned with their targets; see `Alignment`
    for `fills`.
    """
    fields = frame.schema.fields
    names = [f"c{i}" for i in range(len(fields))]  # a name may occur twice
    values = (
        F.col(c) if t is None else aligned(F.col(c), f.dataType, t, Alignment(table.name, f.name, fills))
        for c, f, t in zip(names, fields, targets, strict=True)
    )
    return frame.toDF(*names).select(*(v.alias(f.name) for v, f in zip(values, fields, strict=True)))


def castable(jvm: Jvm, session: SessionBridge, frame: DataFrame, targets: Sequence[DataType | None]) -> DataFrame:
    """Return the frame with a cast of each column that Spark would refuse to store in its target. Return the frame
    itself if it needs no cast.
    """
    wanted = [
        target if target is not None and needs_cast(jvm, session, field.dataType, target) else None
        for field, target in zip(frame.schema.fields, targets, strict=True)
    ]
    if not any(wanted):
        return frame
    names = [f"c{i}" for i in range(len(wanted))]  # a name may occur twice
    values = [
        F.col(c) if t is None else cast_as_spark(jvm, session, F.col(c), t) for c, t in zip(names, wanted, strict=True)
    ]
    return frame.toDF(*names).select(*(v.alias(n) for v, n in zip(values, frame.columns, strict=True)))


def _casts(session: SessionBridge) -> bool:
    return session.setting(_POLICY) == "ANSI"


def needs_cast(jvm: Jvm, session: SessionBridge, source: DataType, target: DataType) -> bool:
    """Return whether a value needs a CAST to be stored in a column."""
    if source == target or not _casts(session):
        return False
    return expressions.needs_cast(jvm, source, target, ansi=_is_ansi(session))


def cast_as_spark(jvm: Jvm, session: SessionBridge, value: Column, target: DataType) -> Column:
    """Return a value as CAST(… AS …) makes it in this session."""
    return expressions.cast(jvm, value, target, ansi=_is_ansi(session))


def cast_as_stored(jvm: Jvm, session: SessionBridge, value: Column, target: DataType) -> Column:
    """Return a value, which needs no CAST, in the type of a column, as Spark stores it. A number that the type cannot
    hold raises an error.
    """
    return expressions.cast(jvm, value, target, ansi=session.setting(_POLICY) != "LEGACY")


def _is_ansi(session: SessionBridge) -> bool:
    return bool(session.setting("spark.sql.ansi.enabled"))
