"""Row tracking: rows keep their ids in whatever file they are, and know the snapshot that last changed them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import InvalidDataError, InvalidOptionError, UnsupportedFeatureError
from paimon_core.maintenance.branches import create_branch, files_to_merge
from paimon_core.maintenance.tags import create_tag
from paimon_core.row_level.rules import ChangeRules
from paimon_core.row_level.statement import RowLevelStatement
from paimon_core.row_level.writer import write_changes
from paimon_core.scan.derived_tables import DerivedTable, derived_fields
from paimon_core.scan.read import read_split
from paimon_core.spec.snapshot import Operation
from paimon_core.store.branches import open_branch
from paimon_core.store.manifests import live_files
from paimon_core.table import Table
from tests.support.examples import examples
from tests.support.executors import TextExecutor
from tests.support.stored import commit, compact, create_table, insert, write

COLUMNS = ["k", "v", "_ROW_ID", "_SEQUENCE_NUMBER"]
POSITIONS = ["__paimon_file_path", "__paimon_row_index"]
State = dict[int, tuple[int, str, int]]  # row id: k, v, sequence number


def tracked(table: Table, columns: list[str]) -> list[tuple[object, ...]]:
    batches = (b for s in table.plan(table.latest_snapshot()).splits for b in read_split(table.store, s, columns))
    return [row for b in batches for row in zip(*(c.to_pylist() for c in b.columns), strict=True)]


def state(table: Table) -> State:
    rows = tracked(table, COLUMNS)
    found: State = {i: (k, v, n) for k, v, i, n in rows}  # type: ignore[misc]
    assert len(found) == len(rows)
    return found


def change(table: Table, deleted: set[int], updated: set[int], added: list[int], value: str) -> int | None:
    """What MERGE INTO does, in one task: rows go, others get a value, new ones come. The snapshot, None for none."""
    rows = {row[0]: row for row in tracked(table, ["_ROW_ID", "k", *POSITIONS])}
    removed = [rows[i] for i in sorted(deleted)]
    new = [*(rows[i] for i in sorted(updated)), *((None, k, None, None) for k in added)]
    columns = {
        "_VALUE_KIND": pa.array([3] * len(removed) + [2] * len(new), pa.int8()),
        "__paimon_file_path": pa.array([r[2] for r in (*removed, *new)], pa.string()),
        "__paimon_row_index": pa.array([r[3] for r in (*removed, *new)], pa.int64()),
        "_ROW_ID": pa.array([r[0] for r in (*removed, *new)], pa.int64()),
        "k": pa.array([None] * len(removed) + [r[1] for r in new], pa.int32()),
        "v": pa.array([None] * len(removed) + [value] * len(new), pa.string()),
    }
    before, rules = table.latest_snapshot(), ChangeRules(Operation.MERGE, once=True)
    result = write_changes(table.store, rules, [pa.RecordBatch.from_pydict(columns)], sequence_start=0)
    RowLevelStatement(table, rules, TextExecutor()).commit([result])
    made = table.latest_snapshot()
    return None if made is None or made == before else made.id


@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.booleans(), st.sampled_from(["parquet", "orc", "avro", "csv", "json"]))
def test_ids_and_versions_are_those_of_a_model(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, vectors: bool, file_format: str
) -> None:
    options = {"row_tracking__enabled": "true", "deletion_vectors__enabled": str(vectors), "file__format": file_format}
    table = create_table(str(tmp_path_factory.mktemp("wh")), **options)
    model: State = {}
    next_id = next_key = 0
    for step in range(data.draw(st.integers(2, 6))):
        kind = data.draw(st.sampled_from(["insert", "change", "compact"]))
        if kind == "compact":
            compact(table)
        elif kind == "insert" or not model:
            made = insert(table, [(next_key, "new"), (next_key + 1, "new")])
            assert made is not None
            model |= {next_id + i: (next_key + i, "new", made.id) for i in range(2)}
            next_id, next_key = next_id + 2, next_key + 2
        else:
            deleted = data.draw(st.sets(st.sampled_from(sorted(model))))
            updated = {i for i in model if i not in deleted and data.draw(st.booleans())}
            added = [next_key] if data.draw(st.booleans()) else []
            number = change(table, deleted, updated, added, f"v{step}")
            if number is not None:
                model = {i: row for i, row in model.items() if i not in deleted}
                model |= {i: (model[i][0], f"v{step}", number) for i in updated}
                model |= {next_id + i: (k, f"v{step}", number) for i, k in enumerate(added)}
                next_id, next_key = next_id + len(added), next_key + len(added)
        assert state(table) == model
    latest = table.latest_snapshot()
    assert (latest.next_row_id if latest else 0) == next_id


def test_two_writers_get_different_ids(tmp_path_factory: pytest.TempPathFactory) -> None:
    table = create_table(str(tmp_path_factory.mktemp("wh")), row_tracking__enabled="true")
    first, second = write(table, [(1, "a"), (2, "b")]), write(table, [(3, "c")])
    commit(table, second, "other")
    commit(table, first, "tester")
    assert state(table) == {0: (3, "c", 1), 1: (1, "a", 2), 2: (2, "b", 2)}


def test_rolled_files_and_their_metadata(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A task that fills two files gives the rows of both to the commit to number."""
    table = create_table(
        str(tmp_path_factory.mktemp("wh")), row_tracking__enabled="true", target_file_size="1 b", file__block_size="1 b"
    )
    insert(table, [(k, "a") for k in range(3)])
    files = [e.file for e in live_files(table.store, table.latest_snapshot()).values()]
    assert len(files) == 3 and sorted(f.first_row_id or 0 for f in files) == [0, 1, 2]
    assert {(f.min_sequence_number, f.max_sequence_number) for f in files} == {(1, 1)}
    change(table, {0}, {1}, [], "b")
    assert state(table) == {1: (1, "b", 2), 2: (2, "a", 1)}
    by_cols = {f.write_cols: f for e in live_files(table.store, table.latest_snapshot()).values() for f in [e.file]}
    assert by_cols[None].first_row_id == 2
    assert by_cols[("k", "v", "_ROW_ID", "_SEQUENCE_NUMBER")].first_row_id is None


