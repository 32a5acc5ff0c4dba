"""One warehouse and one Java process for all interop tests, a database per test."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import paimon_sql
from tests.interop.engines import Engines, SparkEngine
from tests.support.java_oracle import JavaOracle, find_oracles

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == _HERE:
            item.add_marker(pytest.mark.interop)
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[JavaOracle, str]]:
    """Java's connector and its warehouse."""
    oracles = find_oracles()
    if oracles is None:
        pytest.skip("shared/oracles/java_sql.py is missing in the folders above: set PAIMON_ORACLES to its folder")
    warehouse = str(tmp_path_factory.mktemp("interop") / "warehouse")
    oracle = JavaOracle(oracles, warehouse)
    yield oracle, warehouse
    oracle.close()


@pytest.fixture(scope="session")
def ours(root_session: Any, java: tuple[JavaOracle, str]) -> SparkEngine:
    session = root_session.newSession()
    session.conf.set("spark.sql.catalog.paimon", "paimon_sql.SparkCatalog")
    session.conf.set("spark.sql.catalog.paimon.warehouse", java[1])
    return SparkEngine(paimon_sql.install(session))


@pytest.fixture
def engines(java: tuple[JavaOracle, str], ours: SparkEngine, request: pytest.FixtureRequest) -> Engines:
    """Both engines in an empty database."""
    database = re.sub(r"\W+", "_", request.node.name).strip("_")
    both = Engines({"ours": ours, "java": java[0]}, database)
    both.run("ours", f"CREATE DATABASE paimon.{database}")
    for engine in both.by_name:
        both.run(engine, f"USE paimon.{database}")
    return both
