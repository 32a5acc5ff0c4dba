"""Fixtures shared by all tests: one JVM and one Spark context per process, one session and one warehouse per test."""

from __future__ import annotations

import gc
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

from tests.support.bytecode import keep_bytecode
from tests.support.examples import GATE_EXAMPLES
from tests.support.gate import mark_gate, other_moment
from tests.support.hive_server import HiveServer, start_hive
from tests.support.quick_jvm import ARCHIVED, QUICK_JVM
from tests.support.remote_storage import RemoteStorage
from tests.support.root_settings import without_new_catalogs
from tests.support.surroundings import Surroundings

settings.register_profile("unhurried", settings(), deadline=None)  # a busy machine is no fault
settings.register_profile("gate", settings.get_profile("unhurried"), max_examples=GATE_EXAMPLES)
settings.load_profile("unhurried")


# for every driver that a test starts in a process of its own, through `spark-submit` as PySpark does, too
os.environ |= {"SPARK_SUBMIT_OPTS": ARCHIVED, "SPARK_LAUNCHER_OPTS": QUICK_JVM}
keep_bytecode()
# what takes minutes begins first, so that in the end no process is alone at work; then the rest, short files last
FIRST = (
    "tests/interop/",
    "tests/server/",
    "tests/catalogs/",
    "tests/spark/test_row_level.py",
    "tests/spark/test_hooks.py",
    "tests/spark/test_streaming_source.py",
    "tests/faults/test_killed_writers.py",
    "tests/conformance/",
    "tests/spark/test_streaming_sink.py",
    "tests/spark/test_",
)
# the files that share servers, by the name of their process's share
TOGETHER = {
    "tests/interop/": "interop",
    "tests/server/": "server",
    "tests/catalogs/": "catalogs",
    "tests/spark/test_hive_catalog.py": "catalogs",
}
LAST = ("tests/simulation/", "tests/unit/")
_BY_ITSELF = "::test_histories["  # of tests/simulation, without fixtures
_ZOO = "tests/interop/zoo/test_zoo.py"  # without a JVM
_ELSEWHERE = pytest.StashKey[ExitStack]()  # while the second worker lists the tests


class FilesTogether(LoadScopeScheduling):  # type: ignore[misc]
    """A file runs in one process, which makes its fixtures once; so does a folder with fixtures for all of its files:
    the JVM of Java's connector, servers of catalogs, the common SQL server.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        if file == _ZOO or (file.startswith("tests/simulation/") and _BY_ITSELF in nodeid):
            return nodeid
        return next((scope for start, scope in TOGETHER.items() if start in file), file)


def pytest_configure(config: pytest.Config) -> None:
    if config.option.markexpr == "gate":
        settings.load_profile("gate")  # before tests are imported
    gc.disable()  # until the tests are collected, as they all stay
    config.stash[_ELSEWHERE] = elsewhere = ExitStack()
    if os.environ.get("PYTEST_XDIST_WORKER") == "gw1":
        elsewhere.enter_context(other_moment())


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FilesTogether:
    return FilesTogether(config, log)


def _turn(item: pytest.Item) -> int:
    """When a test begins, compared with others."""
    for turn, start in enumerate((*FIRST, "", *LAST)):
        if start and item.nodeid.startswith(start):
            return turn
    return len(FIRST)


@pytest.hookimpl(tryfirst=True)  # before `-m gate` looks at marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=_turn)
    mark_gate(config, items)


def pytest_collection_finish(session: pytest.Session) -> None:
    """What ten thousand tests are made of stays until the end: no collection of garbage looks at it again."""
    session.config.stash[_ELSEWHERE].close()
    gc.enable()
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_the_disk() -> Iterator[None]:
    """What is on the disk makes no difference to a process, killed ones included; unit/io/test_local.py looks at it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(scope="session")
def root_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """The process's one Spark context, in UTC, with two cores."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    logging.getLogger("SQLQueryContextLogger").disabled = True  # PySpark logs every refused statement
    from pyspark.sql import SparkSession  # noqa: PLC0415  unit tests must not start a JVM

    from paimon_sql.java import find_java  # noqa: PLC0415

    find_java()

    session = (
        SparkSession.builder.master(os.environ.get("PAIMON_SQL_TEST_MASTER", "local[2]"))
        .appName("paimon-sql tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.python.daemon.module", "tests.support.spark_daemon")
        .config("spark.executorEnv.PYTHONPATH", str(Path(__file__).parents[1]))
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.memory", "3g")
        .config("spark.driver.extraJavaOptions", "-Duser.timezone=UTC")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("spark-warehouse")))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def hive_server() -> Iterator[Callable[[], HiveServer]]:
    """Yield a function that returns the metastore. Its first call starts it, or skips the test."""
    made: list[HiveServer | str] = []

    def server() -> HiveServer:
        pytest.importorskip("pymetastore", reason='needs pip install "paimon-sql[hive]"')
        if not made:
            made.append(start_hive())
        if isinstance(made[0], str):
            pytest.skip(made[0])
        return made[0]

    yield server
    for found in made:
        if isinstance(found, HiveServer):
            found.remove()


@pytest.fixture(scope="module")
def surroundings(request: pytest.FixtureRequest) -> Iterator[Surroundings | None]:
    """What a suite runs in that varies; None: what all others run in."""
    found = Surroundings.of(request.module.__name__)
    if found is None:
        yield None
        return
    with found.around(request.getfixturevalue("root_session")):
        yield found


@pytest.fixture
def warehouse(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    found = Surroundings.of(request.module.__name__)
    return str(tmp_path / "warehouse" if found is None else found.warehouse(tmp_path))


@pytest.fixture
def catalog_options(request: pytest.FixtureRequest) -> dict[str, str]:
    """The options of the catalog `paimon`: a new folder of the storage that the environment names, or of this disk."""
    remote = RemoteStorage.given()
    return {"warehouse": request.getfixturevalue("warehouse")} if remote is None else remote.warehouse()


@pytest.fixture
def spark(root_session: object, catalog_options: dict[str, str], surroundings: Surroundings | None) -> Iterator[object]:
    """A new session whose current catalog is `paimon`, on an empty warehouse."""
    import paimon_sql  # noqa: PLC0415

    with without_new_catalogs(root_session):
        session = root_session.newSession()  # type: ignore[attr-defined]
        session.conf.set("spark.sql.catalog.paimon", "paimon_sql.SparkCatalog")
        for key, value in catalog_options.items():
            session.conf.set(f"spark.sql.catalog.paimon.{key}", value)
        if surroundings is not None:
            surroundings.enter(session)
        paimon_sql.install(session)
        session.sql("USE paimon.default")
        yield session
