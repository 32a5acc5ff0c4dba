"""Columns of an empty table that get other types beside a writer with the old columns, and killed in the middle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest

from paimon_core.errors import CommitConflictError
from paimon_core.replaced_columns import replace_columns, replaced_columns
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import BOOLEAN
from paimon_core.store.ddl.schema_changes import AddColumn, DropColumn, SchemaChange, SetOption, apply_changes
from paimon_core.store.manifests import live_files
from paimon_core.store.schemas import create_schema, list_schemas
from paimon_core.store.snapshots import find_snapshot
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from tests.support.interleaving import InterleavedIO, KilledError, MemoryIO
from tests.support.tables import data_file, info, message, new_store

PATH = "/db.db/t"
RETYPED: tuple[SchemaChange, ...] = (DropColumn(("v",)), AddColumn(("v",), BOOLEAN), SetOption("x", "y"))


def load(io: Any) -> Table:
    """Load the table as a new process."""
    schema = list_schemas(TableStore.of(io, PATH, TableSchema(fields=(), highest_field_id=0)))[-1]
    return Table(TableStore.of(io, PATH, schema))


def prepared() -> MemoryIO:
    io = MemoryIO()
    new_store("", io)  # type: ignore[arg-type]
    return io


def schemas_of_rows(io: Any) -> list[int]:
    table = load(io)
    snapshot = table.latest_snapshot()
    return [] if snapshot is None else [e.file.schema_id for e in live_files(table.store, snapshot).values()]


def written(io: Any) -> Callable[[], None]:
    """Load the table, and return the commit of a file with its columns."""
    table = load(io)

    def commit() -> None:
        file = data_file(table.store, 1, 5, schema_id=table.schema.id)
        table.commit([message(table.store, file)], info())

    return commit


def retype(io: Any) -> None:
    def alter(changes: Sequence[SchemaChange]) -> None:
        store = load(io).store
        assert create_schema(store.io, store.root, apply_changes(store.schema, changes, 1))

    replace_columns(lambda: load(io), alter, RETYPED)


def calls() -> int:
    io = InterleavedIO(prepared())
    retype(io)
    return len(io.calls)


@pytest.mark.parametrize("loads", ["before", "meanwhile"])
def test_no_row_loses_its_values_unnoticed(loads: str) -> None:
    """A row is committed before any call of the statement, or after it, by a writer that has loaded the table before
    the statement began, or just then.
    """
    ends, last = set(), calls() + 1
    for at in range(1, last + 1):
        inner = prepared()
        commit = written(inner) if loads == "before" else None
        refused = False

        def write(commit: Callable[[], None] | None = commit, inner: MemoryIO = inner) -> None:
            nonlocal refused
            try:
                (commit or written(inner))()
            except CommitConflictError as error:
                assert "column 'v' was dropped and added again while rows" in str(error)  # noqa: PT017
                refused = True

        warned = ""
        try:
            retype(InterleavedIO(inner, at, write))
        except CommitConflictError as error:
            warned = str(error)
        if at == last:
            write()
        old = [n for n in schemas_of_rows(inner) if n == 0]
        assert bool(old) == bool(warned), f"a row came before call {at}"
        assert refused != bool(schemas_of_rows(inner))
        if warned:
            assert "got 1 rows of another writer while these columns got other types: v." in warned
            number = int(warned.partition("VERSION AS OF ")[2].split()[0])
            snapshot = find_snapshot(load(inner).store, number)
            assert snapshot is not None and snapshot.schema_id == 0 and snapshot.total_record_count
        ends.add((bool(warned), refused))
    assert ends == ({(True, False), (False, True)} if loads == "before" else {(True, False), (False, False)})


def test_a_killed_statement_shuts_writers_with_the_old_columns_out() -> None:
    for at in range(1, calls() + 1):
        inner = prepared()
        late = written(inner)
        with suppress(KilledError):
            retype(InterleavedIO(inner, at, killed=True))
        is_altered = load(inner).schema.id == 1
        written(inner)()  # a writer of the latest schema goes on
        if is_altered:
            before = set(inner.files)
            with pytest.raises(CommitConflictError, match="column 'v' was dropped and added again"):
                late()
            assert set(inner.files) == before
        else:
            late()
        assert schemas_of_rows(inner) == ([1] if is_altered else [0, 0])


def test_only_columns_that_are_dropped_and_added_are_replaced() -> None:
    assert replaced_columns(RETYPED) == ["v"]
    assert replaced_columns([DropColumn(("a",)), AddColumn(("b",), BOOLEAN)]) == []
