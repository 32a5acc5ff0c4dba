"""The functions of Python workers, called as Spark calls them."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
from pyspark.sql.types import IntegerType, StructField, StructType

from paimon_core.spec.split import DATA_SPLIT, DataSplit
from paimon_core.spec.types import INT
from paimon_core.write.writer import open_writer
from paimon_sql.spark.workers.worker import acknowledge_input, read_function
from tests.support.data import make_batch, make_store

REQUIRED = StructType([StructField("a", IntegerType())])


def test_a_read_ends_its_input_so_that_spark_keeps_the_worker(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"a": INT})
    writer = open_writer(store, sequence_start=0)
    writer.write(make_batch(store, [(1,), (2,)]))
    (message,) = writer.finish()
    split = DataSplit(
        partition=message.partition,
        bucket=message.bucket,
        bucket_dir=store.bucket_dir(message.partition, message.bucket),
        files=message.new_files,
        needs_merge=False,
    )
    partitions = iter([pa.record_batch([[DATA_SPLIT.encode(split).encode()]], names=["partition"])])
    rows = next(iter(read_function(store, REQUIRED, None)(partitions)))
    assert rows.to_pylist() == [{"a": 1}, {"a": 2}]
    assert next(partitions, "ended") == "ended"


def test_input_is_acknowledged_on_every_connection() -> None:
    before = acknowledge_input()
    with socket.create_server(("localhost", 0)) as server, socket.create_connection(server.getsockname()) as client:
        accepted, _ = server.accept()
        with accepted:
            assert acknowledge_input() == before + 3 or not hasattr(socket, "TCP_QUICKACK")
            client.sendall(b"still open")
            assert accepted.recv(10) == b"still open"


def test_imports_are_left_out_of_garbage_collection() -> None:
    """PySpark collects after each task."""
    code = (
        "import gc; from paimon_sql.spark.workers.worker import keep_imports; keep_imports();"
        " print(gc.get_freeze_count(), len(gc.get_objects()))"
    )
    kept, left = map(int, subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.split())
    assert kept > 10_000 > left
