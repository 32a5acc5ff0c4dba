"""Statements of Delta Lake and Iceberg: the error names the statement to write instead, and that statement works."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, ParseException, PySparkException

from paimon_sql.spark.dataframes.path_tables import install_delta_tables

pytestmark = pytest.mark.spark


def rows(spark: Any, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in spark.sql(query).collect()]


@pytest.fixture
def sales(spark: Any) -> Any:
    spark.sql("CREATE TABLE sales (id INT, day STRING)")
    spark.sql("INSERT INTO sales VALUES (1, 'a'), (2, 'b')")
    spark.sql("INSERT INTO sales VALUES (3, 'c')")
    return spark


def advised(error: PySparkException) -> list[str]:
    """The statements in the advice of an error."""
    advice = str(error).partition("For a Paimon table, write ")[2].partition(". SQLSTATE")[0].partition("\n")[0]
    return [part.strip() for part in re.split(r", then |, and for its files ", advice)]


@pytest.mark.parametrize(
    "statement",
    [
        "VACUUM sales RETAIN 0 HOURS",
        "VACUUM sales DRY RUN",
        "OPTIMIZE sales",
        "OPTIMIZE sales ZORDER BY (id, day)",
        "REORG TABLE sales APPLY (PURGE)",
        "RESTORE TABLE sales TO VERSION AS OF 1",
        "DESCRIBE HISTORY sales",
        "DESCRIBE DETAIL default.sales",
        "FSCK REPAIR TABLE sales",
        "CREATE TABLE copied DEEP CLONE sales",
        "ALTER TABLE sales WRITE ORDERED BY day DESC, id",
        "ALTER TABLE sales WRITE UNORDERED",
        "ALTER TABLE sales CREATE BRANCH b AS OF VERSION 1",
        "CALL system.rewrite_data_files(table => 'default.sales')",
        "CALL paimon.system.rewrite_manifests('sales')",
    ],
)
def test_the_advice_works(sales: Any, statement: str) -> None:
    with pytest.raises(ParseException, match=r"is a statement of (Delta Lake|Iceberg)\. For a Paimon table") as error:
        sales.sql(statement)
    statements = advised(error.value)
    assert statements and all(statements)
    for written in statements:
        sales.sql(written).collect()


def test_a_dropped_tag_and_branch(sales: Any) -> None:
    for statement in (
        "ALTER TABLE sales CREATE BRANCH b",
        "ALTER TABLE sales DROP BRANCH b",
        "ALTER TABLE sales DROP TAG b",
    ):
        with pytest.raises(ParseException) as error:
            sales.sql(statement)
        for written in advised(error.value):
            sales.sql(written).collect()
    assert (
        rows(sales, "SELECT count(*) FROM sales$branches") == rows(sales, "SELECT count(*) FROM sales$tags") == [(0,)]
    )


def test_a_branch_holds_the_rows_of_its_version(sales: Any) -> None:
    with pytest.raises(ParseException) as error:
        sales.sql("ALTER TABLE sales CREATE BRANCH b AS OF VERSION 1")
    for written in advised(error.value):
        sales.sql(written).collect()
    assert rows(sales, "SELECT id FROM sales.branch_b ORDER BY id") == [(1,), (2,)]
    assert rows(sales, "SELECT id FROM paimon.default.sales.branch_b ORDER BY id") == [(1,), (2,)]


def test_only_tables_of_paimon_are_advised_about(sales: Any) -> None:
    for statement in ("OPTIMIZE spark_catalog.default.x", "OPTIMIZE nowhere.default.x"):
        with pytest.raises(ParseException) as error:
            sales.sql(statement)
        assert "Paimon" not in str(error.value)
    sales.sql("USE spark_catalog")
    with pytest.raises(ParseException) as error:
        sales.sql("OPTIMIZE sales")
    assert "Paimon" not in str(error.value)
    with pytest.raises(ParseException, match=r"write CALL paimon\.sys\.compact\(table => 'default\.sales'\)") as error:
        sales.sql("OPTIMIZE paimon.default.sales")


def test_a_table_called_history_is_described(sales: Any) -> None:
    sales.sql("CREATE TABLE history (sales INT COMMENT 'ours')")
    assert ("comment", "ours") in rows(sales, "DESCRIBE history sales")
    sales.sql("DROP TABLE history")
    sales.sql("CREATE TEMPORARY VIEW history AS SELECT 1 AS sales")
    assert ("data_type", "int") in rows(sales, "DESCRIBE history sales")
    sales.sql("DROP VIEW history")


def test_metadata_tables_of_iceberg(sales: Any) -> None:
    assert rows(sales, "SELECT count(*) FROM sales.snapshots") == [(2,)]
    with pytest.raises(
        PySparkException, match=r"sales\.history is a metadata table of Iceberg.*read default\.sales\$snapshots"
    ):
        sales.sql("SELECT * FROM sales.history")
    with pytest.raises(PySparkException, match=r"read default\.sales\$tags"):
        sales.sql("SELECT * FROM default.sales.refs")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        sales.sql("SELECT * FROM nothing.history")


def test_the_nearest_procedures_are_named(spark: Any) -> None:
    with pytest.raises(PySparkException, match=r"procedure sys\.expire_snapshot\. Did you mean sys\.expire_snapshots"):
        spark.sql("CALL sys.expire_snapshot('t')")
    with pytest.raises(PySparkException, match=r"procedure sys\.kompact\. Did you mean sys\.compact"):
        spark.sql("CALL sys.kompact('t')")


def test_readers_of_other_formats(sales: Any) -> None:
    path = rows(sales, "DESCRIBE EXTENDED sales")
    location = next(str(value) for name, value, *_ in path if str(name).lower() == "location")
    with pytest.raises(
        PySparkException, match="is a Paimon table, and cannot be read as Delta Lake: write spark.read.format"
    ):
        sales.read.format("delta").load(location)
    with pytest.raises(PySparkException, match=r"cannot be read as Iceberg: write spark\.table\('default\.sales'\)"):
        sales.read.format("iceberg").load("default.sales")


def test_tables_of_deltas_package(sales: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with the methods of Delta's, which returns the name that it gets."""
    package = tmp_path / "delta"
    package.mkdir()
    (package / "__init__.py").write_text("")
    methods = "".join(
        f"    @classmethod\n    def {name}(cls, sparkSession, given): return cls.__name__, given\n"
        for name in ("forName", "forPath")
    )
    (package / "tables.py").write_text(f"class DeltaTable:\n{methods}")
    monkeypatch.syspath_prepend(str(tmp_path))
    install_delta_tables()
    install_delta_tables()
    table = importlib.import_module("delta.tables").DeltaTable
    assert table.forName(sales, "elsewhere.t") == ("DeltaTable", "elsewhere.t")
    assert table.forPath(sales, "/tmp/nothing") == ("DeltaTable", "/tmp/nothing")
    with pytest.raises(
        PySparkException,
        match=r"sales is a Paimon table, and cannot be read as Delta Lake: write SELECT, DELETE, UPDATE and MERGE INTO "
        r"in SQL, DataFrame\.mergeInto, or spark\.table\('sales'\)",
    ):
        table.forName(sparkSession=sales, given="sales")
    path = next(str(v) for name, v, *_ in rows(sales, "DESCRIBE EXTENDED sales") if str(name).lower() == "location")
    with pytest.raises(PySparkException, match="is a Paimon table"):
        table.forPath(sales, path)
    for name in ("delta.tables", "delta"):
        sys.modules.pop(name)


def test_listings_without_a_name_are_of_the_current_catalog(sales: Any) -> None:
    assert [table.name for table in sales.catalog.listTables()] == ["sales"]
    assert [table.name for table in sales.catalog.listTables(pattern="x*")] == []
    assert [table.name for table in sales.catalog.listTables("paimon.default")] == ["sales"]
    sales.sql("CREATE FUNCTION paimon.default.twice(x INT) RETURNS INT RETURN x * 2")
    assert "twice" in [function.name for function in sales.catalog.listFunctions()]
    sales.sql("USE spark_catalog")
    assert [table.name for table in sales.catalog.listTables()] == []
