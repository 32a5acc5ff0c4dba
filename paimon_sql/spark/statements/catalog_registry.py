"""The Paimon catalogs in one session: made from the session's settings, and looked up by the names in statements.

Before Spark analyzes a statement, each new `spark.sql.catalog.NAME` that configures a Paimon catalog is put into the
session's catalog manager.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from py4j.java_gateway import JavaObject

from paimon_core.errors import InvalidNameError, InvalidOptionError, PaimonError, UnsupportedFeatureError
from paimon_core.spec.identifier import Identifier
from paimon_core.table import Table
from paimon_sql.catalog.base import Catalog, SupportsDatabases
from paimon_sql.catalog.load import check_options, for_user, open_catalog
from paimon_sql.preprocess import CatalogStatement
from paimon_sql.preprocess.quoting import PATHS
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.plans import TableReference
from paimon_sql.spark.jvm.session_tables import SESSION_CATALOG
from paimon_sql.spark.jvm.sessions import (
    beside_sparks_tables,
    current_catalog,
    define_catalog_class,
    is_catalog,
    is_temporary_view,
    keep_names,
    loaded_catalogs,
    session_catalog_plugin,
    settings_of,
)
from paimon_sql.spark.redaction import redact
from paimon_sql.spark.session_bridge import (
    CATALOG_CLASSES,
    CATALOG_PREFIX,
    CONNECTED_CATALOG,
    DEFAULT_CATALOG,
    GENERIC_CLASSES,
    SessionBridge,
    is_catalog_class,
)
from paimon_sql.spark.tables.catalog import SparkCatalog, SparkPathCatalog
from paimon_sql.spark.tables.definitions import PROVIDER
from paimon_sql.spark.tables.generic_catalog import SparkGenericCatalog

Located = tuple[SparkCatalog, Identifier]  # a Paimon catalog, and a table's name in it

_LOG = logging.getLogger(__name__)
_CONFIGURED = re.compile(
    re.escape(CATALOG_PREFIX)
    + r"([^.=,\s]+)=(?:"
    + "|".join(map(re.escape, (*CATALOG_CLASSES, *GENERIC_CLASSES)))
    + r")(?=[,}])"
)
_SETTING = re.compile(rf"{re.escape(CATALOG_PREFIX)}(?>(?:(?!{re.escape(CATALOG_PREFIX)})[^=])+)=[^,}}]*")


def configured_catalogs(text: str) -> list[str]:
    """Return the settings of catalogs in the text of all settings, each `spark.sql.catalog.NAME.OPTION=VALUE`."""
    return _SETTING.findall(text)


def _nothing(session: JavaObject) -> None:
    pass


class LoadedCatalogs:
    """Catalogs that related sessions share: one catalog, with its connections, for equal options.

    A Java session exists, with everything it refers to, until the JVM collects its garbage, which may take hours.
    Without sharing, each client of a server would leave connections to a metastore behind. Each session checks for
    itself whether the warehouse has users.
    """

    def __init__(self, define_source: Callable[[JavaObject], None] = _nothing) -> None:
        self.may_open: Callable[[str], bool] | None = None  # a test of tables' paths, as in `PathCatalog`
        self.define_source = define_source  # makes Spark find the format `paimon`
        self._known: WeakValueDictionary[Hashable, SupportsDatabases] = WeakValueDictionary()

    def restrict_paths(self, may_open: Callable[[str], bool]) -> None:
        """Let the sessions open tables by path only if `may_open` returns true for the path."""
        self.may_open = may_open

    def load(self, options: Mapping[str, str]) -> Catalog:
        """Return the catalog with the given options; make it if no session has it. Raises `InvalidOptionError`."""
        key = (os.getcwd(), frozenset(options.items()))  # a warehouse may be a relative path
        found = self._known.get(key)
        if found is None:
            found = self._known.setdefault(key, open_catalog(options))
        return for_user(options, found)


class CatalogRegistry:
    """The Paimon catalogs in one session."""

    def __init__(self, jvm: Jvm, session: Any, loaded: LoadedCatalogs) -> None:
        self.jvm, self.bridge, self.loaded = jvm, SessionBridge(jvm, session), loaded
        self.catalogs: dict[str, SparkCatalog] = {}
        self._configured: list[str] = []  # the settings that the catalogs were made from

    @property
    def session(self) -> JavaObject:
        return self.bridge.session

    def register(self, statement: str = "") -> None:
        """Make every catalog with a new or changed configuration, and the catalog of paths if a statement names it.

        If nothing has changed, this takes one call of the JVM.
        """
        text = self.bridge.settings_text()
        configured = configured_catalogs(text)
        if configured != self._configured:
            self._configured = configured
            redact(self.jvm, self.session, configured)
            for name in sorted(set(_CONFIGURED.findall(text))):
                class_name = self.bridge.own_setting(CATALOG_PREFIX + name)
                if name == PATHS or class_name is None or not is_catalog_class(name, class_name):
                    continue  # made below, or the value of another setting only looks like a configured catalog
                self._define_class(class_name)
                if class_name in GENERIC_CLASSES:
                    self._put_beside_sparks_tables()
                    continue
                load = partial(self.loaded.load, self.bridge.catalog_options(name) or {})
                self._put(SparkCatalog(self.jvm, self.bridge, name, load))
        if PATHS in statement and PATHS not in self.catalogs:
            self._put(SparkPathCatalog(self.jvm, self.bridge, self.loaded.may_open))

    def _put(self, catalog: SparkCatalog) -> None:
        loaded_catalogs(self.session).put(catalog.catalog_name, self.jvm.fronted(catalog))
        self.catalogs[catalog.catalog_name] = catalog

    def _define_class(self, class_name: str) -> None:
        if not define_catalog_class(self.jvm, class_name):
            _LOG.warning(
                "Java does not let paimon-sql define the class %s: start it with --add-opens=java.base/java.lang=ALL-"
                "UNNAMED. Otherwise, if %s names a Paimon catalog, defaults of columns that call functions fail.",
                *(class_name, DEFAULT_CATALOG),
            )

    def _put_beside_sparks_tables(self) -> None:
        """Put Paimon's tables into the session's own catalog. Its options are read when it is first used."""
        load = lambda: self.loaded.load(self.bridge.catalog_options(SESSION_CATALOG) or {})  # noqa: E731
        sparks = session_catalog_plugin(self.jvm, self.session)
        catalog = SparkGenericCatalog(self.jvm, self.bridge, load, sparks)
        self.loaded.define_source(self.session)
        loaded_catalogs(self.session).put(SESSION_CATALOG, beside_sparks_tables(self.jvm, catalog, sparks))
        self.catalogs[SESSION_CATALOG] = catalog
        keep_names(self.jvm, self.session, catalog)
        if self.bridge.setting("spark.sql.catalogImplementation") == "in-memory":
            catalog.show_databases()

    def change(self, statement: CatalogStatement) -> None:
        """Configure a new catalog, or remove a catalog from the session."""
        conf, prefix = settings_of(self.session), f"{CATALOG_PREFIX}{statement.name}"
        exists = is_catalog(self.session, statement.name)
        if statement.options is not None:
            self._check_new(statement, exists)
            given = {f"{prefix}.{k}": v for k, v in statement.options.items() if k != "type"}
            if not exists:
                before = self.bridge.settings(f"{prefix}.")
                check_options(before | {k: v for k, v in statement.options.items() if k != "type"})
            for key, value in {} if exists else ({prefix: CATALOG_CLASSES[0]} | given).items():
                conf.setConfString(key, value)
            return
        if statement.name not in self.catalogs:
            if exists or not statement.lenient:
                raise InvalidOptionError(
                    f"There is no Paimon catalog {statement.name!r} to drop in this session. "
                    "SHOW CATALOGS lists the catalogs."
                )
            return
        if current_catalog(self.session) == statement.name:
            raise InvalidOptionError(f"Catalog {statement.name!r} is the current one: USE another one, then drop it.")
        for key in [prefix, *(f"{prefix}.{k}" for k in self.bridge.settings(f"{prefix}."))]:
            conf.unsetConf(key)
        if self.bridge.own_setting(CONNECTED_CATALOG) == statement.name:
            for key in (DEFAULT_CATALOG, CONNECTED_CATALOG):
                conf.unsetConf(key)
        loaded_catalogs(self.session).remove(statement.name)
        del self.catalogs[statement.name]

    def _check_new(self, statement: CatalogStatement, exists: bool) -> None:
        kind = (statement.options or {}).get("type", PROVIDER)
        if exists and not statement.lenient:
            raise InvalidOptionError(f"There is a catalog {statement.name!r} already: write IF NOT EXISTS, or drop it.")
        if kind != PROVIDER:
            raise UnsupportedFeatureError(
                f"Catalog {statement.name!r} cannot be of type {kind!r}: write 'type' = '{PROVIDER}', or leave it out."
            )

    def target(self, found: Located | None) -> Located | None:
        """Return the table or the branch that a statement of this session changes, see `tables/audits.py`."""
        return None if found is None else (found[0], found[0].audits.target(found[1]))

    def table_of(self, found: Located | None, *, ahead: bool = False) -> Table | None:
        """Return the table to write to. Return None if it does not exist or cannot be read: Spark then reports why.

        `ahead`: Spark loads the same table next, to write to it; see `StatementTargets`.
        """
        if found is None or found[1].system_table is not None:
            return None
        catalog, identifier = found
        try:
            return self.bridge.in_zone(
                (catalog.targets.load_ahead if ahead else catalog.catalog.load_table)(identifier)
            )
        except PaimonError:
            return None

    def exists(self, name: str) -> bool:
        """Return whether a name of one part is a temporary view, or a table in the current database of a Paimon
        catalog.
        """
        return is_temporary_view(self.session, name) or self.table_of(self._find([name])) is not None

    def find_name(self, name: str) -> Located | None:
        """Return the Paimon catalog of a name that is spelled as in SQL, and the table's name in that catalog. Return
        None if the name is not in a Paimon catalog.
        """
        return self._find(self.bridge.name_parts(name))

    def find(self, reference: TableReference | None) -> Located | None:
        """Return the Paimon catalog of a parsed or loaded table, and the table's name in that catalog; None if it is
        not in a Paimon catalog.
        """
        if reference is None:
            return None
        if reference.catalog is None:
            return self._find(reference.parts)
        if reference.catalog == PATHS and PATHS not in self.catalogs:
            self.register(PATHS)
        catalog, parts = self.catalogs.get(reference.catalog), reference.parts
        return None if catalog is None else _served(catalog, catalog.named(parts[:-1], parts[-1]))

    def find_table(self, parts: Sequence[str]) -> Located | None:
        """Return the Paimon catalog of a table's name, given as its parts, and the table's name in that catalog. Return
        None if it is not in a Paimon catalog, and for a table of Spark's in a catalog that also has Paimon tables.
        Ignore a temporary view of that name. Raises `InvalidNameError`.
        """
        catalog, names = self._place_of(parts)
        if catalog is None:
            return None
        return _served(catalog, catalog.named(names[:-1] or [self.bridge.current_database()], names[-1]))

    def is_beside_sparks(self, parts: Sequence[str]) -> bool:
        """Return whether a table's name is in Spark's own catalog, which has Paimon tables, too."""
        return SESSION_CATALOG in self.catalogs and self.place_beside_sparks(parts) is not None

    def place_beside_sparks(self, parts: Sequence[str]) -> Located | None:
        """Return the place of a table, perhaps a new one, in Spark's own catalog beside Spark's tables; None for a name
        in another catalog.
        """
        try:
            catalog, names = self._place_of(parts) if parts else (None, parts)
        except InvalidNameError:
            return None
        if catalog is None or catalog.catalog_name != SESSION_CATALOG:
            return None
        return catalog, catalog.named(names[:-1] or [self.bridge.current_database()], names[-1])

    def find_object(self, parts: Sequence[str]) -> Located | None:
        """Return the place of a view or a function as `find_table` does. Spark's own catalog keeps its own ones."""
        catalog, names = self._place_of(parts)
        if catalog is None or catalog.catalog_name == SESSION_CATALOG:
            return None
        return catalog, catalog.named(names[:-1] or [self.bridge.current_database()], names[-1])

    def _place_of(self, parts: Sequence[str]) -> tuple[SparkCatalog | None, Sequence[str]]:
        """Return the Paimon catalog of a name, and the name's parts in that catalog."""
        if len(parts) > 2 or (len(parts) == 2 and parts[0] in self.catalogs):
            catalog, names = self.catalogs.get(parts[0]), parts[1:]
        else:
            catalog, names = self.catalogs.get(current_catalog(self.session)), parts
        if catalog is not None and len(names) > 2:
            raise InvalidNameError(
                f"{'.'.join(parts)!r} is not a valid table name: write it as table, or as database.table."
            )
        return catalog, names

    def find_database(self, parts: Sequence[str]) -> tuple[SparkCatalog, str] | None:
        """Return the Paimon catalog of a database's name, given as its parts, and the database's name in that catalog.
        No parts mean the current database. Return None if it is not in a Paimon catalog.
        """
        is_named = bool(parts) and (len(parts) > 1 or parts[0] in self.catalogs)
        catalog = self.catalogs.get(parts[0] if is_named else current_catalog(self.session))
        rest = parts[1:] if is_named else parts
        if catalog is None or catalog.catalog_name == SESSION_CATALOG or len(rest) > 1:
            return None
        return catalog, rest[0] if rest else self.bridge.current_database()

    def _find(self, parts: Sequence[str]) -> Located | None:
        if len(parts) == 1 and is_temporary_view(self.session, parts[0]):
            return None
        try:
            return self.find_table(parts)
        except InvalidNameError:
            return None


def _served(catalog: SparkCatalog, identifier: Identifier) -> Located | None:
    return (catalog, identifier) if catalog.serves(identifier) else None
