"""`SessionBridge`: access to a Spark session for the proxies that serve it."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from datetime import tzinfo
from typing import Any

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from paimon_core.io.hadoop import STORAGES
from paimon_core.lazy import cached_property
from paimon_core.options.support import in_own_spelling
from paimon_core.secrets import REDACTED
from paimon_core.spec.identifier import Identifier
from paimon_core.table import Table
from paimon_core.time_zones import time_zone
from paimon_sql.catalog.option_values import own_spelling
from paimon_sql.spark.jvm.collections import python_map
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.scans.rows import internal_rows
from paimon_sql.spark.jvm.session_tables import SESSION_CATALOG
from paimon_sql.spark.jvm.sessions import (
    current_namespace,
    has_cached,
    metastore_uri,
    name_parts,
    python_session,
    refresh_cached,
    setting_entry,
    setting_text,
    setting_value,
    settings_of,
    warehouse_of,
)

OPTION_PREFIX = "spark.paimon."
_HADOOP_PREFIX = "spark.hadoop."
UNCOUNTED = "_uncounted_by_paimon_sql"
CATALOG_PREFIX = "spark.sql.catalog."
DEFAULT_CATALOG = "spark.sql.defaultCatalog"
CONNECTED_CATALOG = "spark.paimon-sql.defaultCatalog"  # the value that `connect` set DEFAULT_CATALOG to
CATALOG_CLASSES = ("paimon_sql.SparkCatalog", "org.apache.paimon.spark.SparkCatalog")
GENERIC_CLASSES = ("paimon_sql.SparkGenericCatalog", "org.apache.paimon.spark.SparkGenericCatalog")
_AUDIT_BRANCH = "wap.branch"  # a setting of sessions, not an option of tables
_BATCH_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_UNBOUNDED = 2**31 - 1  # with this bound Spark does not measure the bytes of a batch
_ROWS = 4096
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*(\.[A-Za-z_][A-Za-z_0-9]*)*")  # saves Spark's parser: 4 ms
_LOG = logging.getLogger(__name__)


class SessionBridge:
    """One JVM session: its settings, and values that depend on them.

    The session refers to its parser and its catalogs, and these refer to this object. A strong reference back to the
    session would keep both alive forever, because no garbage collector sees a cycle across two processes. So the
    reference is weak. During a call, the caller keeps the session alive.
    """

    def __init__(self, jvm: Jvm, session: JavaObject) -> None:
        self.jvm, self._reference = jvm, jvm.weak_reference(session)
        self.statements = 0  # parsed so far, and databases that they have created or dropped
        self._entries: dict[str, JavaObject] = {}  # Spark's definitions of the settings that were looked up

    def count_statement(self) -> None:
        """Count a parsed statement, or a database that one has created or dropped."""
        self.statements += 1

    @property
    def session(self) -> JavaObject:
        return self._reference.get()

    @property
    def python_session(self) -> SparkSession:
        """Return the session as a PySpark session for statements of this package, which no metric counts."""
        made = python_session(self.jvm, self.session)
        setattr(made, UNCOUNTED, True)
        return made

    @cached_property
    def _conf(self) -> Any:
        """The session's settings, an object that later changes of the session update."""
        return settings_of(self.session)

    @cached_property
    def _all_settings(self) -> Any:
        return self._conf.settings()

    def setting(self, key: str) -> bool | int | float | str:
        """Return a setting of Spark with the type and value that Spark reads. No module compares texts of settings."""
        if key not in self._entries:
            self._entries[key] = setting_entry(self.jvm, key)
        return setting_value(self._conf, self._entries[key])

    def own_setting(self, key: str) -> str | None:
        """Return a setting below `spark.paimon.` or `spark.sql.catalog.`, which Spark does not define; None
        if not set.
        """
        return setting_text(self._conf, key)

    def settings_text(self) -> str:
        """Return all settings of the session as one text. One crossing shows whether any setting of a kind is set, and
        mostly none is.
        """
        return str(self._all_settings.toString())

    def settings(self, prefix: str) -> dict[str, str]:
        """Return the session's settings below a prefix, without the prefix and without redacted secrets."""
        if prefix not in self.settings_text():
            return {}
        found = python_map(self._all_settings).items()
        return {k[len(prefix) :]: v for k, v in found if k.startswith(prefix) and v != REDACTED}

    def catalog_options(self, name: str) -> dict[str, str] | None:
        """Return the options of a Paimon catalog that this session configures; None if the name is not such a catalog.

        The options include Spark's settings of Hadoop's storages, under their full names. The catalog's own options
        override them.
        """
        class_name = self.own_setting(f"{CATALOG_PREFIX}{name}")
        if not is_catalog_class(name, class_name):
            return None
        found = self.settings(_HADOOP_PREFIX).items()
        hadoop = {f"{_HADOOP_PREFIX}{key}": value for key, value in found if key.startswith(STORAGES)}
        given = own_spelling(self.settings(f"{CATALOG_PREFIX}{name}."))
        return {**hadoop, **(given if class_name in CATALOG_CLASSES else self._beside_sparks_tables(given))}

    def _beside_sparks_tables(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return the options of a `SparkGenericCatalog`. By default its tables are where Spark's own tables are: in the
        session's Hive metastore, if it is a server, and in the session's warehouse.
        """
        found = {"warehouse": warehouse_of(self._conf), **given, "format-table.enabled": "false"}
        is_hive = self.setting("spark.sql.catalogImplementation") == "hive"
        if not (is_hive and found.get("metastore", "hive") == "hive" and "uri" not in found):
            return found
        uri = metastore_uri(self.session)
        return found | {"metastore": "hive", "uri": uri} if uri else found

    def table_options(self, catalog: str, identifier: Identifier) -> dict[str, str]:
        """Return the options that `spark.paimon.KEY` sets for every table, and `spark.paimon.CATALOG.DB.TABLE.KEY` for
        one.

        In the second form, `*` may replace each name; the setting with the fewest `*` wins. Keys may be
        in any case.
        """
        return self.table_settings(catalog, identifier)[0]

    def table_settings(self, catalog: str, identifier: Identifier) -> tuple[dict[str, str], str | None]:
        """Return the options of a table as `table_options` does, and the branch to which the session sends its rows for
        the table, None without one; see `tables/audits.py`.
        """
        found = self._options(catalog, identifier)
        return found, found.pop(_AUDIT_BRANCH, None)

    def _options(self, catalog: str, identifier: Identifier) -> dict[str, str]:
        settings = self.settings(OPTION_PREFIX)
        if not settings:
            return {}
        pattern = _scoped(catalog, identifier)
        scoped = [(k.count("*"), m[1], v) for k, v in settings.items() if (m := pattern.fullmatch(k))]
        exact = {key: v for _, key, v in sorted(scoped, key=lambda found: -found[0])}
        return in_own_spelling({k: v for k, v in settings.items() if not pattern.fullmatch(k)}) | in_own_spelling(exact)

    def overwrites_partitions(self) -> bool:
        """Return whether an overwrite replaces only the partitions of its rows."""
        return self.setting("spark.sql.sources.partitionOverwriteMode") == "DYNAMIC"

    def is_case_sensitive(self) -> bool:
        """Return whether `id` and `ID` are two columns."""
        return bool(self.setting("spark.sql.caseSensitive"))

    @property
    def known_as(self) -> Callable[[str], str]:
        """Return a function that converts a column's name to the form that comparisons use."""
        return str if self.is_case_sensitive() else str.lower

    def time_zone(self) -> tzinfo:
        """Return the session's time zone; the machine's zone if the session sets none."""
        return time_zone(self.zone_name())

    def zone_name(self) -> str:
        """Return the name of the session's time zone."""
        return str(self._conf.sessionLocalTimeZone())

    def in_zone(self, table: Table) -> Table:
        """Return a table with this session's time zone, which tasks use, too."""
        return table.in_zone(self.time_zone())

    def current_database(self) -> str:
        return current_namespace(self.session)

    def has_cached(self) -> bool:
        """Return whether any session of the application has cached anything."""
        return has_cached(self.session)

    def refresh_changed(self, catalog: str, identifier: Identifier) -> None:
        """Make Spark read the cached rows of a changed table or branch again. Rows of a branch may be cached under the
        branch's name, and under the table's name in a session that audits the branch.
        """
        for name in dict.fromkeys((identifier.name, identifier.base.name)):
            self.refresh_cached(catalog, identifier.database, name)

    def refresh_cached(self, *parts: str) -> None:
        """Make Spark read the cached rows of a changed table again. If that fails, log a warning: the change itself has
        succeeded.
        """
        if not self.has_cached():
            return
        try:
            refresh_cached(self.session, *parts)
        except (CapturedException, Py4JJavaError) as error:
            _LOG.warning("Could not refresh the cached rows of %s: %s", ".".join(parts), error)

    def name_parts(self, text: str) -> list[str]:
        """Return the parts of a name that is spelled as in SQL."""
        return text.split(".") if _PLAIN_NAME.fullmatch(text) else name_parts(self.session, text)

    def default_source(self) -> str:
        return str(self.setting("spark.sql.sources.default")).lower()

    def bound_batches_by_rows(self) -> None:
        """Make jobs of this thread send rows to Python in batches of a fixed number of rows, until
        `bound_batches_by_bytes`.

        By default Spark adds up the bytes of a batch after each row, which takes longer than its other work on the row.
        A limit that the session sets itself is kept.
        """
        if not self._conf.contains(_BATCH_BYTES):
            self.jvm.context.setLocalProperty(_BATCH_BYTES, str(_UNBOUNDED))
            if not self._conf.contains(_BATCH_ROWS):
                self.jvm.context.setLocalProperty(_BATCH_ROWS, str(_ROWS))

    def bound_batches_by_bytes(self) -> None:
        """Restore Spark's default, see `bound_batches_by_rows`."""
        for key in (_BATCH_BYTES, _BATCH_ROWS):
            self.jvm.context.setLocalProperty(key, None)

    def local_rows(self, table: Any, schema: StructType) -> Any:
        return internal_rows(self.jvm, self.session, table, schema)


def is_catalog_class(name: str, class_name: str | None) -> bool:
    """Return whether a class in the settings makes a Paimon catalog of this name: `SparkGenericCatalog` is only for the
    session's own catalog.
    """
    return class_name in CATALOG_CLASSES or (name == SESSION_CATALOG and class_name in GENERIC_CLASSES)


def _scoped(catalog: str, identifier: Identifier) -> re.Pattern[str]:
    def part(name: str) -> str:
        return rf"(?:{re.escape(name)}|\*)"

    return re.compile(rf"{part(catalog)}\.{part(identifier.database)}\.{part(identifier.table)}\.(.+)")
