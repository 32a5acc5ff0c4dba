"""UPDATE of append tables by patches: rows keep their order, any file takes new values, no patch is kept."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import CommitConflictError, InvalidDataError, PaimonError
from paimon_core.io import ahead
from paimon_core.io.local import LocalFileIO
from paimon_core.row_level.patches import Patch, PatchWriter, patch_job, patched_columns, remove_patches
from paimon_core.row_level.writer import open_changes_writer
from paimon_core.scan.read import read_split
from paimon_core.spec.types import INT, STRING
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import AddColumn
from paimon_core.store.manifests import live_files
from paimon_core.table import Table
from paimon_core.write.writer import written
from paimon_sql.catalog.load import load_catalog
from tests.support.counted_requests import CountingIO
from tests.support.examples import examples
from tests.support.executors import run_job
from tests.support.faulty_io import Fault, FaultyIO
from tests.support.stored import LocatedRow, T, compact, create_table, insert, located_rows, open_table
from tests.support.tables import fields


def write_patches(table: Table, changed: dict[LocatedRow, Any], column: str = "v") -> list[Patch]:
    """The patches of a task; the new value of `column` by row."""
    writer = open_changes_writer(table.store, sequence_start=0, once=False, patched=(column,))
    assert isinstance(writer, PatchWriter)
    batches = [
        pa.RecordBatch.from_pydict(
            {
                "__paimon_file_path": pa.array([row[2]]),
                "__paimon_row_index": pa.array([row[3]], pa.int64()),
                column: pa.array([value], pa.int32() if column == "k" else pa.string()),
            }
        )
        for row, value in changed.items()
    ]
    assert written(writer, batches) == []
    return writer.patches


def update(table: Table, *tasks: dict[LocatedRow, Any], column: str = "v") -> None:
    """What UPDATE does."""
    patches = [p for task in tasks for p in write_patches(table, task, column)]
    messages = run_job(patch_job(table.store, table.latest_snapshot(), patches, (column,)))
    table.commit(messages, CommitInfo(user="u"))
    remove_patches(table.store, patches)


def by_file(rows: list[LocatedRow]) -> list[list[int]]:
    """The keys of each file in the order of its rows."""
    found: dict[str, list[int]] = {}
    for k, _, path, _ in rows:
        found.setdefault(path, []).append(k)
    return sorted(found.values())


def stored_files(warehouse: Path) -> set[str]:
    return {p.name for p in warehouse.rglob("data-*")}


@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.sampled_from(["parquet", "orc", "avro"]), st.sampled_from(["-1", "2"]))
def test_rows_change_where_they_are(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, file_format: str, bucket: str
) -> None:
    warehouse = tmp_path_factory.mktemp("wh")
    keyed = {"bucket": bucket, "bucket_key": "k"} if bucket != "-1" else {}
    table = create_table(str(warehouse), file__format=file_format, **keyed)
    for start in range(0, 10 * data.draw(st.integers(1, 3)), 10):
        insert(table, [(k, f"v{k}") for k in range(start, start + 10)])
    model = {p[0]: p[1] for p in located_rows(table)}
    for step in range(3):
        now = located_rows(table)
        tasks: list[dict[LocatedRow, str]] = [{}, {}]
        for row in data.draw(st.lists(st.sampled_from(now), unique=True)):
            tasks[data.draw(st.integers(0, 1))][row] = model[row[0]] = f"{step}"
        update(table, *tasks)
        rows = located_rows(table)
        assert {p[0]: p[1] for p in rows} == model
        if bucket != "-1":  # whose rows are in an order
            assert by_file(rows) == by_file(now)
        if data.draw(st.booleans()):
            compact(table)


@pytest.mark.parametrize("kept", [1, 0], ids=["small", "large"])
def test_a_small_file_is_read_once_and_beside_its_patches(
    tmp_path: Path, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "_MOST_EACH", kept * 2**23)
    io = CountingIO()
    insert(create_table(str(tmp_path)), [(k, f"{k}") for k in range(10)])
    table = open_table(str(tmp_path), io)
    patches = write_patches(table, {located_rows(table)[3]: "new"})
    job = patch_job(table.store, table.latest_snapshot(), patches, ("v",))
    with io.counted() as made:
        messages = run_job(job)
    opened = sum("data-" in request and ".parquet" in request for request in made.made)
    assert (opened, made.chain) == ((2, 2) if kept else (3, 4)), made.made
    table.commit(messages, CommitInfo(user="u"))
    assert {row[0]: row[1] for row in located_rows(table)} == {k: "new" if k == 3 else f"{k}" for k in range(10)}


def test_metadata_is_that_of_the_rows(tmp_path: Path) -> None:
    table = create_table(str(tmp_path))
    insert(table, [(k, f"{k}") for k in range(10)])
    (before,) = live_files(table.store, table.latest_snapshot()).values()
    rows = located_rows(table)
    update(table, {rows[0]: "zz", rows[5]: None})
    (after,) = live_files(table.store, table.latest_snapshot()).values()
    assert after.file.file_name != before.file.file_name
    assert after.file.file_size == (tmp_path / "default.db/t/bucket-0" / after.file.file_name).stat().st_size
    kept = ("row_count", "min_sequence_number", "max_sequence_number", "schema_id", "level", "file_source")
    assert [getattr(after.file, n) for n in kept] == [getattr(before.file, n) for n in kept]
    (shown,) = (
        table.system_table("files").select(["min_value_stats", "max_value_stats", "null_value_counts"]).to_pylist()
    )
    assert shown == {
        "min_value_stats": "{k=0, v=1}",
        "max_value_stats": "{k=9, v=zz}",
        "null_value_counts": "{k=0, v=1}",
    }
    names = {p.name for p in tmp_path.rglob("bucket-0/*")}
    assert names == {before.file.file_name, after.file.file_name}  # no patches remain


def test_small_files_become_one(tmp_path: Path) -> None:
    table = create_table(str(tmp_path))
    for k in range(5):
        insert(table, [(k, "old")])
    update(table, dict.fromkeys(located_rows(table)[:4], "new"))
    assert sorted(e.file.row_count for e in live_files(table.store, table.latest_snapshot()).values()) == [1, 4]
    assert sorted(p[:2] for p in located_rows(table)) == [*((k, "new") for k in range(4)), (4, "old")]


def test_files_from_before_a_column_came(tmp_path: Path) -> None:
    table = create_table(str(tmp_path))
    insert(table, [(1, "a"), (2, "b")])
    rows = located_rows(table)
    load_catalog({"warehouse": str(tmp_path)}).alter_table(T, [AddColumn(("w",), STRING)])
    table = open_table(str(tmp_path))
    update(table, {rows[1]: "new"}, column="w")
    (split,) = table.plan(table.latest_snapshot()).splits
    found = pa.Table.from_batches(list(read_split(table.store, split, ["k", "v", "w"]))).to_pylist()
    assert found == [{"k": 1, "v": "a", "w": None}, {"k": 2, "v": "b", "w": "new"}]


def test_files_outside_of_the_table(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    options = {"data-file__external-paths": f"file://{outside}", "data-file__external-paths__strategy": "round-robin"}
    table = create_table(str(tmp_path / "wh"), **options)
    insert(table, [(1, "a"), (2, "b")])
    update(table, {located_rows(table)[0]: "new"})
    assert [p[:2] for p in located_rows(table)] == [(1, "new"), (2, "b")]
    assert {p.parent for p in tmp_path.rglob("data-*")} == {outside / "bucket-0"}
    assert not list(tmp_path.rglob("*.arrow"))


def test_a_file_that_was_replaced_meanwhile(tmp_path: Path) -> None:
    table = create_table(str(tmp_path))
    insert(table, [(1, "a")])
    insert(table, [(2, "b")])
    patches = write_patches(table, {located_rows(table)[0]: "c"})
    compact(table)
    with pytest.raises(CommitConflictError, match=r"another commit changed rows of file .*data-.*\.parquet"):
        patch_job(table.store, table.latest_snapshot(), patches, ("v",))


def test_a_row_has_one_new_value(tmp_path: Path) -> None:
    table = create_table(str(tmp_path))
    insert(table, [(1, "a")])
    (row,) = located_rows(table)
    before = stored_files(tmp_path)
    with pytest.raises(InvalidDataError, match="several source rows match one row"):
        update(table, {row: "b"}, {row: "c"})
    assert {n for n in stored_files(tmp_path) if not n.endswith(".arrow")} == before


def test_null_is_refused_where_the_column_is(tmp_path: Path) -> None:
    load_catalog({"warehouse": str(tmp_path)}).create_table(
        T, new_table_schema(fields(k=INT, v=STRING.with_nullable(False)), options={})
    )
    table = open_table(str(tmp_path))
    insert(table, [(1, "a")])
    with pytest.raises(InvalidDataError, match="'v' is NOT NULL"):
        write_patches(table, {located_rows(table)[0]: None})
    assert not [n for n in stored_files(tmp_path) if n.endswith(".arrow")]


@pytest.mark.parametrize("mode", [Fault.BEFORE, Fault.AFTER, Fault.TORN])
def test_faults_leave_the_table_as_it_was(tmp_path: Path, mode: Fault) -> None:
    """Each call to the storage by either kind of task fails once."""
    table = create_table(str(tmp_path))
    insert(table, [(1, "a"), (2, "b")])
    rows, before = located_rows(table), stored_files(tmp_path)

    def attempt(io: FaultyIO) -> None:
        faulty = open_table(str(tmp_path), io)
        patches = list[Patch]()
        try:
            patches = write_patches(faulty, {rows[1]: "x"})
            table.abort(run_job(patch_job(faulty.store, faulty.latest_snapshot(), patches, ("v",))))
        finally:
            remove_patches(table.store, patches)

    attempt(probe := FaultyIO(LocalFileIO()))
    assert stored_files(tmp_path) == before
    for moment in probe.moments(mode):
        with suppress(PaimonError, OSError, pa.ArrowException):
            attempt(FaultyIO(LocalFileIO(), moment, mode))
        assert located_rows(open_table(str(tmp_path))) == rows
        assert stored_files(tmp_path) == before


def test_which_updates_keep_rows_in_place(tmp_path: Path) -> None:
    def of(name: str, **options: str) -> tuple[str, ...] | None:
        return patched_columns(create_table(str(tmp_path / name), **options).store, ["v"])

    assert of("append") == ("v",)
    assert of("bucketed", bucket="2", bucket_key="k") == ("v",)
    assert of("moved", bucket="2", bucket_key="v") is None
    assert of("vectors", deletion_vectors__enabled="true") is None
    assert of("tracked", row_tracking__enabled="true") is None
    assert of("keyed", primary_key="k", bucket="1") is None
