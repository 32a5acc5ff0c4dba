"""Row-level statements without Spark: what tasks wrote becomes one commit, or nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.arrow.types import FILE_PATH, ROW_ID, ROW_INDEX, VALUE_KIND
from paimon_core.errors import CommitConflictError, CommitUnknownError, PaimonError, SeveralMatchesError, StorageError
from paimon_core.io.local import LocalFileIO
from paimon_core.row_level.rules import ChangeRules, delete_rules, merge_rules, row_position_columns, update_rules
from paimon_core.row_level.statement import RowLevelStatement
from paimon_core.row_level.writer import CHANGES_RESULT, ChangesResult, changes_store, write_changes
from paimon_core.scan.read import read_split
from paimon_core.spec.snapshot import Operation
from paimon_core.table import Table
from tests.support.executors import TextExecutor
from tests.support.faulty_io import FaultyIO
from tests.support.stored import compact, create_table, insert, open_table, read

TABLES: dict[str, dict[str, str]] = {
    "rewritten": {},
    "fixed buckets": {"bucket": "2", "bucket_key": "k"},
    "deletion vectors": {"deletion_vectors__enabled": "true"},
    "row tracking": {"row_tracking__enabled": "true"},
    "data evolution": {
        "row_tracking__enabled": "true",
        "data_evolution__enabled": "true",
        "deletion_vectors__enabled": "true",
    },
    "keyed": {"primary_key": "k", "bucket": "1", "write_only": "true"},
    "postponed": {"primary_key": "k", "bucket": "-2"},
}
ROWS = [(1, "a"), (2, "b"), (3, "c"), (4, "d")]


@dataclass(frozen=True)
class Located:
    """A row, and what says where it is."""

    key: int
    position: tuple[Any, ...]


def located(table: Table) -> list[Located]:
    names = list(row_position_columns(table.store))
    batches = (b for s in table.plan(table.latest_snapshot()).splits for b in read_split(table.store, s, ["k", *names]))
    rows = [row for b in batches for row in zip(*(c.to_pylist() for c in b.columns), strict=True)]
    return [Located(k, position) for k, *position in sorted(rows, key=lambda r: r[1:])]


def task(table: Table, rules: ChangeRules, rows: list[Located], kind: int, value: str | None) -> ChangesResult:
    """What a task writes that gives rows a kind and a value."""
    types = {FILE_PATH: pa.string(), ROW_INDEX: pa.int64(), ROW_ID: pa.int64()}
    names = row_position_columns(table.store)
    keyed = kind == 2 or table.store.has_primary_key
    columns = {
        VALUE_KIND: pa.array([kind] * len(rows), pa.int8()),
        **{n: pa.array([r.position[i] for r in rows], types[n]) for i, n in enumerate(names)},
        "k": pa.array([r.key if keyed else None for r in rows], pa.int32()),
        "v": pa.array([value] * len(rows), pa.string()),
    }
    batches = [pa.RecordBatch.from_pydict(columns)] if rows else []
    start = table.max_sequence_number() + 1
    result = write_changes(changes_store(table.store, rules), rules, batches, sequence_start=start)
    return CHANGES_RESULT.decode(CHANGES_RESULT.encode(result))


@dataclass(frozen=True)
class Staged:
    """What the tasks of a statement wrote."""

    rules: ChangeRules
    results: list[ChangesResult]

    def commit(self, table: Table, before_commit: Callable[[], None] | None = None) -> None:
        RowLevelStatement(table, self.rules, TextExecutor()).commit(self.results, before_commit)


def delete(table: Table, keys: set[int]) -> Staged:
    """DELETE, each row by a task of its own."""
    rules = delete_rules(table.store, table.latest_snapshot())
    return Staged(rules, [task(table, rules, [r], 3, None) for r in located(table) if r.key in keys])


def update(table: Table, keys: set[int]) -> Staged:
    """UPDATE SET v = 'new', by one task."""
    rules = update_rules(table.store, table.latest_snapshot(), ["v"])
    return Staged(rules, [task(table, rules, [r for r in located(table) if r.key in keys], 2, "new")])


def files(root: Path) -> set[Path]:
    """Files of data and indexes."""
    kinds = ("bucket-*/*", "index/*")
    return {path for kind in kinds for path in root.rglob(kind) if path.is_file()}


@pytest.fixture
def table(tmp_path: Path, request: pytest.FixtureRequest) -> Table:
    made = create_table(str(tmp_path), **TABLES[request.param])
    insert(made, ROWS[:3])
    insert(made, ROWS[3:])
    return made


@pytest.mark.parametrize("table", [t for t in TABLES if t != "postponed"], indirect=True)
def test_each_statement_is_one_commit(table: Table) -> None:
    first = table.latest_snapshot()
    assert first is not None
    update(table, {2, 4}).commit(table)
    assert read(table) == [(1, "a"), (2, "new"), (3, "c"), (4, "new")]
    made = table.latest_snapshot()
    assert made is not None and (made.id, made.operation) == (first.id + 1, Operation.UPDATE)
    delete(table, {1, 4}).commit(table)
    assert read(table) == [(2, "new"), (3, "c")]
    made = table.latest_snapshot()
    assert made is not None and (made.id, made.operation) == (first.id + 2, Operation.DELETE)


@pytest.mark.parametrize("engine", ["aggregation", "partial-update", "first-row"])
def test_keys_are_deleted_where_the_engine_takes_no_deletes(tmp_path: Path, engine: str) -> None:
    table = create_table(str(tmp_path), primary_key="k", bucket="1", merge_engine=engine)
    insert(table, ROWS)
    compact(table)
    before = files(tmp_path)
    delete(table, {2, 3}).commit(table)
    assert read(table) == [(1, "a"), (4, "d")]
    assert len(files(tmp_path) - before) == 1, "the files of keys are deleted"


def test_postponed_rows_get_their_buckets(tmp_path: Path) -> None:
    table = create_table(str(tmp_path), postpone__default_bucket_num="2", **TABLES["postponed"])
    rules = merge_rules(table.store, None, [], once=True)
    result = task(table, rules, [Located(k, ()) for k, _ in ROWS], 2, "x")
    RowLevelStatement(table, rules, TextExecutor()).commit([result])
    assert read(table) == [(k, "x") for k, _ in ROWS]
    assert {p.parent.name for p in files(tmp_path)} <= {"bucket-0", "bucket-1"}


CHANGES = {"delete": delete, "update": update}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("table", [t for t in TABLES if t != "postponed"], indirect=True)
def test_files_of_a_statement_that_fails(table: Table, tmp_path: Path, change: str) -> None:
    before, rows = files(tmp_path), read(table)
    seen: list[set[Path]] = []

    def fail(error: PaimonError) -> Callable[[], None]:
        def then() -> None:
            seen.append(files(tmp_path) - before)
            raise error

        return then

    with pytest.raises(StorageError):
        CHANGES[change](table, {1, 4}).commit(table, fail(StorageError("the schema cannot be written")))
    assert seen[-1] and files(tmp_path) == before
    with pytest.raises(CommitUnknownError):
        CHANGES[change](table, {1, 4}).commit(table, fail(CommitUnknownError("nobody answers")))
    assert files(tmp_path) - before == seen[-1], "a snapshot may need them"
    assert read(open_table(str(tmp_path))) == rows


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("table", ["rewritten", "deletion vectors", "data evolution"], indirect=True)
def test_whatever_call_fails(table: Table, tmp_path: Path, change: str) -> None:
    """The rows are those of before or after; where they are those of before, so are the files."""
    rows, outcomes = read(table), set[bool]()
    for number in range(1, 1000):
        root = tmp_path / str(number)
        shutil.copytree(tmp_path / "default.db", root / "default.db")
        before, copy, io = files(root), open_table(str(root)), FaultyIO(LocalFileIO(), number)
        staged = CHANGES[change](copy, {1, 4})
        with suppress(PaimonError, OSError, pa.ArrowException):
            staged.commit(open_table(str(root), io))
        changed = read(open_table(str(root))) != rows
        outcomes.add(changed)
        assert changed or files(root) == before, number
        shutil.rmtree(root)
        if io.calls < number:
            break
    assert outcomes == {True, False}


@pytest.mark.parametrize("table", ["rewritten", "deletion vectors"], indirect=True)
def test_a_row_that_two_tasks_change(table: Table, tmp_path: Path) -> None:
    before = files(tmp_path)
    rules = merge_rules(table.store, table.latest_snapshot(), [], once=True)
    (row,) = [r for r in located(table) if r.key == 1]
    staged = Staged(rules, [task(table, rules, [row], 2, value) for value in ("x", "y")])
    with pytest.raises(SeveralMatchesError):
        staged.commit(table)
    assert files(tmp_path) == before


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("table", ["rewritten", "deletion vectors", "data evolution"], indirect=True)
def test_files_that_were_replaced_while_rows_were_read(table: Table, tmp_path: Path, change: str) -> None:
    before = files(tmp_path)
    staged = CHANGES[change](table, {1})
    new = files(tmp_path) - before
    insert(table, [(5, "e")])
    compact(table)
    kept = files(tmp_path) - new
    with pytest.raises(CommitConflictError):
        staged.commit(open_table(str(tmp_path)))
    assert files(tmp_path) == kept
