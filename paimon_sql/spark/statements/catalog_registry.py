"""The catalogs of ours in one session: made as they are configured, asked what statements on their tables become.

Before a statement is analyzed, each `spark.sql.catalog.NAME` that asks for one of ours and that the session does not
know yet is put into the session's catalog manager.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from py4j.java_gateway import JavaObject
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import SparkSession

from paimon_core.errors import InvalidNameError, InvalidOptionError, PaimonError, UnsupportedFeatureError
from paimon_core.options import MERGE_SCHEMA, TableOptions
from paimon_core.spec.identifier import Identifier
from paimon_core.table import Table
from paimon_sql.catalog.load import load_catalog
from paimon_sql.preprocess import CatalogStatement
from paimon_sql.spark.jvm.gateway import Jvm, class_name, option_map, with_elements
from paimon_sql.spark.redaction import redact
from paimon_sql.spark.session_bridge import (
    CATALOG_CLASSES,
    CATALOG_PREFIX,
    GENERIC_CLASSES,
    SESSION_CATALOG,
    SessionBridge,
)
from paimon_sql.spark.statements.analyze import AnalyzeStatement
from paimon_sql.spark.statements.commands import TableCommand
from paimon_sql.spark.statements.drop_partitions import DropPartitions
from paimon_sql.spark.statements.row_level_statement import RowLevelStatement
from paimon_sql.spark.statements.upsert import upsert, upserts
from paimon_sql.spark.tables.catalog import PROVIDER, SparkCatalog
from paimon_sql.spark.tables.evolved_table import evolved_table, relation
from paimon_sql.spark.tables.path_catalog import SparkPathCatalog
from paimon_sql.spark.tables.schema_evolution import INSERT, NESTED_COERCION, asking_for_evolution, schema_changes
from paimon_sql.spark.tables.session_catalogs import PATHS
from paimon_sql.spark.types import read_struct
from paimon_sql.spark.write.insert_columns import by_position, fills_rows
from paimon_sql.spark.write.store_assignment import with_casts

_LOG = logging.getLogger(__name__)
_EXPLAIN = "ExplainCommand"
_PRIVILEGES = "__required_write_privileges__"  # what Spark takes away when it looks a relation up
_RELATIONS = ("UnresolvedRelation", "UnresolvedTable", "UnresolvedTableOrView")
# Spark's parsed statements that are run by ours, and where each holds its table
TABLE_COMMANDS: Mapping[str, tuple[type[TableCommand], str]] = {
    "AnalyzeColumn": (AnalyzeStatement, "child"),
    "AnalyzeTable": (AnalyzeStatement, "child"),
    "DeleteFromTable": (RowLevelStatement, "table"),
    "DropPartitions": (DropPartitions, "table"),
    "UpdateTable": (RowLevelStatement, "table"),
    "MergeIntoTable": (RowLevelStatement, "targetTable"),
}
_CONFIGURED = re.compile(
    re.escape(CATALOG_PREFIX) + r"([^.=,\s]+)=(?:" + "|".join(map(re.escape, CATALOG_CLASSES)) + r")(?=[,}])"
)
_SETTING = re.compile(re.escape(CATALOG_PREFIX) + r"[^=]+=[^,}]*")


class CatalogRegistry:
    """The catalogs of ours in one session."""

    def __init__(self, jvm: Jvm, session: Any) -> None:
        self.jvm, self.bridge = jvm, SessionBridge(jvm, session)
        self.seen: list[str] = []
        self.catalogs: dict[str, SparkCatalog] = {}

    @property
    def session(self) -> JavaObject:
        return self.bridge.session

    def register(self, statement: str = "") -> None:
        """Make every configured catalog that is new or configured anew, and that of paths where a statement names it.
        One crossing where there is none."""
        made = self._configured()
        if PATHS in statement and PATHS not in self.catalogs:
            made[PATHS] = self._paths()
        for name, catalog in made.items():
            self._known().put(name, self.jvm.with_cached_answers(catalog))
        self.catalogs |= made

    def follow(self) -> None:
        """Know the catalogs that the registry of the session's parser has made."""
        self.catalogs |= self._configured() | {PATHS: self._paths()}

    def _configured(self) -> dict[str, SparkCatalog]:
        """A catalog for each that is configured; none where their settings are what they were."""
        text = self.bridge.settings_text()
        configured = _SETTING.findall(text)
        if configured == self.seen:
            return {}
        self.seen = configured
        redact(self.jvm, self.session, configured)
        if self.bridge.conf(CATALOG_PREFIX + SESSION_CATALOG, "") in GENERIC_CLASSES:
            self._keep_session_catalog()
        return {
            name: SparkCatalog(
                self.jvm, self.bridge, name, partial(load_catalog, self.bridge.settings(f"{CATALOG_PREFIX}{name}."))
            )
            for name in sorted(set(_CONFIGURED.findall(text)))
        }

    def _keep_session_catalog(self) -> None:
        """Have Spark's own catalog stay where it would look for a class that is not there, and run no statement."""
        if self._known().contains(SESSION_CATALOG):
            return
        _LOG.warning(
            "%s%s is a SparkGenericCatalog, which this version does not have: %s keeps Spark's own tables alone. "
            "Paimon tables are in a catalog of their own: set spark.sql.catalog.paimon to %s and "
            "spark.sql.catalog.paimon.warehouse to the warehouse, and USE paimon.",
            *(CATALOG_PREFIX, SESSION_CATALOG, SESSION_CATALOG, CATALOG_CLASSES[0]),
        )
        self._known().put(SESSION_CATALOG, self.session.sessionState().catalogManager().defaultSessionCatalog())

    def _paths(self) -> SparkCatalog:
        return SparkPathCatalog(self.jvm, self.bridge)

    def _known(self) -> JavaObject:
        """The session's catalogs that are loaded, a Scala map."""
        manager = self.session.sessionState().catalogManager()
        field = manager.getClass().getDeclaredField("catalogs")
        field.setAccessible(True)
        return field.get(manager)

    def change(self, statement: CatalogStatement) -> None:
        """Configure a new catalog, or forget one."""
        state, prefix = self.session.sessionState(), f"{CATALOG_PREFIX}{statement.name}"
        conf, exists = state.conf(), state.catalogManager().isCatalogRegistered(statement.name)
        if statement.options is not None:
            self._check_new(statement, exists)
            given = {f"{prefix}.{k}": v for k, v in statement.options.items() if k != "type"}
            for key, value in {} if exists else ({prefix: CATALOG_CLASSES[0]} | given).items():
                conf.setConfString(key, value)
            return
        if statement.name not in self.catalogs:
            if exists or not statement.lenient:
                raise InvalidOptionError(f"There is no Paimon catalog {statement.name!r} to drop in this session.")
            return
        if str(state.catalogManager().currentCatalog().name()) == statement.name:
            raise InvalidOptionError(f"Catalog {statement.name!r} is the current one: USE another one, then drop it.")
        for key in [prefix, *(f"{prefix}.{k}" for k in self.bridge.settings(f"{prefix}."))]:
            conf.unsetConf(key)
        self._known().remove(statement.name)
        del self.catalogs[statement.name]

    def _check_new(self, statement: CatalogStatement, exists: bool) -> None:
        kind = (statement.options or {}).get("type", PROVIDER)
        if exists and not statement.lenient:
            raise InvalidOptionError(f"There is a catalog {statement.name!r} already: write IF NOT EXISTS, or drop it.")
        if kind != PROVIDER:
            raise UnsupportedFeatureError(
                f"Catalog {statement.name!r} cannot be of type {kind!r}: write 'type' = '{PROVIDER}', or leave it out."
            )

    def ours(self, plan: JavaObject) -> JavaObject:
        """A parsed statement; one that ANALYZEs a table of ours or changes its rows as what runs it."""
        kind = class_name(plan)
        if kind == _EXPLAIN:
            return with_elements(self.jvm, plan, logicalPlan=self.explained(plan.logicalPlan()))
        if kind == INSERT:
            plan = self.insert(plan)
            kind = class_name(plan)
        statement = self.statement(plan, kind)
        return plan if statement is None else self.jvm.create_namespace(statement, kind)

    def explained(self, plan: JavaObject) -> JavaObject:
        """A parsed statement to be explained; one that changes rows of a table of ours as the plan of its changes."""
        if class_name(plan) == INSERT:
            plan = self.insert(plan)
        statement = self.statement(plan, class_name(plan))
        return statement.explained() if isinstance(statement, RowLevelStatement) else plan

    def statement(self, plan: JavaObject, kind: str) -> TableCommand | None:
        """What runs a parsed statement on a table of ours, None for others."""
        if kind not in TABLE_COMMANDS:
            return None
        made, place = TABLE_COMMANDS[kind]
        relation = getattr(plan, place)()
        relation = relation.child() if class_name(relation) == "SubqueryAlias" else relation
        found = self.find(relation)
        if found is None:
            self._check_no_view(kind, relation)
            return None
        catalog, identifier = found
        if identifier.system_table is not None or not catalog.catalog.table_exists(identifier):
            return None  # Spark says what is wrong
        statement = made(self.jvm, catalog.session, catalog, identifier, plan)
        return statement if statement.applies() else None

    def _check_no_view(self, kind: str, relation: JavaObject) -> None:
        """Raises `UnsupportedFeatureError` for a DELETE from a temporary view, for which Spark has no words."""
        if kind != "DeleteFromTable" or class_name(relation) not in _RELATIONS:
            return
        parts = [str(p) for p in self.jvm.items(relation.multipartIdentifier())]
        if len(parts) == 1 and self._is_temporary_view(parts[0]):
            raise UnsupportedFeatureError(f"DELETE FROM temporary view {parts[0]} is not supported: name the table.")

    def _is_temporary_view(self, name: str) -> bool:
        return bool(self.session.sessionState().catalog().getTempView(name).isDefined())

    def insert(self, plan: JavaObject) -> JavaObject:
        """A parsed statement; INSERT INTO a table of ours casts as Paimon does, BY NAME brings columns with it where
        `write.merge-schema` is set, and with `upsert-key` it is a MERGE INTO."""
        found = self.find(plan.table()) if class_name(plan) == INSERT else None
        table = self.table_of(found)
        if found is None or table is None:
            return plan
        catalog, identifier = found
        if upserts(table, plan):
            return upsert(self.jvm, catalog.session, table, plan)
        options = TableOptions(catalog.session.table_options(catalog.catalog_name, identifier))
        if options[MERGE_SCHEMA] and plan.byName():
            # fields missing in nested columns are NULL then; only statements that evolve a schema look at this
            self.session.sessionState().conf().setConfString(NESTED_COERCION, "true")
            plan = asking_for_evolution(self.jvm, plan)
        if plan.withSchemaEvolution() and (plan.byName() or fills_rows(plan)):
            plan = self.bringing_columns(*found, table.with_options(options.values), plan)
        return with_casts(self.jvm, catalog.session, table, options, plan)

    def bringing_columns(self, catalog: SparkCatalog, name: Identifier, table: Table, write: JavaObject) -> JavaObject:
        """A write of a query's rows, to the table with the columns that these bring with them."""
        try:
            query = self.jvm.frame(self.session, write.query())
        except CapturedException:
            return write  # Spark says what is wrong
        brought = read_struct(query.schema().json()).toNullable()
        is_positional = class_name(write) == INSERT and not write.byName()
        given = by_position(table.schema, brought) if is_positional else brought
        changes = schema_changes(table.store, given, self.bridge.known_as)
        if not changes:
            return write
        options = {k: v for k, v in option_map(write.table().options()).items() if k != _PRIVILEGES}
        target = relation(catalog, name, evolved_table(catalog, name, changes), options)
        return with_elements(self.jvm, write, table=target, query=query.queryExecution().analyzed())

    def table_of(self, found: tuple[SparkCatalog, Identifier] | None) -> Table | None:
        """The table that rows are written to; None where there is none, of which Spark says what is wrong."""
        if found is None or found[1].system_table is not None:
            return None
        try:
            return found[0].catalog.load_table(found[1])
        except PaimonError:
            return None

    def find_name(self, name: str) -> tuple[SparkCatalog, Identifier] | None:
        """The catalog of ours that a name, as SQL spells it, leads to, and the table's name there."""
        return self._place(self.bridge.name_parts(name))

    def find(self, relation: JavaObject) -> tuple[SparkCatalog, Identifier] | None:
        """The catalog of ours that a relation, parsed or loaded, is in, and its name there."""
        if class_name(relation) == "DataSourceV2Relation":
            return self._loaded(relation)
        if class_name(relation) not in _RELATIONS:
            return None
        return self._place([str(p) for p in self.jvm.items(relation.multipartIdentifier())])

    def _loaded(self, relation: JavaObject) -> tuple[SparkCatalog, Identifier] | None:
        if relation.catalog().isEmpty() or relation.identifier().isEmpty():
            return None
        catalog, name = self.catalogs.get(str(relation.catalog().get().name())), relation.identifier().get()
        return None if catalog is None else (catalog, catalog.named(list(name.namespace()), str(name.name())))

    def _place(self, parts: list[str]) -> tuple[SparkCatalog, Identifier] | None:
        """The catalog of ours that the parts of a name lead to, and the table's name there."""
        manager = self.session.sessionState().catalogManager()
        if len(parts) > 2 or (len(parts) == 2 and parts[0] in self.catalogs):
            catalog, names = self.catalogs.get(parts[0]), parts[1:]
        else:
            if len(parts) == 1 and self._is_temporary_view(parts[0]):
                return None
            catalog, names = self.catalogs.get(str(manager.currentCatalog().name())), parts
        if catalog is None or len(names) > 2:
            return None
        try:
            return catalog, catalog.named(names[:-1] or [str(manager.currentNamespace()[0])], names[-1])
        except InvalidNameError:
            return None


def session_registry(session: SparkSession) -> CatalogRegistry:
    """The catalogs of ours in a session of PySpark's."""
    registry = CatalogRegistry(Jvm(session.sparkContext), session._jsparkSession)
    registry.follow()
    return registry
