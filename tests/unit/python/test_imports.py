"""A program imports only what it uses: packages that a scan does not need cost more time than many scans."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime, timedelta

import pyarrow as pa
import pytest

from paimon_sql.python.catalog import PaimonCatalog

HEAVY = (
    "pandas",
    "pyspark",
    "py4j",
    "pyarrow.dataset",
    "pyarrow.acero",
    "numpy.ma",
    "urllib.request",
    "subprocess",
)
# without these a scan by a key takes half the time
UNUSED = (
    "sqlglot",
    "pyarrow.csv",
    "pyroaring",
    "paimon_core.store.ddl.new_schema",
    "paimon_core.store.ddl.schema_changes",
    "paimon_core.lsm.functions.registry",
    "paimon_core.io.hadoop",
    "paimon_core.io.hdfs",
    "paimon_core.io.hdfs_settings",
    "paimon_core.io.fsspec",
    "paimon_core.io.objects.store",
    "paimon_sql.catalog.hive",
    "paimon_sql.catalog.rest",
    "paimon_sql.pictures",
    "paimon_sql.python.definitions",
    "paimon_sql.python.searching",
    "paimon_core.commit.draft",
    "paimon_core.scan.aggregates",
    "paimon_core.scan.changes.plan",
    "paimon_core.scan.vector_search",
    "paimon_core.expressions.functions",
    "paimon_core.expressions.shown",
    "paimon_core.indexes.global_index",
    "paimon_core.indexes.vector_index",
    "paimon_core.lsm.compaction",
    "paimon_core.store.branches",
    "paimon_core.store.tags",
    "paimon_core.store.data.evolved_files",
    "paimon_core.formats.orc.data_files",
    "paimon_core.formats.avro.data_files",
    "paimon_core.formats.text.data_files",
    "pyarrow.orc",
    "xml.etree.ElementTree",
    "importlib.metadata",
    "fastavro",
    "lzma",
    "backports.zstd",
    "paimon_core.commit.publish",
    "paimon_core.formats.blob",
    "paimon_core.formats.avro.field_offsets",
    "paimon_core.formats.parquet.file_writer",
    "paimon_core.io.objects.settings",
    "paimon_sql.catalog.privileges.catalog",
    "paimon_sql.catalog.view",
)
MOST_MODULES = 191  # of this project: each takes up to a millisecond
WRITING = (
    "paimon_core.commit.commit",
    "paimon_core.maintenance",
    "paimon_core.write",
    "paimon_core.row_level",
    "paimon_core.iceberg",
    "paimon_sql.procedures",
    "paimon_sql.python.writing",
)
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("day", pa.date32()),
        ("name", pa.string()),
        ("amount", pa.decimal128(10, 2)),
        ("share", pa.float64()),
        ("at", pa.timestamp("us")),
    ]
)


@pytest.fixture
def warehouse(lake: PaimonCatalog) -> str:
    """A warehouse with the tables `keyed` and `plain`, each with rows of two commits in two partitions."""
    at = datetime(2026, 1, 1)
    rows = [
        {
            "id": i,
            "day": at.date() + timedelta(i % 2),
            "name": str(i),
            "amount": i,
            "share": i / 8,
            "at": at.replace(hour=i),
        }
        for i in range(9)
    ]
    options = {"bucket": "2", "write-only": "true"}
    keyed = lake.create_table("shop.keyed", SCHEMA, primary_key=["day", "id"], partitioned_by="day", options=options)
    plain = lake.create_table("shop.plain", SCHEMA, partitioned_by="day")
    for _ in range(2):
        keyed.upsert(rows)
        plain.append(rows)
    return str(lake.table("shop.keyed").location).partition("/shop.db/")[0]


def imported(warehouse: str, programs: list[str]) -> list[tuple[str, set[str]]]:
    """Return what each program prints in a fresh process, and the modules that it has imported."""
    code = f"""
import os, sys, paimon_sql
catalog = paimon_sql.open_catalog({warehouse!r}, time_zone="UTC")
for program in {programs!r}:
    child = os.fork()  # importing everything for each program would take long
    if not child:
        print(eval(program), *sys.modules, flush=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, program
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return [(line.split()[0], set(line.split()[1:])) for line in done.stdout.splitlines()]


CONDITIONS = (
    "id = 4",
    "id IN (4, 100)",
    "id <=> 4",
    "name = '4' AND id < 100",
    "amount = 4.0",
    "share = 0.5D",
    "share > 0.4D AND id < 5",
    "day = DATE '2026-01-01' AND id > 3 AND id < 5",
    "at = TIMESTAMP '2026-01-01 04:00:00'",
)
CAST = CONDITIONS[4:]  # one side is cast
PARSED = ("name LIKE '4%'", "id = 2 + 2")  # by sqlglot


@pytest.mark.parametrize(("name", "expected"), [("keyed", "1"), ("plain", "2")])
def test_a_scan_by_a_key_imports_neither_pandas_nor_what_writes(warehouse: str, name: str, expected: str) -> None:
    assert pytest.importorskip("pandas")  # else pyarrow could not import it
    conditions = (*CONDITIONS, *PARSED)
    scans = [f"catalog.table('shop.{name}').scan(['id'], where={w!r}).to_arrow().num_rows" for w in conditions]
    for where, (printed, modules) in zip(conditions, imported(warehouse, scans), strict=True):
        assert (where, printed) == (where, expected)
        unwanted = (*HEAVY, *WRITING) if where in PARSED else (*HEAVY, *WRITING, *UNUSED)
        assert (where, [m for m in unwanted if m in modules]) == (where, [])
        assert where in (*CAST, *PARSED) or "pyarrow.compute" not in modules
        assert ("sqlglot" in modules) is (where in PARSED)
        assert where in PARSED or sum(m.startswith("paimon_") for m in modules) <= MOST_MODULES


def test_a_count_imports_no_sql(warehouse: str) -> None:
    counts = [f"catalog.table('shop.{name}').scan().count()" for name in ("keyed", "plain")]
    for expected, (printed, modules) in zip(("9", "18"), imported(warehouse, counts), strict=True):
        assert printed == expected
        assert [m for m in (*HEAVY, *WRITING, "sqlglot") if m in modules] == []


ROWS = "[{'id': 1, 'day': __import__('datetime').date(2026, 1, 1), 'name': 'a'}]"
NOT_WRITING = (
    "paimon_core.write.compaction",
    "paimon_core.row_level",
    "paimon_core.iceberg",
    "paimon_core.maintenance.snapshot_expiry",
    "paimon_core.maintenance.orphans",
    "paimon_core.store.ddl.schema_changes",
    "paimon_core.indexes.file_index.options",
    "urllib.request",
    "sqlglot",
)


@pytest.mark.parametrize("write", ["table('shop.keyed').upsert", "table('shop.plain').append"])
def test_new_rows_import_nothing_that_compacts_changes_or_expires(warehouse: str, write: str) -> None:
    program = f"catalog.{write}({ROWS}, options={{'write-only': 'true'}})"
    ((printed, modules),) = imported(warehouse, [program])
    assert (printed, [m for m in NOT_WRITING if m in modules]) == ("None", [])
