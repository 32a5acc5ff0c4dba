"""`paimon-sql ui --spark`: queries in Spark's SQL, with the rights of the catalog's user, that read and end in time."""

from __future__ import annotations

import http.client
import signal
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, urlparse

import pyarrow as pa
import pytest

from paimon_sql import open_catalog
from tests.support.waiting import PATIENCE

pytest.importorskip("uvicorn", reason='needs pip install "paimon-sql[ui]"')
pytestmark = [pytest.mark.spark, pytest.mark.slow]

SECONDS = 5  # the time limit of the query that does not end; others have as long as a busy machine needs
ENDLESS = "SELECT count(*) FROM range(1000000000000000) WHERE id % 7 = rand()"
RUN = f"""import runpy, sys
from dataclasses import replace
from paimon_sql.server.ui.app import UiApp
from paimon_sql.server.ui.spark_queries import SparkQueries
UiApp.__init__.__defaults__ = ({PATIENCE}, None)
run = SparkQueries.run
def bounded(self, catalog, text, limits):
    return run(self, catalog, text, replace(limits, seconds={SECONDS} if "rand" in text else {PATIENCE}))
SparkQueries.run = bounded
sys.argv = ["paimon-sql", *sys.argv[1:]]
runpy.run_module("paimon_sql", run_name="__main__")
"""


