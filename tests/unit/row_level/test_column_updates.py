"""Data evolution: updates write single columns, in files of their own, which reading and compaction put together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import CommitConflictError, InvalidDataError, UnfamiliarFormError, UnsupportedFeatureError
from paimon_core.expressions.predicate import And, Compare
from paimon_core.row_level.column_updates import ColumnUpdates, EvolvedChangesWriter
from paimon_core.row_level.removed_rows import changed_files, marked_rows
from paimon_core.row_level.writer import open_changes_writer
from paimon_core.scan.read import read_split
from paimon_core.spec.row_ranges import row_ranges
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.manifests import live_files
from paimon_core.table import Table
from paimon_core.write.compaction.sort_job import Curve, sort_job
from tests.support.examples import examples
from tests.support.stored import compact, create_table, insert

PLACES = ["__paimon_file_path", "__paimon_row_index"]
Row = tuple[int, str]
Model = dict[int, Row]  # row id: k, v


def new_table(warehouse: str, **more: str) -> Table:
    options = {"row_tracking__enabled": "true", "data_evolution__enabled": "true", "deletion_vectors__enabled": "true"}
    return create_table(warehouse, **options | more)


def rows(table: Table, columns: list[str], predicate: Any = None) -> list[tuple[Any, ...]]:
    splits = table.plan(table.latest_snapshot(), predicate).splits
    batches = (b for s in splits for b in read_split(table.store, s, columns, predicate))
    return [row for b in batches for row in zip(*(c.to_pylist() for c in b.columns), strict=True)]


def state(table: Table) -> Model:
    found = rows(table, ["_ROW_ID", "k", "v"])
    assert len({r[0] for r in found}) == len(found)
    return {i: (k, v) for i, k, v in found}


def staged(
    table: Table, before: Snapshot | None, column: str, new: dict[int, Any], deleted: frozenset[int] = frozenset()
) -> EvolvedChangesWriter:
    """One task that updates a column of the rows of these ids, and deletes others."""
    found = sorted(
        (r for r in rows(table, ["_ROW_ID", *PLACES]) if r[0] in new or r[0] in deleted), key=lambda r: r[1:]
    )
    writer = open_changes_writer(
        table.store, sequence_start=0, once=True, updates=ColumnUpdates((column,) if new else (), before)
    )
    assert isinstance(writer, EvolvedChangesWriter)
    values = [new.get(r[0]) for r in found]
    columns = {
        "_VALUE_KIND": pa.array([2 if r[0] in new else 3 for r in found], pa.int8()),
        "__paimon_file_path": pa.array([r[1] for r in found], pa.string()),
        "__paimon_row_index": pa.array([r[2] for r in found], pa.int64()),
        "_ROW_ID": pa.array([r[0] for r in found], pa.int64()),
        "k": pa.array(values if column == "k" else [None] * len(found), pa.int32()),
        "v": pa.array(values if column == "v" else [None] * len(found), pa.string()),
    }
    writer.write(pa.RecordBatch.from_pydict(columns))
    return writer


def commit(table: Table, writer: EvolvedChangesWriter) -> None:
    snapshot, messages = table.latest_snapshot(), writer.finish()
    messages += marked_rows(table.store, snapshot, changed_files(table.store, snapshot, writer.removed))
    table.commit(messages, CommitInfo(user="u"))


def change(table: Table, column: str, new: dict[int, Any], deleted: frozenset[int] = frozenset()) -> None:
    commit(table, staged(table, table.latest_snapshot(), column, new, deleted))


@settings(
    max_examples=examples(25),
    phases=(Phase.generate,),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.data(), st.sampled_from(["parquet", "orc", "avro"]))
def test_columns_change_as_in_a_model(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, file_format: str
) -> None:
    table = new_table(str(tmp_path_factory.mktemp("wh")), file__format=file_format)
    model: Model = {}
    next_id = 0
    for step in range(data.draw(st.integers(2, 7))):
        kind = data.draw(st.sampled_from(["insert", "update", "update", "compact"]))
        if kind == "compact":
            compact(table)
            live = live_files(table.store, table.latest_snapshot()).values()
            assert all(r.is_plain for r in row_ranges(e.file for e in live))
        elif kind == "insert" or not model:
            insert(table, [(step * 10 + i, "new") for i in range(3)])
            model |= {next_id + i: (step * 10 + i, "new") for i in range(3)}
            next_id += 3
        else:
            column = data.draw(st.sampled_from(["k", "v"]))
            chosen = data.draw(st.sets(st.sampled_from(sorted(model))))
            deleted = frozenset(data.draw(st.sets(st.sampled_from(sorted(model)), max_size=2))) - chosen
            change(table, column, dict.fromkeys(chosen, step if column == "k" else f"v{step}"), deleted)
            for i in chosen:
                model[i] = (step, model[i][1]) if column == "k" else (model[i][0], f"v{step}")
            model = {i: row for i, row in model.items() if i not in deleted}
        assert state(table) == model
        wanted = data.draw(st.integers(0, 30))
        found = rows(table, ["k", "v"], Compare("k", "=", wanted))
        assert sorted(found) == sorted(row for row in model.values() if row[0] == wanted)


def test_what_an_update_writes(tmp_path_factory: pytest.TempPathFactory) -> None:
    table = new_table(str(tmp_path_factory.mktemp("wh")))
    insert(table, [(1, "a"), (2, "b")])
    insert(table, [(3, "c")])
    change(table, "v", {1: "B"})
    files = [e.file for e in live_files(table.store, table.latest_snapshot()).values()]
    (new,) = [f for f in files if f.write_cols is not None]
    assert (new.write_cols, new.first_row_id, new.row_count) == (("v",), 0, 2)
    assert (new.min_sequence_number, new.max_sequence_number) == (3, 3)
    assert rows(table, ["_SEQUENCE_NUMBER", "v"]) == [(3, "a"), (3, "B"), (2, "c")]
    assert rows(table, ["_SEQUENCE_NUMBER", "k"]) == [(1, 1), (1, 2), (2, 3)]
    compact(table)
    (one,) = [e.file for e in live_files(table.store, table.latest_snapshot()).values()]
    assert (one.first_row_id, one.row_count, one.min_sequence_number, one.max_sequence_number) == (0, 3, 1, 3)
    latest = table.latest_snapshot()
    assert latest is not None and latest.next_row_id == 3 and latest.commit_kind == "COMPACT"


def test_updates_at_the_same_time(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Of other columns both count; of the same one the second is refused, as it is behind a compaction of its rows."""
    table = new_table(str(tmp_path_factory.mktemp("wh")))
    insert(table, [(1, "a"), (2, "b")])
    before = table.latest_snapshot()
    one, other, same = (staged(table, before, c, {0: x}) for c, x in (("v", "x"), ("k", 9), ("v", "y")))
    commit(table, one)
    commit(table, other)
    with pytest.raises(CommitConflictError, match="another commit has written the same columns of rows 0 to 1"):
        commit(table, same)
    assert state(table) == {0: (9, "x"), 1: (2, "b")}
    insert(table, [(3, "c")])
    late = staged(table, table.latest_snapshot(), "v", {2: "z"})
    compact(table)
    with pytest.raises(CommitConflictError, match="no longer a row range|share only some of their rows"):
        commit(table, late)
    assert state(table) == {0: (9, "x"), 1: (2, "b"), 2: (3, "c")}


