"""Replace columns of a table without rows, so that rows of another writer do not lose their values unnoticed.

A column that is dropped and added again has another id, so old files have no values of it. A commit checks the columns
before it is published (`commit/same_table.py`). The change may come between that check and the publish. So an empty
snapshot is committed after the change. Either it takes the number of such a commit, which must then try again and fails
the check. Or it comes after that commit, and the rows of the commit are reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from paimon_core.added_checks import shut_out_older_writers
from paimon_core.errors import CommitConflictError
from paimon_core.store.ddl.schema_changes import AddColumn, DropColumn, SchemaChange
from paimon_core.store.manifests import live_files
from paimon_core.store.snapshots import find_snapshot
from paimon_core.table import Table


def replaced_columns(changes: Sequence[SchemaChange]) -> list[str]:
    """Return the columns that changes drop and add again."""
    dropped = {c.path for c in changes if isinstance(c, DropColumn)}
    return [c.path[-1] for c in changes if isinstance(c, AddColumn) and c.path in dropped]


def replace_columns(
    load: Callable[[], Table], alter: Callable[[Sequence[SchemaChange]], object], changes: Sequence[SchemaChange]
) -> None:
    """Change a table that had no rows when the changes were chosen. `load` loads the table with its latest schema,
    `alter` changes the schema.

    Raises `CommitConflictError` if another writer has committed rows with the old columns meanwhile.
    """
    alter(changes)
    table = load()
    shut_out_older_writers(table)
    last = table.latest_snapshot()
    files = [] if last is None else [e.file for e in live_files(table.store, last).values()]
    older = [f for f in files if f.schema_id < table.schema.id]
    if last is None or not older:
        return
    number, columns = last.id, ", ".join(replaced_columns(changes))
    while (found := find_snapshot(table.store, number)) is not None and found.schema_id >= table.schema.id:
        number -= 1
    raise CommitConflictError(
        f"Table {table.name} got {sum(f.row_count for f in older)} rows of another writer while these columns got "
        f"other types: {columns}. The rows have no values there now; VERSION AS OF {number} has them. End the "
        "other writer, write the rows again, and repeat the statement."
    )
