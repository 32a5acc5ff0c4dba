"""What py4j logs of errors that cross to the JVM."""

from __future__ import annotations

import logging

import pytest
from py4j.protocol import Py4JJavaError

from paimon_sql.spark.errors.raised import quiet_crossings


class Expected(Py4JJavaError):
    """An exception of Java's, without a JVM."""

    def __init__(self) -> None:
        Exception.__init__(self, "no such database")

    def __str__(self) -> str:
        return "no such database"


def logged(error: Exception, message: str, caplog: pytest.LogCaptureFixture) -> int:
    caplog.clear()
    try:
        raise error
    except Exception:
        logging.getLogger("py4j.clientserver").exception(message)
    return len(caplog.records)


def test_only_what_is_unexpected_is_logged(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("py4j", "py4j.clientserver", "py4j.java_gateway"):
        monkeypatch.setattr(logging.getLogger(name), "filters", [])
        monkeypatch.setattr(logging.getLogger(name), "disabled", False)
        monkeypatch.setattr(logging.getLogger(name), "propagate", True)
    crossing = "There was an exception while executing the Python Proxy on the Python Side."
    assert logged(Expected(), crossing, caplog) == 1
    quiet_crossings()
    quiet_crossings()
    assert logged(Expected(), crossing, caplog) == 0
    assert logged(ValueError("a fault"), crossing, caplog) == 1
    assert logged(Expected(), "Could not authenticate connection.", caplog) == 1
    assert len(logging.getLogger("py4j.clientserver").filters) == 1