def test_a_compaction_of_ranges_that_change_meanwhile(tmp_path_factory: pytest.TempPathFactory) -> None:
    table = new_table(str(tmp_path_factory.mktemp("wh")))
    for k in (1, 2):
        insert(table, [(k, "a")])
    slow = staged(table, table.latest_snapshot(), "v", {0: "b"})
    compact(table)
    with pytest.raises(CommitConflictError):
        commit(table, slow)
    change(table, "v", {0: "b"})
    assert state(table) == {0: (1, "b"), 1: (2, "a")}


def test_rows_that_a_compaction_moved_before_they_were_read(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The version of before the statement has not their files; it still tells who has changed the rows since."""
    table = new_table(str(tmp_path_factory.mktemp("wh")))
    for k in (1, 2):
        insert(table, [(k, "a")])
    before = table.latest_snapshot()
    compact(table)
    commit(table, staged(table, before, "v", {0: "b"}))
    assert state(table) == {0: (1, "b"), 1: (2, "a")}
    with pytest.raises(CommitConflictError, match="the same columns of rows 0 to 1"):
        commit(table, staged(table, before, "v", {1: "b"}))


def test_a_row_that_changes_twice(tmp_path_factory: pytest.TempPathFactory) -> None:
    table = new_table(str(tmp_path_factory.mktemp("wh")))
    insert(table, [(1, "a")])
    writer = staged(table, table.latest_snapshot(), "v", {0: "b"})
    with pytest.raises(InvalidDataError, match="several source rows"):
        writer.write(
            pa.RecordBatch.from_pydict(
                {
                    "_VALUE_KIND": pa.array([2], pa.int8()),
                    "__paimon_file_path": pa.array([rows(table, PLACES)[0][0]]),
                    "__paimon_row_index": pa.array([0], pa.int64()),
                    "_ROW_ID": pa.array([0], pa.int64()),
                    "k": pa.array([None], pa.int32()),
                    "v": pa.array(["c"]),
                }
            )
        )
    writer.abort()


def test_what_is_refused(tmp_path_factory: pytest.TempPathFactory) -> None:
    table = new_table(str(tmp_path_factory.mktemp("wh")))
    insert(table, [(1, "a"), (2, "b")])
    with pytest.raises(UnsupportedFeatureError, match="cannot be sorted"):
        sort_job(table.store, [], ("k",), Curve.ORDER)
    (entry,) = live_files(table.store, table.latest_snapshot()).values()
    with pytest.raises(UnfamiliarFormError, match="overlap in part"):
        row_ranges([entry.file, replace(entry.file, first_row_id=1, file_name="other.parquet")])
    with pytest.raises(UnfamiliarFormError, match="no first row id"):
        row_ranges([replace(entry.file, first_row_id=None)])


def test_ranges_are_left_out_by_file_indexes(tmp_path_factory: pytest.TempPathFactory) -> None:
    """By those of the newest file that has a column, as statistics are; and where its rows are."""
    indexed = {"file_index__bloom_filter__columns": "v", "metadata__stats_mode": "none"}
    for more in ({}, {"file_index__in_manifest_threshold": "1 b"}):
        table = new_table(str(tmp_path_factory.mktemp("wh")), **indexed, **more)
        insert(table, [(1, "a"), (2, "b")])
        insert(table, [(3, "c")])
        change(table, "v", {0: "new", 1: "new"})
        splits = {v: table.plan(table.latest_snapshot(), Compare("v", "=", v)).splits for v in ("a", "new", "c", "z")}
        found = {v: sorted(f.first_row_id for s in own for f in s.files) for v, own in splits.items()}
        assert found == {"a": [], "new": [0, 0], "c": [2], "z": []}
        both = And((Compare("v", "=", "new"), Compare("k", "=", 2)))
        assert rows(table, ["k", "v"], both) == [(2, "new")]
        off = Table(table.store.with_options({"file-index.read.enabled": "false"}))
        assert len(off.plan(off.latest_snapshot(), Compare("v", "=", "z")).splits) == 1
