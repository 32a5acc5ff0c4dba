"""`%load_ext paimon_sql` in IPython, on a session of Spark."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("IPython")

from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

from paimon_sql.notebook.answer import SqlError

pytestmark = pytest.mark.spark


@pytest.fixture
def ipython(spark: Any) -> InteractiveShell:
    spark.createDataFrame([(1,)], "a INT").count()  # makes the session the active one of this thread
    spark._jvm.SparkSession.setActiveSession(spark._jsparkSession)
    type(spark)._instantiatedSession, before = spark, type(spark)._instantiatedSession
    type(spark)._activeSession = spark
    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "paimon_sql")
    shell.run_cell_magic(
        "sql", "", "CREATE TABLE t (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket'='1')"
    )
    shell.run_cell_magic("sql", "", "INSERT INTO t VALUES (1, 'a'), (2, 'b\"}'), (3, NULL)")
    yield shell
    type(spark)._instantiatedSession = before


def test_cells(ipython: InteractiveShell, spark: Any) -> None:
    ipython.user_ns["wanted"] = 'b"}'
    answer = ipython.run_cell_magic("sql", "", "SELECT * FROM t WHERE v = {wanted}; SELECT k, v FROM t ORDER BY k")
    assert [tuple(row) for row in answer.result.rows] == [(1, "a"), (2, 'b"}'), (3, None)]
    assert "<th" in answer._repr_html_() and "int" in answer._repr_html_()
    ipython.run_cell_magic("sql", "found <<", "SELECT * FROM t WHERE v = {wanted}")
    assert [tuple(row) for row in ipython.user_ns["found"].collect()] == [(2, 'b"}')]
    ipython.run_cell_magic("sql", "joined <<", "SELECT t.k FROM t JOIN {found} f ON t.k = f.k")
    assert [tuple(row) for row in ipython.user_ns["joined"].collect()] == [(2,)]
    assert ipython.run_line_magic("sql", "SELECT count(*) FROM t$snapshots").result.rows[0][0] == 1
    assert [row.name for row in spark.catalog.listTables() if row.isTemporary] == []


def test_frames_of_system_tables_are_tables(ipython: InteractiveShell, spark: Any) -> None:
    def shown(frame: Any) -> str | None:
        return ipython.display_formatter.format(frame)[0].get("text/html")

    html = shown(spark.sql("SELECT snapshot_id, commit_kind FROM t$snapshots"))
    assert "commit_kind" in html and ">APPEND</td>" in html and html.endswith("s</p>")
    assert "t</td>" in shown(spark.table("sys.tables").select("table_name"))
    for frame in (spark.table("t"), spark.table("t$audit_log"), spark.range(3), spark.sql("SELECT 1 FROM t, t$files")):
        assert shown(frame) is None, "reading rows may take long"


def test_errors(ipython: InteractiveShell) -> None:
    with pytest.raises(SqlError) as caught:
        ipython.run_cell_magic("sql", "", "SELECT 1;\nSELECT k,\n  nothing FROM t")
    shown = caught.value._render_traceback_()
    assert shown[0] == "SQL error in line 4 of the cell:" and shown[1].strip() == "nothing FROM t"
    assert shown[2].startswith("[UNRESOLVED_COLUMN") and "\n" not in shown[2]


def test_completion(ipython: InteractiveShell) -> None:
    def offered(text: str) -> list[str]:
        with provisionalcompleter():
            return [found.text for found in ipython.Completer.completions(text, len(text))]

    assert "v" in offered("%%sql\nSELECT * FROM t WHERE v")
    assert "sys.compact" in offered("%%sql\nCALL sys.comp")
    assert "merge-engine" in offered("%%sql\nCREATE TABLE x (k INT) WITH ('merge-e")
    assert "SELECT" not in offered("SEL")
