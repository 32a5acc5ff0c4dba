"""Pipelines as clients of one server: with an audit, and two at once, with tables of their own and with one table."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import paimon_sql
from tests.support.served import Server
from tests.support.spark_versions import since
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.slow, since(4, 1, "Spark 4.0 has no pipelines")]

SPEC = """\
name: {name}
storage: file://{folder}/storage
catalog: paimon
database: {database}
libraries:
  - glob:
      include: transformations/**
"""
COLUMNS = pa.schema([("id", pa.int64()), ("v", pa.string())])
# before 4.3 a definition has no `spark` of its own
BEGIN = """\
from pyspark import pipelines as dp
from pyspark.sql import SparkSession

spark = SparkSession.active()
"""
OWN_TABLES = """
@dp.table(name="{name}_kept")
def kept():
    return spark.readStream.table("source")

@dp.materialized_view(name="{name}_summed")
def summed():
    return spark.read.table("{name}_kept").groupBy("v").count()
"""
ONE_STREAM = """
dp.create_streaming_table("merged")

@dp.append_flow(target="merged", name="from_{name}")
def flow():
    return spark.readStream.table("source_{name}")
"""
VIEW = """
@dp.materialized_view(name="t")
def refreshed():
    return spark.read.table("source").selectExpr("id", "concat('{name}', v) AS v")
"""
# the rows of a table, once another process has made a file
WAITING = """
from pyspark.sql import functions as F

@F.udf("string")
def after(file, text):
    import os, time
    while not os.path.exists(file):
        time.sleep(0.1)
    return text
"""
HELD_VIEW = (
    WAITING
    + """
@dp.materialized_view(name="first")
def first():
    return spark.read.table("source").select("id", after(F.lit("{folder}/go"), "v").alias("v"))

@dp.materialized_view(name="t")
def refreshed():
    return spark.read.table("first").selectExpr("id", "concat('view ', v) AS v")
"""
)
HELD_STREAM = (
    WAITING
    + """
@dp.table(name="t")
def added():
    return spark.readStream.table("source").select("id", after(F.lit("{folder}/go"), "v").alias("v"))
"""
)


class Shop:
    """A database of its own at a server, and pipelines of it."""

    def __init__(self, server: Server, root: Path) -> None:
        self.server, self.root, self.name = server, root, root.name
        self.catalog = paimon_sql.open_catalog(str(server.log.parent / "warehouse"))
        self.catalog.create_database(self.name)

    def table(self, name: str) -> Any:
        return self.catalog.create_table(f"{self.name}.{name}", COLUMNS)

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        found = self.catalog.table(f"{self.name}.{table}").scan().to_arrow().to_pylist()
        return sorted(tuple(row.values()) for row in found)

    def pipeline(self, name: str, definitions: str, configuration: str = "") -> Path:
        folder = self.root / name
        (folder / "transformations").mkdir(parents=True)
        (folder / "spark-pipeline.yml").write_text(SPEC.format(name=name, folder=folder, database=self.name))
        with (folder / "spark-pipeline.yml").open("a") as spec:
            spec.write(configuration)
        text = BEGIN + definitions.replace("{name}", name).replace("{folder}", str(folder))
        (folder / "transformations" / "tables.py").write_text(text)
        return folder

    def start(self, folder: Path, *words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "pyspark.pipelines.cli", "run", *words]
        remote = {"SPARK_REMOTE": self.server.remote, "SPARK_CONNECT_MODE_ENABLED": "1"}
        log = (folder / "log").open("w")
        return subprocess.Popen(command, cwd=folder, env={**os.environ, **remote}, stdout=log, stderr=log, text=True)

    def end(self, folder: Path, run: subprocess.Popen[str]) -> str:
        """Wait for a run. Return its log if it failed, else ""."""
        status = run.wait(300)
        return (folder / "log").read_text() if status else ""

    def run_at_once(self, *folders: Path) -> list[str]:
        runs = [self.start(folder) for folder in folders]
        return [self.end(folder, run) for folder, run in zip(folders, runs, strict=True)]


@pytest.fixture
def shop(common_server: Server, tmp_path: Path) -> Shop:
    return Shop(common_server, tmp_path)


AUDITED = """
audited = {"write.wap.enabled": "true"}

@dp.table(table_properties=audited)
def kept():
    return spark.readStream.table("source")

@dp.table(table_properties={**audited, "primary-key": "id", "bucket": "1"})
def copied():
    return spark.readStream.table("kept")

@dp.materialized_view(table_properties=audited)
def summed():
    return spark.read.table("copied").groupBy("v").count()
"""
AUDIT = "configuration:\n  spark.paimon.wap.branch: audit\n"


def test_an_audit_of_a_pipeline(shop: Shop) -> None:
    """Each run writes to the branch, and goes on behind the last one: after its rows were published or not, with the
    audit or without it, and after a full refresh if the rows were rejected.
    """
    source, folder = shop.table("source"), shop.pipeline("audited", AUDITED, AUDIT)
    spec = folder / "spark-pipeline.yml"

    def run(*numbers: int, words: tuple[str, ...] = ()) -> str:
        source.append([{"id": n, "v": "x"} for n in numbers])
        return shop.end(folder, shop.start(folder, *words))

    def has(branch: str, rows: int) -> None:
        for name in ("kept", "copied"):
            assert shop.rows(name + branch) == [(n, "x") for n in range(1, rows + 1)], name
        assert shop.rows("summed" + branch) == [("x", rows)] * bool(rows)

    def publish() -> None:
        for name in ("kept", "copied", "summed"):
            shop.catalog.call("publish", table=f"{shop.name}.{name}", branch="audit")

    assert run() == ""  # without rows the streams begin in the tables
    for number in (1, 2):
        assert run(number) == ""
        has("", 0)
        has("$branch_audit", number)
    commits = shop.catalog.table(f"{shop.name}.summed$branch_audit").inspect("snapshots").to_pylist()
    assert [c["commit_kind"] for c in commits] == ["OVERWRITE"] * 2  # readers of the branch never see the view empty
    audited = spec.read_text()
    spec.write_text(audited.replace(AUDIT, ""))
    assert "publish the audited rows" in run()
    publish()
    has("", 2)
    assert run(3) == ""
    has("", 3)
    spec.write_text(audited)
    assert run(4) == ""
    has("", 3)
    has("$branch_audit", 4)
    for name in ("kept", "copied", "summed"):
        shop.catalog.call("delete_branch", table=f"{shop.name}.{name}", branch="audit")
    assert run(5, words=("--full-refresh-all",)) == ""
    has("", 3)
    has("$branch_audit", 5)


def test_tables_of_their_own(shop: Shop) -> None:
    source = shop.table("source")
    both = [shop.pipeline(name, OWN_TABLES) for name in ("a", "b")]
    for number in (1, 2):
        source.append([{"id": number, "v": "x"}, {"id": number, "v": "y"}])
        assert shop.run_at_once(*both) == ["", ""]
        for name in ("a", "b"):
            assert shop.rows(f"{name}_kept") == [(n, v) for n in range(1, number + 1) for v in "xy"]
            assert shop.rows(f"{name}_summed") == [("x", number), ("y", number)]


def test_flows_of_both_into_one_streaming_table(shop: Shop) -> None:
    """Both may create the table: then one of them is refused, and goes on in its next run."""
    sources = {name: shop.table(f"source_{name}") for name in ("a", "b")}
    both = [shop.pipeline(name, ONE_STREAM) for name in ("a", "b")]
    expected: list[tuple[Any, ...]] = []
    for number in (1, 2):
        for name, source in sources.items():
            source.append([{"id": number, "v": name}])
            expected.append((number, name))
        refused = shop.run_at_once(*both)
        for folder, log in zip(both, refused, strict=True):
            if log:
                assert "already exists" in log, log[-3000:]
                assert shop.run_at_once(folder) == [""]
        assert shop.rows("merged") == sorted(expected)


def test_two_runs_of_one_pipeline(shop: Shop) -> None:
    """Both have the same positions: no row is there twice, whichever of them is refused."""
    source, folder = shop.table("source"), shop.pipeline("a", OWN_TABLES)
    for number in (1, 2):
        source.append([{"id": number, "v": "x"}])
        shop.run_at_once(folder, folder)
        assert shop.run_at_once(folder) == [""]
        assert shop.rows("a_kept") == [(n, "x") for n in range(1, number + 1)]
        assert shop.rows("a_summed") == [("x", number)]


def test_a_view_of_both(shop: Shop) -> None:
    """The table has the rows of one pipeline, not the rows of both."""
    shop.table("source").append([{"id": 1, "v": "x"}, {"id": 2, "v": "y"}])
    both = [shop.pipeline(name, VIEW) for name in ("a", "b")]
    assert shop.run_at_once(both[0]) == [""]
    for _ in range(2):
        assert shop.run_at_once(*both) == ["", ""]
        assert shop.rows("t") in ([(1, f"{name}x"), (2, f"{name}y")] for name in ("a", "b"))


@pytest.mark.parametrize("first", ["view", "stream"])
def test_a_view_that_is_a_streaming_table_of_the_other(shop: Shop, first: str) -> None:
    """The refresh of the view is refused while the other pipeline runs: it would remove the rows that the other adds.
    The view begins first, and waits before it writes; or the stream has rows that it has not committed yet.
    """
    shop.table("source").append([{"id": 1, "v": "x"}])
    view, stream = shop.pipeline("view", HELD_VIEW), shop.pipeline("stream", HELD_STREAM)
    (view / "go").touch()
    assert shop.run_at_once(view) == [""]
    (view / "go").unlink()
    one, other = (view, stream) if first == "view" else (stream, view)
    begun = shop.start(one)
    wait_until(lambda: "flow" in (one / "log").read_text() and "RUNNING" in (one / "log").read_text(), str)
    late = shop.start(other)
    if first == "view":
        wait_until(lambda: "RUNNING" in (other / "log").read_text(), str)
    (view / "go").touch()
    runs = {one: begun, other: late}
    refusal = shop.end(view, runs[view])
    assert "materialized view" in refusal and "streaming table" in refusal, refusal[-3000:]
    (stream / "go").touch()
    assert shop.end(stream, runs[stream]) == ""
    assert shop.rows("t") == [(1, "view x"), (1, "x")]
    assert shop.run_at_once(view) == [""]
    assert shop.rows("t") == [(1, "view x")]
