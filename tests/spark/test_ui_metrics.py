"""The numbers of scans and writes in Spark's UI."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

pytestmark = pytest.mark.spark


def shown(spark: Any, query: str) -> list[Mapping[str, str]]:
    """Run a statement. Return the texts of the metrics of each of its executions, by their descriptions. Texts of
    several nodes are joined by spaces.
    """
    bus, store = spark.sparkContext._jsc.sc().listenerBus(), spark._jsparkSession.sharedState().statusStore()
    bus.waitUntilEmpty()
    before = {execution.executionId() for execution in as_list(spark, store.executionsList())}
    spark.sql(query).collect()
    bus.waitUntilEmpty()
    new = [e for e in as_list(spark, store.executionsList()) if e.executionId() not in before]
    return [texts(spark, store, e) for e in sorted(new, key=lambda e: e.executionId())]


def texts(spark: Any, store: Any, execution: Any) -> Mapping[str, str]:
    values = as_java(spark).asJava(store.executionMetrics(execution.executionId()))
    found = {int(k): str(v) for k, v in values.items()}
    by_name = dict[str, list[str]]()
    names = {metric.accumulatorId(): str(metric.name()) for metric in as_list(spark, execution.metrics())}
    for number, name in names.items():
        by_name.setdefault(name, []).append(found.get(number, ""))
    return {name: " ".join(sorted(filter(None, several))) for name, several in by_name.items()}


def as_java(spark: Any) -> Any:
    return spark._jvm.scala.jdk.javaapi.CollectionConverters


def as_list(spark: Any, seq: Any) -> list[Any]:
    return list(as_java(spark).asJava(seq))


def with_metric(found: list[Mapping[str, str]], name: str) -> Mapping[str, str]:
    """Return the metrics of the one execution that has a metric."""
    (one,) = [metrics for metrics in found if name in metrics]
    return one


@pytest.fixture
def parts(spark: Any) -> Any:
    spark.sql("CREATE TABLE parts (id BIGINT, p STRING) PARTITIONED BY (p) WITH ('bucket' = '-1')")
    for number in range(3):
        spark.sql(f"INSERT INTO parts VALUES ({number}, 'a'), ({number}, 'b')")
    return spark


def test_a_scan_of_a_part(parts: Any) -> None:
    found = with_metric(shown(parts, "SELECT id FROM parts WHERE p = 'a' AND id > 0"), "number of splits read")
    assert found["number of resulted table files"] == "2"
    assert found["number of skipped table files"] == "4"
    assert found["number of table files skipped by partition"] == "3"
    assert found["number of table files skipped by statistics"] == "1"
    assert found["number of scanned manifests"] == "3"
    assert found["scanned snapshot id"] == "3"
    assert found["number of records in resulted table files"] == "2"
    assert re.fullmatch(r"[\d.]+ (B|KiB)", found["size of resulted table files"])
    assert re.fullmatch(r"[\d.]+ m?s", found["planning duration"])


def test_partitions_that_a_join_leaves_out(parts: Any) -> None:
    parts.sql("CREATE TABLE keys (k STRING)")
    parts.sql("INSERT INTO keys VALUES ('b')")
    joined = "SELECT count(id) FROM parts JOIN (SELECT k FROM keys WHERE k LIKE 'b%') ON p = k"
    found = with_metric(shown(parts, joined), "number of table files skipped by partition")
    assert found["number of table files skipped by partition"] == "0 3"


def test_a_scan_that_merges(spark: Any) -> None:
    options = "'primary-key' = 'id', 'bucket' = '1', 'write-only' = 'true'"
    spark.sql(f"CREATE TABLE keyed (id BIGINT, v STRING) WITH ({options})")
    for value in "ab":
        spark.sql(f"INSERT INTO keyed SELECT id, '{value}' FROM range(100)")
    found = with_metric(shown(spark, "SELECT * FROM keyed"), "number of splits that need a merge")
    assert found["number of splits that need a merge"] == found["number of splits read"] == "1"
    assert found["number of records in resulted table files"] == "200"


def test_inserts(spark: Any) -> None:
    spark.sql("CREATE TABLE t (id BIGINT) WITH ('bucket' = '2', 'bucket-key' = 'id')")
    found = with_metric(shown(spark, "INSERT INTO t SELECT id FROM range(2000)"), "commit duration")
    assert found["number of inserted records"] == "2,000"
    assert found["number of buckets written"] == "2"
    assert found["number of added table files"] == "2"
    assert found["number of partitions written"] == "1"
    assert found["number of commit attempts"] == found["number of commits, compactions included"] == "1"
    assert found["size of added table files"].endswith("KiB")


def test_row_level_statements(spark: Any) -> None:
    spark.sql("CREATE TABLE t (id BIGINT, v STRING)")
    spark.sql("INSERT INTO t SELECT /*+ COALESCE(1) */ id, 'a' FROM range(9)")
    found = with_metric(shown(spark, "DELETE FROM t WHERE id = 1"), "commit duration")
    assert found["number of deleted table files"] == found["number of added table files"] == "1"
    assert found["number of commit attempts"] == "1"
    assert found["number of inserted records"] in ("", "0")  # its files have rows that were there before
