"""Filter py4j's log records of errors that cross to the JVM: those that Spark expects are dropped.

Spark learns from an exception that a database or table is not there. py4j logs each exception of a Python object with
its stack, which programs that configure logging, as dbt does, show to their users.
"""

from __future__ import annotations

import logging

from py4j import clientserver, java_gateway
from py4j.protocol import Py4JJavaError


class _Unexpected(logging.Filter):
    """Passes on all but exceptions that `Proxy` has made Java's."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        return not (isinstance(error, Py4JJavaError) and "executing the Python Proxy" in record.getMessage())


_UNEXPECTED = _Unexpected()


def quiet_crossings() -> None:
    """Let py4j log no exception that crosses to the JVM as one of Java's; does nothing the second time."""
    for module in (clientserver, java_gateway):
        module.logger.addFilter(_UNEXPECTED)
