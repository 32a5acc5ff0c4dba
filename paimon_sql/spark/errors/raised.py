"""Restore errors of this package that Spark wraps: PySpark raises them as if the driver had raised them.

Spark returns an error in a Python worker as a text with the stack trace, and PySpark raises a `PythonException` with
this text. If Spark wraps the error once more, PySpark raises py4j's own error. PySpark does so, too, if Spark finds no
class for the data source `paimon`. Servers and `SparkGenericCatalog` define such a class: then PySpark raises Spark's
error about that class.
"""

from __future__ import annotations

import logging
from functools import wraps
from typing import Any

from py4j import clientserver, java_gateway
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors.exceptions import captured
from pyspark.errors.exceptions.captured import (
    CapturedException,
    PythonException,
    UnknownException,
    UnsupportedOperationException,
)

from paimon_core.errors import PaimonError, UnsupportedFeatureError
from paimon_sql.spark.errors.java import OF_WORKER, java_exception, of_worker
from paimon_sql.spark.jvm.exceptions import CONVERTER, CONVERTERS, as_pyspark_raises, refused_provider
from paimon_sql.spark.jvm.gateway import jvm_of
from paimon_sql.spark.jvm.hooks import hook

_PATCHED = "_knows_errors_of_paimon_sql"
_PROVIDERS = ("paimon", "class paimon.defaultsource")
_OF_SOURCES = (UnknownException, UnsupportedOperationException)
_ONLY_IN_CATALOGS = (
    "Spark's own catalog spark_catalog cannot have Paimon tables: set "
    "spark.sql.catalog.NAME to paimon_sql.SparkCatalog and spark.sql.catalog.NAME.warehouse to a folder, and name the "
    "table NAME.database.table. A table at a path is paimon_path.`/path`, or spark.read.format('paimon').load(path)."
)


@hook(
    "PySpark's `captured._convert_exception`",
    "errors of Python workers are raised as texts with stack traces",
    *CONVERTERS,
)
def install_raised_errors() -> None:
    """Make PySpark raise errors of this package with their own messages. Do nothing the second time."""
    original = getattr(captured, CONVERTER)
    if hasattr(original, _PATCHED):
        return

    @wraps(original)
    def convert(origin: Any) -> CapturedException:
        converted = original(origin)
        if isinstance(converted, PythonException):
            return _of_worker(converted)
        if isinstance(converted, UnknownException) and hasattr(converted._cause, OF_WORKER):
            return converted._cause
        if isinstance(converted, _OF_SOURCES):
            jvm = jvm_of(SparkContext._active_spark_context)
            if str(refused_provider(jvm, origin)).lower() in _PROVIDERS:
                return raised(UnsupportedFeatureError(_ONLY_IN_CATALOGS))
        return converted

    setattr(convert, _PATCHED, True)
    setattr(captured, CONVERTER, convert)


def raised(error: PaimonError, trace: str = "") -> CapturedException:
    """Return an error as PySpark raises it; `trace` is the message of its cause."""
    return as_pyspark_raises(java_exception(jvm_of(SparkContext._active_spark_context), error, trace))


def _of_worker(error: PythonException) -> CapturedException:
    said = of_worker(error)
    if not isinstance(said, PaimonError):
        return error
    converted = raised(said, str(error))
    setattr(converted, OF_WORKER, said)
    return converted


# If a database or table does not exist, the catalog raises an exception that Spark expects. py4j logs each exception of
# a Python object with its stack, and programs that configure logging, such as dbt, show it to their users.
class _Unexpected(logging.Filter):
    """A filter of py4j's log that drops exceptions which `Proxy` has already converted to Java's."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        return not (isinstance(error, Py4JJavaError) and "executing the Python Proxy" in record.getMessage())


_UNEXPECTED = _Unexpected()


def quiet_crossings() -> None:
    """Keep py4j from logging exceptions that cross to the JVM as Java exceptions. Do nothing the second time."""
    for module in (clientserver, java_gateway):
        module.logger.addFilter(_UNEXPECTED)
