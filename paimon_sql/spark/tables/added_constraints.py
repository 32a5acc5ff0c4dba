"""ALTER TABLE … ADD CONSTRAINT … CHECK: a constraint that the rows of the table satisfy.

The statement must not miss rows that other sessions write meanwhile. So it reads the rows, publishes the constraint
with the schema, and commits an empty snapshot: a writer that does not know the constraint cannot commit after that
snapshot (`commit/conflicts.py`). If other snapshots came before it, the statement reads the rows again.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from paimon_core.errors import InvalidDataError, UnsupportedFeatureError
from paimon_core.io.failure import on_failure
from paimon_core.options import (
    DELETION_VECTOR_MERGE_ON_READ,
    POSTPONE_MERGE_ON_READ,
    READ_ALLOW_FULL_SCAN,
    SNAPSHOT_IGNORE_EMPTY_COMMIT,
)
from paimon_core.spec.identifier import Identifier
from paimon_core.store.ddl.constraints import Constraint
from paimon_core.store.ddl.schema_changes import RemoveOption
from paimon_core.store.features import check_seen_whole
from paimon_core.table import Table
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.spark.jvm.constraints import enforces_checks, refused_checks
from paimon_sql.spark.jvm.frames import frame
from paimon_sql.spark.tables.catalog import SparkCatalog
from paimon_sql.spark.tables.constraints import new_constraint
from paimon_sql.spark.tables.evolved_table import relation
from paimon_sql.spark.tables.table import SparkTable

_OF_WHOLE_TABLES = (READ_ALLOW_FULL_SCAN, POSTPONE_MERGE_ON_READ, DELETION_VECTOR_MERGE_ON_READ)


def add_check(catalog: SparkCatalog, identifier: Identifier, constraint: Constraint) -> None:
    """Add a CHECK constraint. Raises `InvalidDataError` for a row that violates it; the table then has no constraint.

    Raises the errors of `new_constraint` and `_check_addable`.
    """
    session, tables = catalog.session, catalog.catalog
    table = session.in_zone(tables.load_table(identifier))
    added, change = new_constraint(session, table, constraint)
    if not added.enforced:
        tables.alter_table(identifier, [change])
        return
    if not enforces_checks(catalog.jvm):
        raise refused_checks([added])
    before = table.latest_snapshot()
    _check_addable(table)
    _check_rows(catalog, identifier, table, added)
    tables.alter_table(identifier, [change])
    with on_failure(lambda: tables.alter_table(identifier, [RemoveOption(added.key)])):
        table = session.in_zone(tables.load_table(identifier))
        if _shut_out_older_writers(table) != (0 if before is None else before.id) + 1:
            _check_rows(catalog, identifier, table, added)


def _check_rows(catalog: SparkCatalog, identifier: Identifier, table: Table, constraint: Constraint) -> None:
    """Raise `InvalidDataError` if a row of the latest version violates a constraint."""
    latest = SparkTable(catalog.jvm, catalog.session, catalog.catalog_name, _whole(table), {})
    rows = frame(catalog.jvm, catalog.session.session, relation(catalog, identifier, latest, {}))
    _check_no_row(rows, table, constraint)


def _whole(table: Table) -> Table:
    """Return the table for a query of all rows, including rows that other queries return only after a compaction."""
    return table.with_options({o.key: "true" for o in _OF_WHOLE_TABLES})


def _check_addable(table: Table) -> None:
    """Raise an error if the rows of a table cannot be checked: `UnsupportedFeatureError` if queries do not return all
    rows, `NoPrivilegeError` if the catalog shows its user a part of them.
    """
    table.check_writable()
    check_seen_whole(table.store)
    if _whole(table).hides_rows():
        raise UnsupportedFeatureError(
            f"Table {table.name} has rows that queries return only after a compaction, so they cannot be checked: "
            "run CALL sys.compact first."
        )


def _shut_out_older_writers(table: Table) -> int:
    """Commit an empty snapshot with the latest schema, and return its number. Rows of writers with an older schema are
    in the table by now, or their commits will find the new constraint.

    Raises as `_check_addable`.
    """
    forced = table.with_options({SNAPSHOT_IGNORE_EMPTY_COMMIT.key: "false"})
    made = forced.commit((), forced.commit_info())
    _check_addable(table)
    return 0 if made is None else made.id


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
