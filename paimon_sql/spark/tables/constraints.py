"""Constraints of tables in statements: CREATE TABLE, and ALTER TABLE … ADD and DROP CONSTRAINT.

Spark checks rows that it writes against the constraints of `Table.constraints`. ADD CONSTRAINT must not miss rows that
other sessions write meanwhile. So it reads the rows, publishes the constraint with the schema, and commits an empty
snapshot: a writer that does not know the constraint cannot commit after that snapshot (`commit/conflicts.py`). If other
snapshots came before it, the statement reads the rows again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from paimon_core.errors import InvalidDataError, InvalidSchemaError, UnsupportedFeatureError
from paimon_core.options import SNAPSHOT_IGNORE_EMPTY_COMMIT
from paimon_core.spec.types import DataField
from paimon_core.store.ddl.constraints import CONSTRAINT_PREFIX, Constraint, ConstraintKind, is_constraint
from paimon_core.store.features import check_seen_whole
from paimon_core.table import Table
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.spark.jvm.expressions import deciding_columns
from paimon_sql.spark.jvm.frames import filter_condition, tables_read
from paimon_sql.spark.jvm.scans.pushdown import ChangeKind
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.types import string_types, to_struct

CONSTRAINT_CHANGES = (ChangeKind.ADD_CONSTRAINT, ChangeKind.DROP_CONSTRAINT)


def defined_constraints(
    session: SessionBridge, fields: Sequence[DataField], constraints: Iterable[Constraint]
) -> tuple[Constraint, ...]:
    """Return the constraints of a statement with the columns that they name, spelled as in the table.

    Raises `InvalidSchemaError` for a condition that is not a condition on the table's columns alone.
    """
    return tuple(_defined(session, fields, c) for c in constraints)


def _defined(session: SessionBridge, fields: Sequence[DataField], constraint: Constraint) -> Constraint:
    if constraint.kind is not ConstraintKind.CHECK:
        known_as = session.known_as
        names = {known_as(f.name): f.name for f in fields}
        return replace(constraint, columns=tuple(names.get(known_as(c), c) for c in constraint.columns))
    try:
        nulls = (F.lit(None).cast(f.dataType).alias(f.name) for f in string_types(to_struct(fields)).fields)
        rows = session.python_session.sql("SELECT 1").select(*nulls)
        matching = rows.filter(constraint.condition)
        columns = deciding_columns(filter_condition(matching))
        alone = tables_read(session.jvm, matching) == []
    except PySparkException as e:
        raise InvalidSchemaError(
            f"Constraint {constraint.name!r}, {constraint.sql}, is not a valid condition on the columns of the table: "
            f"{e}"
        ) from e
    if columns is None or not alone:
        raise InvalidSchemaError(
            f"Constraint {constraint.name!r}, {constraint.sql}, cannot depend on the time, on chance or on other "
            "tables: use a condition on the columns of a row."
        )
    known_as = session.known_as
    named = {known_as(c) for c in columns}  # Spark keeps the spelling of the condition
    return replace(constraint, columns=tuple(f.name for f in fields if known_as(f.name) in named))


def missing_constraint(table: str, name: str, options: Mapping[str, str]) -> InvalidSchemaError:
    """Return the error for a constraint that a table with these options does not have."""
    names = sorted(k.removeprefix(CONSTRAINT_PREFIX) for k in options if is_constraint(k))
    return InvalidSchemaError(
        f"Table {table} has no constraint {name!r}; it has {', '.join(names) or 'none'}. Write DROP CONSTRAINT IF "
        "EXISTS to ignore this."
    )


def check_addable(table: Table) -> None:
    """Raise an error if the rows of a table cannot be checked: `UnsupportedFeatureError` if queries do not return all
    rows, `NoPrivilegeError` if the catalog shows its user a part of them.
    """
    table.check_writable()
    check_seen_whole(table.store)
    if table.hides_rows():
        raise UnsupportedFeatureError(
            f"Table {table.name} has rows that queries return only after a compaction, so that they cannot be checked: "
            "run CALL sys.compact first."
        )


def shut_out_older_writers(table: Table) -> int:
    """Commit an empty snapshot with the latest schema, and return its number. Rows of writers with an older schema are
    in the table by now, or their commits will find the new constraint.

    Raises as `check_addable`.
    """
    forced = table.with_options({SNAPSHOT_IGNORE_EMPTY_COMMIT.key: "false"})
    made = forced.commit((), forced.commit_info())
    check_addable(table)
    return 0 if made is None else made.id


def check_rows(rows: DataFrame, table: Table, constraint: Constraint) -> None:
    """Raise `InvalidDataError` if a row violates a CHECK constraint."""
    columns = [quoted_name(c) for c in constraint.columns] or [F.lit(None)]
    violating = rows.filter(~F.expr(constraint.condition)).select(*columns).limit(1).collect()
    if violating:
        values = ", ".join(f"{n} = {v!r}" for n, v in zip(constraint.columns, violating[0], strict=False))
        raise InvalidDataError(
            f"Constraint {constraint.name!r}, {constraint.sql}, was not added to table {table.name}: a row violates "
            f"it: {values}. Correct the rows first."
        )
