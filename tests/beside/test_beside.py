"""Other tools in one environment with us: their imports, and a small project of each on our tables."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from importlib.metadata import requires, version
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

import paimon_sql

sqlmesh = pytest.importorskip("sqlmesh", reason="`make campaign NAME=beside` has the tools")
great_expectations = pytest.importorskip("great_expectations")
ibis = pytest.importorskip("ibis")
dbtRunner = pytest.importorskip("dbt.cli.main").dbtRunner

TOOLS = {
    "sqlmesh": "sqlmesh",
    "ibis-framework": "ibis",
    "dbt-spark": "dbt.adapters.spark",
    "great-expectations": "great_expectations",
    "delta-spark": "delta",
}


@pytest.mark.parametrize("package", TOOLS)
def test_it_can_be_imported_beside_us(package: str) -> None:
    importlib.import_module("paimon_sql.preprocess")
    importlib.import_module(TOOLS[package])


@pytest.mark.parametrize("package", [*TOOLS, "paimon-sql"])
def test_what_it_requires_is_there(package: str) -> None:
    wanted = [Requirement(text) for text in requires(package) or []]
    needed = [r for r in wanted if r.marker is None or r.marker.evaluate({"extra": ""})]
    assert [str(r) for r in needed if not r.specifier.contains(version(r.name), prereleases=True)] == []


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.sql.defaultCatalog": "paimon"}
    session = paimon_sql.connect(warehouse=str(tmp_path_factory.mktemp("lake")), **settings)
    session.sql("CREATE DATABASE shop")
    session.sql("CREATE TABLE shop.orders (id INT, item STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    session.sql("INSERT INTO shop.orders VALUES (1, 'pen'), (2, 'ink'), (3, 'pen')")
    yield session
    session.stop()


def test_ibis(spark: Any) -> None:
    orders = ibis.pyspark.connect(spark).table("orders", database=("paimon", "shop"))
    counted = orders.group_by("item").aggregate(n=orders.count()).order_by("item").to_pyarrow().to_pylist()
    assert counted == [{"item": "ink", "n": 1}, {"item": "pen", "n": 2}]


def test_great_expectations(spark: Any) -> None:
    context = great_expectations.get_context(mode="ephemeral")
    source = context.data_sources.add_spark("spark")
    batches = source.add_dataframe_asset("orders").add_batch_definition_whole_dataframe("all")
    batch = batches.get_batch({"dataframe": spark.table("paimon.shop.orders")})
    known = great_expectations.expectations.ExpectColumnValuesToBeInSet(column="item", value_set=["pen", "ink"])
    assert batch.validate(known).success
    assert not batch.validate(great_expectations.expectations.ExpectColumnValuesToBeUnique(column="item")).success


def test_dbt(spark: Any, tmp_path: Path) -> None:
    """A project of plain dbt-spark, which takes the session that is there: a seed, two models and a test."""
    files = {
        "dbt_project.yml": "name: plain\nprofile: plain\nflags: {send_anonymous_usage_stats: false}\n",
        "profiles.yml": "plain: {target: dev, outputs: {dev: "
        "{type: spark, method: session, host: NA, schema: dbt_shop, threads: 1}}}\n",
        "seeds/prices.csv": "item,price\npen,3\nink,5\n",
        "models/sold.sql": "{{ config(materialized='table', file_format='paimon', "
        "tblproperties={'primary-key': 'id', 'bucket': '1'}) }} "
        "select o.id, p.price from paimon.shop.orders o join {{ ref('prices') }} p on o.item = p.item",
        "models/total.sql": "{{ config(materialized='table') }} select sum(price) as price from {{ ref('sold') }}",
        "models/tests.yml": "models: [{name: sold, columns: [{name: id, data_tests: [unique, not_null]}]}]",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    where = ["--project-dir", str(tmp_path), "--profiles-dir", str(tmp_path)]
    assert dbtRunner().invoke(["build", "--no-use-colors", *where]).success
    assert [tuple(row) for row in spark.sql("SELECT price FROM paimon.dbt_shop.total").collect()] == [(11,)]
    properties = {tuple(row) for row in spark.sql("SHOW TBLPROPERTIES paimon.dbt_shop.sold").collect()}
    assert ("primary-key", "id") in properties


def test_sqlmesh(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "counted.sql").write_text(
        "MODEL (name shop_models.counted, kind FULL, dialect spark);\n"
        "SELECT item, count(*) AS n FROM paimon.shop.orders GROUP BY item"
    )
    (tmp_path / "config.yaml").write_text(
        "gateways:\n  paimon:\n    connection: {type: spark, catalog: paimon, config: {}}\n"
        f"    state_connection: {{type: duckdb, database: '{tmp_path / 'state.db'}'}}\n"
        "default_gateway: paimon\nmodel_defaults: {dialect: spark}\n"
    )
    context = sqlmesh.Context(paths=str(tmp_path))
    context.plan(auto_apply=True, no_prompts=True)
    assert {tuple(row) for row in spark.sql("SELECT * FROM paimon.shop_models.counted").collect()} == {
        ("ink", 1),
        ("pen", 2),
    }