def test_a_small_update_makes_one_file(tmp_path_factory: pytest.TempPathFactory) -> None:
    table = create_table(str(tmp_path_factory.mktemp("wh")), row_tracking__enabled="true")
    for k in (1, 2):
        insert(table, [(k, "a"), (k + 10, "a")])
    change(table, {0}, {1, 2}, [99], "b")
    files = {f.row_count: f for e in live_files(table.store, table.latest_snapshot()).values() for f in [e.file]}
    assert sorted(files) == [1, 3] and (files[3].min_sequence_number, files[3].max_sequence_number) == (2, 3)
    assert state(table) == {1: (11, "b", 3), 2: (2, "b", 3), 3: (12, "a", 2), 4: (99, "b", 3)}
    folder = Path(table.store.bucket_dir(b"\0" * 12, 0))
    assert len(list(folder.iterdir())) == 4  # those of before, and what the update made of them


def test_what_row_tracking_does_not_go_with(tmp_path_factory: pytest.TempPathFactory) -> None:
    warehouse = str(tmp_path_factory.mktemp("wh"))
    for more, what in (({"primary_key": "k", "bucket": "1"}, "primary-key"), ({"bucket": "1"}, "bucket")):
        with pytest.raises(InvalidOptionError, match=f"Cannot define {what} for row tracking table|bucket-key"):
            create_table(warehouse, row_tracking__enabled="true", **more)
    with pytest.raises(InvalidOptionError, match=r"must enabled with row-tracking\.enabled"):
        create_table(warehouse, data_evolution__enabled="true")
    table = create_table(warehouse)
    with pytest.raises(UnsupportedFeatureError, match="does not support row tracking"):
        derived_fields(table.store, DerivedTable.ROW_TRACKING)


def test_merged_rows_of_a_branch_get_ids_of_their_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    for evolves in ("false", "true"):
        root = str(tmp_path_factory.mktemp("wh"))
        main = create_table(root, row_tracking__enabled="true", data_evolution__enabled=evolves)
        first = insert(main, [(1, "both")])
        assert first is not None
        create_tag(main.store, "t", first)
        create_branch(main.store, "b", "t")
        branch = Table(open_branch(main.store, "b"))
        insert(main, [(2, "main")])
        insert(branch, [(3, "branch")])
        if evolves == "true":
            with pytest.raises(InvalidDataError, match="data-evolution.enabled"):
                files_to_merge(branch.store, main.store)
            continue
        main.commit(files_to_merge(branch.store, main.store), CommitInfo(user="u"))
        assert sorted(tracked(main, ["k", "_ROW_ID"])) == [(1, 0), (2, 1), (3, 2)]
