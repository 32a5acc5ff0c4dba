"""Iceberg tables as append tables: their files as they are, and what is refused."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.errors import (
    CorruptFileError,
    DataFileMissingError,
    InvalidOptionError,
    InvalidSchemaError,
    PaimonError,
    UnfamiliarFormError,
)
from paimon_core.format_table.iceberg import read_iceberg_table
from paimon_core.io.local import LocalFileIO
from paimon_core.scan.read import read_split
from paimon_core.spec.identifier import Identifier
from paimon_core.table import Table
from paimon_sql.catalog.load import load_catalog
from paimon_sql.procedures import PROCEDURES, ProcedureContext
from tests.support.iceberg import BY_DAY, NEW, OLD, column, data_file, evolved_table, write_table
from tests.unit.procedures.test_compaction import Tasks

Migrate = Callable[..., Table]
DAY = "1970-01-01"
ROWS = [(1, "a", DAY, None), (2, None, DAY, None), (3, "c", None, None), (4, "d", None, None), (5, "e", None, "1.00")]


@pytest.fixture
def migrate(warehouse: str, tmp_path: Path) -> Migrate:
    catalog = load_catalog({"warehouse": warehouse})

    def contents() -> dict[Path, bytes]:
        return {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}

    def call(folder: Path, **arguments: Any) -> Table:
        given = {"source_type": "Iceberg", "table": str(folder), "target_table": "t"} | arguments
        context = ProcedureContext(catalog, "default", Tasks())
        before = contents()
        planned, refused = None, None
        try:
            planned = PROCEDURES["migrate_table"].call(context, {**given, "dry_run": True})
        except PaimonError as error:
            refused = error
        assert contents() == before
        try:
            assert PROCEDURES["migrate_table"].call(context, given) == [(True,)]
        except PaimonError as error:
            assert planned is None and (type(refused), str(refused)) == (type(error), str(error))
            raise
        made = catalog.load_table(Identifier("default", "t"))
        files = made.system_table("files").to_pylist()
        assert sum(row[3] for row in planned) == len(files)
        assert sum(row[4] for row in planned) == sum(f["file_size_in_bytes"] for f in files)
        assert sum(row[5] for row in planned) == sum(f["record_count"] for f in files)
        return made

    return call


def rows(table: Table) -> list[Any]:
    names = [f.name for f in table.schema.fields]
    splits = table.plan(table.latest_snapshot()).splits
    found = (r for s in splits for b in read_split(table.store, s, names) for r in b.to_pylist())
    plain = [(r["id"], r["title"], r["day"], (r["s"] or {}).get("x")) for r in found]
    return sorted(tuple(v if v is None or isinstance(v, int) else str(v) for v in row) for row in plain)


def test_files_are_copied_or_moved(migrate: Migrate, tmp_path: Path, warehouse: str) -> None:
    root = tmp_path / "ice"
    evolved_table(root)
    table = migrate(root, delete_origin=False, options="comment=hello")
    assert rows(table) == ROWS
    assert table.schema.partition_keys == ("day",) and table.schema.options["comment"] == "hello"
    assert [f.description for f in table.schema.fields][0] == "the key"
    schemas = {f["partition"]: f["schema_id"] for f in table.system_table("files").to_pylist()}
    assert schemas == {"{1970-01-01}": 0, "{null}": 1}  # readers that go by names know the old ones
    assert len(list(root.rglob("*.parquet"))) == 3
    with pytest.raises(PaimonError, match="already exists"):
        migrate(root)
    load_catalog({"warehouse": warehouse}).drop_table(Identifier("default", "t"))
    assert rows(migrate(root)) == ROWS
    assert [p.name for p in root.rglob("*.*")] == ["2.parquet"]  # of no current snapshot


def test_where_the_metadata_is(migrate: Migrate, tmp_path: Path, warehouse: str) -> None:
    path = evolved_table(tmp_path / "ice")
    hint = path.parent / "version-hint.text"
    hint.write_text("1")
    with pytest.raises(UnfamiliarFormError, match="v1.metadata.json"):
        migrate(tmp_path / "ice")
    packed = path.parent / "00009-abc.gz.metadata.json"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    hint.write_text("9")
    assert len(rows(migrate(tmp_path / "ice", delete_origin=False))) == 5
    load_catalog({"warehouse": warehouse}).drop_table(Identifier("default", "t"))
    assert len(rows(migrate(path))) == 5
    with pytest.raises(PaimonError, match="is not an Iceberg table"):
        migrate(tmp_path / "nowhere")
    with pytest.raises(PaimonError, match="no Iceberg metadata file"):
        migrate(tmp_path / "v7.metadata.json")
    with pytest.raises(InvalidOptionError, match="target_table"):
        migrate(tmp_path, target_table=None)
    with pytest.raises(InvalidOptionError, match="primary key"):
        migrate(tmp_path, options="primary-key=id")


def test_partition_columns_of_one_decimal_type(tmp_path: Path) -> None:
    """Their fixed type is defined once, and referred to by name from then on."""
    schema = [column(1, "a", "decimal(9, 2)"), column(2, "b", "decimal(9, 2)")]
    spec = [{"source-id": i, "field-id": 999 + i, "transform": "identity", "name": n} for i, n in ((1, "a"), (2, "b"))]
    decimal = {"type": "fixed", "name": "decimal_9_2", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 2}
    values = {"a": Decimal("1.50"), "b": Decimal("-2.25")}
    content = pa.table({"a": [values["a"]], "b": [values["b"]]})
    file = data_file(tmp_path, "0.parquet", content, [1, 2], values)
    path = write_table(tmp_path, [schema], spec, [file], [decimal, "decimal_9_2"])
    (found,) = read_iceberg_table(LocalFileIO(), str(path)).files
    assert found.partition == (Decimal("1.50"), Decimal("-2.25"))


def test_an_empty_table(migrate: Migrate, tmp_path: Path) -> None:
    path = evolved_table(tmp_path / "ice")
    node = json.loads(path.read_text()) | {"current-snapshot-id": -1, "snapshots": []}
    path.write_text(json.dumps(node))
    table = migrate(path)
    assert table.latest_snapshot() is None and len(table.schema.fields) == 4


@pytest.mark.parametrize(
    ("schema", "spec", "manifest", "message"),
    [
        (OLD, [BY_DAY[0] | {"transform": "day"}], {}, "partitioned by day of 'day'"),
        (OLD, BY_DAY, {"content": 1}, "delete files"),
        (OLD, BY_DAY, {"partition_spec_id": 5}, "files have an older partitioning"),
        ([*OLD, column(9, "t", "time")], BY_DAY, {}, "'t' has Iceberg's type time"),
        ([*OLD, column(9, "t", {"type": "odd"})], BY_DAY, {}, "type odd"),
        ([*OLD, column(9, "t", "int", **{"initial-default": 1})], BY_DAY, {}, "initial default"),
        ([OLD[0], OLD[1] | {"name": "other"}, OLD[2]], BY_DAY, {}, "no version of the table's schema"),
        ([column(9, "id", "int"), OLD[2]], BY_DAY, {}, "no version of the table's schema"),
    ],
)
def test_what_is_refused_changes_nothing(
    migrate: Migrate, tmp_path: Path, warehouse: str, schema: Any, spec: Any, manifest: Any, message: str
) -> None:
    root = tmp_path / "ice"
    day = pa.scalar(0, pa.date32()).as_py()
    content = pa.table({"id": pa.array([1], pa.int32()), "name": ["a"], "day": [day]})
    write_table(root, [schema], spec, [data_file(root, "0.parquet", content, [1, 2, 3], {"day": day})], **manifest)
    before = {p: p.read_bytes() for p in root.rglob("*") if p.is_file()}
    with pytest.raises(PaimonError, match=message):
        migrate(root)
    assert {p: p.read_bytes() for p in root.rglob("*") if p.is_file()} == before
    assert load_catalog({"warehouse": warehouse}).list_tables("default") == []


def test_damaged_tables(migrate: Migrate, tmp_path: Path, warehouse: str) -> None:
    path = evolved_table(tmp_path / "ice")
    whole = path.read_text()
    for key in ("location", "schemas", "snapshots"):
        path.write_text(json.dumps({k: v for k, v in json.loads(whole).items() if k != key}))
        with pytest.raises(UnfamiliarFormError, match="v2.metadata.json"):
            migrate(path)
    path.write_text(whole)
    for name, error in (("snap.avro", CorruptFileError), ("m0.avro", CorruptFileError)):
        kept = (path.parent / name).read_bytes()
        (path.parent / name).write_bytes(kept[:40])
        with pytest.raises(error, match=name):
            migrate(path)
        (path.parent / name).write_bytes(kept)
    shutil.rmtree(tmp_path / "ice" / "data" / "day=null")
    with pytest.raises(DataFileMissingError, match=r"day=null/1\.parquet"):
        migrate(path)
    assert load_catalog({"warehouse": warehouse}).list_tables("default") == []


def test_files_without_ids_go_by_names(migrate: Migrate, tmp_path: Path) -> None:
    root, content = tmp_path / "ice", pa.table({"id": [1], "title": ["a"], "day": pa.array([None], pa.date32())})
    entry = data_file(root, "0.orc", content, [1, 2, 3], {}) | {"file_format": "ORC"}
    pa.orc.write_table(content, root / "data" / "0.orc")
    write_table(root, [OLD, NEW], [], [entry | {"file_size_in_bytes": (root / "data" / "0.orc").stat().st_size}])
    assert rows(migrate(root)) == [(1, "a", None, None)]
    with pytest.raises(InvalidSchemaError):
        other = tmp_path / "other"
        entry = data_file(other, "0.parquet", pa.table({"nope": [1]}), [9], {})
        pa.parquet.write_table(pa.table({"nope": [1]}), other / "data" / "0.parquet")
        write_table(other, [OLD], [], [entry])
        migrate(other, target_table="u")