class Answered(HTMLParser):
    """The cells of a page's tables, and its messages about failures."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.failures: list[str] = []
        self._open: list[str] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self._open = self.rows[-1]
            self._open.append("")
        elif ("role", "alert") in attributes:
            self._open = self.failures
            self._open.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th", "p"):
            self._open = None

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self._open[-1] += data


class Pages:
    """A running command, and a client with its cookie."""

    def __init__(self, warehouse: Path, *words: str) -> None:
        self.command = subprocess.Popen(
            [sys.executable, "-c", RUN, "ui", "--spark", "-w", str(warehouse), *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=warehouse.parent,
        )
        assert self.command.stdout is not None
        self.address = urlparse(self.command.stdout.readline().strip())
        self.cookie = self._get(f"/?{self.address.query}", "")[1]["Set-Cookie"].partition(";")[0]

    def _get(self, path: str, cookie: str) -> tuple[str, http.client.HTTPMessage]:
        client = http.client.HTTPConnection(str(self.address.hostname), self.address.port, timeout=PATIENCE)
        client.request("GET", path, headers={"Cookie": cookie} if cookie else {})
        answer = client.getresponse()
        text = answer.read().decode()
        client.close()
        return text, answer.headers

    def asked(self, query: str) -> Answered:
        return Answered(self._get(f"/sql?query={quote(query)}", self.cookie)[0])


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    """Pages for a user who may read one of two tables."""
    warehouse = tmp_path_factory.mktemp("pages") / "lake"
    root = open_catalog(str(warehouse))
    for name in ("seen", "hidden"):
        table = root.create_table(f"default.{name}", pa.schema([("k", pa.int64()), ("word", pa.string())]))
        table.append([{"k": 1, "word": f"word of {name}"}])
    root.call("init_file_based_privilege", root_password="of root")
    root = open_catalog(str(warehouse), user="root", password="of root")
    root.call("create_privileged_user", username="ann", password="of ann")
    root.call("grant_privilege_to_user", user="ann", privilege="SELECT", database="default", table="seen")
    users = ("-c", "user=ann", "-c", "password=of ann", "-c", "spark.master=local[2]")
    made = Pages(warehouse, *users, "--time-zone", "Asia/Tokyo")
    try:
        yield made
    finally:
        made.command.send_signal(signal.SIGINT)
        _, errors = made.command.communicate(timeout=PATIENCE)
    assert made.command.returncode == 0
    assert errors == "Open this address in a browser. It is valid until Ctrl-C.\n"


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT * FROM seen", [["k", "word"], ["1", "word of seen"]]),
        ("SELECT word FROM paimon.default.seen VERSION AS OF 1", [["word"], ["word of seen"]]),
        ("SELECT snapshot_id, commit_kind FROM seen$snapshots", [["snapshot_id", "commit_kind"], ["1", "APPEND"]]),
        ("SHOW COLUMNS IN seen", [["col_name"], ["k"], ["word"]]),
        ("SELECT timestamp'1970-01-01 00:00:00Z' AS t, NULL AS n", [["t", "n"], ["1970-01-01 09:00:00", "NULL"]]),
        ("SELECT '<b>' AS `<i>`, 1.50 AS d", [["<i>", "d"], ["<b>", "1.50"]]),
    ],
)
def test_what_reads(pages: Pages, query: str, rows: list[list[str]]) -> None:
    answered = pages.asked(query)
    assert (answered.rows, answered.failures) == (rows, [])


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT * FROM hidden", "doesn't have privilege SELECT on table default.hidden"),
        ("INSERT INTO seen VALUES (2, 'x')", "certain to only read"),
        ("CALL sys.compact('seen')", "certain to only read"),
        ("CREATE TABLE t (a INT)", "certain to only read"),
        ("SET spark.sql.catalog.mine=paimon_sql.SparkCatalog", "certain to only read"),
        ("SELECT * FROM text.`/etc/passwd`", "certain to only read"),
        ("SELECT * FROM nothing", "nothing"),
        ("SELEC 1", "SELEC"),
        ("SELECT java_method('java.lang.System', 'getenv', 'HOME')", "certain to only read"),
        ("SELECT reflect('java.lang.System', 'getProperty', 'user.home')", "certain to only read"),
        ("SELECT try_reflect('java.lang.System', 'exit', 1)", "certain to only read"),
        ("/* SELECT */ -- SELECT\nINSERT INTO seen VALUES (2, 'x')", "certain to only read"),
        ("WITH one AS (SELECT 2, 'x') INSERT INTO seen SELECT * FROM one", "certain to only read"),
        ("SELECT 1; INSERT INTO seen VALUES (2, 'x')", "Syntax error"),
        ("BEGIN INSERT INTO seen VALUES (2, 'x'); END", "certain to only read"),
        ("EXECUTE IMMEDIATE \"INSERT INTO seen VALUES (2, 'x')\"", "certain to only read"),
        ("INSERT OVERWRITE LOCAL DIRECTORY 'out' USING csv SELECT 1", "certain to only read"),
        ("DELETE FROM seen", "certain to only read"),
        ("MERGE INTO seen USING (SELECT 1 AS k) s ON seen.k = s.k WHEN MATCHED THEN DELETE", "certain to only read"),
        ("DROP TABLE seen", "certain to only read"),
        ("ALTER TABLE seen RENAME TO gone", "certain to only read"),
        ("ADD JAR '/tmp/x.jar'", "certain to only read"),
        ("ADD FILE '/etc/passwd'", "certain to only read"),
        ("CREATE TEMPORARY FUNCTION f AS 'java.lang.Runtime'", "certain to only read"),
        ("SELECT * FROM csv.`/etc/passwd`", "certain to only read"),
        ("SELECT * FROM binaryFile.`file:///etc/passwd`", "certain to only read"),
        ("SELECT * FROM parquet.`hdfs://else:1/x`", "certain to only read"),
        ("SELECT * FROM paimon.`/etc`", "certain to only read"),
        ("CREATE TEMPORARY VIEW v USING csv OPTIONS (path '/etc/passwd')", "certain to only read"),
        ("CREATE TEMPORARY VIEW v USING jdbc OPTIONS (url 'jdbc:h2:mem:x', dbtable 't')", "certain to only read"),
        ("SELECT * FROM read_files('/etc/passwd')", "does not support table-valued functions"),
        (
            "SELECT xpath('<!DOCTYPE a [<!ENTITY b SYSTEM \"file:///etc/passwd\">]><a>&b;</a>', 'a/text()')",
            "certain to only read",
        ),
        ("CACHE TABLE seen", "certain to only read"),
        ("LOAD DATA INPATH '/etc/passwd' INTO TABLE seen", "certain to only read"),
        ("CREATE TABLE t USING csv LOCATION '/tmp/t' AS SELECT 1", "certain to only read"),
        ("SELECT * FROM hidden$files", "doesn't have privilege"),
        ("SELECT * FROM `default`.`hidden` VERSION AS OF 1", "doesn't have privilege"),
    ],
)
def test_what_is_refused(pages: Pages, query: str, message: str) -> None:
    answered = pages.asked(query)
    assert answered.rows == [] and message in answered.failures[0]
    assert "word of hidden" not in str(answered.failures) and "at org.apache" not in answered.failures[0]


@pytest.mark.parametrize("write", ["INSERT INTO seen VALUES (2, 'x')", "ANALYZE TABLE seen COMPUTE STATISTICS"])
def test_plans_of_writes_are_refused_and_write_nothing(pages: Pages, write: str) -> None:
    answered = pages.asked(f"EXPLAIN {write}")
    assert answered.failures == [] and "SQLSTATE: 25006" in str(answered.rows)
    assert pages.asked("SELECT count(*) FROM seen").rows[1:] == [["1"]]


def test_secrets_of_the_catalog_are_hidden(pages: Pages) -> None:
    for query in ("SELECT * FROM sys.catalog_options", "SET", "SET -v"):
        assert "of ann" not in str(pages.asked(query).rows), query


def test_nothing_is_kept_of_a_query(pages: Pages) -> None:
    assert pages.asked("CREATE TEMPORARY VIEW mine AS SELECT 1 AS a").failures == []
    assert pages.asked("SELECT * FROM mine").failures != []
    assert pages.asked("SELECT count(*) FROM seen").rows[1:] == [["1"]]


def test_the_bounds_of_an_answer(pages: Pages) -> None:
    answered = pages.asked("SELECT id, repeat('x', 1000) AS wide FROM range(100000000) ORDER BY id")
    assert len(answered.rows) == 201 and answered.rows[-1] == ["199", "x" * 299 + "…"]
    columns = ", ".join(f"{n} AS c{n}" for n in range(70))
    assert [len(row) for row in pages.asked(f"SELECT {columns}").rows] == [60, 60]


def test_a_query_ends_at_its_limit(pages: Pages) -> None:
    assert f"stopped after {SECONDS} seconds" in pages.asked(ENDLESS).failures[0]
    assert pages.asked("SELECT count(*) FROM range(1000)").rows[1:] == [["1000"]]
