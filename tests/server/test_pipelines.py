"""`paimon-sql pipelines`: Spark's pipelines on a driver of its own."""

from __future__ import annotations

import json
import random
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable
from datetime import datetime
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import paimon_sql
from tests.support.spark_versions import since

pytestmark = [pytest.mark.spark, since(4, 1, "Spark 4.0 has no pipelines")]

EXAMPLE = Path(__file__).parents[2] / "examples" / "pipelines"
SPEC = """\
name: shop
storage: file://{storage}
catalog: paimon
database: shop
libraries:
  - glob:
      include: transformations/**
"""
PYTHON = """\
from pyspark import pipelines as dp
from pyspark.sql import SparkSession

spark = SparkSession.active()

@dp.table(partition_cols=["v"], table_properties={"clustering.columns": "id"})
def clustered():
    return spark.readStream.table("paimon.shop.source")

@dp.table(table_properties={"primary-key": "id", "bucket": "1"})
def latest():
    return spark.readStream.table("paimon.shop.source")

@dp.materialized_view(cluster_by=["id"])
def small():
    return spark.read.table("latest").where("id < 10")
"""
SQL = "CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM small;"


# a driver that kills itself and its processes before or after it publishes a file below a folder
KILLED = """\
import os, signal, sys
link, (place, moment) = os.link, sys.argv[1:3]
def killing(made, path):
    if place in path and moment == "before":
        os.killpg(0, signal.SIGKILL)
    link(made, path)
    if place in path and moment == "after":
        os.killpg(0, signal.SIGKILL)
os.link = killing
from paimon_sql.shell.main import main
sys.exit(main(sys.argv[3:]))
"""


