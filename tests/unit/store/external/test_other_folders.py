"""Files of other writers in other folders of their partition are found, and neither missing nor orphans."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.errors import DataFileMissingError
from paimon_core.expressions.predicate import Compare
from paimon_core.io.local import LocalFileIO
from paimon_core.maintenance.orphans.missing_files import missing_files
from paimon_core.maintenance.orphans.search import find_orphans
from paimon_core.scan.execution import Execution, ScanRequest, check_sizes, choose_execution
from paimon_core.scan.read import read_split
from paimon_core.spec.schema import encode_schema
from paimon_core.spec.types import INT, STRING, DataType, parse_type
from paimon_core.store.data.other_folders import other_places
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_core.write.writer import open_writer
from tests.support.tables import fields, info

DATE, TIMESTAMP = parse_type("DATE"), parse_type("TIMESTAMP(6)")


def table_of(root: Path, columns: dict[str, DataType], **options: str) -> Table:
    keys = [name for name in columns if name not in ("k", "v")]
    schema = new_table_schema(fields(**columns), partition_keys=keys, options=options)
    (root / "schema").mkdir(parents=True, exist_ok=True)
    (root / "schema" / "schema-0").write_bytes(encode_schema(schema))
    return Table(TableStore.of(LocalFileIO(), str(root), schema))


def insert(table: Table, rows: Sequence[dict[str, Any]]) -> None:
    writer = open_writer(table.store, sequence_start=0)
    columns = {f.name: f.type for f in table.schema.fields}
    types = {"d": pa.date32(), "t": pa.timestamp("us"), "k": pa.int32()}
    writer.write(pa.record_batch({n: pa.array([r.get(n) for r in rows], types.get(n, pa.string())) for n in columns}))
    table.commit_or_abort(writer.finish(), info())


def read(table: Table) -> list[int]:
    splits = table.plan(table.latest_snapshot()).splits
    return sorted(k for s in splits for b in read_split(table.store, s, ["k"]) for k in b.column(0).to_pylist())


def moved(root: Path, old: str, new: str) -> None:
    (root / new).parent.mkdir(parents=True, exist_ok=True)
    shutil.move(root / old, root / new)


def test_folders_of_pypaimon(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", {"k": INT, "pt": STRING, "d": DATE})
    rows = [{"k": 1, "pt": "x", "d": date(2024, 1, 1)}, {"k": 2, "pt": "y y", "d": date(1960, 1, 1)}, {"k": 3}]
    insert(table, rows)
    root = tmp_path / "t"
    assert read(table) == [1, 2, 3]
    moved(root, "pt=x/d=19723/bucket-0", "pt=x/d=2024-01-01/bucket-0")
    moved(root, "pt=y y/d=-3653/bucket-0", "pt=y y/d=1960-01-01/bucket-0")
    null = "__DEFAULT_PARTITION__"
    moved(root, f"pt={null}/d={null}/bucket-0", "pt=None/d=None/bucket-0")
    assert read(table) == [1, 2, 3]
    plan = table.plan(table.latest_snapshot())
    assert choose_execution(table.store, plan, ScanRequest(("k",))) is Execution.MERGE
    assert missing_files(table.store) == {}
    assert find_orphans(table.store, 2**62).paths == ()
    insert(table, [{"k": 4, "pt": "x", "d": date(2024, 1, 1)}])  # a file in each folder of one partition
    assert read(table) == [1, 2, 3, 4]
    one = table.plan(table.latest_snapshot(), Compare("pt", "=", "x"))
    assert sum(len(s.files) for s in one.splits) == 2


def test_the_other_rule_of_java(tmp_path: Path) -> None:
    moment = pa.scalar(1_704_164_645_000_000, pa.timestamp("us")).as_py()
    for legacy, own, other in (
        ("true", "t=2024-01-02T03%3A04%3A05", "t=2024-01-02 03%3A04%3A05.000000"),
        ("false", "t=2024-01-02 03%3A04%3A05.000000", "t=2024-01-02T03%3A04%3A05"),
        ("true", "t=2024-01-02T03%3A04%3A05", "t=2024-01-02 03:04:05"),  # as pypaimon spells it
    ):
        root = tmp_path / f"{legacy}{len(other)}"
        table = table_of(root, {"k": INT, "t": TIMESTAMP}, **{"partition.legacy-name": legacy})
        insert(table, [{"k": 1, "t": moment}])
        moved(root, f"{own}/bucket-0", f"{other}/bucket-0")
        assert read(table) == [1]


def test_a_file_that_is_nowhere_is_missing(tmp_path: Path) -> None:
    table = table_of(tmp_path, {"k": INT, "d": DATE})
    insert(table, [{"k": 1, "d": date(2024, 1, 1)}])
    (file,) = tmp_path.rglob("data-*.parquet")
    file.unlink()
    with pytest.raises(DataFileMissingError, match=r"d=19723/bucket-0/data-.* is missing"):
        read(table)
    plan = table.plan(table.latest_snapshot())
    assert choose_execution(table.store, plan, ScanRequest(("k",))) is Execution.RAW
    with pytest.raises(DataFileMissingError, match=r"d=19723/bucket-0/data-.* is missing"):
        check_sizes(table.store, plan.splits)
    assert list(missing_files(table.store)) == [str(file)]


def test_places_outside_of_the_table_are_none(tmp_path: Path) -> None:
    table = table_of(tmp_path, {"k": INT, "p": STRING})
    assert list(other_places(table.store, "/elsewhere/p=x/bucket-0/f")) == []
    assert list(other_places(table.store, f"{tmp_path}/q=x/bucket-0/f")) == []
    assert list(other_places(table.store, f"{tmp_path}/p=..%2F..%2Fx/bucket-0/f")) == []
    none = table_of(tmp_path / "none", {"k": INT, "v": INT})
    assert list(other_places(none.store, f"{tmp_path}/none/bucket-0/f")) == []
