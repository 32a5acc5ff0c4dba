"""Row-level statements without Spark: what tasks wrote becomes one commit, or nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from paimon_core.clock import now_millis
from paimon_core.errors import CommitConflictError, CommitUnknownError, PaimonError, SeveralMatchesError, StorageError
from paimon_core.jobs import Job, ResultT, TaskT
from paimon_core.maintenance.snapshot_expiry import expire_snapshots, retention_of
from paimon_core.row_level.rules import merge_rules
from paimon_core.row_level.statement import RowLevelStatement
from paimon_core.spec.snapshot import Operation
from paimon_core.store.cache import MetadataCache
from paimon_core.table import Table
from tests.support.executors import TextExecutor
from tests.support.row_changes import Located, Staged, delete, located, task, update
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


@pytest.mark.parametrize("table", ["rewritten", "deletion vectors"], indirect=True)
def test_a_row_that_two_tasks_change(table: Table, tmp_path: Path) -> None:
    before = files(tmp_path)
    rules = merge_rules(table.store, table.latest_snapshot(), [], once=True)
    (row,) = [r for r in located(table) if r.key == 1]
    staged = Staged(rules, [task(table, rules, [row], 2, value) for value in ("x", "y")])
    with pytest.raises(SeveralMatchesError):
        staged.commit(table)
    assert files(tmp_path) == before


@pytest.mark.parametrize("is_planned", [False, True], ids=["unplanned", "planned"])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("table", ["rewritten", "deletion vectors", "data evolution"], indirect=True)
def test_files_that_were_replaced_while_rows_were_read(
    table: Table, tmp_path: Path, change: str, is_planned: bool
) -> None:
    before = files(tmp_path)
    planned = table.for_write()
    staged = CHANGES[change](table, {1})
    new = files(tmp_path) - before
    insert(table, [(5, "e")])
    compact(table)
    kept = files(tmp_path) - new
    with pytest.raises(CommitConflictError):
        staged.commit(planned if is_planned else open_table(str(tmp_path)))
    assert files(tmp_path) == kept


@pytest.mark.parametrize("table", ["rewritten", "deletion vectors", "data evolution"], indirect=True)
def test_the_planned_version_may_expire_while_its_files_are_live(table: Table, tmp_path: Path) -> None:
    planned = table.for_write()
    staged = update(table, {1})
    for row in ((5, "e"), (6, "f")):
        insert(table, [row])
    now = now_millis() + 1
    last_only = {"most": 1, "least": 1, "older_than": now}
    assert expire_snapshots(table.store, retention_of(table.store.options, now, last_only), now) > 0
    staged.commit(replace(planned, store=replace(planned.store, cache=MetadataCache())))
    assert read(open_table(str(tmp_path))) == [(1, "new"), *ROWS[1:], (5, "e"), (6, "f")]


class SecondFails(TextExecutor):
    """Executors whose second task finds that the disk is full."""

    def run(self, job: Job[TaskT, ResultT]) -> list[ResultT]:
        def fails(task: TaskT) -> ResultT:
            if task == job.tasks[1]:
                raise StorageError("The disk is full.")
            return job.function(task)

        return super().run(replace(job, function=fails))


def test_where_a_task_fails_the_files_of_others_go(tmp_path: Path) -> None:
    table = create_table(str(tmp_path), bucket="2", bucket_key="k")
    insert(table, ROWS)
    staged, before = update(table, {1, 2, 3, 4}), {f for f in files(tmp_path) if f.suffix == ".parquet"}
    with pytest.raises(StorageError, match="full"):
        RowLevelStatement(table, staged.rules, SecondFails()).commit(staged.results)
    assert len(before) > 1 and files(tmp_path) == before
