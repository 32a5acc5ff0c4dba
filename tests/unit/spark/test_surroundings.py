"""Findings of `doctor` about the executors' Python and about Java, from the versions that they return."""

from __future__ import annotations

import platform
import sys
from dataclasses import replace

import pytest
from pyspark import cloudpickle

from paimon_sql.spark.surroundings import failed_job, java_findings
from paimon_sql.spark.workers import versions
from paimon_sql.spark.workers.versions import PythonVersions, compare_versions, versions_here

OWN = (("paimon_sql", "0.2.0"), ("pyarrow", "25.0.0"), ("numpy", "2.1.0"))
DRIVER = PythonVersions("here", "/py", "3.11.7", OWN)


def of_worker(**packages: str | None) -> PythonVersions:
    return replace(DRIVER, host="there", packages=tuple({**dict(OWN), **packages}.items()))


@pytest.mark.parametrize(
    ("worker", "facts"),
    [
        (DRIVER, []),
        (of_worker(pyarrow="25.1.0", numpy="2.0.0"), []),
        (of_worker(paimon_sql="an unknown version"), []),
        (of_worker(paimon_sql="0.1.0"), ["has paimon_sql 0.1.0, the driver 0.2.0"]),
        (of_worker(pyarrow="19.0.0"), ["has pyarrow 19.0.0, the driver 25.0.0"]),
        (of_worker(paimon_sql=None, numpy=None), ["lacks paimon_sql", "lacks numpy"]),
    ],
)
def test_versions_of_executors(worker: PythonVersions, facts: list[str]) -> None:
    found = compare_versions(DRIVER, [DRIVER, worker, worker])
    assert [f.fact for f in found] == [f"the Python '/py' of executors, on host 'there' for one, {f}" for f in facts]
    assert all(f.fails for f in found)


def test_what_to_do() -> None:
    (found,) = compare_versions(DRIVER, [of_worker(paimon_sql=None)])
    assert found.remedy.startswith("run pip install paimon-sql==0.2.0 for that Python")


def test_a_driver_without_a_known_version() -> None:
    driver = replace(DRIVER, packages=(("paimon_sql", "an unknown version"), *OWN[1:]))
    assert compare_versions(driver, [of_worker()]) == []
    (found,) = compare_versions(driver, [of_worker(paimon_sql=None)])
    assert "pip install paimon-sql for" in found.remedy


def test_the_versions_of_this_process() -> None:
    ((host, path, python, packages),) = versions_here()
    assert (host, path, python) == (platform.node(), sys.executable, platform.python_version())
    assert [name for name, version in packages if version] == ["paimon_sql", "pyarrow", "numpy"]


def test_executors_need_not_have_the_module() -> None:
    cloudpickle.register_pickle_by_value(versions)
    try:
        assert b"find_spec" in cloudpickle.dumps(versions_here)
    finally:
        cloudpickle.unregister_pickle_by_value(versions)


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        (
            "An error\n  pyspark.errors.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has different "
            "version: 3.10 than that in driver: 3.11, PySpark cannot run with different minor versions.\n\tat x",
            "Python in worker has different version: 3.10 than that in driver: 3.11",
        ),
        (
            "An error\n: org.apache.spark.SparkException: Job aborted\n\tat x\n"
            'Caused by: java.io.IOException: Cannot run program "py": error=2, No such file\n\tat y',
            'Caused by: java.io.IOException: Cannot run program "py": error=2, No such file',
        ),
        ("it stopped\nat x", "it stopped"),
    ],
)
def test_a_job_that_fails(message: str, cause: str) -> None:
    found = failed_job(message, "py")
    assert found.fact == f"executors cannot run Python by 'py': {cause}"
    assert "PYSPARK_PYTHON" in found.remedy and found.fails


@pytest.mark.parametrize(
    ("version", "opens_unicode", "facts"),
    [
        ("17.0.1", True, []),
        ("21.0.8", True, []),
        ("11.0.2", True, ["Spark runs on Java 11.0.2"]),
        ("1.8.0_392", True, ["Spark runs on Java 1.8.0_392"]),
        ("17.0.1", False, ["the JVM does not open files with names beyond ASCII"]),
    ],
)
def test_java(version: str, opens_unicode: bool, facts: list[str]) -> None:
    found = list(java_findings(version, 17, opens_unicode=opens_unicode))
    assert [f.fact for f in found] == facts
    assert all(f.fails is opens_unicode for f in found)
