"""ibis and jupysql on a session of ours, as they are used on any session of Spark's."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture
def table(spark: Any) -> Any:
    spark.sql("CREATE TABLE t (k INT, v STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')")
    spark.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'b')")
    return spark


@pytest.mark.filterwarnings("ignore")
def test_ibis(table: Any) -> None:
    ibis = pytest.importorskip("ibis", reason="needs pip install ibis-framework")
    connection = ibis.pyspark.connect(table)
    assert "paimon" in connection.list_catalogs() and connection.list_databases(catalog="paimon") == ["default"]
    assert connection.list_tables(database=("paimon", "default")) == ["t"]
    found = connection.table("t", database=("paimon", "default"))
    assert found.schema() == ibis.schema({"k": "int32", "v": "string"})
    counted = found.group_by("v").agg(n=found.count()).order_by("v")
    assert counted.to_pyarrow().to_pydict() == {"v": ["a", "b"], "n": [1, 2]}
    made = connection.create_table("made", found.filter(found.k > 1), database="paimon.default", format="paimon")
    assert sorted(made.execute().k) == [2, 3]
    connection.insert("t", connection.sql("SELECT 4 AS k, 'd' AS v"), database="paimon.default")
    assert connection.sql("SELECT * FROM `t$snapshots`").count().execute() == 2
    assert table.table("t").count() == 4


@pytest.mark.filterwarnings("ignore")
def test_jupysql(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLOOMBER_STATS_ENABLED", "false")
    pytest.importorskip("sql.magic", reason="needs pip install jupysql")
    from IPython.core.interactiveshell import InteractiveShell  # noqa: PLC0415  it is there where jupysql is

    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "sql")
    shell.user_ns["session"] = table
    shell.run_line_magic("sql", "session")
    found = shell.run_cell_magic("sql", "", "SELECT v, count(*) AS n FROM t GROUP BY v ORDER BY v")
    assert [tuple(row) for row in found] == [("a", 1), ("b", 2)]
    assert len(shell.run_cell_magic("sql", "", "SELECT * FROM t$snapshots")) == 1
    shell.run_cell_magic("sql", "", "DELETE FROM t WHERE k = 1")
    assert table.table("t").count() == 2
