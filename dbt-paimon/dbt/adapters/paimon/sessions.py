"""The Spark session of a profile, which all threads of dbt share.

dbt opens a connection for each node and thread by a class method, so only the module can hold what the connections
share.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from dbt.adapters.paimon.credentials import PaimonCredentials
from dbt.adapters.paimon.literals import quoted
from dbt_common.exceptions import DbtConfigError
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import paimon_sql

_QUIET = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}


@dataclass(frozen=True)
class _Open:
    """A session, and the definition of the catalog that it was made for."""

    session: SparkSession
    catalog: str
    definition: tuple[tuple[str, str], ...]

    @property
    def is_stopped(self) -> bool:
        if is_remote(self.session):
            return bool(self.session.is_stopped)
        return self.session.sparkContext._jsc is None


def is_remote(session: SparkSession) -> bool:
    """Return whether a session is one of Spark Connect."""
    return type(session).__module__.startswith("pyspark.sql.connect.")


_LOCK = threading.Lock()
_open: dict[str, _Open] = {}  # by the name of the catalog


def shared_session(credentials: PaimonCredentials) -> SparkSession:
    """Return the session of a profile; the first thread that calls this makes it.

    Raises `DbtConfigError` if Spark has no such catalog, or this process has used its name for another one.
    """
    catalog, definition = str(credentials.database), tuple(sorted(_definition(credentials).items()))
    with _LOCK:
        known = _open.get(catalog)
        if known is None or known.is_stopped:
            known = _open[catalog] = _Open(_connect(credentials, dict(definition)), catalog, definition)
        if known.definition != definition:
            raise DbtConfigError(
                f"This process has used the catalog {catalog} with other settings. Give the catalog of this profile"
                " another name, or run dbt in another process."
            )
        return known.session


def _definition(credentials: PaimonCredentials) -> dict[str, str]:
    """Return the arguments of `connect` that define the catalog."""
    if credentials.remote is not None:
        return {"remote": credentials.remote}
    if credentials.warehouse is None:
        given = [name for name in ("metastore", "uri", "catalog_options") if getattr(credentials, name)]
        if given:
            raise DbtConfigError(f"{', '.join(given)}: a catalog needs a warehouse. Add it to the profile.")
        return {}
    named = {"warehouse": credentials.warehouse, "metastore": credentials.metastore, "uri": credentials.uri}
    return {**{k: v for k, v in named.items() if v is not None}, **credentials.catalog_options}


def _connect(credentials: PaimonCredentials, definition: dict[str, str]) -> SparkSession:
    if credentials.remote is not None:
        return _connect_remotely(credentials, credentials.remote)
    settings = {**_QUIET, **{k: v for k, v in credentials.server_side_parameters.items() if k.startswith("spark.")}}
    if credentials.master is not None:
        settings["spark.master"] = credentials.master
    catalog = str(credentials.database)
    session = paimon_sql.connect(catalog=catalog, **definition, **settings)
    if catalog not in paimon_sql.configured_catalogs(session):
        raise DbtConfigError(
            f"Spark has no Paimon catalog {catalog}: the profile has no warehouse, and spark.sql.catalog.{catalog} is"
            " not paimon_sql.SparkCatalog. Add warehouse to the profile, or name a configured catalog."
        )
    session.catalog.setCurrentCatalog(catalog)
    return session


def _connect_remotely(credentials: PaimonCredentials, remote: str) -> SparkSession:
    session = SparkSession.builder.remote(remote).create()
    for key, value in credentials.server_side_parameters.items():
        if key.startswith("spark."):
            session.conf.set(key, value)
    catalog = str(credentials.database)
    try:
        session.sql(f"SET CATALOG {quoted(catalog)}").collect()
    except AnalysisException as error:
        raise DbtConfigError(f"The server has no catalog {catalog}: name one of its own in the profile.") from error
    return session
