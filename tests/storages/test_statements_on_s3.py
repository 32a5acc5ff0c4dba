"""A share of the golden tables and of the conformance cases with the warehouse on S3, by our model of its protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import paimon_sql
from tests.conformance.test_conformance import CASES, check
from tests.spark.test_golden import problems
from tests.support.comparison import cells
from tests.support.golden import GOLDEN, golden_checks
from tests.support.object_server import object_server
from tests.support.remote_storage import RemoteStorage, put_folder

pytestmark = pytest.mark.spark
pytest.importorskip("obstore", reason="needs pip install 'paimon-sql[s3]'")
HADOOP = {  # by option of a catalog: the end of Hadoop's setting
    "s3.endpoint": "endpoint",
    "s3.access-key": "access.key",
    "s3.secret-key": "secret.key",
    "s3.region": "endpoint.region",
}
TABLES = ("dv_append", "me_dedup_compacted")
STORIES = ("procedures/rollback_to_tag_of_expired_snapshot", "pk/dv_index_written_and_compacted_away")


@pytest.fixture(scope="module")
def storage() -> Iterator[RemoteStorage]:
    with object_server() as server:
        yield RemoteStorage("s3://lake", server.options)


@pytest.fixture
def options(storage: RemoteStorage) -> dict[str, str]:
    return storage.warehouse()


@pytest.fixture
def session(spark: Any, options: dict[str, str]) -> Any:
    """A session with the catalog `lake` on an empty warehouse."""
    for key, value in options.items():
        spark.conf.set(f"spark.sql.catalog.lake.{key}", value)
    spark.conf.set("spark.sql.catalog.lake", "paimon_sql.SparkCatalog")
    return paimon_sql.install(spark)


@pytest.mark.parametrize("table", TABLES)
def test_golden_tables(session: Any, options: dict[str, str], table: str) -> None:
    at = f"golden.db/{table}"
    put_folder(GOLDEN / "warehouse" / at, {**options, "warehouse": f"{options['warehouse']}/{at}"})
    session.sql("USE lake.golden")
    wrong = [f"{check['query']}\n{problem}" for check, problem in problems(session, golden_checks(table)) if problem]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("case", STORIES)
def test_stories(session: Any, case: str) -> None:
    session.sql("USE lake.default")
    for number, step in enumerate(CASES[case]["steps"], 1):
        text = step.get("sql") or step["query"]
        check(step, cells(session.sql(text).collect()), f"step {number}: {text}")


def test_settings_of_hadoop_are_enough(spark: Any, storage: RemoteStorage) -> None:
    """`spark.hadoop.fs.s3a.…` of the session give the address and the keys: the catalog needs only its warehouse."""
    given = storage.warehouse()
    spark.conf.set("spark.sql.catalog.bare", "paimon_sql.SparkCatalog")
    spark.conf.set("spark.sql.catalog.bare.warehouse", given.pop("warehouse"))
    for key, value in given.items():
        spark.conf.set(f"spark.hadoop.fs.s3a.{HADOOP[key]}", value)
    paimon_sql.install(spark)
    spark.sql("CREATE TABLE bare.default.t (k INT)")
    spark.sql("INSERT INTO bare.default.t VALUES (1)")
    assert spark.sql("SELECT * FROM bare.default.t").collect() == [(1,)]
