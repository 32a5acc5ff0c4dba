"""ALTER TABLE … ADD CONSTRAINT … CHECK in Spark, which reads the rows of the table by a query.

`paimon_core/added_checks.py` has the steps.
"""

from __future__ import annotations

from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from paimon_core.added_checks import add_enforced, whole
from paimon_core.errors import InvalidDataError
from paimon_core.spec.identifier import Identifier
from paimon_core.store.ddl.constraints import Constraint
from paimon_core.table import Table
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.spark.jvm.constraints import enforces_checks, refused_checks
from paimon_sql.spark.jvm.frames import frame
from paimon_sql.spark.tables.catalog import SparkCatalog
from paimon_sql.spark.tables.constraints import new_constraint
from paimon_sql.spark.tables.evolved_table import relation
from paimon_sql.spark.tables.table import SparkTable


def add_check(catalog: SparkCatalog, identifier: Identifier, constraint: Constraint) -> None:
    """Add a CHECK constraint. Raises `InvalidDataError` for a row that violates it; the table then has no constraint.

    Raises the errors of `new_constraint` and `add_enforced`.
    """
    session, tables = catalog.session, catalog.catalog
    added, change = new_constraint(session, session.in_zone(tables.load_table(identifier)), constraint)
    if not added.enforced:
        tables.alter_table(identifier, [change])
        return
    if not enforces_checks(catalog.jvm):
        raise refused_checks([added])
    add_enforced(
        lambda: session.in_zone(tables.load_table(identifier)),
        lambda changes: tables.alter_table(identifier, list(changes)),
        partial(_check_rows, catalog, identifier, added),
        change,
    )


def _check_rows(catalog: SparkCatalog, identifier: Identifier, constraint: Constraint, table: Table) -> None:
    """Raise `InvalidDataError` if a row of the latest version violates a constraint."""
    latest = SparkTable(catalog.jvm, catalog.session, catalog.catalog_name, whole(table), {})
    rows = frame(catalog.jvm, catalog.session.session, relation(catalog, identifier, latest, {}))
    _check_no_row(rows, table, constraint)


def _check_no_row(rows: DataFrame, table: Table, constraint: Constraint) -> None:
    """Raise `InvalidDataError` if a row violates a CHECK constraint."""
    columns = [quoted_name(c) for c in constraint.columns] or [F.lit(None)]
    violating = rows.filter(~F.expr(constraint.condition)).select(*columns).limit(1).collect()
    if violating:
        values = ", ".join(f"{n} = {v!r}" for n, v in zip(constraint.columns, violating[0], strict=False))
        raise InvalidDataError(
            f"Constraint {constraint.name!r}, {constraint.sql}, was not added to table {table.name}: a row violates "
            f"it: {values}. Correct the rows first."
        )
