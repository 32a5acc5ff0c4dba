"""System tables and procedures in Python."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

from paimon_core.errors import InvalidOptionError, NotFoundError, TableNotFoundError, UnsupportedFeatureError
from paimon_core.jobs import DONE, Done, Job
from paimon_core.spec.records import Column, Record
from paimon_core.system_tables.registry import SYSTEM_TABLES, system_table_schema
from paimon_sql.python.catalog import PaimonCatalog
from paimon_sql.python.executor import ThreadExecutor
from paimon_sql.python.table import PaimonTable
from tests.support.stored import insert

SCHEMA = pa.schema([("k", pa.int32()), ("v", pa.string())])


@pytest.fixture
def table(lake: PaimonCatalog) -> PaimonTable:
    """A keyed table with two commits."""
    made = lake.create_table("shop.t", SCHEMA, primary_key="k", options={"bucket": "1", "write-only": "true"})
    insert(made.inner, [(1, "a"), (2, "b")])
    insert(made.inner, [(2, "B")])
    return made


def test_every_system_table(table: PaimonTable) -> None:
    for name in SYSTEM_TABLES:
        assert table.inspect(name).schema == system_table_schema(name), name
    assert table.inspect("SNAPSHOTS")["snapshot_id"].to_pylist() == [1, 2]
    with pytest.raises(TableNotFoundError, match="there are aggregation_fields, branches"):
        table.inspect("nothing")


def test_system_tables_of_the_catalog(table: PaimonTable, lake: PaimonCatalog) -> None:
    found = lake.inspect("tables").select(["database_name", "table_name", "file_count"]).to_pylist()
    assert found == [{"database_name": "shop", "table_name": "t", "file_count": 2}]
    with pytest.raises(TableNotFoundError):
        lake.inspect("nothing")


def test_calls(table: PaimonTable, lake: PaimonCatalog) -> None:
    lake.call("create_tag", table="shop.t", tag="one", snapshot=1)
    assert table.inspect("tags")["tag_name"].to_pylist() == ["one"]
    before = table.scan().to_arrow()
    lake.call("sys.compact", table="shop.t", compact_strategy="full")
    assert table.inspect("snapshots")["commit_kind"].to_pylist()[-1] == "COMPACT"
    assert table.scan().to_arrow() == before
    lake.call("ROLLBACK", TABLE="shop.t", version="one")
    assert table.scan().count() == 2


def test_a_condition_of_a_procedure(lake: PaimonCatalog) -> None:
    made = lake.create_table("shop.p", SCHEMA, partitioned_by="v", options={"write-only": "true"})
    for _ in range(2):
        insert(made.inner, [(1, "a"), (2, "b")])
    lake.call("compact", table="shop.p", where="v = 'a'", compact_strategy="full")
    files = dict(zip(*(made.inspect("partitions")[c].to_pylist() for c in ("partition", "file_count")), strict=True))
    assert sorted(files.values()) == [1, 2]
    with pytest.raises(ValueError, match="where"):
        lake.call("compact", table="shop.p", where="k = 1")


def test_orphans(table: PaimonTable, lake: PaimonCatalog) -> None:
    orphan = Path(table.location) / "bucket-0" / "data-01234567-89ab-cdef-0123-456789abcdef-0.parquet"
    orphan.write_bytes(b"lost")
    os.utime(orphan, (0, 0))
    found = lake.call("remove_orphan_files", table="shop.t", older_than="2000-01-01 00:00:00")
    assert not orphan.exists() and 1 in found.to_pylist()[0].values()
    assert table.scan().count() == 2


def test_arguments_that_are_refused(table: PaimonTable, lake: PaimonCatalog) -> None:
    with pytest.raises(NotFoundError, match="There is no procedure 'nothing'; there are .*compact"):
        lake.call("nothing")
    with pytest.raises(InvalidOptionError, match="needs a value for table"):
        lake.call("compact")
    with pytest.raises(InvalidOptionError, match="has no argument 'tabel'; it has table"):
        lake.call("compact", tabel="shop.t")
    with pytest.raises(InvalidOptionError, match="snapshot cannot be 'one': it must be of type BIGINT"):
        lake.call("create_tag", table="shop.t", tag="x", snapshot="one")
    with pytest.raises(UnsupportedFeatureError, match="needs Spark"):
        lake.call("migrate_database", source_type="hive", database="shop")


def test_a_job_with_a_task_that_fails_undoes_the_others() -> None:
    number = Record("number", int, (Column("x", "real", "long"),))
    undone: list[Done] = []

    def task(n: int) -> Done:
        if n == 2:
            raise InvalidOptionError("two")
        return Done()

    job = Job("", task, number, DONE, (1, 2, 3), undo=undone.append)
    with pytest.raises(InvalidOptionError, match="two"):
        ThreadExecutor().run(job)
    assert 1 <= len(undone) <= 2
