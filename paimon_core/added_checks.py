"""Add a CHECK constraint to a table, so that no row of another writer gets around it.

The rows are read, the constraint is published with the schema, and an empty snapshot is committed: a writer that does
not know the constraint cannot commit after that snapshot (`commit/conflicts.py`). If other snapshots came before it,
the rows are read again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.io.failure import on_failure
from paimon_core.options import (
    DELETION_VECTOR_MERGE_ON_READ,
    POSTPONE_MERGE_ON_READ,
    READ_ALLOW_FULL_SCAN,
    SNAPSHOT_IGNORE_EMPTY_COMMIT,
)
from paimon_core.store.ddl.schema_changes import RemoveOption, SchemaChange, SetOption
from paimon_core.store.features import check_seen_whole
from paimon_core.table import Table

_OF_WHOLE_TABLES = (READ_ALLOW_FULL_SCAN, POSTPONE_MERGE_ON_READ, DELETION_VECTOR_MERGE_ON_READ)


def add_enforced(
    load: Callable[[], Table],
    alter: Callable[[Sequence[SchemaChange]], object],
    check_rows: Callable[[Table], None],
    change: SetOption,
) -> None:
    """Add an enforced CHECK constraint, the option that `change` sets. `load` loads the table with its latest schema,
    `alter` changes the schema, and `check_rows` raises an error if a row of the latest version violates the constraint;
    the table then stays without the constraint.

    Raises `UnsupportedFeatureError` if queries do not return all rows, `NoPrivilegeError` if the catalog shows its user
    a part of them.
    """
    table = load()
    before = table.latest_snapshot()
    _check_addable(table)
    check_rows(table)
    alter([change])
    with on_failure(lambda: alter([RemoveOption(change.key)])):
        table = load()
        made = shut_out_older_writers(table)
        _check_addable(table)
        if made != (0 if before is None else before.id) + 1:
            check_rows(table)


def whole(table: Table) -> Table:
    """Return the table for a query of all rows, including rows that other queries return only after a compaction."""
    return table.with_options({o.key: "true" for o in _OF_WHOLE_TABLES})


def _check_addable(table: Table) -> None:
    table.check_writable()
    check_seen_whole(table.store)
    if whole(table).hides_rows():
        raise UnsupportedFeatureError(
            f"Table {table.name} has rows that queries return only after a compaction, so they cannot be checked: "
            "run CALL sys.compact first."
        )


def shut_out_older_writers(table: Table) -> int:
    """Commit an empty snapshot with the latest schema, and return its number. A writer with an older schema has either
    committed its rows by now, or its commit will compare the schemas and find the change.
    """
    forced = table.with_options({SNAPSHOT_IGNORE_EMPTY_COMMIT.key: "false"})
    made = forced.commit((), forced.commit_info())
    return 0 if made is None else made.id
