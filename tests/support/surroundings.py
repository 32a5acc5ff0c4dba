"""What users' machines and sessions differ in: the zone of the machine, and the zone of the session."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SESSION_ZONE = "spark.sql.session.timeZone"


@contextmanager
def machine_zone(session: Any, name: str) -> Iterator[None]:
    """This process, its JVM and the workers that it starts in a zone, as if the machine were there."""
    zones = session._jvm.java.util.TimeZone
    context, before, java_before = session.sparkContext, os.environ.get("TZ"), zones.getDefault()
    worker_before = context.environment.get("TZ")
    os.environ["TZ"] = context.environment["TZ"] = name  # workers of another environment are of another daemon
    time.tzset()
    zones.setDefault(zones.getTimeZone(name))
    try:
        yield
    finally:
        zones.setDefault(java_before)
        _restore(os.environ, before)
        _restore(context.environment, worker_before)
        time.tzset()


def _restore(environment: Any, value: str | None) -> None:
    if value is None:
        environment.pop("TZ", None)
    else:
        environment["TZ"] = value
