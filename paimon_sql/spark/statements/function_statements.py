"""Statements about functions of Paimon catalogs, which Spark does not pass to catalogs, and statements that call such
functions.

Spark checks a CREATE FUNCTION as CREATE TEMPORARY FUNCTION of the same text. Spark does not look up table functions in
catalogs, and before 4.2 it looks up no functions there. So parsed calls of them become calls of temporary functions.
"""

from __future__ import annotations

import re
import uuid
from functools import partial

import pyarrow as pa
from py4j.java_gateway import JavaObject

from paimon_core.errors import (
    DatabaseNotFoundError,
    FunctionExistsError,
    FunctionNotFoundError,
    PaimonError,
    UnsupportedFeatureError,
)
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.base import SYSTEM_DATABASE, Catalog, SupportsFunctions, check_is_function_name
from paimon_sql.catalog.function import Function, LambdaDefinition
from paimon_sql.preprocess import NEAREST_ROWS
from paimon_sql.preprocess.quoting import quoted_name, quoted_text
from paimon_sql.preprocess.statements import CreatePythonFunction
from paimon_sql.spark.errors.java import not_called_so
from paimon_sql.spark.jvm.commands import create_namespace
from paimon_sql.spark.jvm.functions import (
    SCALAR,
    TABLE,
    FunctionStatement,
    NewFunction,
    called_functions,
    checked_properties,
    function_statement,
    is_kept_view,
    is_session_function,
    parameters_json,
    returns_json,
    sql_function,
    with_called_names,
    without_functions,
)
from paimon_sql.spark.jvm.older.named_functions import PREFIX, renames_calls
from paimon_sql.spark.jvm.scans.rows import rows_relation
from paimon_sql.spark.jvm.sessions import current_catalog
from paimon_sql.spark.statements.catalog_registry import CatalogRegistry, Located
from paimon_sql.spark.statements.commands import FunctionCommand
from paimon_sql.spark.tables.catalog import SparkCatalog
from paimon_sql.spark.tables.functions import check_function, usage_of
from paimon_sql.spark.tables.user_functions.bodies import Body
from paimon_sql.spark.tables.user_functions.calls import FunctionCalls
from paimon_sql.spark.tables.user_functions.definitions import (
    OURS,
    PRIVATE,
    PYTHON,
    Signature,
    Texts,
    described,
    is_table_function,
    kept_function,
)
from paimon_sql.spark.tables.user_functions.python_code import check_code

_STATEMENT = re.compile(r"\bfunction\b", re.IGNORECASE)
_SHOWN = re.compile(r"\bfunctions\b", re.IGNORECASE)
_BEFORE_ROWS = r"\b(?:from|join|lateral|table)\b"
# a name ends where the next match may begin: no text is looked at again and again
_ROWS_OF = re.compile(
    rf"(?:{_BEFORE_ROWS}|,)\s*+(?:lateral\s++)?(?:(?>(?:(?!{_BEFORE_ROWS})[^\s(),])+)(?:{_BEFORE_ROWS})?|{_BEFORE_ROWS})"
    r"\s*+\(",
    re.IGNORECASE,
)
HIDDEN_FUNCTIONS = (PRIVATE, PREFIX, NEAREST_ROWS)  # the prefixes of temporary functions that this package makes
_SEARCHES = ("vector_search", "full_text_search", "hybrid_search")  # the preprocessor has left these calls
_CALL = re.compile(r"[\w`]\s*\(")


def may_call_for_rows(text: str) -> bool:
    """Return whether a statement may call a function that returns rows."""
    return _ROWS_OF.search(text) is not None


