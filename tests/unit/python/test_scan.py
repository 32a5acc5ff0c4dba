"""Scans in Python: versions, columns, limits, counts from metadata, and splits that travel."""

from __future__ import annotations

import pickle
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.errors import (
    BranchNotFoundError,
    ColumnNotFoundError,
    CorruptFileError,
    DataFileMissingError,
    InvalidOptionError,
    SnapshotNotFoundError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from paimon_core.maintenance.branches import create_branch
from paimon_core.maintenance.tags import create_tag
from paimon_core.store import schemas
from paimon_sql import open_table
from paimon_sql.python.catalog import PaimonCatalog
from paimon_sql.python.table import PaimonTable
from tests.support.stored import insert

SCHEMA = pa.schema([("k", pa.int32()), ("v", pa.string())])


@pytest.fixture(params=["keyed", "append"])
def table(lake: PaimonCatalog, request: pytest.FixtureRequest) -> PaimonTable:
    """A table with two versions: of two rows, and of three more, one of them newer than a row of a key."""
    key = "k" if request.param == "keyed" else ()
    options = {"bucket": "1", "write-only": "true"} if key else {}
    made = lake.create_table("shop.t", SCHEMA, primary_key=key, options=options)
    insert(made.inner, [(1, "a"), (2, "b")])
    create_tag(made.inner.store, "first", made.inner.latest_snapshot())
    insert(made.inner, [(2, "B"), (3, "c"), (4, "d")])
    return made


def rows(scan: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in scan.to_arrow().to_pylist())


FIRST = [(1, "a"), (2, "b")]


def last(table: PaimonTable) -> list[tuple[int, str]]:
    old = [] if table.primary_key else [(2, "b")]
    return sorted([(1, "a"), *old, (2, "B"), (3, "c"), (4, "d")])


def test_versions(table: PaimonTable) -> None:
    assert rows(table.scan()) == last(table)
    for choice in ({"version": 1}, {"version": "first"}, {"tag": "first"}, {"options": {"scan.snapshot-id": "1"}}):
        assert rows(table.scan(**choice)) == FIRST, choice
    millis = table.inner.snapshot("1").time_millis
    moments = (millis, datetime.fromtimestamp((millis + 0.5) / 1000, UTC))
    for moment in moments:
        assert rows(table.scan(timestamp=moment)) == FIRST, moment
    assert rows(table.scan(timestamp="2999-01-01")) == rows(table.scan(timestamp=datetime(2999, 1, 1))) == last(table)
    changes = table.scan(options={"incremental-between": "1,2"})
    assert rows(changes) == [(2, "B"), (3, "c"), (4, "d")]


def test_a_scan_keeps_its_version(table: PaimonTable) -> None:
    scan = table.scan()
    insert(table.inner, [(9, "z")])
    assert rows(scan) == last(table)
    assert (9, "z") in rows(table.scan())


def test_a_branch(table: PaimonTable, lake: PaimonCatalog) -> None:
    create_branch(table.inner.store, "b", "first")
    assert rows(table.scan(branch="b")) == rows(lake.table("shop.t$branch_b").scan()) == FIRST
    with pytest.raises(BranchNotFoundError):
        table.scan(branch="c")


def test_columns_of_an_older_version(table: PaimonTable) -> None:
    changed = table.alter(rename={"v": "w"}, add={"x": pa.int64()})
    assert changed.scan(version=1).to_arrow().column_names == ["k", "v"]
    assert rows(changed.scan(["w", "x"], where="k = 2 AND x IS NULL"))[0][1] is None
    assert changed.scan(["__paimon_bucket"], version=1).to_arrow()[0].to_pylist() == [0, 0]


def test_columns_and_conditions(table: PaimonTable) -> None:
    assert rows(table.scan(["v"], where="k >= 3")) == [("c",), ("d",)]
    assert rows(table.scan(["v", "k"], where="v = 'B' AND k < 9")) == [("B", 2)]
    assert table.scan(where="k > 100").to_arrow().schema == table.schema


def test_counts(table: PaimonTable) -> None:
    assert table.scan().count() == len(last(table))
    assert table.scan(where="k < 3 AND upper(v) = 'B'").count() == (1 if table.primary_key else 2)
    assert table.scan(limit=2).count() == 2
    assert table.scan(version=1).count() == 2
    folder = Path(table.location)
    for file in folder.rglob("*.parquet"):
        file.unlink()
    assert table.scan(version=1).count() == 2  # metadata has it
    with pytest.raises(DataFileMissingError):
        table.scan(version=1).to_arrow()


def test_limits(table: PaimonTable) -> None:
    for limit in (0, 1, 3, 100):
        found = table.scan(limit=limit).to_arrow()
        assert found.num_rows == min(limit, len(last(table)))
        assert set(map(tuple, (r.values() for r in found.to_pylist()))) <= set(last(table))
    assert table.scan(limit=1, where="k = 4").to_arrow()["v"].to_pylist() == ["d"]


def test_an_arrow_stream(table: PaimonTable) -> None:
    assert sorted(pa.table(table.scan()).to_pylist(), key=str) == sorted(table.scan().to_arrow().to_pylist(), key=str)
    reader = table.scan().to_batches()
    assert reader.schema == table.schema
    reader.close()


def test_pandas(table: PaimonTable) -> None:
    frame = table.scan(["k"]).to_pandas()
    assert sorted(frame["k"].tolist()) == sorted(k for k, _ in last(table))


@pytest.mark.skipif("polars" in sys.modules, reason="Polars is installed")
def test_polars_is_named_if_it_is_missing(table: PaimonTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(UnsupportedFeatureError, match="to_polars needs the package polars.*Run: pip install polars"):
        table.scan().to_polars()


def test_splits_travel(table: PaimonTable) -> None:
    scan = table.scan(["v"], where="k > 1 AND length(v) = 1")
    splits = scan.plan()
    copies = pickle.loads(pickle.dumps(splits))  # noqa: S301  our own
    expected = scan.to_arrow().sort_by("v")
    assert pa.concat_tables(s.to_arrow() for s in copies).sort_by("v") == expected
    assert pa.concat_tables(scan.split(s.json).to_arrow() for s in splits).sort_by("v") == expected
    assert sum(s.row_count for s in splits) >= expected.num_rows and all(s.size > 0 for s in splits)
    with pytest.raises(CorruptFileError):
        scan.split("{}")


def test_explain(table: PaimonTable) -> None:
    text = table.scan(["v"], where="k > 3 AND length(v) = 1", limit=5).explain()
    assert "shop.t, snapshot 2" in text and "pushed filters: k > 3" in text
    assert text.endswith("evaluated: k > 3 AND length(v) = 1\nlimit: 5")


def test_derived_tables(table: PaimonTable, lake: PaimonCatalog) -> None:
    log = lake.table("shop.t$audit_log")
    assert log.schema.names == ["rowkind", "k", "v"]
    assert (4, "+I") in rows(log.scan(["k", "rowkind"], where="rowkind = '+I' AND k > 3"))
    assert log.scan().count() == log.scan().to_arrow().num_rows


def test_many_splits_come_in_order(lake: PaimonCatalog) -> None:
    table = lake.create_table("shop.many", SCHEMA, options={"source.split.target-size": "1b", "target-file-size": "1b"})
    for i in range(8):
        insert(table.inner, [(i, str(i))])
    scan = table.scan(options={"source.split.open-file-cost": "1b"})
    assert len(scan.plan()) == 8
    assert scan.to_arrow()["k"].to_pylist() == list(range(8))


def test_an_error_of_one_split_is_raised(lake: PaimonCatalog) -> None:
    table = lake.create_table("shop.many", SCHEMA, options={"source.split.target-size": "1b"})
    for i in range(4):
        insert(table.inner, [(i, str(i))])
    next(Path(table.location).rglob("*.parquet")).unlink()
    scan = table.scan(options={"source.split.open-file-cost": "1b"})
    with pytest.raises(DataFileMissingError):
        scan.to_arrow()
    with pytest.raises(DataFileMissingError):
        scan.to_batches().read_all()


def test_what_is_refused(table: PaimonTable) -> None:
    with pytest.raises(ColumnNotFoundError, match="has no column 'x'"):
        table.scan(["x"])
    for wrong in ([], ["k", "k"]):
        with pytest.raises(InvalidOptionError, match="columns"):
            table.scan(wrong)
    with pytest.raises(InvalidOptionError, match="limit cannot be -1"):
        table.scan(limit=-1)
    with pytest.raises(InvalidOptionError, match="two versions: give one of version, tag"):
        table.scan(version=1, tag="first")
    with pytest.raises(SnapshotNotFoundError):
        table.scan(version=99)
    with pytest.raises(InvalidOptionError, match="is for streams"):
        table.scan(options={"consumer-id": "c"})


def test_a_partitioned_table(lake: PaimonCatalog) -> None:
    table = lake.create_table("shop.p", SCHEMA, partitioned_by="v", options={"read.allow.full-scan": "false"})
    insert(table.inner, [(1, "a"), (2, "b"), (3, "b")])
    scan = table.scan(["k"], where="v = 'b'")
    assert "files 1/2" in scan.explain() and "evaluated: none" in scan.explain()
    assert sorted(scan.to_arrow()["k"].to_pylist()) == [2, 3]
    assert scan.count() == 2
    assert scan.to_arrow().num_rows == 2


def test_a_scan_imports_neither_pandas_nor_sqlglot(table: PaimonTable, tmp_path: Path) -> None:
    """Each takes as long to import as all else that a short query does."""
    code = (
        f"import paimon_sql, sys; found = paimon_sql.open_table({table.location!r}).scan(['k'], limit=1).to_arrow(); "
        "print(found.num_rows, [m for m in ('pandas', 'sqlglot', 'pyspark') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "1 []\n"


def test_lost_files_do_not_count(lake: PaimonCatalog, tmp_path: Path) -> None:
    """A limit and a count are of the rows that can be read."""
    made = lake.create_table("shop.lost", pa.schema([("k", pa.int32())]), options={"scan.ignore-lost-files": "true"})
    for k in (1, 2, 3):
        made.append(pa.table({"k": pa.array([k, k], pa.int32())}))
    first, *_ = made.scan().plan()[0].split.files
    next(tmp_path.rglob(first.file_name)).unlink()
    assert made.scan().count() == made.scan().to_arrow().num_rows == 4
    for limit in range(6):
        asked = made.scan(limit=limit)
        assert asked.count() == asked.to_arrow().num_rows == min(limit, 4)


REPLACED = {
    "keyed": (SCHEMA, {"primary_key": "k", "options": {"bucket": "1"}}),
    "append": (SCHEMA, {}),
    "partitioned": (SCHEMA, {"partitioned_by": "v"}),
    "another-type": (pa.schema([("k", pa.int32()), ("v", pa.int64())]), {}),
}


@pytest.mark.parametrize("kind", REPLACED)
def test_a_table_that_replaced_the_opened_one(lake: PaimonCatalog, table: PaimonTable, kind: str) -> None:
    """By the columns and keys of the old table, rows of the new one would come unmerged, or as other values."""
    table.scan().to_arrow()
    lake.drop_table("shop.t")
    schema, arguments = REPLACED[kind]
    new = lake.create_table("shop.t", schema, **arguments)
    with pytest.raises(TableNotFoundError, match="dropped and created again since it was opened"):
        table.scan()
    for v in (1, 2, 3):
        row = {"k": 1, "v": v if kind == "another-type" else str(v)}
        (new.upsert if new.primary_key else new.append)([row])
    asked = [table.scan(), table.scan(where="k = 1"), table.scan(limit=1), table.scan(version=3), table.changes(1)]
    for scan in asked:
        for read in (scan.to_arrow, scan.count, scan.explain):
            with pytest.raises(TableNotFoundError, match="dropped and created again since it was opened"):
                read()
    assert lake.table("shop.t").scan().count() == (1 if kind == "keyed" else 3)


def test_the_schema_is_read_once_for_a_version(table: PaimonTable, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = list[int]()
    real = schemas.load_schema
    monkeypatch.setattr(schemas, "load_schema", lambda *given: looks.append(given[2]) or real(*given))
    for _ in range(3):
        assert table.scan(where="k = 1").to_arrow().num_rows == table.scan().count() - len(last(table)) + 1
    assert looks == []  # the session has committed the version
    insert(open_table(table.location).inner, [(9, "z")])  # another session
    for _ in range(2):
        assert table.scan(where="k = 9").to_arrow().num_rows == 1
    assert looks == [0]
