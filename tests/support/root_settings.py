"""The catalogs of the session that every test makes its own session of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_OF_CATALOGS = ("spark.sql.catalog.", "spark.sql.defaultCatalog", "spark.paimon-sql.defaultCatalog")


@contextmanager
def without_new_catalogs(session: Any) -> Iterator[None]:
    """Forget the catalogs that a session gets meanwhile, such as from `connect` of a test, which takes the active
    session. Sessions of later tests would have these catalogs, and the servers of these catalogs are gone."""
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
