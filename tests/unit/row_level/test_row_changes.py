"""Row-level changes of append tables: new rows, removed positions, files rewritten without them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.errors import CommitConflictError, CorruptFileError, InvalidDataError
from paimon_core.row_level.removed_rows import FilePositions
from paimon_core.row_level.rules import ChangeRules
from paimon_core.row_level.statement import RowLevelStatement
from paimon_core.row_level.writer import CHANGES_RESULT, write_changes
from paimon_core.spec.snapshot import Operation
from paimon_core.table import Table
from tests.support.examples import examples
from tests.support.executors import TextExecutor
from tests.support.stored import LocatedRow, compact, create_table, insert, located_rows, open_table


def change(table: Table, deleted: list[LocatedRow], updated: list[LocatedRow], *, once: bool = True) -> None:
    """What DELETE and UPDATE do, two tasks."""
    rules, results = ChangeRules(Operation.UPDATE, once=once), []
    for kind, rows in ((3, deleted), (2, updated)):
        batches = []
        if rows:
            k, _, paths, numbers = zip(*rows, strict=True)
            columns = {
                "_VALUE_KIND": pa.array([kind] * len(rows), pa.int8()),
                "__paimon_file_path": pa.array(paths),
                "__paimon_row_index": pa.array(numbers, pa.int64()),
                "k": pa.array(k if kind == 2 else [None] * len(rows), pa.int32()),
                "v": pa.array(["new" if kind == 2 else None] * len(rows), pa.string()),
            }
            batches.append(pa.RecordBatch.from_pydict(columns))
        result = write_changes(table.store, rules, batches, sequence_start=0)
        results.append(CHANGES_RESULT.decode(CHANGES_RESULT.encode(result)))
    RowLevelStatement(table, rules, TextExecutor()).commit(results)


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.sampled_from(["true", "false"]))
def test_rows_change_as_in_a_list(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, vectors: str) -> None:
    warehouse = str(tmp_path_factory.mktemp("wh"))
    table = create_table(warehouse, deletion_vectors__enabled=vectors)
    model: dict[int, str] = {}
    for start in (0, 10):
        insert(table, [(k, "old") for k in range(start, start + 10)])
        model |= dict.fromkeys(range(start, start + 10), "old")
    for _ in range(3):
        now = located_rows(table)
        deleted = data.draw(st.lists(st.sampled_from(now), unique=True)) if now else []
        updated = [p for p in now if p not in deleted and data.draw(st.booleans())]
        change(table, deleted, updated)
        model = {k: v for k, v in model.items() if k not in {p[0] for p in deleted}}
        model |= dict.fromkeys((p[0] for p in updated), "new")
        if data.draw(st.booleans()):
            compact(table)
        assert {p[0]: p[1] for p in located_rows(table)} == model
    files = {p.name for p in Path(warehouse).rglob("data-*") if p.is_file()}
    assert {Path(p[2]).name for p in located_rows(table)} <= files


def test_a_row_is_changed_by_one(tmp_path: Path) -> None:
    table = create_table(str(tmp_path))
    insert(table, [(1, "a"), (2, "b")])
    row = located_rows(table)[0]
    with pytest.raises(InvalidDataError, match="several source rows match one row"):
        change(table, [row], [row])
    with pytest.raises(InvalidDataError, match="several source rows match one row"):
        change(table, [row, row], [])
    change(table, [row, row], [], once=False)
    assert [p[0] for p in located_rows(table)] == [2]


def test_a_file_that_was_replaced_meanwhile(tmp_path: Path) -> None:
    table = create_table(str(tmp_path))
    insert(table, [(1, "a")])
    insert(table, [(2, "b")])
    before = located_rows(table)
    compact(table)
    with pytest.raises(CommitConflictError, match=r"another commit changed rows of file .*data-.*\.parquet"):
        change(open_table(str(tmp_path)), before[:1], [])
    assert [p[0] for p in located_rows(table)] == [1, 2]


def test_a_row_that_was_marked_meanwhile(tmp_path: Path) -> None:
    table = create_table(str(tmp_path), deletion_vectors__enabled="true")
    insert(table, [(1, "a"), (2, "b"), (3, "c")])
    rows = located_rows(table)
    change(table, [], rows[:1])
    with pytest.raises(CommitConflictError, match="another commit changed rows"):
        change(open_table(str(tmp_path)), [], rows[:2])
    change(open_table(str(tmp_path)), rows[1:2], [])
    assert sorted(p[:2] for p in located_rows(table)) == [(1, "new"), (3, "c")]


def test_positions_that_do_not_decode() -> None:
    with pytest.raises(CorruptFileError, match="do not decode"):
        FilePositions("f", b"\xff\xff\xff").bitmap()
