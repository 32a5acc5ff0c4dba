"""ALTER TABLE … ADD CONSTRAINT … CHECK beside a writer that does not know the constraint, and killed in the middle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest

from paimon_core.added_checks import add_enforced
from paimon_core.errors import CommitConflictError, InvalidDataError
from paimon_core.spec.schema import TableSchema
from paimon_core.store.ddl.constraints import Constraint, ConstraintKind, checks_of
from paimon_core.store.ddl.schema_changes import SchemaChange, SetOption, apply_changes
from paimon_core.store.manifests import live_files
from paimon_core.store.schemas import create_schema, list_schemas
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from tests.support.interleaving import InterleavedIO, KilledError, MemoryIO
from tests.support.tables import data_file, info, message, new_store

POSITIVE = Constraint("positive", ConstraintKind.CHECK, ("k",), "k > 0", enforced=True)
PATH = "/db.db/t"


def load(io: Any) -> Table:
    """Load the table as a new process."""
    schema = list_schemas(TableStore.of(io, PATH, TableSchema(fields=(), highest_field_id=0)))[-1]
    return Table(TableStore.of(io, PATH, schema))


def sizes(io: Any) -> list[int]:
    """Return the sizes of the table's files: 1 for a file with a row that violates the constraint."""
    table = load(io)
    snapshot = table.latest_snapshot()
    return [] if snapshot is None else [e.file.file_size for e in live_files(table.store, snapshot).values()]


def prepared() -> MemoryIO:
    io = MemoryIO()
    new_store("", io)  # type: ignore[arg-type]
    written(io, 2)()
    return io


def written(io: Any, size: int) -> Callable[[], None]:
    """Load the table, and return the commit of a file of a size."""
    table = load(io)

    def commit() -> None:
        table.commit([message(table.store, data_file(table.store, -5, 5, file_size=size))], info())

    return commit


def add(io: Any) -> None:
    def alter(changes: Sequence[SchemaChange]) -> None:
        store = load(io).store
        assert create_schema(store.io, store.root, apply_changes(store.schema, changes, 1))

    def check_rows(table: Table) -> None:
        if 1 in sizes(io):
            raise InvalidDataError("a row violates it")

    add_enforced(lambda: load(io), alter, check_rows, SetOption(POSITIVE.key, POSITIVE.value))


def calls() -> int:
    io = InterleavedIO(prepared())
    add(io)
    return len(io.calls)


@pytest.mark.parametrize("loads", ["before", "meanwhile"])
def test_no_row_gets_around_a_new_constraint(loads: str) -> None:
    """A row is committed before any call of the statement, or after it. Its writer has loaded the table before the
    statement began, or knows the constraint if its schema had it by then, and would check the row.
    """
    ends, last = set(), calls() + 1
    for at in range(1, last + 1):
        inner = prepared()
        commit = written(inner, 1) if loads == "before" else None

        def write(commit: Callable[[], None] | None = commit, inner: MemoryIO = inner) -> None:
            if commit is None and checks_of(load(inner).schema.options):
                return
            with suppress(CommitConflictError):
                (commit or written(inner, 1))()

        added = True
        try:
            add(InterleavedIO(inner, at, write))
        except InvalidDataError:
            added = False
        if at == last:
            write()
        entered = 1 in sizes(inner)
        known = bool(checks_of(load(inner).schema.options))
        assert known == added
        assert not (added and entered), f"before call {at} a row got into a table that has the constraint"
        ends.add((added, entered))
    assert ends == {(True, False), (False, True)}


def test_a_killed_statement_leaves_a_constraint_that_every_new_row_is_checked_against() -> None:
    for at in range(1, calls() + 1):
        inner = prepared()
        late = written(inner, 1)
        with suppress(KilledError):
            add(InterleavedIO(inner, at, killed=True))
        known = bool(checks_of(load(inner).schema.options))
        written(inner, 3)()  # a writer of the latest schema goes on
        if not known:
            late()
            continue
        with pytest.raises(CommitConflictError, match="constraint 'positive'"):
            late()
        assert sorted(sizes(inner)) == [2, 3]