class FunctionStatements:
    """Rewrites the statements of one session that name functions."""

    def __init__(self, registry: CatalogRegistry) -> None:
        self.registry, self.jvm = registry, registry.jvm
        self.calls = FunctionCalls(registry.bridge, self._catalog_of)

    def planned(self, plan: JavaObject, text: str) -> JavaObject:
        """Return a parsed statement rewritten if it is about a function of a Paimon catalog, or calls one that Spark
        does not look up in catalogs; otherwise unchanged."""
        if _STATEMENT.search(text):
            statement = function_statement(plan)
            if statement is not None:
                return self._of_function(plan, statement)
        if _SHOWN.search(text):
            plan = without_functions(self.jvm, self.registry.session, plan, HIDDEN_FUNCTIONS)
        is_older = renames_calls(self.jvm)
        if self.registry.catalogs and (_CALL.search(text) if is_older else may_call_for_rows(text)):
            return self._with_calls(plan, is_older=is_older)
        return plan

    def create_python(self, statement: CreatePythonFunction) -> JavaObject:
        """Return the plan that runs CREATE FUNCTION … LANGUAGE PYTHON. Raises `UnsupportedFeatureError` for another
        catalog."""
        found = self.registry.find_object(statement.name)
        if found is None:
            raise UnsupportedFeatureError(
                f"Function {'.'.join(statement.name)} is not in a Paimon catalog of this session: other "
                "catalogs cannot store functions in Python."
            )
        catalog, identifier = found
        run = partial(self._create_python, catalog, check_is_function_name(identifier), statement)
        return self._command("CREATE FUNCTION", identifier, run)

    # -- statements ---------------------------------------------------------------------------------------------------
    def _of_function(self, plan: JavaObject, statement: FunctionStatement) -> JavaObject:
        if statement.kind == "describe" and (lines := self._described_of_sys(statement)) is not None:
            return rows_relation(self.jvm, self.registry.session, pa.table({"function_desc": lines}))
        found = self._find(statement)
        if found is None:
            return plan
        catalog, identifier = found
        if not isinstance(catalog.catalog, SupportsFunctions):
            if not statement.kind.startswith("create"):
                return plan
            raise self._cannot(catalog, identifier)
        match statement.kind:
            case "create of a class":
                raise UnsupportedFeatureError(
                    f"Function {identifier} cannot be created from a class: Java classes cannot run here. Write CREATE "
                    "FUNCTION … RETURN with SQL, or LANGUAGE PYTHON."
                )
            case "create":
                assert statement.new is not None
                return self._command(
                    "CREATE FUNCTION", identifier, partial(self._create, catalog, identifier, statement, statement.new)
                )
            case "drop":
                drop = partial(catalog.catalog.drop_function, identifier, statement.lenient)
                return self._command("DROP FUNCTION", identifier, drop)
        return self._describe(plan, catalog, identifier, statement)

    def _find(self, statement: FunctionStatement) -> Located | None:
        """Return the catalog and the name of a function, which may be new. Return None for a function of Spark, of
        `sys`, or of another catalog.
        """
        parts = statement.parts
        if statement.kind == "describe" and is_session_function(self.registry.session, parts):
            return None
        found = self.registry.find_object(parts)
        if found is None or found[1].database == SYSTEM_DATABASE:
            return None
        check_is_function_name(found[1])
        return found

    def _describe(
        self, plan: JavaObject, catalog: SparkCatalog, identifier: Identifier, statement: FunctionStatement
    ) -> JavaObject:
        try:
            function = _functions(catalog).load_function(identifier)
        except (FunctionNotFoundError, DatabaseNotFoundError):
            return plan  # Spark reports that it does not exist
        full = (catalog.catalog_name, identifier.database, identifier.table)
        known = function.results and not is_table_function(function)
        texts = self.calls.texts(full, function) if known else Texts("", "")
        lines = described(".".join(full), function, texts, extended=statement.extended)
        return rows_relation(self.jvm, self.registry.session, pa.table({"function_desc": lines}))

    def _described_of_sys(self, statement: FunctionStatement) -> list[str] | None:
        """Return the description of a function of `sys`, None for any other function. Raises as `check_function`."""
        found = None if len(statement.parts) < 2 else self._located(statement.parts)
        if found is None or found[1].database != SYSTEM_DATABASE:
            return None
        name = check_function(found[1].table)
        return [f"Function: {found[0].catalog_name}.{SYSTEM_DATABASE}.{name}", f"Usage: {usage_of(name)}"]

    def _command(self, title: str, identifier: Identifier, run: partial[None]) -> JavaObject:
        return create_namespace(self.jvm, FunctionCommand(self.jvm, f"{title} {identifier}", run), identifier.table)

    def _cannot(self, catalog: SparkCatalog, identifier: Identifier) -> UnsupportedFeatureError:
        return UnsupportedFeatureError(
            f"Function {identifier} cannot be stored: catalog {catalog.catalog_name} does not support functions. "
            "Write CREATE TEMPORARY FUNCTION."
        )

    # -- CREATE -------------------------------------------------------------------------------------------------------
    def _create(
        self, catalog: SparkCatalog, identifier: Identifier, statement: FunctionStatement, new: NewFunction
    ) -> None:
        if self._is_there(catalog, identifier, lenient=statement.lenient, replaces=statement.replaces):
            return
        place = current_catalog(self.registry.session), self.registry.bridge.current_database()
        body = self.calls.spelled(Body(new.body, new.is_query), place, only_private=True)
        self._keep(catalog, identifier, self._made(catalog, identifier, new, body), statement)

    def _create_python(self, catalog: SparkCatalog, identifier: Identifier, statement: CreatePythonFunction) -> None:
        if not isinstance(catalog.catalog, SupportsFunctions):
            raise self._cannot(catalog, identifier)
        if self._is_there(catalog, identifier, lenient=statement.lenient, replaces=statement.replaces):
            return
        new = NewFunction(
            statement.parameters,
            statement.returns,
            "NULL",
            False,
            False,
            statement.comment,
            statement.deterministic,
            True,
        )
        made = self._made(catalog, identifier, new, new.body)
        check_code(str(identifier), [f.name for f in made.parameters or ()], statement.body)
        kept = Function(
            parameters=made.parameters,
            results=made.results,
            definitions={OURS: LambdaDefinition(statement.body, PYTHON)},
            deterministic=statement.deterministic is not False,
            comment=statement.comment,
        )
        self._keep(catalog, identifier, kept, statement)

    def _is_there(self, catalog: SparkCatalog, identifier: Identifier, *, lenient: bool, replaces: bool) -> bool:
        """Return whether the function exists, so that a lenient statement keeps it. Raises `FunctionExistsError` if the
        statement is neither lenient nor replaces functions.
        """
        if replaces or not _functions(catalog).function_exists(identifier):
            return False
        if not lenient:
            raise FunctionExistsError(f"Function {identifier} already exists.")
        return True

    def _made(self, catalog: SparkCatalog, identifier: Identifier, new: NewFunction, body: str) -> Function:
        """Return the function that a statement defines, after Spark has checked it. In `body`, names are spelled in
        full.
        """
        session, name = self.registry.session, identifier.table
        if is_session_function(session, (name,)):
            name = f"{PRIVATE}{uuid.uuid4().hex}"
        properties = checked_properties(self.jvm, session, name, _temporary(name, new, body))
        made = sql_function(self.jvm, session, (identifier.database, identifier.table), properties)
        signature = Signature(parameters_json(made), returns_json(made))
        return kept_function(new, properties, signature, catalog.catalog_name, identifier)

    def _keep(
        self,
        catalog: SparkCatalog,
        identifier: Identifier,
        function: Function,
        statement: FunctionStatement | CreatePythonFunction,
    ) -> None:
        functions = _functions(catalog)
        self.calls.refuse_cycle((catalog.catalog_name, identifier.database, identifier.table), function)
        if statement.replaces:
            functions.replace_function(identifier, function, create=True)
        else:
            functions.create_function(identifier, function, ignore_if_exists=statement.lenient)

    # -- calls --------------------------------------------------------------------------------------------------------
    def _with_calls(self, plan: JavaObject, *, is_older: bool) -> JavaObject:
        names: dict[tuple[str, tuple[str, ...]], str] = {}
        for kind, parts in called_functions(self.jvm, self.registry.session, plan):
            found = self._located(parts) if kind != SCALAR or is_older else None
            if found is None:
                continue
            full = (found[0].catalog_name, found[1].database, found[1].table)
            private = self.calls.private_name(kind, full)
            if private is not None:
                names[kind, parts] = private
            elif self.calls.find(full) is not None:
                raise not_called_so(self.jvm, ".".join(full), is_table=kind == SCALAR)
            elif kind == TABLE and len(parts) == 1 and parts[0].lower() in _SEARCHES:
                raise UnsupportedFeatureError(
                    f"{parts[0]} cannot be called here. Write it directly after FROM or JOIN, with literals as "
                    "arguments."
                )
        if names and is_kept_view(plan):
            raise UnsupportedFeatureError(
                f"A view cannot call {', '.join('.'.join(parts) for _, parts in sorted(names))}: this Spark "
                f"looks up no {'functions' if is_older else 'table functions'} of catalogs in views. Put the query of "
                "the function into the view."
            )
        return with_called_names(self.jvm, plan, names) if names else plan

    def _catalog_of(self, name: str) -> Catalog | None:
        found = self.registry.catalogs.get(name)
        return None if found is None else found.catalog

    def _located(self, parts: tuple[str, ...]) -> Located | None:
        try:
            return self.registry.find_object(parts)
        except PaimonError:
            return None


def _functions(catalog: SparkCatalog) -> SupportsFunctions:
    assert isinstance(catalog.catalog, SupportsFunctions)
    return catalog.catalog


def _temporary(name: str, new: NewFunction, body: str) -> str:
    """Return the statement that creates a temporary function in this session."""
    returns = f"RETURNS {new.returns}" if new.returns else ""
    if new.is_table:
        returns = "RETURNS TABLE" if new.returns.lower() in ("", "table") else f"RETURNS TABLE ({new.returns})"
    parts = [f"CREATE TEMPORARY FUNCTION {quoted_name(name)}({new.parameters or ''}) {returns}"]
    if new.deterministic is not None:
        parts.append("DETERMINISTIC" if new.deterministic else "NOT DETERMINISTIC")
    if new.comment is not None:
        parts.append(f"COMMENT {quoted_text(new.comment)}")
    if new.contains_sql is not None:
        parts.append("CONTAINS SQL" if new.contains_sql else "READS SQL DATA")
    return "\n".join([*parts, f"RETURN {body}"])
