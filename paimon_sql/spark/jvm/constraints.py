"""Convert constraints of tables between Spark's values and this package's; make the expression that refuses a row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from py4j.java_collections import JavaArray
from py4j.java_gateway import JavaObject
from pyspark.sql import Column
from pyspark.sql import functions as F

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.store.ddl.constraints import Constraint, ConstraintKind
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.preprocess.rules.checks import written_condition
from paimon_sql.spark.jvm import classes, connector
from paimon_sql.spark.jvm.collections import identifier_parts
from paimon_sql.spark.jvm.expressions import column, expression
from paimon_sql.spark.jvm.gateway import Jvm, simple_name
from paimon_sql.spark.jvm.hooks import Variant, constructor, hook, method

_KINDS = {
    "Check": ConstraintKind.CHECK,
    "PrimaryKey": ConstraintKind.PRIMARY_KEY,
    "Unique": ConstraintKind.UNIQUE,
    "ForeignKey": ConstraintKind.FOREIGN_KEY,
}


def read_constraint(jvm: Jvm, found: JavaObject) -> Constraint:
    """Return a constraint of Spark's. The columns of a CHECK are not known yet."""
    made = Constraint(str(found.name()), _KINDS[simple_name(found)], (), relies=bool(found.rely()))
    if made.kind is ConstraintKind.CHECK:
        condition, enforced = written_condition(str(found.predicateSql()))
        return replace(made, condition=condition, enforced=enforced and bool(found.enforced()))
    made = replace(made, columns=_columns(found.columns()))
    if made.kind is not ConstraintKind.FOREIGN_KEY:
        return made
    namespace, table = identifier_parts(jvm, found.referencedTable())
    return replace(made, parent=(*namespace, table), parent_columns=_columns(found.referencedColumns()))


def _columns(references: Iterable[JavaObject]) -> tuple[str, ...]:
    return tuple(".".join(str(n) for n in r.fieldNames()) for r in references)


def java_constraints(jvm: Jvm, constraints: Sequence[Constraint]) -> JavaArray:
    """Return constraints as Spark's values."""
    return jvm.array(classes.CONSTRAINT, [_java_constraint(jvm, c) for c in constraints])


def _java_constraint(jvm: Jvm, constraint: Constraint) -> JavaObject:
    make, columns = jvm.java_class(classes.CONSTRAINT), connector.references(jvm, constraint.columns)
    match constraint.kind:
        case ConstraintKind.CHECK:
            builder = make.check(constraint.name).predicateSql(constraint.condition)
            if not constraint.enforced:  # Spark enforces each CHECK, and prefers the predicate to the text
                builder = builder.predicate(jvm.java_class(classes.ALWAYS_TRUE)())
        case ConstraintKind.UNIQUE:
            builder = make.unique(constraint.name, columns)
        case ConstraintKind.PRIMARY_KEY:
            builder = make.primaryKey(constraint.name, columns)
        case ConstraintKind.FOREIGN_KEY:
            parent = connector.identifier(jvm, constraint.parent[:-1], constraint.parent[-1])
            theirs = connector.references(jvm, constraint.parent_columns)
            builder = make.foreignKey(constraint.name, columns, parent, theirs)
    return builder.enforced(constraint.enforced).rely(constraint.relies).build()


_CHECKS = Variant.of("Spark checks rows", constructor(classes.CHECK_INVARIANT, 4))
_NONE = Variant.of("this Spark has no constraints")


@hook("`CheckInvariant`", "CHECK constraints in UPDATE and MERGE INTO", _CHECKS, _NONE)
def enforces_checks(jvm: Jvm) -> bool:
    """Return whether this Spark checks the rows of an INSERT against the constraints of its table."""
    return jvm.variant(enforces_checks) is _CHECKS


def satisfies(jvm: Jvm, constraint: Constraint) -> Column:
    """Return a condition that raises Spark's error for a row that violates a CHECK constraint, and is true otherwise.

    Raises `UnsupportedFeatureError` if this Spark has no constraints.
    """
    if not enforces_checks(jvm):
        raise refused_checks([constraint])
    tuples = jvm.java_class(classes.TUPLE_2)
    shown = [tuples(c, expression(jvm, F.col(quoted_name(c)))) for c in constraint.columns]
    condition = expression(jvm, F.expr(constraint.condition))
    made = jvm.java_class(classes.CHECK_INVARIANT)(condition, jvm.seq(shown), constraint.name, constraint.condition)
    return column(jvm, made)


def refused_checks(constraints: Sequence[Constraint]) -> UnsupportedFeatureError:
    """Return the error for a write to a table with constraints that this Spark does not check."""
    return UnsupportedFeatureError(
        f"The table's constraint {constraints[0].name!r}, {constraints[0].sql}, needs Spark 4.1, which checks written "
        "rows: write the rows with a newer Spark, or by paimon_sql.open_table without Spark."
    )


_GIVEN = Variant.of("constraints of a TableInfo", method(classes.TABLE_INFO, "constraints", 0))
_ABSENT = Variant.of("no constraints")


@hook("`TableInfo.constraints`", "constraints in CREATE TABLE", _GIVEN, _ABSENT)
def new_constraints(jvm: Jvm, info: JavaObject) -> tuple[Constraint, ...]:
    """Return the constraints of a new table."""
    if jvm.variant(new_constraints) is _ABSENT:
        return ()
    return tuple(read_constraint(jvm, c) for c in info.constraints() or ())


def constraint_of_change(jvm: Jvm, change: Any) -> Constraint:
    """Return the constraint that an ALTER TABLE … ADD CONSTRAINT adds."""
    return read_constraint(jvm, change.constraint())
