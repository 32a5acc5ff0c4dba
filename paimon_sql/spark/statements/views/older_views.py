"""Statements about views of Paimon catalogs, for Spark before 4.2, which does not pass them to catalogs.

Queries need nothing here: the catalog returns a view of Spark's own kind (`jvm/older/session_views.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError

from paimon_core.errors import InvalidNameError, UnreadableFileError, UnsupportedFeatureError, ViewNotFoundError
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.base import SupportsViews, check_is_view_name
from paimon_sql.catalog.view import View
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.spark.jvm.classes import ANALYSIS_EXCEPTION
from paimon_sql.spark.jvm.commands import create_namespace
from paimon_sql.spark.jvm.exceptions import ExceptionText, analysis_exception
from paimon_sql.spark.jvm.older.session_views import prepared_view
from paimon_sql.spark.jvm.older.view_statements import ViewStatement
from paimon_sql.spark.jvm.scans.rows import rows_relation
from paimon_sql.spark.jvm.sessions import is_temporary_view, matching_names
from paimon_sql.spark.jvm.views import ViewDefinition
from paimon_sql.spark.statements.catalog_registry import CatalogRegistry, Located
from paimon_sql.spark.statements.commands import FunctionCommand
from paimon_sql.spark.tables.catalog import SparkCatalog
from paimon_sql.spark.tables.named_catalog import renamed
from paimon_sql.spark.tables.session_catalogs import find_catalog
from paimon_sql.spark.tables.views.catalog import views_of
from paimon_sql.spark.tables.views.cycles import check_no_cycle
from paimon_sql.spark.tables.views.definitions import altered_view, kept_view, spark_view
from paimon_sql.spark.tables.views.texts import create_statement, described, shown_properties

_SHOW = (("namespace", pa.string()), ("viewName", pa.string()), ("isTemporary", pa.bool_()))
_DESCRIBE = (("col_name", pa.string()), ("data_type", pa.string()), ("comment", pa.string()))
_CREATE, _PROPERTIES = (("createtab_stmt", pa.string()),), (("key", pa.string()), ("value", pa.string()))
_NAMES = {
    "alter": "ALTER VIEW ... AS",
    "bind": "ALTER VIEW ... WITH SCHEMA",
    "set": "ALTER VIEW ... SET TBLPROPERTIES",
    "unset": "ALTER VIEW ... UNSET TBLPROPERTIES",
    "create": "CREATE OR REPLACE VIEW",
    "rename": "ALTER VIEW ... RENAME TO",
}


class OlderViews:
    """Rewrites statements about views of one session's catalogs."""

    def __init__(self, registry: CatalogRegistry) -> None:
        self.registry, self.jvm = registry, registry.jvm

    def planned(self, plan: JavaObject, statement: ViewStatement) -> JavaObject:
        """Return a parsed statement rewritten if it is about a view of a Paimon catalog; otherwise unchanged."""
        if statement.kind == "show":
            return self._show(plan, statement)
        try:
            found = self._find(statement)
        except InvalidNameError as error:
            lenient = statement.kind == "drop" and statement.lenient
            return self._command(statement, _nothing if lenient else partial(_raise, error))
        if found is None:
            return plan
        catalog, identifier = found
        if not statement.of_view:
            is_view = isinstance(catalog.catalog, SupportsViews) and catalog.catalog.view_exists(identifier)
            if not is_view or catalog.catalog.table_exists(identifier):
                return plan
        match statement.kind:
            case "describe" | "show create" | "properties":
                return self._shown(catalog, identifier, statement)
            case "drop table":
                return self._command(statement, partial(self._refuse_drop, catalog, identifier, "TABLE", "VIEW"))
            case "truncate":
                return self._command(statement, partial(self._refuse_view, catalog, identifier))
        return self._command(statement, partial(self._run, catalog, identifier, statement))

    def _find(self, statement: ViewStatement) -> Located | None:
        """Return the catalog and the name of a view, which may be new. Return None for a temporary view, a view of
        another catalog, or a system table or branch. Raises `InvalidNameError` if the statement requires a view.
        """
        parts = statement.parts
        if not statement.of_view:
            found = self.registry.find_name(".".join(map(quoted_name, parts)))
            return found if found is not None and found[1] == found[1].base else None
        if statement.kind != "create" and is_temporary_view(self.registry.session, *parts):
            return None
        found = self.registry.find_object(parts)
        if found is not None and isinstance(found[0].catalog, SupportsViews):  # other catalogs refuse every name
            check_is_view_name(found[1])
        return found

    def _command(self, statement: ViewStatement, run: Callable[[], None]) -> JavaObject:
        text = f"{_NAMES.get(statement.kind, statement.kind.upper())} {'.'.join(statement.parts)}"
        return create_namespace(self.jvm, FunctionCommand(self.jvm, text, run), statement.parts[-1])

    # -- what is shown ------------------------------------------------------------------------------------------------
    def _show(self, plan: JavaObject, statement: ViewStatement) -> JavaObject:
        place = self.registry.find_database(statement.parts)
        if place is None:
            return plan
        catalog, database = place
        views = views_of(catalog.catalog, [database])
        names = views if statement.pattern is None else matching_names(self.jvm, views, statement.pattern)
        return self._rows(_SHOW, [(database, name, False) for name in names])

    def _shown(self, catalog: SparkCatalog, identifier: Identifier, statement: ViewStatement) -> JavaObject:
        view = spark_view(_views(catalog).load_view(identifier), catalog.catalog_name, identifier)
        name = (catalog.catalog_name, identifier.database, identifier.table)
        if statement.kind == "describe":
            return self._rows(_DESCRIBE, described(name, view, extended=statement.extended))
        if statement.kind == "show create":
            return self._rows(_CREATE, [(create_statement(name, view),)])
        shown = shown_properties(view)
        key = statement.pattern
        if key is None:
            return self._rows(_PROPERTIES, sorted(shown.items()))
        missing = f"View {'.'.join(name)} does not have property: {key}"
        return self._rows(_PROPERTIES, [(key, shown.get(key, missing))])

    def _rows(self, columns: Sequence[tuple[str, pa.DataType]], rows: Sequence[tuple[Any, ...]]) -> JavaObject:
        values = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in columns]
        arrays = [pa.array(v, type=t) for v, (_, t) in zip(values, columns, strict=True)]
        return rows_relation(self.jvm, self.registry.session, pa.table(arrays, names=[name for name, _ in columns]))

    # -- what is done -------------------------------------------------------------------------------------------------
    def _run(self, catalog: SparkCatalog, identifier: Identifier, statement: ViewStatement) -> None:
        views, kind = _views(catalog), statement.kind
        if kind == "create":
            self._create(catalog, identifier, statement)
        elif kind == "drop":
            if views.view_exists(identifier) or not catalog.catalog.table_exists(identifier):
                views.drop_view(identifier, ignore_if_not_exists=statement.lenient)
            else:
                self._refuse_drop(catalog, identifier, "VIEW", "TABLE")
        elif kind == "rename":
            views.rename_view(identifier, renamed("View", catalog.catalog_name, identifier, statement.target))
        else:
            self._alter(catalog, identifier, statement)

    def _create(self, catalog: SparkCatalog, identifier: Identifier, statement: ViewStatement) -> None:
        views = _views(catalog)
        if statement.lenient and views.view_exists(identifier):
            return
        name = (catalog.catalog_name, identifier.database, identifier.table)
        made = prepared_view(self.jvm, self.registry.session, name, statement)
        view = kept_view(made, catalog.catalog_name, identifier)
        self._check_no_cycle(name, made)
        if not statement.replaces:
            views.create_view(identifier, view, ignore_if_exists=statement.lenient)
            return
        if catalog.catalog.table_exists(identifier):
            self._refuse_table(catalog, identifier, statement)
        views.replace_view(identifier, view, create=True)

    def _alter(self, catalog: SparkCatalog, identifier: Identifier, statement: ViewStatement) -> None:
        views, name = _views(catalog), (catalog.catalog_name, identifier.database, identifier.table)
        old = _definition(views, identifier)
        if old is None:
            if catalog.catalog.table_exists(identifier):
                self._refuse_table(catalog, identifier, statement)
            raise ViewNotFoundError(f"There is no view {identifier} in catalog {catalog.catalog_name}.")
        shown = spark_view(old, catalog.catalog_name, identifier)
        match statement.kind:
            case "alter":
                made = prepared_view(self.jvm, self.registry.session, name, statement, shown.schema_mode)
                made = replace(made, properties={**made.properties, **shown.properties})
                self._check_no_cycle(name, made)
            case "set":
                made = replace(shown, properties={**shown.properties, **statement.properties})
            case "unset":
                made = replace(shown, properties=_without(shown.properties, statement, identifier))
            case _:
                made = replace(shown, schema_mode=str(statement.node.viewSchemaMode().toString()))
        views.replace_view(identifier, altered_view(old, kept_view(made, catalog.catalog_name, identifier), identifier))

    def _check_no_cycle(self, name: tuple[str, str, str], view: ViewDefinition) -> None:
        check_no_cycle(self.jvm, name, view, partial(find_catalog, self.registry.bridge))

    # -- what is refused ----------------------------------------------------------------------------------------------
    def _refuse_table(self, catalog: SparkCatalog, identifier: Identifier, statement: ViewStatement) -> None:
        name, operation = f"{catalog.catalog_name}.{identifier}", _NAMES[statement.kind]
        condition = "EXPECT_VIEW_NOT_TABLE.NO_ALTERNATIVE"
        message = f"[{condition}] The table {name} does not support {operation}: it is not a view."
        named = {"tableName": f"`{name}`", "operation": operation}
        raise self._refusal(ExceptionText(message, condition, named))

    def _refuse_view(self, catalog: SparkCatalog, identifier: Identifier) -> None:
        name, condition = f"{catalog.catalog_name}.{identifier}", "EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE"
        message = f"[{condition}] 'TRUNCATE TABLE' expects a table but {name} is a view."
        named = {"viewName": f"`{name}`", "operation": "TRUNCATE TABLE"}
        raise self._refusal(ExceptionText(message, condition, named))

    def _refuse_drop(self, catalog: SparkCatalog, identifier: Identifier, wanted: str, found: str) -> None:
        name, condition = f"{catalog.catalog_name}.{identifier}", "WRONG_COMMAND_FOR_OBJECT_TYPE"
        needed = f"The operation DROP {wanted} requires a {wanted}. But {name} is a {found}."
        message = f"[{condition}] {needed} Use DROP {found} instead."
        named = {
            "operation": f"DROP {wanted}",
            "requiredType": wanted,
            "objectName": name,
            "foundType": found,
            "alternative": f"DROP {found}",
        }
        raise self._refusal(ExceptionText(message, condition, named))

    def _refusal(self, text: ExceptionText) -> Py4JJavaError:
        """Return an analysis exception with a message that is already complete."""
        return Py4JJavaError(text.message, analysis_exception(self.jvm, ANALYSIS_EXCEPTION, text))


def _nothing() -> None:
    """Do nothing."""


def _raise(error: Exception) -> None:
    raise error


def _views(catalog: SparkCatalog) -> SupportsViews:
    if isinstance(catalog.catalog, SupportsViews):
        return catalog.catalog
    raise UnsupportedFeatureError(
        f"Catalog {catalog.catalog_name} has tables only. Write CREATE TEMPORARY VIEW, or CREATE TABLE … AS SELECT."
    )


def _definition(views: SupportsViews, identifier: Identifier) -> View | None:
    try:
        return views.load_view(identifier)
    except ViewNotFoundError:
        return None
    except UnreadableFileError as e:
        raise e.changed(advice="replace it with CREATE OR REPLACE VIEW, or drop it") from e


def _without(properties: Mapping[str, str], statement: ViewStatement, identifier: Identifier) -> dict[str, str]:
    unknown = [key for key in statement.removed if key not in properties]
    if unknown and not statement.lenient:
        raise UnsupportedFeatureError(f"View {identifier} has no property {unknown[0]!r} to remove: write IF EXISTS.")
    return {k: v for k, v in properties.items() if k not in statement.removed}
