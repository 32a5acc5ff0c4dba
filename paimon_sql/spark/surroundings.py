"""A check of the surroundings of Spark: the Python of executors, which a small job inspects, and the JVM."""

from __future__ import annotations

import re
from collections.abc import Iterator

from py4j.protocol import Py4JError
from pyspark import SparkContext, cloudpickle
from pyspark.errors import PySparkException

from paimon_core.secrets import without_secrets
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.sessions import java_version
from paimon_sql.spark.workers import versions
from paimon_sql.spark.workers.versions import PythonVersions, SetupFinding, compare_versions, versions_here

_MOST_TASKS = 1000
_OTHER_PYTHON = re.compile(r"\[PYTHON_VERSION_MISMATCH\] ([^\n]*? in driver: [\d.]+)")
_CAUSE = re.compile(r"^(?:Caused by: )?[\w.]*(?:Error|Exception): .+", re.MULTILINE)


def surroundings(jvm: Jvm, least_java: int) -> tuple[SetupFinding, ...]:
    """Return what does not fit in the executors' Python and in the JVM. `least_java` is the oldest Java that fits."""
    of_java = java_findings(java_version(jvm), least_java, opens_unicode=jvm.opens_unicode_names)
    return (*of_java, *worker_findings(jvm.context))


def worker_findings(context: SparkContext) -> list[SetupFinding]:
    """Run a job with a task for each core, and compare the versions of its processes with this one's."""
    tasks = max(1, min(context.defaultParallelism, _MOST_TASKS))
    try:
        answers = _collected(context, tasks)
    except (Py4JError, PySparkException) as error:
        return [failed_job(str(error), context.pythonExec)]
    (here,) = versions_here()
    return compare_versions(PythonVersions(*here), [PythonVersions(*answer) for answer in answers])


def _collected(context: SparkContext, tasks: int) -> list[tuple[str, str, str, tuple[tuple[str, str | None], ...]]]:
    cloudpickle.register_pickle_by_value(versions)  # executors may lack the module
    try:
        return list(context.parallelize(range(tasks), tasks).mapPartitions(versions_here).collect())
    finally:
        cloudpickle.unregister_pickle_by_value(versions)


def failed_job(message: str, python: str) -> SetupFinding:
    """Return the findings that explain the error of the job."""
    message = without_secrets(message)
    other = _OTHER_PYTHON.search(message)
    causes = _CAUSE.findall(message)
    cause = other[1] if other else (causes[-1] if causes else message.strip().partition("\n")[0])
    return SetupFinding(
        f"executors cannot run Python by {python!r}: {cause[:300]}",
        "tasks that read, write and compact run there",
        "set PYSPARK_PYTHON, or spark.pyspark.python, to a Python of the driver's version that the executors have",
    )


def java_findings(version: str, least: int, *, opens_unicode: bool) -> Iterator[SetupFinding]:
    """Yield what the JVM lacks."""
    major = re.match(r"\d+", version.removeprefix("1."))
    if major is not None and int(major[0]) < least:
        yield SetupFinding(
            f"Spark runs on Java {version}",
            f"Spark 4 needs Java {least} or later",
            f"install Java {least} or later, and set JAVA_HOME to it",
        )
    if not opens_unicode:
        yield SetupFinding(
            "the JVM does not open files with names beyond ASCII",
            "Python workers read files in such folders, which is slower than Spark's reader",
            "set LC_ALL=C.UTF-8 before Spark starts",
            fails=False,
        )
