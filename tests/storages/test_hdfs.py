"""Tables on HDFS: writers at once, and the statements of a session (`make campaign NAME=hdfs`)."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pyarrow as pa
import pytest

import paimon_sql
from paimon_core.commit.draft import CommitInfo
from paimon_core.io.load import load_file_io
from paimon_core.scan.read import read_split
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import BIGINT, INT, DataField
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.write.writer import open_writer, written
from paimon_sql.catalog.load import load_catalog
from tests.support import hdfs_server

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(hdfs_server.JARS is None, reason="no PAIMON_SQL_HDFS_JARS: make campaign NAME=hdfs"),
]
TABLE = Identifier("default", "t")
WRITERS, COMMITS = 4, 10
_NODES = "org.apache.hadoop.hdfs.server.namenode"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with hdfs_server.hdfs_server(tmp_path_factory.mktemp("hdfs") / "disk") as url:
        yield url


def test_creates_of_one_name_have_one_winner(server: str) -> None:
    io, together = load_file_io(server, {}), Barrier(32)

    def create(number: int) -> bool:
        together.wait()
        return io.create_exclusive(path, b"%d" % number)

    with ThreadPoolExecutor(32) as pool:
        for round_ in range(5):
            path = f"{server}/race/{round_}"
            won = list(pool.map(create, range(32)))
            assert won.count(True) == 1 and io.read_bytes(path) == b"%d" % won.index(True)
    assert len(list(io.list(f"{server}/race"))) == 5, "no temporary file is left"


@pytest.mark.parametrize("name", ["a b", "50%", "k=v", "x+y", "#1", "ü", "what?"])
def test_names(server: str, name: str) -> None:
    io, path = load_file_io(server, {}), f"{server}/names/{name}/{name}"
    io.write_bytes(path, b"")
    io.replace_file(path, b"1")
    assert [entry.path for entry in io.list(f"{server}/names/{name}")] == [path] and io.read_bytes(path) == b"1"
    io.rename_dir(f"{server}/names/{name}", f"{server}/names/{name}.2")
    io.delete_dir(f"{server}/names/{name}.2")
    assert not io.exists(path)


def _write(server: str, writer: int) -> None:
    table = load_catalog({"warehouse": f"{server}/at-once"}).load_table(TABLE)
    for number in range(COMMITS):
        rows = pa.record_batch([pa.array([writer], pa.int32()), pa.array([number], pa.int64())], names=["w", "n"])
        message = written(open_writer(table.store, sequence_start=0, base=None), [rows])
        table.commit_or_abort(message, CommitInfo(user=f"w{writer}", identifier=number))


def test_writers_at_once_lose_nothing(server: str) -> None:
    options = {"warehouse": f"{server}/at-once"}
    catalog = load_catalog(options)
    catalog.create_database("default")
    fields = [DataField(id=0, name="w", type=INT), DataField(id=1, name="n", type=BIGINT)]
    catalog.create_table(TABLE, new_table_schema(fields))
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_write, args=(server, writer)) for writer in range(WRITERS)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * WRITERS
    table = catalog.load_table(TABLE)
    splits = table.plan(table.latest_snapshot()).splits
    batches = [batch for split in splits for batch in read_split(table.store, split, ["w", "n"])]
    found = sorted((row["w"], row["n"]) for batch in batches for row in batch.to_pylist())
    assert found == [(writer, number) for writer in range(WRITERS) for number in range(COMMITS)]


@pytest.mark.spark
def test_statements_of_a_session(server: str, tmp_path: Path) -> None:
    spark = paimon_sql.connect(warehouse=f"{server}/a warehouse", catalog="hdfs")
    spark.sql("CREATE DATABASE hdfs.d")
    spark.sql("CREATE TABLE hdfs.d.t (id INT, v STRING, p STRING, PRIMARY KEY (p, id) NOT ENFORCED) PARTITIONED BY (p)")
    spark.sql("INSERT INTO hdfs.d.t SELECT CAST(id AS INT), CAST(id AS STRING), CONCAT('p ', id % 2) FROM range(10)")
    spark.sql("UPDATE hdfs.d.t SET v = 'new' WHERE id < 2")
    spark.sql("DELETE FROM hdfs.d.t WHERE id = 9")
    spark.sql(
        "MERGE INTO hdfs.d.t USING (SELECT 3 AS id, 'p 1' AS p) s ON t.id = s.id AND t.p = s.p WHEN MATCHED THEN DELETE"
    )
    spark.sql("CALL hdfs.sys.create_tag(table => 'd.t', tag => 'here')")
    spark.sql("CALL hdfs.sys.compact(table => 'd.t')")
    spark.sql("ALTER TABLE hdfs.d.t ADD COLUMN more INT")
    spark.sql("ALTER TABLE hdfs.d.t RENAME TO d.u")
    rows = spark.sql("SELECT id, v FROM hdfs.d.u ORDER BY id").collect()
    assert [tuple(row) for row in rows] == [(0, "new"), (1, "new"), *((n, str(n)) for n in (2, 4, 5, 6, 7, 8))]
    spark.sql("CREATE TABLE hdfs.d.plain (id INT, v STRING)")
    spark.sql("INSERT INTO hdfs.d.plain SELECT CAST(id AS INT), 'x' FROM range(1000)")
    assert spark.sql("SELECT sum(id), count(v) FROM hdfs.d.plain WHERE id >= 10").first() == (499_455, 990)
    spark.sql("CALL hdfs.sys.remove_orphan_files(table => 'd.*')")
    spark.sql("DROP TABLE hdfs.d.u")
    assert [row.tableName for row in spark.sql("SHOW TABLES IN hdfs.d").collect()] == ["plain"]


@pytest.mark.spark
def test_a_name_service_of_the_catalog_alone(server: str) -> None:
    """Spark's own reader does not know it, so workers read the files."""
    address = server.removeprefix("hdfs://")
    service = {
        "dfs.nameservices": "lake",
        "dfs.ha.namenodes.lake": "a",
        "dfs.namenode.rpc-address.lake.a": address,
        "dfs.client.failover.proxy.provider.lake": f"{_NODES}.ha.ConfiguredFailoverProxyProvider",
    }
    spark = paimon_sql.connect(warehouse="hdfs://lake/named", catalog="named", **service)
    plain = paimon_sql.connect(warehouse=f"{server}/named", catalog="plain")
    spark.sql("CREATE TABLE named.default.t (id INT, v STRING)")
    spark.sql("INSERT INTO named.default.t SELECT CAST(id AS INT), 'x' FROM range(100)")
    for session, name, is_raw in ((spark, "named", False), (plain, "plain", True)):
        assert session.sql(f"SELECT id, v FROM {name}.default.t WHERE id > 97").collect() == [(98, "x"), (99, "x")]
        explained = session.sql(f"EXPLAIN SELECT id, v FROM {name}.default.t").first()[0]
        assert ("PaimonScan[raw]" in explained) == is_raw
