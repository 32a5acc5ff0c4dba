"""Blob views: values of other tables, read with the rights of the catalog's user."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StructField, StructType

from paimon_core.clock import now_millis
from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import (
    InvalidDataError,
    InvalidNameError,
    NoPrivilegeError,
    PaimonError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from paimon_core.expressions.shown import Shown
from paimon_core.maintenance.branches import create_branch
from paimon_core.scan import blob_views
from paimon_core.scan.aggregates import Aggregate, aggregate
from paimon_core.scan.read import read_split
from paimon_core.spec.encodings.blob_descriptor import BlobDescriptor
from paimon_core.spec.encodings.blob_view import VIEW_HEAD, view_head
from paimon_core.spec.identifier import Identifier, PathIdentifier
from paimon_core.spec.types import BYTES, INT, CollectionType, Kind
from paimon_core.store.blob.columns import options_of_change, store_of_read
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_core.write.files import data_files
from paimon_core.write.writer import open_writer
from paimon_sql.catalog.load import load_catalog
from paimon_sql.catalog.privileges.catalog import accounts_of
from paimon_sql.catalog.privileges.rules import Privilege
from paimon_sql.spark.tables.blob_view_function import load_viewed, viewed_column
from paimon_sql.spark.workers.worker import shown_function
from tests.support.evolving import EVOLVES, EvolvingRows, commit, live, read
from tests.support.stored import compact
from tests.support.tables import fields

SOURCE = EvolvingRows({"k": pa.int32(), "v": pa.binary()})
VIEWS = EvolvingRows({"k": pa.int32(), "w": pa.binary()})
PIC = 1  # the id of the column `v`


def table(catalog: Any, name: str, **options: str) -> Table:
    spelled = EVOLVES | {k.replace("__", ".").replace("_", "-"): o for k, o in options.items()}
    value = "w" if "blob-view-field" in spelled else "v"
    catalog.create_table(Identifier.parse(name), new_table_schema(fields(k=INT, **{value: BYTES}), options=spelled))
    return load(catalog, name)


def load(catalog: Any, name: str) -> Table:
    found = catalog.load_table(Identifier.parse(name))
    assert isinstance(found, Table)
    return found


def new_warehouse(
    root: Path, rows: Sequence[tuple[int, bytes | None]], more: Mapping[str, str] | None = None
) -> tuple[Any, Table, Table]:
    """A catalog, its table `a.src` of BLOBs, and `b.seen` of views."""
    catalog = load_catalog({"warehouse": str(root / "wh"), **(more or {})})
    for name in ("a", "b"):
        catalog.create_database(name)
    source = table(catalog, "a.src", blob_field="v")
    SOURCE.insert(source, rows)
    return catalog, source, table(catalog, "b.seen", blob_view_field="w")


def sent(store: TableStore) -> Any:
    """The store as a task has it."""
    return pickle.loads(pickle.dumps(store))  # noqa: S301  bytes of this test


def view(row_id: int, name: str = "a.src", column: int = PIC) -> bytes:
    return view_head(name) + struct.pack("<iq", column, row_id)


def test_a_view_is_as_java_has_it() -> None:
    assert view(5) == b"\1" + b"WEIVBOLB" + b"\5\0\0\0a.src" + b"\1\0\0\0" + b"\5" + bytes(7)


def test_values_come_from_the_latest_rows_of_the_other_table(tmp_path: Path) -> None:
    catalog, source, seen = new_warehouse(tmp_path, [(1, b"one"), (2, None), (3, b"three")])
    other = table(catalog, "a.more", blob_field="v")
    SOURCE.insert(other, [(1, b"more")])
    rows = [(1, view(2)), (2, view(0)), (3, None), (4, view(1)), (5, view(2)), (6, view(0, "a.more"))]
    VIEWS.insert(seen, rows)
    assert [f.write_cols for f in live(seen)] == [None]
    assert read(seen, "w") == [(b"three",), (b"one",), (None,), (None,), (b"three",), (b"more",)]
    as_stored = Table(seen.store.with_options({"blob-view.resolve.enabled": "false"}))
    assert read(as_stored, "k", "w") == rows
    described = Table(seen.store.with_options({"blob-as-descriptor": "true"}))
    found = [None if d is None else BlobDescriptor.decode(d) for (d,) in read(described, "w")]
    assert [None if d is None else Path(d.uri).read_bytes()[d.offset :][: d.length] for d in found] == [
        *(b"three", b"one", None, None, b"three", b"more")
    ]
    commit(source, SOURCE.staged(source, {0: (0, b"new")}, ("v",), set()))
    compact(source)
    compact(seen)
    assert read(seen, "w")[1] == (b"new",)
    assert read(seen, "k") == [(i,) for i in range(1, 7)]


def test_large_values_are_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blob_views, "MOST_BYTES", 5)
    _, _, seen = new_warehouse(tmp_path, [(1, b"1234"), (2, b"5678")])
    VIEWS.insert(seen, [(1, view(0)), (2, None), (3, view(1)), (4, view(1))])
    (split,) = seen.plan(seen.latest_snapshot()).splits
    batches = list(read_split(seen.store, split, ["w"]))
    assert [b.column(0).to_pylist() for b in batches] == [[b"1234", None], [b"5678"], [b"5678"]]


@pytest.mark.parametrize("metastore", ["filesystem", "jdbc"])
def test_tasks_open_the_other_table_themselves(tmp_path: Path, metastore: str, monkeypatch: pytest.MonkeyPatch) -> None:
    more = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/names.db", "lock.enabled": "false"}
    catalog, _, seen = new_warehouse(tmp_path, [(1, b"one")], more if metastore == "jdbc" else {})
    VIEWS.insert(seen, [(1, view(0))])
    (split,) = seen.plan(seen.latest_snapshot()).splits
    in_task = sent(seen.store)
    assert in_task.others.catalog is None
    closed: list[Any] = []
    monkeypatch.setattr(type(catalog), "close", lambda self: closed.append(self), raising=False)
    assert [b.column(0).to_pylist() for b in read_split(in_task, split, ["w"])] == [[b"one"]]
    assert len(closed) == 1 and closed[0] is not catalog
    ends_early = read_split(in_task, split, ["w"])
    assert next(ends_early).num_rows == 1
    ends_early.close()  # type: ignore[attr-defined]
    assert len(closed) == 2
    assert read(seen, "w") == [(b"one",)]
    assert len(closed) == 2  # the catalog of the session stays open


def test_rows_that_change_keep_their_views(tmp_path: Path) -> None:
    _, _, seen = new_warehouse(tmp_path, [(1, b"one")])
    VIEWS.insert(seen, [(1, view(0))])
    changing = Table(seen.store.with_options(options_of_change(seen.store.schema)))
    assert read(changing, "w") == [(view(0),)]
    commit(seen, VIEWS.staged(seen, {0: (9, None)}, ("k",), set()))
    assert read(seen, "k", "w") == [(9, b"one")]


def test_a_value_that_looks_like_a_view_is_one_in_view_columns_only(tmp_path: Path) -> None:
    catalog, source, _ = new_warehouse(tmp_path, [(1, b"one")])
    SOURCE.insert(source, [(2, view(0))])
    assert read(source, "v") == [(b"one",), (view(0),)]


@pytest.mark.parametrize(
    ("value", "error", "says"),
    [
        (view(7), InvalidDataError, "names row 7 of table a.src, which has no such row"),
        (view(-1), InvalidDataError, "names row -1"),
        (view(0, column=0), InvalidDataError, "column with the id 0 of table a.src"),
        (view(0, column=99), InvalidDataError, "column with the id 99 of table a.src"),
        (view(0, "a.nope"), TableNotFoundError, "a.nope"),
        (view(0, "nope"), InvalidNameError, "full table name"),
        (view(0, "a.src$files"), InvalidDataError, "is not the name of a table"),
        (view(0, "a.src$branch_b"), InvalidDataError, "is not the name of a table"),
        (view(0, "a.../b.db/seen"), InvalidNameError, "cannot"),
        (view(0, "../x.y"), InvalidNameError, "is empty"),
        (view(0, "b.seen", 1), InvalidDataError, "leads back to itself: row 0 of column 'w' of table b.seen"),
        (view(0, "b.keyed", 1), UnsupportedFeatureError, "which has no row ids"),
    ],
    ids=range(12),
)
def test_views_that_name_no_value(tmp_path: Path, value: bytes, error: type[PaimonError], says: str) -> None:
    catalog, _, seen = new_warehouse(tmp_path, [(1, b"one")])
    keyed = {"primary-key": "k", "bucket": "1", "blob-field": "v"}
    catalog.create_table(Identifier("b", "keyed"), new_table_schema(fields(k=INT, v=BYTES), options=keyed))
    VIEWS.insert(seen, [(1, value)])
    with pytest.raises(error, match=says):
        read(seen, "w")
    assert read(seen, "k") == [(1,)]


def test_a_deleted_row_has_no_value(tmp_path: Path) -> None:
    _, source, seen = new_warehouse(tmp_path, [(1, b"one"), (2, b"two")])
    VIEWS.insert(seen, [(1, view(0)), (2, view(1))])
    commit(source, SOURCE.staged(source, {}, (), {1}))
    with pytest.raises(InvalidDataError, match="row 1 of table a.src, which has no such row: it was deleted"):
        read(seen, "w")


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (b"bytes", "'w' is in 'blob-view-field' and takes blob views only"),
        (b"", "takes blob views only"),
        (VIEW_HEAD, "takes blob views only"),
        (view(0)[:-1], "Invalid blob view: its length"),
        (view(0) + b"x", "Invalid blob view: its length"),
        (VIEW_HEAD + struct.pack("<i", -1) + bytes(12), "Invalid blob view: its length"),
        (VIEW_HEAD + struct.pack("<i", 2**31 - 1) + b"a.src" + bytes(12), "Invalid blob view: its length"),
        (VIEW_HEAD + struct.pack("<i", 1) + b"\xff" + bytes(12), "not UTF-8"),
        (BlobDescriptor("/etc/passwd").encode(), "takes blob views only"),
    ],
    ids=range(9),
)
def test_other_values_are_not_written_nor_read(
    tmp_path: Path, value: bytes, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, seen = new_warehouse(tmp_path, [(1, b"one")])
    writer = open_writer(seen.store, sequence_start=0)
    with pytest.raises(InvalidDataError, match=says):
        writer.write(VIEWS.batch([(1, value)]))
    writer.abort()
    assert not list((tmp_path / "wh/b.db").rglob("data-*"))
    with monkeypatch.context() as patched:
        patched.setattr(data_files, "check_views", lambda name, values: None)
        VIEWS.insert(seen, [(1, value)])
    with pytest.raises(InvalidDataError, match=says):
        read(seen, "w")


def test_a_table_opened_by_its_path_has_no_catalog(tmp_path: Path) -> None:
    _, _, seen = new_warehouse(tmp_path, [(1, b"one")])
    VIEWS.insert(seen, [(1, view(0))])
    by_path = Table(TableStore.of(seen.store.io, seen.store.root, seen.store.schema))
    with pytest.raises(UnsupportedFeatureError, match="was opened without a catalog"):
        read(by_path, "w")
    as_stored = Table(by_path.store.with_options({"blob-view.resolve.enabled": "false"}))
    assert read(as_stored, "w") == [(view(0),)]


def test_the_reader_needs_the_right_to_read_the_other_table(tmp_path: Path) -> None:
    catalog, _, seen = new_warehouse(tmp_path, [(1, b"secret")])
    VIEWS.insert(seen, [(1, view(0))])
    accounts = accounts_of(catalog)
    accounts.initialize("root-password")
    options = {"warehouse": str(tmp_path / "wh")}
    accounts.create_user("ben", "ben-password")
    accounts.grant("ben", "b.seen", Privilege.SELECT)
    ben = load_catalog(options | {"user": "ben", "password": "ben-password"})
    found = load(ben, "b.seen")
    (split,) = found.plan(found.latest_snapshot()).splits
    in_task = sent(found.store)
    for store in (found.store, in_task):
        with pytest.raises(NoPrivilegeError, match=r"ben doesn't have privilege SELECT on table a\.src"):
            list(read_split(store, split, ["w"]))
        assert [b.column(0).to_pylist() for b in read_split(store, split, ["k"])] == [[1]]
    accounts.grant("ben", "a.src", Privilege.SELECT)
    for store in (load(ben, "b.seen").store, sent(found.store)):
        assert [b.column(0).to_pylist() for b in read_split(store, split, ["w"])] == [[b"secret"]]


def test_keyed_tables_have_views(tmp_path: Path) -> None:
    catalog, _, _ = new_warehouse(tmp_path, [(1, b"one"), (2, b"two")])
    keyed = {"primary-key": "k", "bucket": "1", "blob-view-field": "w"}
    catalog.create_table(Identifier("b", "keyed"), new_table_schema(fields(k=INT, w=BYTES), options=keyed))
    target = load(catalog, "b.keyed")
    for rows in ([(1, view(0)), (2, None)], [(2, view(1))]):
        writer = open_writer(target.store, sequence_start=target.max_sequence_number() + 1)
        writer.write(VIEWS.batch(rows).append_column("_VALUE_KIND", pa.array([0] * len(rows), pa.int8())))
        target.commit(writer.finish(), CommitInfo(user="u"))
    assert sorted(read(target, "k", "w")) == [(1, b"one"), (2, b"two")]
    compact(target)
    assert sorted(read(target, "k", "w")) == [(1, b"one"), (2, b"two")]
    plan = target.plan(target.latest_snapshot())
    assert aggregate(target.store, plan, [], [Aggregate("count", "k")]) is not None
    assert aggregate(target.store, plan, [], [Aggregate("count", "w")]) is None  # a view may be of NULL
    as_stored = target.store.with_options({"blob-view.resolve.enabled": "false"})
    assert aggregate(as_stored, plan, [], [Aggregate("count", "w")]) is not None
    nested = CollectionType(Kind.ARRAY, element=BYTES)
    with pytest.raises(PaimonError, match="'w' in 'blob-view-field' must be a BLOB"):
        new_table_schema(fields(k=INT, w=nested), options=keyed)


def test_views_of_branches_and_system_tables_are_refused(tmp_path: Path) -> None:
    catalog, source, _ = new_warehouse(tmp_path, [(1, b"one")])
    create_branch(source.store, "x")
    assert load_viewed(catalog, Identifier.parse("a.src$branch_main")).name == "a.src"
    assert viewed_column(source, "v") == (view(0)[:-12], PIC)
    for name in ("a.src$branch_x", "a.src$files", "a.src$ro", "a.src$audit_log", "a.src$branch_x$files"):
        with pytest.raises(UnsupportedFeatureError, match="name tables, not branches or system tables"):
            load_viewed(catalog, Identifier.parse(name))
    with pytest.raises(UnsupportedFeatureError, match=r"views cannot name a\.src\$branch_x"):
        viewed_column(load(catalog, "a.src$branch_x"), "v")


def test_a_view_of_a_table_whose_name_would_be_read_as_another_is_refused(tmp_path: Path) -> None:
    catalog, _, _ = new_warehouse(tmp_path, [(1, b"one")])
    identifier = Identifier("p.q", "t")
    catalog.create_database("p.q")
    catalog.create_table(identifier, new_table_schema(fields(k=INT, v=BYTES), options=EVOLVES | {"blob-field": "v"}))
    found = catalog.load_table(identifier)
    with pytest.raises(UnsupportedFeatureError, match="without dots in their names"):
        viewed_column(found, "v")
    with pytest.raises(UnsupportedFeatureError, match="without dots in their names"):
        load_viewed(catalog, identifier)
    by_path = Table(replace(found.store, identifier=PathIdentifier.of_path(found.store.root)))
    with pytest.raises(UnsupportedFeatureError, match="views cannot name"):
        viewed_column(by_path, "v")


def test_only_tasks_that_read_views_get_the_options_of_the_catalog(tmp_path: Path) -> None:
    _, _, seen = new_warehouse(tmp_path, [(1, b"one")], {"s3.secret-key": "hidden"})
    VIEWS.insert(seen, [(1, view(0))])
    for columns, travels in ((["k"], False), (["k", "w"], True)):
        store = store_of_read(seen.store, columns)
        assert (b"hidden" in pickle.dumps(store.others)) is travels
        (split,) = seen.plan(seen.latest_snapshot()).splits
        assert [b.num_rows for b in read_split(sent(store), split, columns)] == [1]
    assert seen.write_store(overwrites=False).others is None
    for columns, travels in ((["k"], False), (["k", "w"], True)):
        task = shown_function(seen.store, StructType([StructField(c, LongType()) for c in columns]), Shown())
        assert (b"hidden" in pickle.dumps(task)) is travels
    as_stored = seen.store.with_options({"blob-view.resolve.enabled": "false"})
    assert store_of_read(as_stored, ["w"]).others is None
    assert store_of_read(seen.store, ["k"]).with_options({}).others is None


def views_of_views(catalog: Any, *names: str) -> list[Table]:
    """Tables of views, each with one row, a view of the row of the table before; the first one has a view of a.src."""
    made, before = [], "a.src"
    for name in names:
        made.append(table(catalog, name, blob_view_field="w"))
        VIEWS.insert(made[-1], [(1, view(0, before)), (2, None)])
        before = name
    return made


def test_views_of_views_are_followed(tmp_path: Path) -> None:
    catalog, source, seen = new_warehouse(tmp_path, [(1, b"one"), (2, None)])
    first, second = views_of_views(catalog, "b.first", "b.second")
    VIEWS.insert(
        seen, [(1, view(0, "b.second")), (2, view(1, "b.second")), (3, view(0)), (4, None), (5, view(0, "b.first"))]
    )
    expected = [(b"one",), (None,), (b"one",), (None,), (b"one",)]
    assert read(seen, "w") == expected
    described = Table(seen.store.with_options({"blob-as-descriptor": "true"}))
    assert {None if d is None else BlobDescriptor.decode(d).uri for (d,) in read(described, "w")} == {
        None,
        next(str(p) for p in Path(source.store.root).rglob("*.blob")),
    }
    commit(second, VIEWS.staged(second, {0: (1, view(1))}, ("w",), set()))
    assert read(seen, "w") == [(None,), *expected[1:]]
    assert viewed_column(first, "w") == (view_head("b.first"), 1)


def test_each_step_needs_the_right_to_read(tmp_path: Path) -> None:
    catalog, _, seen = new_warehouse(tmp_path, [(1, b"secret")])
    views_of_views(catalog, "b.first")
    VIEWS.insert(seen, [(1, view(0, "b.first"))])
    accounts = accounts_of(catalog)
    accounts.initialize("root-password")
    accounts.create_user("ben", "ben-password")
    for name, missing in (("b.seen", r"b\.first"), ("a.src", r"b\.first"), ("b.first", None)):
        accounts.grant("ben", name, Privilege.SELECT)
        ben = load_catalog({"warehouse": str(tmp_path / "wh"), "user": "ben", "password": "ben-password"})
        found = load(ben, "b.seen")
        if missing is None:
            assert read(found, "w") == [(b"secret",)]
            continue
        with pytest.raises(NoPrivilegeError, match=f"ben doesn't have privilege SELECT on table {missing}"):
            read(found, "w")


def test_the_last_step_needs_the_right_to_read(tmp_path: Path) -> None:
    catalog, _, seen = new_warehouse(tmp_path, [(1, b"secret")])
    views_of_views(catalog, "b.first")
    VIEWS.insert(seen, [(1, view(0, "b.first"))])
    accounts = accounts_of(catalog)
    accounts.initialize("root-password")
    accounts.create_user("ben", "ben-password")
    for name in ("b.seen", "b.first"):
        accounts.grant("ben", name, Privilege.SELECT)
    ben = load_catalog({"warehouse": str(tmp_path / "wh"), "user": "ben", "password": "ben-password"})
    with pytest.raises(NoPrivilegeError, match=r"ben doesn't have privilege SELECT on table a\.src"):
        read(load(ben, "b.seen"), "w")


def test_circles_of_views_end(tmp_path: Path) -> None:
    catalog, _, seen = new_warehouse(tmp_path, [(1, b"one")])
    one, two = (table(catalog, name, blob_view_field="w") for name in ("b.one", "b.two"))
    VIEWS.insert(one, [(1, view(0, "b.two")), (2, view(1, "b.two"))])
    VIEWS.insert(two, [(1, view(0, "b.one")), (2, view(0))])
    VIEWS.insert(seen, [(1, view(1, "b.one"))])
    assert read(seen, "w") == [(b"one",)]  # back in a table, but in another row
    VIEWS.insert(seen, [(2, view(0, "b.one"))])
    with pytest.raises(InvalidDataError, match="leads back to itself: row 0 of column 'w' of table b.one"):
        read(seen, "w")


def test_long_chains_of_views_end(tmp_path: Path) -> None:
    catalog, _, seen = new_warehouse(tmp_path, [(1, b"one")])
    views_of_views(catalog, *(f"b.v{n}" for n in range(blob_views.MOST_STEPS)))
    VIEWS.insert(seen, [(1, view(0, f"b.v{blob_views.MOST_STEPS - 2}"))])
    assert read(seen, "w") == [(b"one",)]
    VIEWS.insert(seen, [(2, view(0, f"b.v{blob_views.MOST_STEPS - 1}"))])
    with pytest.raises(InvalidDataError, match="more than 8 other views, up to table a.src"):
        read(seen, "w")


def test_tasks_of_a_scan_read_one_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, source, seen = new_warehouse(tmp_path, [(1, b"one"), (2, b"two")])
    VIEWS.insert(seen, [(1, view(0)), (2, view(1))])
    (split,) = seen.plan(seen.latest_snapshot()).splits
    before = source.latest_snapshot()
    assert before is not None
    monkeypatch.setattr("paimon_core.store.blob.columns.now_millis", lambda: before.time_millis)
    of_scan = store_of_read(seen.store, ["w"])
    assert store_of_read(of_scan, ["w"]).others.moment == before.time_millis  # type: ignore[union-attr]
    tasks = [sent(of_scan), sent(of_scan)]
    assert [b.column(0).to_pylist() for b in read_split(tasks[0], split, ["w"])] == [[b"one", b"two"]]
    while now_millis() <= before.time_millis:
        pass
    commit(source, SOURCE.staged(source, {0: (0, b"new")}, ("v",), {1}))
    assert [b.column(0).to_pylist() for b in read_split(tasks[1], split, ["w"])] == [[b"one", b"two"]]
    monkeypatch.undo()
    with pytest.raises(InvalidDataError, match="names row 1 of table a.src"):
        list(read_split(sent(store_of_read(seen.store, ["w"])), split, ["w"]))


def test_rows_of_a_writer_whose_clock_is_ahead_are_found(tmp_path: Path) -> None:
    catalog, source, seen = new_warehouse(tmp_path, [(1, b"one")])
    late = table(catalog, "a.late", blob_field="v")
    first = source.latest_snapshot()
    assert first is not None
    while now_millis() <= first.time_millis:
        pass
    SOURCE.insert(source, [(2, b"two")])
    SOURCE.insert(late, [(1, b"late")])
    VIEWS.insert(seen, [(1, view(0)), (2, view(1)), (3, view(0, "a.late"))])
    (split,) = seen.plan(seen.latest_snapshot()).splits
    store = replace(seen.store, others=seen.store.others.at(first.time_millis))  # type: ignore[union-attr]
    assert [b.column(0).to_pylist() for b in read_split(store, split, ["w"])] == [[b"one", b"two", b"late"]]
