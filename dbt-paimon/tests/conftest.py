"""The profile of dbt's own test suites: one warehouse and one Spark session for all of them. `python -m tests.storages`
puts the warehouse on another storage.

If the catalog does not support views, models are tables by default, and tests about views are skipped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.bytecode import keep_bytecode
from tests.support.gate import mark_gate
from tests.support.quick_jvm import QUICK_JVM
from tests.support.remote_storage import RemoteStorage

keep_bytecode()
pytest_plugins = ["dbt.tests.fixtures.project"]
os.environ["DBT_SEND_ANONYMOUS_USAGE_STATS"] = "false"


@pytest.hookimpl(tryfirst=True)  # before `-m gate` selects by marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    mark_gate(config, items, "dbt-paimon/")


@pytest.fixture(scope="session")
def profile_of_session(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    remote = RemoteStorage.given()
    options = {"warehouse": str(tmp_path_factory.mktemp("warehouse"))} if remote is None else remote.warehouse()
    return {
        "type": "paimon",
        "warehouse": options.pop("warehouse"),
        "catalog_options": options,
        "master": "local[2]",
        "threads": 4,
        "server_side_parameters": {
            "spark.sql.shuffle.partitions": 2,
            "spark.sql.session.timeZone": "UTC",
            "spark.ui.enabled": False,
            "spark.driver.memory": "2g",
            "spark.driver.extraJavaOptions": f"-Duser.timezone=UTC {QUICK_JVM}",
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("spark-warehouse")),
        },
    }


@pytest.fixture(scope="class")
def dbt_profile_target(profile_of_session: dict[str, Any]) -> dict[str, Any]:
    return dict(profile_of_session)


@pytest.fixture(scope="session")
def spark(profile_of_session: dict[str, Any]) -> Any:
    """Return the session that dbt uses, too."""
    from dbt.adapters.paimon.credentials import PaimonCredentials  # noqa: PLC0415  starts no JVM before it is needed
    from dbt.adapters.paimon.sessions import shared_session  # noqa: PLC0415

    known = {k: v for k, v in profile_of_session.items() if k not in ("type", "threads")}
    session = shared_session(PaimonCredentials.from_dict({**known, "schema": "default"}))
    session.sparkContext.setLogLevel("OFF")
    return session


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Yield a server in another process, with the same catalog as `paimon`."""
    from tests.support.served import served  # noqa: PLC0415  it needs PyHive

    with served(tmp_path_factory.mktemp("server")) as found:
        yield found


@pytest.fixture(scope="session")
def has_views(spark: Any) -> bool:
    from pyspark.errors import AnalysisException  # noqa: PLC0415

    try:
        spark.sql("create or replace view paimon.default.a_view as select 1 as one")
    except AnalysisException as error:
        assert "has tables only" in str(error)
        return False
    spark.sql("drop view paimon.default.a_view")
    return True


@pytest.fixture(scope="class", autouse=True)
def _views_if_needed(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("views") and not request.getfixturevalue("has_views"):
        pytest.skip("the catalog does not support views")


@pytest.fixture(scope="class")
def dbt_project_yml(project_root: Any, project_config_update: Any, request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return dbt's own fixture. If there are no views, models without a materialization are tables."""
    update = yaml.safe_load(project_config_update) if isinstance(project_config_update, str) else project_config_update
    config: dict[str, Any] = {"name": "test", "profile": "test", "flags": {"send_anonymous_usage_stats": False}}
    config |= update or {}
    if not request.getfixturevalue("has_views"):
        config["models"] = {"+materialized": "table"} | config.get("models", {})
    Path(str(project_root), "dbt_project.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
    return config
