"""Writing BLOB columns: files of their own beside each data file, row ids, updates, values that are descriptors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from paimon_core.errors import CommitConflictError, InvalidDataError, UnsupportedFeatureError
from paimon_core.io.local import LocalFileIO
from paimon_core.maintenance.copying import check_takes_files, copy_files
from paimon_core.spec.encodings.blob_descriptor import BlobDescriptor
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.row_ranges import is_blob
from paimon_core.spec.types import BYTES, INT
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.schemas import create_schema
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_core.write.writer import open_writer
from tests.support.evolving import EVOLVES, INFO, EvolvingRows, commit, live, read
from tests.support.examples import examples
from tests.support.stored import compact
from tests.support.tables import fields

Row = tuple[int, bytes | None, bytes | None]
ROWS = EvolvingRows({"k": pa.int32(), "v": pa.binary(), "w": pa.binary()})
COLUMNS = tuple(ROWS.types)


def new_table(root: Path, **options: str) -> Table:
    """k INT, and the BLOB columns v and w."""
    spelled = EVOLVES | {"blob-field": "v,w"} | {k.replace("__", ".").replace("_", "-"): o for k, o in options.items()}
    path, schema = f"{root}/db.db/t", new_table_schema(fields(k=INT, v=BYTES, w=BYTES), options=spelled)
    assert create_schema(LocalFileIO(), path, schema)
    return Table(TableStore.of(LocalFileIO(), path, schema))


def shape(files: Sequence[DataFileMeta]) -> list[tuple[Any, ...]]:
    return [(f.first_row_id, f.row_count, f.write_cols, f.max_sequence_number) for f in files]


VALUE = st.one_of(st.none(), st.binary(max_size=30))


@settings(
    max_examples=examples(12),
    phases=(Phase.generate,),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    data=st.data(),
    size=st.sampled_from(["1 b", "40 b", "1 mb"]),
    most_rows=st.sampled_from(["2", "1000"]),
    compacts=st.sampled_from(["true", "false"]),
)
def test_rows_change_as_in_a_model(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, size: str, most_rows: str, compacts: str
) -> None:
    root = tmp_path_factory.mktemp("wh")
    sizes = {"blob__target_file_size": size, "target_file_row_num": most_rows}
    table = new_table(root, **sizes, blob_compaction__enabled=compacts)
    model: dict[int, Row] = {}
    for step in range(data.draw(st.integers(2, 6))):
        kind = data.draw(st.sampled_from(["insert", "update", "update", "compact"]))
        if kind == "compact":
            compact(table)
        elif kind == "insert" or not model:
            new = [[(step, data.draw(VALUE), data.draw(VALUE)) for _ in range(n)] for n in (2, 3)]
            ROWS.insert(table, *new)
            latest = table.latest_snapshot()
            assert latest is not None and latest.next_row_id is not None
            model |= dict(enumerate((row for part in new for row in part), latest.next_row_id - 5))
        else:
            columns = data.draw(st.sampled_from([("k",), ("v",), ("w",), ("k", "v"), ("v", "w"), COLUMNS]))
            chosen = data.draw(st.sets(st.sampled_from(sorted(model))))
            deleted = data.draw(st.sets(st.sampled_from(sorted(model)), max_size=1)) - chosen
            new_rows: dict[int, Row] = {i: (step, data.draw(VALUE), data.draw(VALUE)) for i in chosen}
            commit(table, ROWS.staged(table, new_rows, columns, deleted))
            for i, (k, v, w) in new_rows.items():
                old = model[i]
                model[i] = tuple(n if c in columns else o for c, n, o in zip(COLUMNS, (k, v, w), old, strict=True))  # type: ignore[assignment]
            model = {i: row for i, row in model.items() if i not in deleted}
        assert {r[0]: r[1:] for r in read(table, "_ROW_ID", *COLUMNS)} == model
        described = Table(table.store.with_options({"blob-as-descriptor": "true"}))
        for i, v in read(described, "_ROW_ID", "v"):
            assert (v is None) == (model[i][1] is None)
            if v is not None:
                descriptor = BlobDescriptor.decode(v)
                assert Path(descriptor.uri).read_bytes()[descriptor.offset :][: descriptor.length] == model[i][1]


def test_files_and_their_row_ids(tmp_path: Path) -> None:
    table = new_table(tmp_path, blob__target_file_size="20 b", target_file_row_num="3")
    ROWS.insert(table, [(1, b"1", b"x"), (2, None, b"yyyyy"), (3, b"3", None), (4, b"4", b"z")])
    assert shape(live(table)) == [
        (0, 3, ("k",), 1),
        (0, 3, ("v",), 1),
        (0, 2, ("w",), 1),
        (2, 1, ("w",), 1),
        (3, 1, ("k",), 1),
        (3, 1, ("v",), 1),
        (3, 1, ("w",), 1),
    ]
    commit(table, ROWS.staged(table, {0: (0, b"-", None), 1: (0, b"new", None)}, ("v",), set()))
    assert shape(live(table))[7:] == [(0, 2, ("v",), 2), (2, 1, ("v",), 2)]
    assert read(table, "v", "_SEQUENCE_NUMBER") == [(b"-", 1), (b"new", 1), (b"3", 1), (b"4", 1)]
    blobs = [f.file_name for f in live(table) if is_blob(f)]
    compact(table)
    assert [f.file_name for f in live(table) if is_blob(f)] == blobs
    assert shape([f for f in live(table) if not is_blob(f)]) == [(0, 4, ("k",), 1)]
    assert read(table, "k", "v") == [(1, b"-"), (2, b"new"), (3, b"3"), (4, b"4")]


def test_updates_at_the_same_time(tmp_path: Path) -> None:
    """Of other columns both count; of the same one the second is refused, and where the rows are deleted."""
    table = new_table(tmp_path)
    ROWS.insert(table, [(1, b"1", None), (2, b"2", None)])
    first, second = (ROWS.staged(table, {i: (0, b"n", None)}, ("v",), set()) for i in (0, 1))
    other = ROWS.staged(table, {0: (0, None, b"w")}, ("w",), set())
    late = ROWS.staged(table, {0: (0, None, b"w")}, ("w",), set())
    commit(table, first)
    commit(table, other)
    with pytest.raises(CommitConflictError, match="the same columns of rows 0 to 1"):
        commit(table, second)
    assert read(table, *COLUMNS) == [(1, b"n", b"w"), (2, b"2", None)]
    table.truncate(INFO)
    with pytest.raises(CommitConflictError, match="no longer within a row range"):
        commit(table, late)


def test_a_writer_that_gives_up_leaves_nothing(tmp_path: Path) -> None:
    table = new_table(tmp_path, blob__target_file_size="1 b")
    writer = open_writer(table.store, sequence_start=0)
    writer.write(ROWS.batch([(1, b"1", b"x"), (2, b"2", None)]))
    writer.abort()
    with pytest.raises(InvalidDataError, match="no such file"):
        ROWS.insert(table, [(1, BlobDescriptor(f"{tmp_path}/nope").encode(), None)])
    ROWS.insert(table, [(1, b"1", b"x"), (2, b"2", None)])
    update = ROWS.staged(table, {0: (0, b"n", b"m")}, COLUMNS, set())
    table.abort(update.finish())
    assert len(live(table)) == len(list(tmp_path.rglob("data-*")))


def test_descriptors_are_fetched_or_kept(tmp_path: Path) -> None:
    (tmp_path / "f.bin").write_bytes(b"0123456789")
    path = f"{tmp_path}/f.bin"
    table = new_table(tmp_path / "a", blob_descriptor_field="w")
    whole, part = BlobDescriptor(path).encode(), BlobDescriptor(f"file:{path}", 2, 3).encode()
    ROWS.insert(table, [(1, whole, part), (2, part, None)])
    assert read(table, *COLUMNS) == [(1, b"0123456789", b"234"), (2, b"234", None)]
    assert [f.write_cols for f in live(table)] == [("k", "w"), ("v",)]
    described = Table(table.store.with_options({"blob-as-descriptor": "true"}))
    assert [w for (w,) in read(described, "w")] == [part, None]
    compact(table)
    for wrong, said in (
        ((1, None, b"plain"), "'w' is in 'blob-descriptor-field'"),
        ((1, BlobDescriptor(path, 8, 3).encode(), None), "names 3 bytes from 8 on of .*f.bin, which has 10"),
        ((1, BlobDescriptor("relative", -1).encode(), None), "no such file"),
    ):
        with pytest.raises(InvalidDataError, match=said):
            ROWS.insert(table, [wrong])


def test_a_copy_keeps_the_ids_of_rows_and_gives_them_to_no_others(tmp_path: Path) -> None:
    table, copy = new_table(tmp_path / "a"), new_table(tmp_path / "b")
    ROWS.insert(table, [(1, b"1", b"x"), (2, None, b"y")])
    commit(table, ROWS.staged(table, {1: (0, b"new", None)}, ("v",), set()))
    copy.commit(copy_files(table.store, table.latest_snapshot(), copy.store, PartitionFilter(())), INFO)
    ROWS.insert(copy, [(3, b"3", None)])
    expected = [(0, 1, b"1", b"x"), (1, 2, b"new", b"y"), (2, 3, b"3", None)]
    assert read(copy, "_ROW_ID", *COLUMNS) == expected
    with pytest.raises(UnsupportedFeatureError, match="has row tracking"):
        check_takes_files(table.store, copy.store)