def pipeline(
    folder: Path, warehouse: Path, *words: str, killed: tuple[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    program = ["-m", "paimon_sql"] if killed is None else ["-c", KILLED, *killed]
    return subprocess.run(
        [sys.executable, *program, "pipelines", *words, "-w", str(warehouse)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        start_new_session=killed is not None,
    )


def rows_of(catalog: Any, table: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in catalog.table(table).scan().to_arrow().to_pylist())


def project(root: Path, sql: str) -> Path:
    folder = root / "project"
    (folder / "transformations").mkdir(parents=True)
    (folder / "spark-pipeline.yml").write_text(SPEC.format(storage=root / "storage"))
    (folder / "transformations" / "tables.py").write_text(PYTHON)
    (folder / "transformations" / "views.sql").write_text(sql)
    return folder


def test_a_pipeline_runs_and_takes_new_rows(tmp_path: Path) -> None:
    warehouse, folder = tmp_path / "warehouse", project(tmp_path, SQL)
    catalog = paimon_sql.open_catalog(str(warehouse))
    catalog.create_database("shop")
    source = catalog.create_table("shop.source", pa.schema([("id", pa.int64()), ("v", pa.string())]))
    source.append([{"id": 1, "v": "a"}, {"id": 20, "v": "b"}])
    first = pipeline(folder, warehouse, "run")
    assert first.returncode == 0, first.stderr[-3000:]
    assert catalog.table("shop.latest").scan().count() == 2
    assert catalog.table("shop.counted").scan().to_arrow().to_pylist() == [{"n": 1}]
    source.append([{"id": 1, "v": "c"}, {"id": 2, "v": "d"}])
    again = pipeline(folder, warehouse, "run")
    assert again.returncode == 0, again.stderr[-3000:]
    commits = [c["commit_kind"] for c in catalog.table("shop.small").inspect("snapshots").to_pylist()]
    assert commits == ["APPEND", "OVERWRITE"]  # readers never see the view empty
    assert catalog.table("shop.small").options["clustering.columns"] == "id"
    rows = sorted(catalog.table("shop.latest").scan().to_arrow().to_pylist(), key=lambda row: row["id"])
    assert rows == [{"id": 1, "v": "c"}, {"id": 2, "v": "d"}, {"id": 20, "v": "b"}]
    assert catalog.table("shop.counted").scan().to_arrow().to_pylist() == [{"n": 2}]


APPENDED = """\
from pyspark import pipelines as dp
from pyspark.sql import SparkSession

spark = SparkSession.active()

@dp.table
def kept():
    return spark.readStream.table("paimon.shop.source")

@dp.materialized_view
def summed():
    return spark.read.table("kept").groupBy("v").count()
"""


def test_a_killed_run_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """The driver is killed before and after it publishes rows of the stream, and new rows of the view."""
    warehouse, folder = tmp_path / "warehouse", project(tmp_path, "")
    (folder / "transformations" / "views.sql").unlink()
    (folder / "transformations" / "tables.py").write_text(APPENDED)
    catalog = paimon_sql.open_catalog(str(warehouse))
    catalog.create_database("shop")
    source = catalog.create_table("shop.source", pa.schema([("id", pa.int64()), ("v", pa.string())]))

    def run(number: int, killed: tuple[str, str] | None = None) -> None:
        source.append([{"id": number, "v": "a"}, {"id": number, "v": "b"}])
        ran = pipeline(folder, warehouse, "run", killed=killed)
        assert ran.returncode == (0 if killed is None else -signal.SIGKILL), ran.stderr[-3000:]

    run(1)
    for number, (table, moment) in enumerate(product(("kept", "summed"), ("before", "after")), start=2):
        run(number, (f"{table}/snapshot/snapshot-", moment))
        taken = number - (table == "kept")  # a stream first repeats the batch that it had begun
        assert rows_of(catalog, "shop.kept") == [(n, v) for n in range(1, taken + 1) for v in "ab"]
        seen = number if (table, moment) == ("summed", "after") else 1  # the view has the rows of its last refresh
        assert rows_of(catalog, "shop.summed") == [("a", seen), ("b", seen)]
    run(6)
    assert rows_of(catalog, "shop.kept") == [(n, v) for n in range(1, 7) for v in "ab"]
    assert rows_of(catalog, "shop.summed") == [("a", 6), ("b", 6)]


AUDITED = """\
from pyspark import pipelines as dp
from pyspark.sql import SparkSession

spark = SparkSession.active()

@dp.table(table_properties={"write.wap.enabled": "true"})
def kept():
    return spark.readStream.table("paimon.shop.source")
"""


def test_a_killed_audit_goes_on_after_its_rows_were_published(tmp_path: Path) -> None:
    """The driver is killed after it committed rows to the branch, and before Spark records that it has."""
    warehouse, folder = tmp_path / "warehouse", project(tmp_path, "")
    (folder / "transformations" / "views.sql").unlink()
    (folder / "transformations" / "tables.py").write_text(AUDITED)
    with (folder / "spark-pipeline.yml").open("a") as spec:
        spec.write("configuration:\n  spark.paimon.wap.branch: audit\n")
    catalog = paimon_sql.open_catalog(str(warehouse))
    catalog.create_database("shop")
    source = catalog.create_table("shop.source", pa.schema([("id", pa.int64()), ("v", pa.string())]))
    source.append([{"id": 1, "v": "a"}])
    ran = pipeline(folder, warehouse, "run", killed=("kept/branch/branch-audit/snapshot/snapshot-", "after"))
    assert ran.returncode == -signal.SIGKILL, ran.stderr[-3000:]
    assert rows_of(catalog, "shop.kept") == []
    catalog.call("publish", table="shop.kept", branch="audit")
    source.append([{"id": 2, "v": "b"}])
    ran = pipeline(folder, warehouse, "run")
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert rows_of(catalog, "shop.kept") == [(1, "a")]
    # a run first repeats the batch that the killed one had begun
    assert rows_of(catalog, "shop.kept$branch_audit") in ([(1, "a")], [(1, "a"), (2, "b")])


FLOWS = """\
from pyspark import pipelines as dp
from pyspark.sql import SparkSession

spark = SparkSession.active()

dp.create_streaming_table("merged")
dp.create_sink("files", "json", {{"path": "{sink}"}})

@dp.append_flow(target="merged", name="from_source")
def from_source():
    return spark.readStream.table("paimon.shop.source")

@dp.append_flow(target="files", name="to_files")
def to_files():
    return spark.readStream.table("merged")
"""
FLOWS_IN_SQL = """\
CREATE FLOW from_other AS INSERT INTO merged BY NAME SELECT v, id FROM STREAM paimon.shop.other;
CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM merged;
"""


def test_several_flows_a_sink_and_refreshes_of_some_tables(tmp_path: Path) -> None:
    warehouse, sink = tmp_path / "warehouse", tmp_path / "sink"
    folder = project(tmp_path, FLOWS_IN_SQL)
    (folder / "transformations" / "tables.py").write_text(FLOWS.format(sink=sink))
    catalog = paimon_sql.open_catalog(str(warehouse))
    catalog.create_database("shop")
    columns = pa.schema([("id", pa.int64()), ("v", pa.string())])
    source, other = (catalog.create_table(f"shop.{name}", columns) for name in ("source", "other"))

    def run(*words: str) -> list[Any]:
        ran = pipeline(folder, warehouse, "run", *words)
        assert ran.returncode == 0, ran.stderr[-3000:]
        written = [json.loads(line)["id"] for file in sink.glob("*.json") for line in file.read_text().splitlines()]
        merged = catalog.table("shop.merged").scan(["id"]).to_arrow()["id"].to_pylist()
        return [sorted(merged), rows_of(catalog, "shop.counted"), sorted(written)]

    source.append([{"id": 1, "v": "a"}])
    other.append([{"id": 2, "v": "b"}])
    assert run() == [[1, 2], [(2,)], [1, 2]]
    source.append([{"id": 3, "v": "c"}])
    assert run("--refresh", "merged") == [[1, 2, 3], [(2,)], [1, 2]]  # the view and the sink are not refreshed
    assert run("--full-refresh", "merged") == [[1, 2, 3], [(2,)], [1, 2]]  # all rows once, not twice
    views = folder / "transformations" / "views.sql"
    views.write_text(FLOWS_IN_SQL.replace("count(*) AS n", "max(id) AS top, count(*) AS rows"))
    assert run("--refresh", "counted")[1] == [(3, 3)]
    assert catalog.table("shop.counted").schema.names == ["top", "rows"]
    for text, expected in {
        "concat('n', count(*)) AS top": [("n3", 3)],
        "max(id) AS top": [(3, 3)],  # the old text does not parse
        "named_struct('a', max(id)) AS top": [({"a": 3}, 3)],
        "named_struct('a', max(v), 'b', 1) AS top": [({"a": "c", "b": 1}, 3)],
    }.items():
        views.write_text(FLOWS_IN_SQL.replace("count(*) AS n", f"{text}, count(*) AS rows"))
        assert run("--refresh", "counted")[1] == expected
    assert catalog.table("shop.counted").schema.names == ["top", "rows"]
    commits = [c["commit_kind"] for c in catalog.table("shop.counted").inspect("snapshots").to_pylist()]
    assert commits == ["APPEND", *["OVERWRITE"] * (len(commits) - 1)]


def test_the_example(tmp_path: Path) -> None:
    """The project of examples/, over some flights of a table like the demo's."""
    warehouse, folder = tmp_path / "warehouse", tmp_path / "project"
    shutil.copytree(EXAMPLE, folder)
    spec = folder / "spark-pipeline.yml"
    spec.write_text(spec.read_text().replace("file:///tmp/delays", f"file://{tmp_path}/storage"))
    catalog = paimon_sql.open_catalog(str(warehouse))
    catalog.create_database("nyc")
    kinds = {"flight": pa.int32(), "scheduled": pa.timestamp("us"), "arr_delay": pa.int32()}
    names = ("carrier", "flight", "origin", "scheduled", "dest", "arr_delay")
    columns = pa.schema([(name, kinds.get(name, pa.string())) for name in names])
    key = list(names[:4])
    flights = catalog.create_table("nyc.flights", columns, primary_key=key, options={"bucket": "2"})

    def news(*rows: tuple[int, str, int | None]) -> None:
        scheduled = datetime(2013, 1, 1, 5)
        flights.upsert([dict(zip(names, ("UA", n, "EWR", scheduled, to, late), strict=True)) for n, to, late in rows])
        ran = pipeline(folder, warehouse, "run")
        assert ran.returncode == 0, ran.stderr[-3000:]

    news((1, "IAH", 10), (2, "ORD", None))
    assert rows_of(catalog, "nyc.airports") == [("IAH", 1, 10)]
    news((1, "IAH", 20), (2, "ORD", 6))
    assert rows_of(catalog, "nyc.airports") == [("IAH", 1, 20), ("ORD", 1, 6)]
    assert rows_of(catalog, "nyc.carriers") == [("UA", 13.0)]


def test_a_dry_run_reports_a_wrong_definition(tmp_path: Path) -> None:
    folder = project(tmp_path, "CREATE MATERIALIZED VIEW wrong AS SELECT missing FROM small;")
    warehouse = tmp_path / "warehouse"
    catalog = paimon_sql.open_catalog(str(warehouse))
    catalog.create_database("shop")
    catalog.create_table("shop.source", pa.schema([("id", pa.int64()), ("v", pa.string())]))
    with socket.create_server(("127.0.0.1", 0)) as taken:  # another program takes the port before the server does
        program = (
            "import sys; from paimon_sql.shell import pipelines\n"
            f"pipelines._free_port = lambda: {taken.getsockname()[1]}\n"
            f"sys.exit(pipelines.run_pipelines(['dry-run', '-w', {str(warehouse)!r}]))"
        )
        command = [sys.executable, "-c", program]
        refused = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    assert refused.returncode == 1 and "missing" in refused.stdout + refused.stderr
    assert [
        t for t in ("latest", "small", "wrong") if catalog.inner.table_exists(catalog.inner.identifier(f"shop.{t}"))
    ] == []


def test_a_project_is_made(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "paimon_sql", "pipelines", "init", "--name", "weather"]
    subprocess.run(program, cwd=tmp_path, capture_output=True, check=True)
    assert {p.name for p in (tmp_path / "weather").iterdir()} >= {"spark-pipeline.yml", "transformations"}


CHANGES = """\
from pyspark import pipelines as dp
from pyspark.sql import SparkSession

spark = SparkSession.active()

def cdc(target, scd_type=1, **properties):
    dp.create_streaming_table(target, table_properties=properties)
    dp.create_auto_cdc_flow(
        target=target, source="events", keys=["id"], sequence_by="seq", apply_as_deletes="op = 'd'",
        except_column_list=["op"], stored_as_scd_type=scd_type,
    )

@dp.temporary_view
def events():
    return spark.readStream.table("paimon.shop.source")

cdc("plain")
cdc("keyed", **{"primary-key": "id", "bucket": "1"})
cdc("history", 2)
"""


CHANGES_IN_SQL = """\
CREATE STREAMING TABLE keyed_in_sql TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1');
CREATE FLOW of_keyed AS AUTO CDC INTO keyed_in_sql FROM STREAM(events) KEYS (id)
  APPLY AS DELETE WHEN op = 'd' SEQUENCE BY seq COLUMNS * EXCEPT (op) STORED AS SCD TYPE 1;
CREATE STREAMING TABLE plain_in_sql FLOW AUTO CDC FROM STREAM(events) KEYS (id)
  APPLY AS DELETE WHEN op = 'd' SEQUENCE BY seq COLUMNS (id, seq, v);
CREATE STREAMING TABLE history_in_sql FLOW AUTO CDC FROM STREAM(events) KEYS (id)
  APPLY AS DELETE WHEN op = 'd' SEQUENCE BY seq COLUMNS * EXCEPT (op) STORED AS SCD TYPE 2;
"""


def latest(events: Iterable[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return the rows that remain: of each key the event with the greatest number, unless it deletes the key."""
    last: dict[Any, dict[str, Any]] = {}
    for event in sorted(events, key=lambda e: e["seq"]):
        last[event["id"]] = event
    return sorted((e["id"], e["seq"], e["v"]) for e in last.values() if e["op"] != "d")


def history(events: Iterable[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return each event that deletes nothing, with the number of its key's next event."""
    of: dict[Any, dict[int, dict[str, Any]]] = {}
    for event in events:
        of.setdefault(event["id"], {})[event["seq"]] = event
    rows = []
    for numbered in of.values():
        numbers = sorted(numbered)
        for number, ended in zip(numbers, [*numbers[1:], None], strict=True):
            if (event := numbered[number])["op"] != "d":
                rows.append((event["id"], event["v"], number, ended))
    return sorted(rows, key=lambda row: row[:3])


@since(4, 3, "Spark 4.2 has no AUTO CDC")
def test_changes_are_applied_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    """Late events, events that come twice, and deletions, in two runs, by flows in Python and in SQL."""
    warehouse, folder = tmp_path / "warehouse", project(tmp_path, CHANGES_IN_SQL)
    (folder / "transformations" / "tables.py").write_text(CHANGES)
    catalog = paimon_sql.open_catalog(str(warehouse))
    catalog.create_database("shop")
    columns = [("id", pa.int64()), ("seq", pa.int64()), ("op", pa.string()), ("v", pa.string())]
    source, dice = catalog.create_table("shop.source", pa.schema(columns)), random.Random(1)
    numbers = dice.sample(range(1, 41), 40)
    events = [{"id": dice.randrange(6), "seq": n, "op": dice.choice("uud"), "v": f"v{n}"} for n in numbers]
    seen: list[dict[str, Any]] = []
    for part in (events[:20] + events[3:6], events[20:] + events[:4]):
        source.append(part)
        seen += part
        ran = pipeline(folder, warehouse, "run")
        assert ran.returncode == 0, ran.stderr[-3000:]
        for name in ("plain", "keyed", "plain_in_sql", "keyed_in_sql"):
            rows = catalog.table(f"shop.{name}").scan(["id", "seq", "v"]).to_arrow().to_pylist()
            assert sorted(tuple(row.values()) for row in rows) == latest(seen), name
        for name in ("history", "history_in_sql"):
            rows = catalog.table(f"shop.{name}").scan(["id", "v", "__START_AT", "__END_AT"]).to_arrow().to_pylist()
            assert sorted((tuple(row.values()) for row in rows), key=lambda row: row[:3]) == history(seen), name
