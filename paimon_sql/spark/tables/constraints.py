"""Constraints of tables in statements: CREATE TABLE, and ALTER TABLE … ADD and DROP CONSTRAINT."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from paimon_core.errors import InvalidSchemaError, UnsupportedFeatureError
from paimon_core.spec.types import DataField
from paimon_core.store.ddl.constraints import (
    CONSTRAINT_PREFIX,
    Constraint,
    ConstraintKind,
    check_constraint_set,
    constraint_key,
    is_constraint,
)
from paimon_core.store.ddl.schema_changes import RemoveOption, SchemaChange, SetOption
from paimon_core.table import Table
from paimon_sql.spark.jvm.constraints import constraint_of_change
from paimon_sql.spark.jvm.expressions import deciding_columns
from paimon_sql.spark.jvm.frames import filter_condition, is_of_its_rows
from paimon_sql.spark.jvm.scans.pushdown import ChangeKind, change_kind
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.types import string_types, to_struct

CONSTRAINT_CHANGES = (ChangeKind.ADD_CONSTRAINT, ChangeKind.DROP_CONSTRAINT)


def defined_constraints(
    session: SessionBridge, fields: Sequence[DataField], constraints: Iterable[Constraint]
) -> tuple[Constraint, ...]:
    """Return the constraints of a statement with the columns that they name, spelled as in the table.

    Raises `InvalidSchemaError` for a condition that is not a condition on the table's columns alone.
    """
    return tuple(defined_constraint(session, fields, c) for c in constraints)


def defined_constraint(
    session: SessionBridge, fields: Sequence[DataField], constraint: Constraint, about: str = ""
) -> Constraint:
    """Return a constraint as `defined_constraints` does. `about` is the name of the constraint in errors."""
    about = about or f"Constraint {constraint.name!r}, {constraint.sql},"
    if constraint.kind is not ConstraintKind.CHECK:
        known_as = session.known_as
        names = {known_as(f.name): f.name for f in fields}
        return replace(constraint, columns=tuple(names.get(known_as(c), c) for c in constraint.columns))
    try:
        nulls = (F.lit(None).cast(f.dataType).alias(f.name) for f in string_types(to_struct(fields)).fields)
        rows = session.python_session.sql("SELECT 1").select(*nulls)
        matching = rows.filter(constraint.condition)
        columns = deciding_columns(filter_condition(matching))
        alone = is_of_its_rows(session.jvm, matching)
    except PySparkException as e:
        raise InvalidSchemaError(f"{about} is not valid for the columns of the table: {e}") from e
    known_as = session.known_as
    named = {known_as(c) for c in columns or ()}  # Spark keeps the spelling of the condition
    # Spark puts the body of a function in SQL below the condition, as another column. Other sessions may lack it
    is_known = named <= {known_as(f.name) for f in fields}
    if columns is None or not alone or not is_known:
        raise InvalidSchemaError(
            f"{about} cannot depend on the time, on chance, on subqueries or other tables, or on variables and SQL "
            "functions of users: use the columns of a row."
        )
    return replace(constraint, columns=tuple(f.name for f in fields if known_as(f.name) in named))


def constraint_changes(session: SessionBridge, table: Table, changes: Iterable[Any]) -> list[SchemaChange]:
    """Return the schema changes of ALTER TABLE … ADD and DROP CONSTRAINT. `added_constraints` adds a CHECK."""
    found = (_change(session, table, change) for change in changes)
    return [change for change in found if change is not None]


def _change(session: SessionBridge, table: Table, change: Any) -> SchemaChange | None:
    options = table.schema.options
    if change_kind(change) is ChangeKind.ADD_CONSTRAINT:
        given = constraint_of_change(session.jvm, change)
        if given.kind is ConstraintKind.CHECK:
            raise UnsupportedFeatureError(
                f"Constraint {given.name!r} of table {table.name} can only be added by the statement ALTER TABLE … ADD "
                "CONSTRAINT … CHECK, which checks the rows of the table."
            )
        return new_constraint(session, table, given)[1]
    key = constraint_key(options, str(change.name()))
    if key is None and not change.ifExists():
        raise _missing(str(table.identifier), str(change.name()), options)
    return None if key is None else RemoveOption(key)


def new_constraint(session: SessionBridge, table: Table, constraint: Constraint) -> tuple[Constraint, SetOption]:
    """Return a constraint with its columns, and the schema change that adds it. Raises the errors of
    `defined_constraints`, and `InvalidOptionError` for a name that another constraint has.
    """
    options = table.schema.options
    check_constraint_set(options, constraint_key(options, constraint.name) or constraint.key)
    (added,) = defined_constraints(session, table.schema.fields, [constraint])
    return added, SetOption(added.key, added.value)


def _missing(table: str, name: str, options: Mapping[str, str]) -> InvalidSchemaError:
    names = sorted(k.removeprefix(CONSTRAINT_PREFIX) for k in options if is_constraint(k))
    return InvalidSchemaError(
        f"Table {table} has no constraint {name!r}; it has {', '.join(names) or 'none'}. Write DROP CONSTRAINT IF "
        "EXISTS to ignore this."
    )
