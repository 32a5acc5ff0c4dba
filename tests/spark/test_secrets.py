"""Secrets of a catalog are in no event log and no answer of Spark's, whichever way the catalog came to be."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors.exceptions.base import PySparkException

from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.session_bridge import SessionBridge
from tests.support.quick_jvm import QUICK_JVM

pytestmark = pytest.mark.spark

_RUN = """
import json, subprocess, sys
from pyspark.sql import SparkSession
import paimon_sql
from paimon_sql.java import find_java

folder, way = sys.argv[1:]
log = {
    "spark.master": "local[1]", "spark.ui.enabled": "false", "spark.eventLog.enabled": "true",
    "spark.eventLog.dir": f"{folder}/log", "spark.eventLog.compress": "false", "spark.sql.shuffle.partitions": "1",
    "spark.redaction.regex": "(?i)secret|mine", "spark.mine": "SEEN-mine", "spark.driver.extraJavaOptions": "QUICK",
}
if way == "active":
    find_java()
    builder = SparkSession.builder
    for key, value in log.items():
        builder = builder.config(key, value)
    builder.getOrCreate()
secrets = {"s3.access-key": "SEEN-access", "s3.secret-key": "SEEN-secret", "fsspec.key": "SEEN-key"}
spark = paimon_sql.connect(f"{folder}/wh", **secrets, **(log if way == "new" else {}))
spark.conf.set("spark.sql.catalog.late", "paimon_sql.SparkCatalog")
spark.conf.set("spark.sql.catalog.late.warehouse", f"{folder}/late")
spark.conf.set("spark.sql.catalog.late.fs.s3a.access.key", "SEEN-late")
spark.sql("CREATE TABLE t (k INT, v STRING)")
spark.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
assert len(spark.sql("SELECT v, count(*) FROM t GROUP BY v").collect()) == 2
session = spark.newSession()
assert session.sql("SELECT count(*) FROM paimon.default.t GROUP BY v").collect()
names = [f"spark.sql.catalog.paimon.{key}" for key in secrets] + ["spark.sql.catalog.late.fs.s3a.access.key"]
queries = ("SET", "SET -v", *(f"SET {n}" for n in names))
shown = [str(row) for s in (spark, session) for q in queries for row in s.sql(q).collect()]
running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout.splitlines()
shown += [line for line in running if " org.apache.spark.deploy.SparkSubmit" in line]
assert len(shown) > 10
print(json.dumps([[spark.conf.get(n) for n in names], shown]))
spark.stop()
""".replace("QUICK", QUICK_JVM)


@pytest.mark.parametrize("way", ["new", "active"])
def test_secrets_of_a_catalog(way: str, tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    command = [sys.executable, "-c", _RUN, str(tmp_path), way]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    kept, shown = json.loads(done.stdout.splitlines()[-1])
    assert kept == ["SEEN-access", "SEEN-secret", "SEEN-key", "SEEN-late"], "the catalogs have them"
    assert [text for text in shown if "SEEN-" in text] == []
    logged = "\n".join(p.read_text(encoding="utf-8") for p in (tmp_path / "log").rglob("*") if p.is_file())
    assert "SparkListenerJobStart" in logged and "s3.secret-key" in logged
    assert [line[:200] for line in logged.splitlines() if "SEEN-" in line] == []


def test_tables_have_no_secrets_of_storages(spark: Any) -> None:
    """Their schema is a file: it is refused there, and what another engine wrote there is not shown."""
    for option in ("s3.secret-key", "fs.s3a.access.key", "s3.access-key", "fs.oss.accessKeySecret", "fsspec.token"):
        with pytest.raises(PySparkException, match=rf"{option}.*every reader of the table can see") as caught:
            spark.sql(f"CREATE TABLE t (k INT) TBLPROPERTIES ('{option}' = 'SEEN')")
        assert "SEEN" not in str(caught.value)
    spark.sql("CREATE TABLE t (k INT) TBLPROPERTIES ('s3.endpoint' = 'http://u:SEEN@h/', 'primary-key' = 'k')")
    for change in ("SET TBLPROPERTIES ('s3.access-key' = 'SEEN')", "SET TBLPROPERTIES ('s3.secret-key' = 'SEEN')"):
        with pytest.raises(PySparkException, match="every reader of the table can see"):
            spark.sql(f"ALTER TABLE t {change}")
    (path,) = Path(spark.conf.get("spark.sql.catalog.paimon.warehouse")).glob("*/t/schema/schema-0")
    schema = json.loads(path.read_bytes())
    schema["options"] |= {"s3.access-key": "SEEN", "fs.oss.accessKeySecret": "SEEN", "blob-descriptor.s3.token": "SEEN"}
    path.write_text(json.dumps(schema), encoding="utf-8")
    for query in (
        "SHOW CREATE TABLE t",
        "SHOW TBLPROPERTIES t",
        "DESCRIBE EXTENDED t",
        "SELECT * FROM `t$options`",
        "SELECT * FROM `t$schemas`",
        "SELECT * FROM sys.all_table_options",
    ):
        text = str(spark.sql(query).collect())
        assert "s3.access-key" in text and "SEEN" not in text, query
    assert spark.sql("SELECT value FROM `t$options` WHERE key = 's3.access-key'").collect() == [
        ("*********(redacted)",)
    ]
    spark.sql("ALTER TABLE t SET TBLPROPERTIES ('write-only' = 'true')")


def test_settings_of_the_context_are_no_options(spark: Any) -> None:
    """Its settings are those of new sessions, too: there only the name of a secret is known."""
    key = "spark.sql.catalog.paimon.s3.secret-key"
    spark.conf.set(key, "SEEN")
    spark.sql("SELECT 1")
    known = spark.sparkContext._jsc.sc().conf()
    try:
        assert known.get(key) == "*********(redacted)"
        made = SessionBridge(Jvm(spark.sparkContext), spark._jsparkSession.newSession())
        assert "s3.secret-key" not in made.settings("spark.sql.catalog.paimon.")
        own = SessionBridge(Jvm(spark.sparkContext), spark._jsparkSession)
        assert own.settings("spark.sql.catalog.paimon.")["s3.secret-key"] == "SEEN"
    finally:
        known.remove(key)
        spark.conf.unset(key)
