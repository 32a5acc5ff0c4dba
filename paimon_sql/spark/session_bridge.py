"""SessionBridge: what proxies need to know of the Spark session they serve."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from datetime import tzinfo
from typing import Any

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from paimon_core.io.hadoop import STORAGES
from paimon_core.lazy import cached_property
from paimon_core.secrets import REDACTED
from paimon_core.spec.identifier import Identifier
from paimon_core.table import Table
from paimon_core.time_zones import time_zone
from paimon_sql.spark.jvm.collections import python_map
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.scans.rows import internal_rows
from paimon_sql.spark.jvm.sessions import (
    current_namespace,
    has_cached,
    name_parts,
    python_session,
    refresh_cached,
    setting_entry,
    setting_text,
    setting_value,
    settings_of,
)

OPTION_PREFIX = "spark.paimon."
_HADOOP_PREFIX = "spark.hadoop."
CATALOG_PREFIX = "spark.sql.catalog."
DEFAULT_CATALOG = "spark.sql.defaultCatalog"
CONNECTED_CATALOG = "spark.paimon-sql.defaultCatalog"  # the value that `connect` set the former to
CATALOG_CLASSES = ("paimon_sql.SparkCatalog", "org.apache.paimon.spark.SparkCatalog")
GENERIC_CLASSES = ("paimon_sql.SparkGenericCatalog", "org.apache.paimon.spark.SparkGenericCatalog")
_BATCH_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_UNBOUNDED = 2**31 - 1  # the one bound of bytes for which Spark measures nothing
_ROWS = 4096
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*(\.[A-Za-z_][A-Za-z_0-9]*)*")  # which Spark need not parse: 4 ms
_LOG = logging.getLogger(__name__)


class SessionBridge:
    """One JVM session: its settings, and all that depends on them.

    The session refers to its parser and its catalogs, and these refer to this object. A strong reference back to the
    session would keep both alive forever: no collector sees a cycle across two processes. So the reference is weak;
    during a call, the caller holds the session.
    """

    def __init__(self, jvm: Jvm, session: JavaObject) -> None:
        self.jvm, self._reference = jvm, jvm.weak_reference(session)
        self._entries: dict[str, JavaObject] = {}  # how Spark defines the settings that were looked up

    @property
    def session(self) -> JavaObject:
        return self._reference.get()

    @property
    def python_session(self) -> SparkSession:
        """The session as PySpark's."""
        return python_session(self.jvm, self.session)

    @cached_property
    def _conf(self) -> Any:
        """The session's settings, which change in place."""
        return settings_of(self.session)

    @cached_property
    def _all_settings(self) -> Any:
        return self._conf.settings()

    def setting(self, key: str) -> bool | int | float | str:
        """A setting of Spark's, as Spark itself reads it. No module compares texts of settings."""
        if key not in self._entries:
            self._entries[key] = setting_entry(self.jvm, key)
        return setting_value(self._conf, self._entries[key])

    def own_setting(self, key: str) -> str | None:
        """A setting below `spark.paimon.` or `spark.sql.catalog.`, which Spark does not define; None if not set."""
        return setting_text(self._conf, key)

    def settings_text(self) -> str:
        """All that is set, as one text: one crossing shows whether there is anything of a kind, mostly not."""
        return str(self._all_settings.toString())

    def settings(self, prefix: str) -> dict[str, str]:
        """Return the session's settings below a prefix, without the prefix and without redacted secrets."""
        if prefix not in self.settings_text():
            return {}
        found = python_map(self._all_settings).items()
        return {k[len(prefix) :]: v for k, v in found if k.startswith(prefix) and v != REDACTED}

    def catalog_options(self, name: str) -> dict[str, str] | None:
        """Return the options of a Paimon catalog that this session configures, None for another name.

        With Spark's settings of Hadoop's storages, by their whole names: the catalog's own options come first.
        """
        if self.own_setting(f"{CATALOG_PREFIX}{name}") not in CATALOG_CLASSES:
            return None
        found = self.settings(_HADOOP_PREFIX).items()
        hadoop = {f"{_HADOOP_PREFIX}{key}": value for key, value in found if key.startswith(STORAGES)}
        return {**hadoop, **self.settings(f"{CATALOG_PREFIX}{name}.")}

    def table_options(self, catalog: str, identifier: Identifier) -> dict[str, str]:
        """Options that `spark.paimon.KEY` sets for every table, and `spark.paimon.CATALOG.DB.TABLE.KEY` for one.

        Of the latter those win that name the table most exactly.
        """
        settings = self.settings(OPTION_PREFIX)
        if not settings:
            return {}
        pattern = _scoped(catalog, identifier)
        scoped = [(k.count("*"), m[1], v) for k, v in settings.items() if (m := pattern.fullmatch(k))]
        exact = {key: v for _, key, v in sorted(scoped, key=lambda found: -found[0])}
        return {k: v for k, v in settings.items() if not pattern.fullmatch(k)} | exact

    def overwrites_partitions(self) -> bool:
        """Whether an overwrite replaces only the partitions of its rows."""
        return self.setting("spark.sql.sources.partitionOverwriteMode") == "DYNAMIC"

    def is_case_sensitive(self) -> bool:
        """Whether `id` and `ID` are two columns."""
        return bool(self.setting("spark.sql.caseSensitive"))

    @property
    def known_as(self) -> Callable[[str], str]:
        """Return a function that turns a column's name into the form that comparisons use."""
        return str if self.is_case_sensitive() else str.lower

    def time_zone(self) -> tzinfo:
        """Return the session's time zone; the machine's zone if the session sets none."""
        return time_zone(str(self._conf.sessionLocalTimeZone()))

    def in_zone(self, table: Table) -> Table:
        """Return a table with this session's time zone, which tasks take along."""
        return table.in_zone(self.time_zone())

    def current_database(self) -> str:
        return current_namespace(self.session)

    def has_cached(self) -> bool:
        """Whether anything is cached, in any session of the application."""
        return has_cached(self.session)

    def refresh_cached(self, *parts: str) -> None:
        """Have what is cached of a changed table read again; the change is made and does not fail where this does."""
        if not self.has_cached():
            return
        try:
            refresh_cached(self.session, *parts)
        except (CapturedException, Py4JJavaError) as error:
            _LOG.warning("What is cached of %s could not be refreshed: %s", ".".join(parts), error)

    def name_parts(self, text: str) -> list[str]:
        """The parts of a name as SQL spells it."""
        return text.split(".") if _PLAIN_NAME.fullmatch(text) else name_parts(self.session, text)

    def default_source(self) -> str:
        return str(self.setting("spark.sql.sources.default")).lower()

    def bound_batches_by_rows(self) -> None:
        """Until `bound_batches_by_bytes`, jobs of this thread hand rows to Python in batches of so many rows.

        Spark otherwise adds up the bytes of a batch behind each row, which takes longer than the rest of its work on
        the row. What the session sets itself stays.
        """
        if not self._conf.contains(_BATCH_BYTES):
            self.jvm.context.setLocalProperty(_BATCH_BYTES, str(_UNBOUNDED))
            if not self._conf.contains(_BATCH_ROWS):
                self.jvm.context.setLocalProperty(_BATCH_ROWS, str(_ROWS))

    def bound_batches_by_bytes(self) -> None:
        """Restore Spark's default; see `bound_batches_by_rows`."""
        for key in (_BATCH_BYTES, _BATCH_ROWS):
            self.jvm.context.setLocalProperty(key, None)

    def local_rows(self, table: Any, schema: StructType) -> Any:
        return internal_rows(self.jvm, self.session, table, schema)


def _scoped(catalog: str, identifier: Identifier) -> re.Pattern[str]:
    def part(name: str) -> str:
        return rf"(?:{re.escape(name)}|\*)"

    return re.compile(rf"{part(catalog)}\.{part(identifier.database)}\.{part(identifier.table)}\.(.+)")
