"""The catalogs of the session from which every test creates its own session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_OF_CATALOGS = ("spark.sql.catalog.", "spark.sql.defaultCatalog", "spark.paimon-sql.defaultCatalog")


@contextmanager
def without_new_catalogs(session: Any) -> Iterator[None]:
    """Remove the catalogs that a session gets during the block, such as from `connect` of a test, which takes the
    active session. Sessions of later tests would have these catalogs, but their servers have ended.
    """
    settings = session._jsparkSession.sessionState().conf().settings()
    before = str(settings.toString())
    try:
        yield
    finally:
        if str(settings.toString()) != before:
            session.sql("USE spark_catalog.default")
            for key in session.conf.getAll:
                if key.startswith(_OF_CATALOGS) and f"{key}=" not in before:
                    session.conf.unset(key)
