"""Arrays and maps of BLOBs in tables with data evolution: inserts, updates, deletes and compactions as in a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from paimon_core.errors import InvalidDataError
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.encodings.blob_descriptor import BlobDescriptor
from paimon_core.spec.row_ranges import is_blob
from paimon_core.spec.types import BYTES, INT, CollectionType, Kind, MapType
from paimon_core.store.blob import values
from paimon_core.store.blob.columns import options_of_change
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import AddColumn, apply_changes
from paimon_core.store.schemas import create_schema
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_core.write.writer import open_writer
from tests.support.evolving import EVOLVES, EvolvingRows, commit, live, read
from tests.support.examples import examples
from tests.support.stored import compact
from tests.support.tables import fields
from tests.unit.formats.test_blob_elements import resolved
from tests.unit.write.compaction.test_materialize import materialize

ARRAY, MAP = CollectionType(Kind.ARRAY, element=BYTES), MapType(key=INT, value=BYTES)
ROWS = EvolvingRows({"k": pa.int32(), "a": pa.list_(pa.binary()), "m": pa.map_(pa.int32(), pa.binary())})
COLUMNS = tuple(ROWS.types)
BLOBS = st.none() | st.binary(max_size=30)
A = st.none() | st.lists(BLOBS, max_size=3)
M = st.none() | st.dictionaries(st.integers(0, 9), BLOBS, max_size=3).map(lambda d: list(d.items()))
Row = tuple[int, Any, Any]


def new_table(root: Path, **options: str) -> Table:
    spelled = EVOLVES | {"blob-field": "a,m"} | {k.replace("__", ".").replace("_", "-"): o for k, o in options.items()}
    path, schema = f"{root}/db.db/t", new_table_schema(fields(k=INT, a=ARRAY, m=MAP), options=spelled)
    assert create_schema(LocalFileIO(), path, schema)
    return Table(TableStore.of(LocalFileIO(), path, schema))


@settings(
    max_examples=examples(12), phases=(Phase.generate,), suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data(), size=st.sampled_from(["1 b", "80 b", "1 mb"]), compacts=st.sampled_from(["true", "false"]))
def test_rows_change_as_in_a_model(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, size: str, compacts: str
) -> None:
    root = tmp_path_factory.mktemp("wh")
    table = new_table(root, blob__target_file_size=size, blob_compaction__enabled=compacts)
    model: dict[int, Row] = {}
    for step in range(data.draw(st.integers(2, 5))):
        kind = data.draw(st.sampled_from(["insert", "update", "update", "compact"]))
        if kind == "compact":
            compact(table)
        elif kind == "insert" or not model:
            new = [(step, data.draw(A), data.draw(M)) for _ in range(3)]
            ROWS.insert(table, new)
            latest = table.latest_snapshot()
            assert latest is not None and latest.next_row_id is not None
            model |= dict(enumerate(new, latest.next_row_id - 3))
        else:
            columns = data.draw(st.sampled_from([("k",), ("a",), ("m",), ("a", "m"), COLUMNS]))
            chosen = data.draw(st.sets(st.sampled_from(sorted(model))))
            deleted = data.draw(st.sets(st.sampled_from(sorted(model)), max_size=1)) - chosen
            rows: dict[int, Row] = {i: (step, data.draw(A), data.draw(M)) for i in chosen}
            commit(table, ROWS.staged(table, rows, columns, deleted))
            for i, row in rows.items():
                old = model[i]
                model[i] = tuple(n if c in columns else o for c, n, o in zip(COLUMNS, row, old, strict=True))  # type: ignore[assignment]
            model = {i: row for i, row in model.items() if i not in deleted}
        assert {r[0]: r[1:] for r in read(table, "_ROW_ID", *COLUMNS)} == model
        described = Table(table.store.with_options({"blob-as-descriptor": "true"}))
        assert {i: (resolved(a), resolved(m)) for i, a, m in read(described, "_ROW_ID", "a", "m")} == {
            i: row[1:] for i, row in model.items()
        }


def test_descriptors_are_fetched_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MOST_BYTES", 5)
    (tmp_path / "f").write_bytes(b"0123456789")
    whole, part = BlobDescriptor(f"{tmp_path}/f").encode(), BlobDescriptor(f"{tmp_path}/f", 2, 3).encode()
    table = new_table(tmp_path)
    ROWS.insert(table, [(1, [whole, None, b"x", part], [(1, part), (2, None)]), (2, [], []), (3, [part, part], None)])
    expected = [
        (1, [b"0123456789", None, b"x", b"234"], [(1, b"234"), (2, None)]),
        (2, [], []),
        (3, [b"234"] * 2, None),
    ]
    assert read(table, *COLUMNS) == expected
    assert [f.write_cols for f in live(table)] == [("k",), ("a",), ("m",)]
    missing = BlobDescriptor(f"{tmp_path}/nope").encode()
    with pytest.raises(InvalidDataError, match="no such file"):
        ROWS.insert(table, [(1, [whole, missing], None)])
    assert len(list(tmp_path.rglob("data-*"))) == len(live(table))


def test_elements_that_look_like_descriptors_stay_when_they_are_written_again(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    alike = BlobDescriptor(str(secret)).encode()
    (tmp_path / "value").write_bytes(alike)
    given_value = BlobDescriptor(f"{tmp_path}/value").encode()
    table = new_table(tmp_path)
    ROWS.insert(table, [(0, None, None), (1, [b"x", given_value, None], [(1, given_value), (2, b"y")])])
    assert read(table, "a", "m")[1] == ([b"x", alike, None], [(1, alike), (2, b"y")])
    changing = Table(table.store.with_options(options_of_change(table.store.schema)))
    _, (a, m) = read(changing, "a", "m")
    assert a[0] == b"x" and resolved(a[1]) == alike and m[1] == (2, b"y") and resolved(m[0]) == (1, alike)
    commit(table, ROWS.staged(table, {0: (9, a, m)}, COLUMNS, set()))
    assert read(table, "a", "m") == [([b"x", alike, None], [(1, alike), (2, b"y")])] * 2


def test_a_map_with_a_key_twice_is_refused_and_leaves_no_file(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    writer = open_writer(table.store, sequence_start=0)
    with pytest.raises(InvalidDataError, match="Column 'm' of table .* has a key twice. Write each key once"):
        writer.write(ROWS.batch([(1, [b"x"], [(1, b"a"), (1, b"b")])]))
    writer.abort()
    assert not list(tmp_path.rglob("data-*"))


def test_deleted_rows_are_written_anew_without_them(tmp_path: Path) -> None:
    """Elements that look like descriptors stay bytes: they name no file to read."""
    alike = BlobDescriptor(f"{tmp_path}/secret").encode()
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "value").write_bytes(alike)
    given_value = BlobDescriptor(f"{tmp_path}/value").encode()
    table = new_table(tmp_path)
    ROWS.insert(table, [(0, [b"gone"], None), (1, [b"x", given_value, None], [(1, given_value)]), (2, None, [])])
    commit(table, ROWS.staged(table, {}, (), {0}))
    materialize(table)
    assert read(table, *COLUMNS) == [(1, [b"x", alike, None], [(1, alike)]), (2, None, [])]


def test_a_column_that_is_added_later(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    ROWS.insert(table, [(1, [b"x"], None)])
    added = apply_changes(table.store.schema, [AddColumn(("n",), ARRAY, comment="__BLOB_FIELD; later")], 0)
    assert create_schema(LocalFileIO(), table.store.root, added)
    later = Table(TableStore.of(LocalFileIO(), table.store.root, added))
    assert read(later, "a", "n") == [([b"x"], None)]
    rows = EvolvingRows({**ROWS.types, "n": pa.list_(pa.binary())})
    commit(later, rows.staged(later, {0: (1, None, None, [b"new", None])}, ("n",), set()))
    assert read(later, "a", "n") == [([b"x"], [b"new", None])]
    assert [f.write_cols for f in live(later) if is_blob(f)][-1] == ("n",)
