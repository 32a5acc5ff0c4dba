"""Executors get values: what is sent to them holds no object of the driver, and works where there is no driver."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.cloudpickle import Pickler

from paimon_core.jobs import Job
from paimon_sql.spark.jvm import workers
from paimon_sql.spark.workers.executor import SparkExecutor

pytestmark = pytest.mark.spark

DRIVER_MODULES = ("py4j", "pyspark.core", "pyspark.sql.session", "pyspark.sql.classic", "paimon_sql.catalog")
DRIVER_CLASSES = ("Jvm", "SessionBridge")
WITHOUT_DRIVER = """
import pickle, sys
for name in sys.argv[1:]:
    with open(name, "rb") as file:
        assert callable(pickle.load(file)[0])
import pyspark
assert pyspark.SparkContext._gateway is None
"""


class Watching(Pickler):
    """Notes the types of all objects it pickles."""

    def __init__(self, file: io.BytesIO):
        super().__init__(file)
        self.types: set[type] = set()

    def reducer_override(self, obj: Any) -> Any:
        self.types.add(type(obj))
        return super().reducer_override(obj)


@pytest.fixture
def sent(spark: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What statements of every kind send to executors."""
    functions: list[tuple[Any, ...]] = []
    command, run = workers.task_command, SparkExecutor.run

    def watch_command(function: Any, result: Any) -> bytearray:
        functions.append((function, result))
        return command(function, result)

    def watch_run(self: SparkExecutor, job: Job[Any, Any]) -> list[Any]:
        functions.append((job.text_function,))
        return run(self, job)

    monkeypatch.setattr(workers, "task_command", watch_command)
    monkeypatch.setattr(SparkExecutor, "run", watch_run)
    keys = "TBLPROPERTIES ('primary-key' = 'k,p', 'bucket' = '2')"
    spark.sql(f"CREATE TABLE t (k INT, v STRING, p INT) PARTITIONED BY (p) {keys}")
    for n in range(3):
        spark.sql(f"INSERT INTO t SELECT id, 'v{n}', id % 2 FROM range(100)")
    assert spark.sql("SELECT * FROM t WHERE k > 10 AND v LIKE 'v%'").count() == 89
    spark.sql("CALL sys.compact('t')")
    return functions


def test_no_object_of_the_driver(sent: list[tuple[Any, ...]], tmp_path: Path) -> None:
    assert len(sent) >= 5  # three inserts, a query, a compaction
    files = []
    for number, function in enumerate(sent):
        stream = io.BytesIO()
        pickler = Watching(stream)
        pickler.dump(function)
        types = {f"{t.__module__}.{t.__qualname__}" for t in pickler.types}
        assert "paimon_core.store.table_store.TableStore" in types
        assert {t for t in types if t.startswith(DRIVER_MODULES) or t.endswith(DRIVER_CLASSES)} == set()
        assert len(stream.getvalue()) < 20_000
        files.append(tmp_path / f"{number}.pickle")
        files[-1].write_bytes(stream.getvalue())
    subprocess.run([sys.executable, "-c", WITHOUT_DRIVER, *files], check=True, cwd=tmp_path)


def test_an_object_of_the_driver_would_be_seen(spark: Any) -> None:
    pickler = Watching(io.BytesIO())
    with pytest.raises(Exception, match="."):
        pickler.dump(lambda: spark)
    assert any(t.__module__.startswith(DRIVER_MODULES) for t in pickler.types)
