"""Rewrites of parsed statements for older versions of Spark; newer versions do the same themselves.

The hooks decide which rewrites a version needs; the newest Spark needs none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError

from paimon_core.errors import TableExistsError, TableNotFoundError
from paimon_core.spec.identifier import Identifier
from paimon_core.table import Table
from paimon_sql.catalog.base import Catalog
from paimon_sql.preprocess import SEARCH_OPTION, CreateLike, create_like
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.procedures import PROCEDURES
from paimon_sql.spark.jvm.classes import ANALYSIS_EXCEPTION
from paimon_sql.spark.jvm.commands import create_namespace
from paimon_sql.spark.jvm.exceptions import ExceptionText, analysis_exception
from paimon_sql.spark.jvm.older.named_functions import renames_calls, with_named_functions
from paimon_sql.spark.jvm.older.parameters import exact_names, with_exact_names
from paimon_sql.spark.jvm.older.state_options import travels_in_name, with_named_options
from paimon_sql.spark.jvm.older.table_info import NewTable
from paimon_sql.spark.jvm.older.view_statements import answers_view_statements, view_statement
from paimon_sql.spark.jvm.session_tables import SESSION_CATALOG, SessionTable, session_table
from paimon_sql.spark.jvm.sessions import current_catalog, current_namespace, is_temporary_view
from paimon_sql.spark.statements.catalog_registry import CatalogRegistry, Located
from paimon_sql.spark.statements.commands import FunctionCommand
from paimon_sql.spark.statements.views.older_views import OlderViews
from paimon_sql.spark.tables.blob_view_function import BLOB_VIEW, BlobViewCall, load_viewed
from paimon_sql.spark.tables.catalog import STATE_OPTIONS, SparkCatalog
from paimon_sql.spark.tables.column_functions import COLUMN_FUNCTIONS, column_function_makers
from paimon_sql.spark.tables.definitions import PROVIDER
from paimon_sql.spark.tables.generic_catalog import SparkGenericCatalog
from paimon_sql.spark.tables.presigned_url_function import URL_FUNCTIONS, PresignedUrlCall

# a table with these options in its name differs from the same table without them in the statement
_NAMED = STATE_OPTIONS | {SEARCH_OPTION}
_VIEW = re.compile(r"\b(?:views?|describe|desc|show|drop|truncate)\b", re.IGNORECASE)
# functions of tables set such options, too
_STATE = re.compile(
    "|".join((*map(re.escape, _NAMED), "(?:vector|full_text|hybrid)_search", "paimon_incremental_")), re.IGNORECASE
)
_FUNCTION = re.compile(
    rf"\bsys\b[`\s]*\.[`\s]*(?:{'|'.join((*COLUMN_FUNCTIONS, *URL_FUNCTIONS, BLOB_VIEW))})\b", re.IGNORECASE
)
_CALL = re.compile(r"\bcall\b", re.IGNORECASE)
_ARGUMENTS = {p.name.lower(): p.name for procedure in PROCEDURES.values() for p in procedure.parameters}


class OlderSpark:
    """Rewrites the statements of one session to do what newer versions of Spark do."""

    def __init__(self, registry: CatalogRegistry) -> None:
        self.registry, self.jvm, self.views = registry, registry.jvm, OlderViews(registry)

    def planned(self, plan: JavaObject, text: str, *, in_view: bool = False) -> JavaObject:
        """Return a parsed statement, or a view's query, in the form that a newer Spark would analyze. `text` is the
        statement's text.
        """
        if _VIEW.search(text) and answers_view_statements(self.jvm):
            statement = view_statement(plan)
            if statement is not None:
                return self.views.planned(plan, statement)
        if _STATE.search(text) and travels_in_name(self.jvm):
            session = self.registry.session
            # the view may be in another catalog, and its tables in ours
            place = {current_catalog(session)} if in_view else set()
            ours = place | self.registry.catalogs.keys()
            plan = with_named_options(self.jvm, session, plan, _NAMED, ours)
        if _FUNCTION.search(text) and renames_calls(self.jvm):
            makers = {**column_function_makers(self.jvm), BLOB_VIEW: BlobViewCall(self.jvm, self._viewed)}
            makers |= {name: PresignedUrlCall(self.jvm, name, self._table) for name in URL_FUNCTIONS}
            session = self.registry.session
            plan = with_named_functions(self.jvm, session, plan, makers, self.registry.catalogs)
        if _CALL.search(text) and exact_names(self.jvm):
            plan = with_exact_names(self.jvm, plan, _ARGUMENTS)
        return plan

    def _viewed(self, name: str) -> Table:
        return load_viewed(*self._named(name))

    def _table(self, name: str) -> Table:
        catalog, identifier = self._named(name)
        return catalog.load_table(identifier)

    def _named(self, name: str) -> tuple[Catalog, Identifier]:
        found = self.registry.find_name(name)
        if found is None:
            raise TableNotFoundError(f"Table {name} is not in a Paimon catalog. Name a table of such a catalog.")
        return found[0].catalog, found[1]

    def create_like(self, text: str) -> JavaObject | None:
        """Return the plan that runs `CREATE TABLE … LIKE` if it creates a table in a Paimon catalog; None for any other
        statement.
        """
        statement = create_like(text)
        found = None if statement is None else self.registry.find_table(statement.table) or self._like_ours(statement)
        if statement is None or found is None:
            return None
        catalog, identifier = found
        command = FunctionCommand(
            self.jvm, f"CREATE TABLE {identifier} LIKE", partial(self._create_like, catalog, identifier, statement)
        )
        return create_namespace(self.jvm, command, identifier.name)

    def _like_ours(self, statement: CreateLike) -> Located | None:
        """Return the place of a new Paimon table in Spark's own catalog; None for a table of Spark's."""
        provider = statement.properties.get("provider")
        if provider is None and self.registry.find_name(".".join(map(quoted_name, statement.source))) is None:
            return None
        is_ours = provider is None or provider.lower() == PROVIDER
        return self.registry.place_beside_sparks(statement.table) if is_ours else None

    def _refusal(self, text: ExceptionText) -> Py4JJavaError:
        """Return an analysis exception with a message that is already complete."""
        return Py4JJavaError(text.message, analysis_exception(self.jvm, ANALYSIS_EXCEPTION, text))

    def _create_like(self, catalog: SparkCatalog, identifier: Identifier, statement: CreateLike) -> None:
        taken = isinstance(catalog, SparkGenericCatalog) and catalog.has_other(identifier)
        if statement.lenient and (taken or catalog.catalog.table_exists(identifier)):
            return
        name = ".".join(map(quoted_name, statement.source))
        columns = self.registry.bridge.python_session.table(name).schema  # also raises an error for an invalid name
        source = self.registry.find_name(name)
        is_ours = source is not None and source[1].system_table is None
        copied = None
        if source is not None and is_ours and source[0].catalog.table_exists(source[1]):  # and no view
            copied = source[0].catalog.load_table(source[1]).schema
        kept = None if source is not None else self._session_table(statement.source)
        new = NewTable.of_struct(self.jvm, columns, (), statement.properties)
        if kept is not None:
            new = NewTable.of_struct(self.jvm, kept.schema, kept.partition_columns, statement.properties)
        try:
            if taken:
                raise TableExistsError(f"{identifier} already exists in Spark's own catalog. Use another name.")
            catalog.definitions.create_like(identifier, new, copied)
        except TableExistsError as error:
            condition, named = "TABLE_OR_VIEW_ALREADY_EXISTS", {"relationName": str(identifier)}
            message = f"[{condition}] Cannot create table or view `{identifier}` because it already exists."
            raise self._refusal(ExceptionText(message, condition, named)) from error

    def _session_table(self, parts: Sequence[str]) -> SessionTable | None:
        """Return a table of Spark's own catalog by its name; None for a temporary view, and for tables of other
        catalogs.
        """
        session = self.registry.session
        if len(parts) == 1 and is_temporary_view(session, parts[0]):
            return None
        if len(parts) < 3:
            if current_catalog(session) != SESSION_CATALOG:
                return None
            parts = [SESSION_CATALOG, *([current_namespace(session)] if len(parts) == 1 else []), *parts]
        return session_table(self.jvm, session, *parts[1:]) if parts[0] == SESSION_CATALOG else None
