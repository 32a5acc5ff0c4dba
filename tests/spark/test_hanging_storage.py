"""A storage that does not answer holds up only the statements that need it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.object_server import Answer, Request, object_server
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.spark


def test_other_catalogs_answer_while_one_storage_hangs(spark: Any, tmp_path: Path) -> None:
    spark.sql("CREATE TABLE t (k INT)")
    spark.sql("INSERT INTO t VALUES (1)")
    asked, answers, is_armed = threading.Event(), threading.Event(), threading.Event()

    def hangs(_: Request) -> Answer | None:
        if not is_armed.is_set():
            return None
        asked.set()
        answers.wait(PATIENCE)
        return Answer(403, "AccessDenied")

    with object_server(fault=hangs) as server, ThreadPoolExecutor(1) as pool:
        spark.conf.set("spark.sql.catalog.remote", "paimon_sql.SparkCatalog")
        settings = {"warehouse": f"s3://{server.bucket}/wh", "fs.s3a.connection.timeout": f"{PATIENCE}s"}
        for key, value in (settings | server.options).items():
            spark.conf.set(f"spark.sql.catalog.remote.{key}", value)
        spark.sql("CREATE TABLE remote.default.t (k INT)")
        is_armed.set()
        waiting = pool.submit(lambda: spark.sql("SELECT * FROM remote.default.t").collect())
        try:
            assert asked.wait(PATIENCE)
            assert {row[0] for row in spark.sql("SHOW CATALOGS").collect()} >= {"paimon", "remote", "spark_catalog"}
            assert [tuple(row) for row in spark.sql("SELECT * FROM t").collect()] == [(1,)]
            spark.sql("INSERT INTO t VALUES (2)")
            spark.sql("CREATE TABLE u AS SELECT * FROM t")
            assert spark.table("u").count() == 2
            assert not waiting.done(), "the storage has not answered yet"
        finally:
            answers.set()
        with pytest.raises(Exception, match="AccessDenied|permission|access"):
            waiting.result(PATIENCE)
